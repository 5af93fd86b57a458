//! The installed packages, from dpkg's database.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rocksalt_core::Value;

use super::super::{PackageVersions, Packages, output};
use super::{compare, own_architecture};
use crate::Result;
use crate::machine::Probe;

const STATUS: &str = "/var/lib/dpkg/status";
const JOURNAL: &str = "/var/lib/dpkg/updates";

/// The database when last read, because forty steps that change nothing read it forty times. dpkg replaces the whole
/// file, so a new version has another inode and other times.
static KNOWN: Mutex<Option<(FileStamp, Arc<Packages>)>> = Mutex::new(None);

#[derive(PartialEq)]
struct FileStamp {
    inode: u64,
    device: u64,
    size: u64,
    mtime: f64,
    ctime: f64,
}

pub fn packages(machine: &dyn Probe) -> Result<Arc<Packages>> {
    let before = stamp(machine);
    if let Some(stamp) = &before {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, packages)) = known.as_ref().filter(|(known, _)| known == stamp) {
            return Ok(Arc::clone(packages));
        }
    }
    let format = "${Status} ${Package} ${Version} ${Architecture}\n";
    let text = output(machine, &["dpkg-query", "--showformat", format, "-W"])?;
    let packages = Arc::new(read(machine, &text));
    // Only cached if nothing was written while it was read.
    if let Some(stamp) = before.filter(|before| self::stamp(machine).as_ref() == Some(before)) {
        *KNOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some((stamp, Arc::clone(&packages)));
    }
    Ok(packages)
}

/// `None` if the file alone is not sufficient: dpkg is running, or was killed.
fn stamp(machine: &dyn Probe) -> Option<FileStamp> {
    let journal = machine.list(Path::new(JOURNAL)).ok()?;
    let stat = machine.stat(Path::new(STATUS), true).ok()??;
    let (inode, device, size) = (stat.inode, stat.device, stat.size);
    journal.is_empty().then_some(FileStamp { inode, device, size, mtime: stat.mtime, ctime: stat.ctime })
}

fn read(machine: &dyn Probe, text: &str) -> Packages {
    let namer = Namer::new(machine);
    let mut packages = Packages::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[wanted, _, status, name, version, architecture] = words.as_slice() else { continue };
        let name = namer.name(name, architecture);
        // A partly installed package counts as missing: the next run must complete it.
        let kind = match (wanted, status) {
            ("install" | "hold", "installed") => &mut packages.installed,
            ("deinstall", "installed") => &mut packages.installed,
            ("deinstall", _) => &mut packages.removed,
            ("purge", "installed") => &mut packages.purge_desired,
            _ => continue,
        };
        kind.entry(name).or_default().push(version.to_owned());
    }
    let sort =
        |all: &mut PackageVersions| all.values_mut().for_each(|versions| versions.sort_by(|a, b| compare::dpkg(a, b)));
    sort(&mut packages.installed);
    sort(&mut packages.removed);
    sort(&mut packages.purge_desired);
    packages
}

/// The names of packages of another architecture contain the architecture.
struct Namer {
    own: String,
    mixed: bool,
}

impl Namer {
    fn new(machine: &dyn Probe) -> Namer {
        let own = own_architecture(machine);
        let wide = machine.grains().get("cpuarch").and_then(Value::as_str) == Some("x86_64");
        Namer { mixed: wide && own == "amd64", own }
    }

    fn name(&self, name: &str, architecture: &str) -> String {
        match self.mixed && architecture != "all" && architecture != self.own {
            true => format!("{name}:{architecture}"),
            false => name.to_owned(),
        }
    }
}

pub fn named(machine: &dyn Probe, name: &str, architecture: &str) -> String {
    Namer::new(machine).name(name, architecture)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn half_of_a_package_is_none() {
        let text = "install ok installed whole 1.0 all\n\
                    hold ok installed kept 2.0-1 amd64\n\
                    install reinstreq half-installed half 1.0 amd64\n\
                    install ok half-configured unfinished 1.0 amd64\n\
                    install ok unpacked unpacked 1.0 amd64\n\
                    deinstall ok config-files gone 0.9 amd64\n\
                    purge ok installed doomed 1.1 amd64\n";
        let packages = read(&Fake::new(), text);
        assert_eq!(packages.installed.keys().collect::<Vec<_>>(), ["kept", "whole"]);
        assert_eq!(packages.removed.keys().collect::<Vec<_>>(), ["gone"]);
        assert_eq!(packages.purge_desired.keys().collect::<Vec<_>>(), ["doomed"]);
    }
}
