//! `file.touch`: a file that exists, with the requested times.

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::missing_directories;
use super::{Action, Decision, Flag, Plan, State, Step, Touches, Verdict, look, writes};
use crate::Result;
use crate::machine::Probe;

/// Creates an empty file, or sets the times of one that is there, every time.
///
/// ```yaml
/// /var/log/httpd/logrotate.empty:
///   file.touch
/// ```
#[state("file.touch", strict)]
pub struct Touch {
    /// The file's path.
    name: String,
    /// The time of access in seconds since 1970; now by default.
    atime: Value,
    /// The time of change in seconds since 1970; now by default.
    mtime: Value,
    /// Create parent directories.
    makedirs: Flag,
}

impl State for Touch {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        Ok(self.decide(machine, step).unwrap_or_else(Decision::Settled))
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}

impl Touch {
    fn decide(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision, Verdict> {
        let name = look::name(machine, &self.name);
        if name.is_empty() {
            return Err(Verdict::bad("Must provide name to file.touch"));
        }
        if !look::is_absolute(&name) {
            return Err(Verdict::bad(format!("Specified file {name} is not an absolute path")));
        }
        let would = dry(machine, &name, &self.atime, &self.mtime);
        if step.test {
            return Err(would);
        }
        let above = look::above(&name);
        let mut plan = Plan::brief(Verdict::default());
        if !look::is_directory(machine, above) {
            if !self.makedirs {
                return Err(Verdict::bad(format!("Directory not present to touch file {name}")));
            }
            let mode = 0o777 & !look::umask(machine);
            let make = |path| Action::MakeDirectory { path, mode, uid: None, gid: None };
            plan = plan.all(missing_directories(machine, above).into_iter().map(make));
        }
        let now = machine.now();
        let times = (seconds(&self.atime)?, seconds(&self.mtime)?);
        let (atime, mtime) = match times {
            (None, None) => (now, now),
            (atime, mtime) => (atime.or(mtime).unwrap_or(now), mtime.or(atime).unwrap_or(now)),
        };
        let done = if look::exists(machine, &name) {
            let what = if look::is_directory(machine, &name) { "directory" } else { "file" };
            Verdict::good(format!("Updated times on {what} {name}")).change("touched", name.as_str())
        } else {
            plan = plan.then(Action::Write { path: name.clone(), content: Vec::new(), mode: None, parents: false });
            Verdict::good(format!("Created empty file {name}")).change("new", name.as_str())
        };
        plan.done = done.output("path", name.as_str());
        Ok(Decision::Change(plan.then(Action::Times { path: name, atime, mtime }), would))
    }
}

/// The comment of a dry run.
pub fn dry(machine: &dyn Probe, name: &str, atime: &Value, mtime: &Value) -> Verdict {
    if !look::is_absolute(name) {
        return Verdict::bad(format!("Specified file {name} is not an absolute path"));
    }
    let Some(stat) = look::found(machine, name).and_then(|_| look::itself(machine, name)) else {
        return Verdict::would(format!("File {name} is set to be created")).change("new", name);
    };
    let differs =
        |wanted: &Value, found: f64| !wanted.is_null() && wanted.to_string() != Value::Float(found).to_string();
    if differs(atime, stat.atime) || differs(mtime, stat.mtime) {
        return Verdict::would(format!("Times set to be updated on file {name}")).change("touched", name);
    }
    Verdict::good(format!("File {name} exists and has the correct times")).change("new", name)
}

fn seconds(value: &Value) -> Result<Option<f64>, Verdict> {
    match value {
        Value::Null => Ok(None),
        Value::Int(number) => Ok(Some(*number as f64)),
        Value::Float(number) => Ok(Some(*number)),
        other => {
            other.to_string().trim().parse().map(Some).map_err(|_| Verdict::bad("atime and mtime must be integers"))
        }
    }
}
