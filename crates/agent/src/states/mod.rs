//! Runs states: low data in, a result for each state out, as Salt gives them.

mod arguments;
mod attempt;
mod checks;
mod conditions;
mod joined;
pub mod journal;
mod outputs;
mod past;
mod result;
mod retry;
mod runner;
pub mod shared;
mod slots;
mod within;

use rocksalt_core::Map;
use rocksalt_modules::machine::{RebootRequest, System};
use rocksalt_sls::Low;
use rocksalt_sls::schedule::Mode;

pub use arguments::{own, work};
pub use past::Past;

/// How a run is to go.
pub struct RunOptions<'o> {
    /// Only say what would be done.
    pub test: bool,
    pub mode: Mode,
    /// How many steps may run at once.
    pub width: usize,
    /// The first failure ends the run.
    pub failhard: bool,
    /// The job's id, for events; may be empty.
    pub job: &'o str,
}

/// How far a run is.
pub struct Progress<'p> {
    pub done: usize,
    pub total: usize,
    /// The tags of what runs now.
    pub running: &'p [String],
    /// The tag and the result of what ended last.
    pub last: Option<(&'p str, &'p Map)>,
}

/// Runs all of it, and gives the results by their tags (`file_|-id_|-name_|-managed`), in the order
/// in which they came about.
///
/// A cancel stops it between steps: what was not begun has no result.
pub fn run(
    low: &Low,
    machine: &dyn System,
    options: &RunOptions<'_>,
    progress: &(dyn Fn(&Progress<'_>) + Sync),
) -> Map {
    go(low, machine, options, progress, None).results
}

/// How a run ended, or how far it is.
pub struct Ran {
    /// By their tags.
    pub results: Map,
    /// The machine is to be restarted before it goes on.
    pub reboot: Option<Pause>,
}

pub struct Pause {
    pub wish: RebootRequest,
    pub past: Past,
    /// The tag of the step that wants it.
    pub tag: String,
}

/// As [`run`], but begins where a run has left off, and may leave off itself for a restart of the machine.
pub fn go(
    low: &Low,
    machine: &dyn System,
    options: &RunOptions<'_>,
    progress: &(dyn Fn(&Progress<'_>) + Sync),
    past: Option<Past>,
) -> Ran {
    let runner = runner::Runner::new(low, machine, options, progress, past.as_ref());
    let ran = runner.run(past.unwrap_or_default());
    if ran.reboot.is_none() {
        runner.end();
    }
    ran
}
