//! SELinux labels of files, through the system's `stat` and `chcon`.

use rocksalt_core::{Map, Value};

use super::Action;
use super::permissions::Mending;
use crate::machine::{Command, Probe};

/// The requested parts of a label.
#[derive(Clone, Default)]
pub struct SelinuxContext {
    wanted: [Option<String>; 4],
}

const PARTS: [(&str, &str, &str); 4] =
    [("seuser", "User", "-u"), ("serole", "Role", "-r"), ("setype", "Type", "-t"), ("serange", "Range", "-l")];

impl SelinuxContext {
    /// Parses the argument `selinux: {seuser: …, serole: …, setype: …, serange: …}`.
    pub fn read(value: &Value) -> SelinuxContext {
        let part = |name: &str| value.as_map()?.get(name).filter(|part| part.truth()).map(ToString::to_string);
        SelinuxContext { wanted: PARTS.map(|(name, ..)| part(name)) }
    }

    /// Sets all requested parts, on a new file.
    pub fn set(&self, path: &str) -> Option<Action> {
        let mut argv = vec!["chcon".to_owned(), "-h".to_owned()];
        for (wanted, (_, _, option)) in self.wanted.iter().zip(PARTS) {
            argv.extend(wanted.iter().flat_map(|wanted| [option.to_owned(), wanted.clone()]));
        }
        let any = argv.len() > 2;
        argv.extend(["--".to_owned(), path.to_owned()]);
        any.then(|| Action::TryRun {
            command: Command::new(argv),
            failure: Some("Failed to set selinux attributes".into()),
        })
    }

    pub fn compare(&self, machine: &dyn Probe, path: &str, mending: &mut Mending) {
        if self.wanted.iter().all(Option::is_none) {
            return;
        }
        let output = machine.query(&Command::new(["stat", "-c", "%C", "--", path])).ok();
        let label = output.filter(|output| output.success()).map(|output| output.text()).unwrap_or_default();
        let parts: Vec<&str> = label.trim().splitn(4, ':').collect();
        if parts.len() != 4 {
            mending.faults.push("Failed to get selinux attributes".into());
            return;
        }
        let mut argv = vec!["chcon".to_owned(), "-h".to_owned()];
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for ((wanted, found), (_, name, option)) in self.wanted.iter().zip(parts).zip(PARTS) {
            if let Some(wanted) = wanted.as_ref().filter(|wanted| *wanted != found) {
                old.push(format!("{name}: {found}"));
                new.push(format!("{name}: {wanted}"));
                argv.extend([option.to_owned(), wanted.clone()]);
            }
        }
        if new.is_empty() {
            return;
        }
        argv.extend(["--".to_owned(), path.to_owned()]);
        mending.actions.push(Action::TryRun {
            command: Command::new(argv),
            failure: Some("Failed to set selinux attributes".into()),
        });
        let changes = Map::from_iter([("Old".into(), old.join(" ").into()), ("New".into(), new.join(" ").into())]);
        mending.changes.insert("selinux", changes);
    }
}
