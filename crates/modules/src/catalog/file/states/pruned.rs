//! `file.pruned`: removes empty directories.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::{Action, Decision, Flag, Plan, State, Step, Touches, Verdict, look, walk, writes};
use crate::Result;
use crate::machine::Probe;

/// Removes a directory if it is empty, or all empty ones below it.
///
/// ```yaml
/// /srv/spool:
///   file.pruned:
///     - recurse: True
/// ```
#[state("file.pruned", strict)]
pub struct Pruned {
    /// The directory.
    name: String,
    /// Remove empty directories below it, too.
    recurse: Flag,
    /// That some are not empty is no failure; goes through all below it.
    ignore_errors: Flag,
    /// Only those not changed for so many days.
    older_than: Option<i64>,
}

impl State for Pruned {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let name = look::name(machine, &self.name);
        if !look::is_directory(machine, &name) {
            return Ok(Decision::Settled(Verdict::good(format!("Directory {name} is not present"))));
        }
        let would = Verdict::would(format!("Directory {name} is set for removal")).change("deleted", name.as_str());
        if step.test {
            return Ok(Decision::Settled(would));
        }
        let recurse = self.recurse.0 || self.ignore_errors.0;
        let before = self.older_than.filter(|days| *days != 0).map(|days| machine.now() - days as f64 * 86_400.0);
        let mut levels = walk::levels(machine, &name, if recurse { None } else { Some(1) })?;
        levels.reverse();
        let (mut deleted, mut errors): (Vec<String>, Vec<Value>) = (Vec::new(), Vec::new());
        for level in &levels {
            let old = look::found(machine, &level.path).is_some_and(|stat| before.is_none_or(|time| stat.mtime < time));
            if !old || (!recurse && level.path != name) {
                continue;
            }
            let left = level.directories.iter().any(|below| !deleted.contains(&look::join(&level.path, below)));
            if level.files.is_empty() && !left {
                deleted.push(level.path.clone());
            } else {
                let text = format!("[Errno 39] Directory not empty: '{}'", level.path);
                errors.push(Value::List(vec![level.path.as_str().into(), text.into()]));
            }
        }
        let actions: Vec<Action> = deleted.iter().cloned().map(Action::Remove).collect();
        deleted.sort();
        let shown: Vec<Value> = deleted.iter().map(|path| path.as_str().into()).collect();
        let done = match () {
            () if errors.is_empty() && !recurse => {
                Verdict::good(format!("Removed directory {name}")).change("deleted", name.as_str())
            }
            () if (errors.is_empty() || self.ignore_errors.0) && !deleted.is_empty() => {
                Verdict::good(format!("Recursively removed empty directories under {name}")).change("deleted", shown)
            }
            () if errors.is_empty() => Verdict::good(""),
            () => {
                let changes = Map::from_iter([("deleted".into(), shown.into()), ("errors".into(), errors.into())]);
                Verdict::bad(format!("Failed to remove directory {name}")).changes(changes)
            }
        };
        Ok(Decision::Change(Plan::brief(done.output("path", name)).all(actions), would))
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}
