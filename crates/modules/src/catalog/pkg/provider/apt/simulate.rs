//! Predicts apt's changes with `apt-get -s`.

use std::path::Path;

use super::super::{Foreseen, PackageOperation, PackageTransaction, command, failure};
use super::words;
use crate::Result;
use crate::machine::Probe;

/// The predicted changes; apt's message if they are impossible.
pub fn ask(
    machine: &dyn Probe,
    transaction: &PackageTransaction,
) -> Result<std::result::Result<Vec<Foreseen>, String>> {
    let mut argv = words(transaction)?;
    // Without locks, so that it works during other installations, and without writing a log.
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
            // Dependent packages are only removed, so they leave their configuration if they have any.
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

/// dpkg drops a removed package that has neither configuration files nor anything to do on a purge.
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
