//! The outputs of this agent's runs, so that other targets of a job can read them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rocksalt_core::Map;
use rocksalt_modules::machine::Probe;
use rocksalt_modules::{Error, Result};

use super::outputs::Outputs;

/// Job and target: two ids may share one agent.
type RunKey = (String, String);

/// Other targets may ask after a run has ended, so the last few stay.
static RUNS: Mutex<VecDeque<(RunKey, Arc<Outputs>)>> = Mutex::new(VecDeque::new());

const MOST_RUNS: usize = 16;

/// How long a run may take to begin.
const BEGIN: Duration = Duration::from_secs(60);

/// How long a step may take to end.
const END: Duration = Duration::from_secs(3600);

/// Seconds between two checks for a cancel.
const LOOK: f64 = 0.02;

/// Makes the outputs of a run available to other targets.
pub fn register(job: &str, id: &str, outputs: &Arc<Outputs>) {
    if job.is_empty() {
        return;
    }
    let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    runs.push_back(((job.to_owned(), id.to_owned()), Arc::clone(outputs)));
    if runs.len() > MOST_RUNS {
        runs.pop_front();
    }
}

/// Waits until a step of a run on this machine has ended, and returns its outputs.
pub fn wait_for(machine: &dyn Probe, job: &str, id: &str, step: &str) -> Result<Map> {
    let key = (job.to_owned(), id.to_owned());
    let begun = Instant::now();
    let find = || {
        let runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
        runs.iter().rev().find(|(known, _)| *known == key).map(|(_, run)| Arc::clone(run))
    };
    loop {
        if machine.cancelled() {
            return Err(Error::cancelled());
        }
        match find() {
            Some(run) => {
                // Read first: a step may end between the two reads.
                let over = run.is_over();
                if let Some(outputs) = run.get(step) {
                    return Ok(outputs);
                }
                if over {
                    return Err(Error::failed(format!("no step '{step}' ran on {id}")));
                }
            }
            None if begun.elapsed() > BEGIN => {
                return Err(Error::failed(format!("{id} has not begun its run"))
                    .hint("with --batch, the target that waits may run before the one it waits for"));
            }
            None => {}
        }
        if begun.elapsed() > END {
            return Err(Error::timed_out(format!("the step '{step}' on {id} took too long")));
        }
        machine.sleep(LOOK)?;
    }
}
