//! Runs that pause for a reboot, and resume after it.

use std::path::PathBuf;
use std::sync::Arc;

use rocksalt_core::call::ProblemKind;
use rocksalt_core::frame::Ask;
use rocksalt_core::{Map, Problem, Value};
use rocksalt_modules::catalog::FunctionOutcome;
use rocksalt_modules::machine::{HostSystem, Probe, StateRequest};
use rocksalt_modules::{Error, Result};
use rocksalt_sls::Low;

use super::{MapListener, outcome_of, progress_reporter};
use crate::states::journal::{Journal, boot, trace, unresumed_runs};
use crate::states::{RebootPause, RunResult, RunnerOptions, StepRunner};

/// Makes the outcome of a run. If the run pauses for a reboot, writes its journal and informs the controller.
pub fn finish_run(
    host: &Arc<HostSystem>,
    request: &StateRequest,
    options: &RunnerOptions<'_>,
    low: Low,
    run: RunResult,
) -> Result<FunctionOutcome> {
    let Some(pause) = run.reboot else { return Ok(outcome_of(run.results)) };
    let (wait, tag) = (pause.request.wait, pause.tag.clone());
    let mut announced = Map::new();
    announced.insert("wait", wait);
    announced.insert("done", pause.progress.results.len());
    announced.insert("total", low.chunks.len());
    announced.insert("message", pause.request.message.clone());
    match journal(host, request, options, low, pause).write() {
        Ok(sum) => {
            announced.insert("journal", sum);
            host.run_notes().reboots().announce(announced);
            let text = format!("the machine reboots; the run resumes if it is up again within {wait} seconds");
            Err(Problem::new(ProblemKind::Rebooting, text).into())
        }
        // Without a journal the remaining steps would be lost, so there is no reboot, and the step that requested it
        // fails.
        Err(error) => {
            let mut results = run.results;
            if let Some(Value::Map(result)) = results.get_mut(&tag) {
                result.insert("result", false);
                result.insert("comment", format!("The system was not rebooted: {error}"));
                result.insert("changes", Map::new());
            }
            Ok(outcome_of(results))
        }
    }
}

fn journal(
    host: &Arc<HostSystem>,
    request: &StateRequest,
    options: &RunnerOptions<'_>,
    low: Low,
    pause: RebootPause,
) -> Journal {
    Journal {
        job: options.job.to_owned(),
        target: target(host),
        boot: boot::identity(&**host),
        until: host.now() + pause.request.wait,
        mode: options.mode,
        width: options.width,
        failhard: options.failhard,
        saltenv: request.saltenv.clone(),
        pillarenv: request.pillarenv.clone(),
        pillar: request.pillar.clone(),
        low,
        progress: pause.progress,
        notes: host.run_notes().lock().clone(),
    }
}

fn target(host: &HostSystem) -> String {
    host.options().get("id").map(ToString::to_string).unwrap_or_default()
}

/// A paused run.
pub struct Resumed {
    journal: Journal,
    path: PathBuf,
    /// Only report whether the run could resume.
    probe: bool,
}

impl Resumed {
    /// Finds the journal of this call's job; `argument` contains the journal's hash.
    pub fn find(host: &HostSystem, argument: &Value) -> Result<Resumed> {
        let text = |key: &str| argument.walk(key, ":").and_then(Value::as_str).unwrap_or_default();
        // The job comes from the call itself, not from its arguments.
        let job = host.job().map(|job| job.to_string()).unwrap_or_default();
        let (journal, path) = Journal::find(&job, &target(host), text("journal"))?;
        if journal.boot == boot::identity(host) {
            return Err(Problem::new(ProblemKind::Rebooting, "the machine has not been rebooted yet").into());
        }
        Ok(Resumed { journal, path, probe: argument.walk("probe", ":").is_some_and(Value::truth) })
    }

    /// The request that started the run.
    pub fn request(&self) -> StateRequest {
        StateRequest {
            saltenv: self.journal.saltenv.clone(),
            pillarenv: self.journal.pillarenv.clone(),
            pillar: self.journal.pillar.clone(),
            ..StateRequest::default()
        }
    }

    /// Runs the remaining steps.
    pub fn resume(self, host: &Arc<HostSystem>, progress: MapListener<'_>) -> Result<FunctionOutcome> {
        if self.probe {
            return Ok(FunctionOutcome { value: true.into(), retcode: 0 });
        }
        // Removed first: whatever happens now, the run must not resume a second time.
        std::fs::remove_file(&self.path).map_err(|error| Error::io("remove", &self.path, &error))?;
        let request = self.request();
        let steps = host.options().get("state_events").is_some_and(Value::truth);
        let journal = self.journal;
        *host.run_notes().lock() = journal.notes;
        let options = RunnerOptions {
            test: false,
            mode: journal.mode,
            width: journal.width,
            failhard: journal.failhard,
            job: &journal.job,
        };
        let run =
            StepRunner::run(&journal.low, &**host, &options, &progress_reporter(progress, steps), journal.progress);
        finish_run(host, &request, &options, journal.low, run)
    }
}

/// Warns the operator of earlier runs on this machine that did not finish.
pub fn report_unfinished_runs(host: &HostSystem) {
    for text in trace::interrupted_runs().into_iter().chain(unresumed_runs(host.now())) {
        // Ignored: the run does not depend on the warning.
        let _ = host.controller().ask(Ask::Warning { text, hint: None });
    }
}
