//! `file.not_cached`: no copy of a file in the target's cache.

use rocksalt_macros::state;

use super::{Action, Decision, Plan, State, Step, Touches, Verdict, look};
use crate::Result;
use crate::catalog::cp::{self, source::ContentSource};
use crate::machine::Probe;

/// Removes the copy of a file from the target's cache.
///
/// ```yaml
/// https://example.com/big.tar.gz:
///   file.not_cached
/// ```
#[state("file.not_cached", strict)]
pub struct NotCached {
    /// Where it came from: `salt://…` or `http(s)://…`
    name: String,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
}

impl State for NotCached {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let source = ContentSource::parse(machine, &self.name, self.saltenv.as_deref())?;
        if let ContentSource::Local(path) = &source {
            let text = format!("File {} is a local path, no action taken", path.display());
            return Ok(Decision::Settled(Verdict::good(text)));
        }
        let copy = cp::destination(machine, &source)?.to_string_lossy().into_owned();
        if !look::exists_itself(machine, &copy) {
            return Ok(Decision::Settled(Verdict::good(format!("{} is not cached", self.name))));
        }
        let done = Verdict::good(format!("{copy} was deleted")).change("deleted", true);
        // Salt has no dry run here; ours reports the result of the real run.
        let would = Verdict { result: None, ..done.clone() };
        Ok(Decision::Change(Plan::brief(done).then(Action::Remove(copy)), would))
    }

    fn touches(&self) -> Touches {
        super::writes(&self.name)
    }
}
