//! `file.absent`: a path that doesn't exist.

use rocksalt_macros::state;

use super::{Action, Decision, Plan, State, Step, Touches, Verdict, look, writes};
use crate::Result;
use crate::machine::Probe;

/// Makes sure that there is no such file, link or directory; a directory goes with all that is in it.
///
/// ```yaml
/// /etc/motd.old:
///   file.absent
/// ```
#[state("file.absent")]
pub struct Absent {
    /// The path.
    name: String,
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = look::name(machine, &self.name);
        if name.is_empty() {
            return Ok(Decision::Settled(Verdict::bad("Must provide name to file.absent")));
        }
        if !look::is_absolute(&name) {
            return Ok(Decision::Settled(Verdict::bad(format!("Specified file {name} is not an absolute path"))));
        }
        if name == "/" {
            return Ok(Decision::Settled(Verdict::bad("Refusing to make \"/\" absent")));
        }
        let what = match () {
            () if look::is_file(machine, &name) || look::is_link(machine, &name) => "File",
            () if look::is_directory(machine, &name) => "Directory",
            () => return Ok(Decision::Settled(Verdict::good(format!("File {name} is not present")))),
        };
        let would = Verdict::would(format!("{what} {name} is set for removal")).change("removed", name.as_str());
        let comment = format!("Removed {} {name}", what.to_lowercase());
        let done = Verdict::good(comment).change("removed", name.as_str()).output("path", name.as_str());
        Ok(Decision::Change(Plan::brief(done).then(Action::Remove(name)), would))
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}
