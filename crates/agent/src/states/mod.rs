//! Runs states: low data in, a result for each state out, in Salt's shape.

mod arguments;
mod call_state;
mod checks;
mod conditions;
pub mod journal;
mod merged;
mod outputs;
mod recorder;
mod retry;
mod run_progress;
mod run_step;
mod runner;
mod scoped_machine;
pub mod shared_outputs;
mod slots;
mod step_result;

use rocksalt_core::Map;
use rocksalt_modules::machine::RebootRequest;
use rocksalt_sls::schedule::OrderMode;

pub use arguments::{chunk_info, state_arguments};
pub use run_progress::RunProgress;
pub use runner::StepRunner;

/// Options of a run.
pub struct RunnerOptions<'o> {
    /// This is a dry run.
    pub test: bool,
    pub mode: OrderMode,
    /// How many steps may run at once.
    pub width: usize,
    /// The first failure ends the run.
    pub failhard: bool,
    /// The job's id, for events; may be empty.
    pub job: &'o str,
}

/// The progress of a run.
pub struct RunUpdate<'u> {
    pub done: usize,
    pub total: usize,
    /// The tags of the running steps.
    pub running: &'u [String],
    /// The tag and the result of the step that ended last.
    pub last: Option<(&'u str, &'u Map)>,
}

/// The result of a run. After a cancel, steps that did not start have no result.
pub struct RunResult {
    /// The results by tag (`file_|-id_|-name_|-managed`), in the order of their numbers.
    pub results: Map,
    /// Set if the run pauses: the machine must reboot before the run resumes.
    pub reboot: Option<RebootPause>,
}

pub struct RebootPause {
    pub request: RebootRequest,
    pub progress: RunProgress,
    /// The tag of the step that requested the reboot.
    pub tag: String,
}
