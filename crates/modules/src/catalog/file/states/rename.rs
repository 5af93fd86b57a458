//! `file.rename`: moves a file to another name.

use rocksalt_macros::state;

use super::missing_directories;
use super::{Action, Decision, Flag, Plan, State, Step, Thing, Touches, Verdict, look, writes};
use crate::Result;
use crate::machine::Probe;

/// Moves a file or directory, if it is still where it was.
///
/// ```yaml
/// /etc/sss:
///   file.rename:
///     - source: /etc/ssh
/// ```
#[state("file.rename", required("source"))]
pub struct Rename {
    /// Its new path.
    name: String,
    /// Its old path.
    #[default]
    source: String,
    /// Replace what is there already.
    force: Flag,
    /// Create parent directories.
    makedirs: Flag,
}

impl State for Rename {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        Ok(self.decide(machine, step).unwrap_or_else(Decision::Settled))
    }

    fn touches(&self) -> Touches {
        writes(&self.name).writes(Thing::Path(self.source.clone()))
    }
}

impl Rename {
    fn decide(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision, Verdict> {
        let read = |path: &str| look::variables(machine, &look::name(machine, path));
        let (name, source) = (read(&self.name), read(&self.source));
        if name.is_empty() {
            return Err(Verdict::bad("Must provide name to file.rename"));
        }
        if !look::is_absolute(&name) {
            return Err(Verdict::bad(format!("Specified file {name} is not an absolute path")));
        }
        if !look::exists_itself(machine, &source) {
            let text = format!("Source file \"{source}\" has already been moved out of place");
            return Err(Verdict::good(text).output("path", name));
        }
        let mut plan = Plan::brief(Verdict::default());
        if look::exists_itself(machine, &name) {
            if !self.force {
                let text = format!("The target file \"{name}\" exists and will not be overwritten");
                return Err(Verdict::good(text).output("path", name));
            }
            plan = plan.then(Action::Remove(name.clone()));
        }
        let would = Verdict::would(format!("File \"{source}\" is set to be moved to \"{name}\""));
        if step.test {
            return Ok(Decision::Change(plan, would));
        }
        let above = look::above(&name);
        if !look::is_directory(machine, above) {
            if !self.makedirs {
                return Err(Verdict::bad(format!("The target directory {above} is not present")));
            }
            let mode = 0o777 & !look::umask(machine);
            let make = |path| Action::MakeDirectory { path, mode, uid: None, gid: None };
            plan = plan.all(missing_directories(machine, above).into_iter().map(make));
        }
        let done = Verdict::good(format!("Moved \"{source}\" to \"{name}\""));
        plan.done = done.change(name.as_str(), source.as_str()).output("path", name.as_str());
        Ok(Decision::Change(plan.then(Action::Rename { from: source, to: name }), would))
    }
}
