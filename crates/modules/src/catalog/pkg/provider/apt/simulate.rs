//! What apt would do, without doing it (`apt-get -s`).

use std::path::Path;

use super::super::{Foreseen, PackageOperation, PackageTransaction, command, failure};
use super::words;
use crate::Result;
use crate::machine::Probe;

/// What would change; apt's words if it can't be done.
pub fn ask(
    machine: &dyn Probe,
    transaction: &PackageTransaction,
) -> Result<std::result::Result<Vec<Foreseen>, String>> {
    let mut argv = words(transaction)?;
    // It takes no locks, so that it works while somebody else installs.
    // Nor may it write down what it thinks.
    argv.splice(1..1, ["-s", "-o", "Dir::Log::Planner=/dev/null"].map(str::to_owned));
    if transaction.held {
        argv.insert(1, "--allow-change-held-packages".into());
    }
    let look = command(argv);
    let output = machine.query(&look)?;
    if !output.success() {
        return Ok(Err(failure(&look, &output)));
    }
    let mut found: Vec<Foreseen> = output.text().lines().filter_map(read).collect();
    if transaction.verb == PackageOperation::Purge {
        for one in &mut found {
            // What goes with it is only removed, and leaves its configuration if it has any.
            one.purged = one.purged || (one.new.is_none() && !leaves_something(machine, &one.name));
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Ok(found))
}

/// `Inst name [old] (new origin [arch])`, `Remv name [old]`, `Purg name [old]`.
fn read(line: &str) -> Option<Foreseen> {
    let (verb, rest) = line.split_once(' ')?;
    let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let name = name.to_owned();
    match verb {
        "Inst" => {
            let new = rest.split_once('(')?.1.split([' ', ')']).next()?;
            Some(Foreseen { name, new: Some(new.to_owned()), purged: false })
        }
        "Remv" => Some(Foreseen { name, new: None, purged: false }),
        "Purg" => Some(Foreseen { name, new: None, purged: true }),
        _ => None,
    }
}

/// dpkg forgets a package that has neither configuration files nor anything to do when it is purged.
fn leaves_something(machine: &dyn Probe, name: &str) -> bool {
    ["conffiles", "postrm"].iter().any(|kind| {
        let path = format!("/var/lib/dpkg/info/{name}.{kind}");
        matches!(machine.stat(Path::new(&path), true), Ok(Some(_)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let one = |name: &str, new: Option<&str>, purged| {
            Some(Foreseen { name: name.into(), new: new.map(str::to_owned), purged })
        };
        assert_eq!(read("Inst hello (2.10-3 Debian:12.5/stable [amd64])"), one("hello", Some("2.10-3"), false));
        assert_eq!(read("Inst a:i386 [1.0] (2:1.1 localhost [i386]) []"), one("a:i386", Some("2:1.1"), false));
        assert_eq!(read("Remv hello [2.10-3]"), one("hello", None, false));
        assert_eq!(read("Purg hello [2.10-3]"), one("hello", None, true));
        assert_eq!(read("Conf hello (2.10-3 Debian [amd64])"), None);
        assert_eq!(read("Reading package lists..."), None);
    }
}
