//! Runs that leave off for a restart of the machine, and go on after it.

use std::path::PathBuf;
use std::sync::Arc;

use rocksalt_core::call::ProblemKind;
use rocksalt_core::frame::Ask;
use rocksalt_core::{Event, Map, Problem, Value};
use rocksalt_modules::catalog::Outcome;
use rocksalt_modules::machine::{Host, Probe, StateRequest};
use rocksalt_modules::{Error, Result};
use rocksalt_sls::Low;

use super::{Listener, finished, told};
use crate::states::journal::{Journal, boot, forsaken, trace};
use crate::states::{self, Pause, Ran, RunOptions};

/// What the results of a run come to; or, if it leaves off, the word to the controller that it does.
pub fn ended(host: &Arc<Host>, wish: &StateRequest, options: &RunOptions<'_>, low: Low, ran: Ran) -> Result<Outcome> {
    let Some(pause) = ran.reboot else { return Ok(finished(ran.results)) };
    let (wait, tag) = (pause.wish.wait, pause.tag.clone());
    let mut announced = Map::new();
    announced.insert("wait", wait);
    announced.insert("done", pause.past.results.len());
    announced.insert("total", low.chunks.len());
    announced.insert("message", pause.wish.message.clone());
    match journal(host, wish, options, low, pause).write() {
        Ok(sum) => {
            announced.insert("journal", sum);
            host.run_notes().reboots().announce(announced);
            let text = format!("the machine reboots; the run goes on if it is up again within {wait} seconds");
            Err(Problem::new(ProblemKind::Rebooting, text).into())
        }
        // Without it the rest would be lost: nothing is restarted, and the step that wanted it has failed.
        Err(error) => {
            let mut results = ran.results;
            if let Some(Value::Map(result)) = results.get_mut(&tag) {
                result.insert("result", false);
                result.insert("comment", format!("The system was not rebooted: {error}"));
                result.insert("changes", Map::new());
            }
            Ok(finished(results))
        }
    }
}

fn journal(host: &Arc<Host>, wish: &StateRequest, options: &RunOptions<'_>, low: Low, pause: Pause) -> Journal {
    Journal {
        job: options.job.to_owned(),
        target: target(host),
        boot: boot::identity(&**host),
        until: host.now() + pause.wish.wait,
        mode: options.mode,
        width: options.width,
        failhard: options.failhard,
        saltenv: wish.saltenv.clone(),
        pillarenv: wish.pillarenv.clone(),
        pillar: wish.pillar.clone(),
        low,
        past: pause.past,
        notes: host.run_notes().lock().clone(),
    }
}

fn target(host: &Host) -> String {
    host.options().get("id").map(ToString::to_string).unwrap_or_default()
}

/// A run that waits to be gone on with.
pub struct Resumed {
    journal: Journal,
    path: PathBuf,
    /// Only say whether it could be gone on with.
    probe: bool,
}

impl Resumed {
    /// `wish` says of which job, and what its journal's hash is.
    pub fn find(host: &Host, wish: &Value) -> Result<Resumed> {
        let text = |key: &str| wish.walk(key, ":").and_then(Value::as_str).unwrap_or_default();
        // Whose it is says the call itself, not what came with it.
        let job = host.job().map(|job| job.to_string()).unwrap_or_default();
        let (journal, path) = Journal::find(&job, &target(host), text("journal"))?;
        if journal.boot == boot::identity(host) {
            return Err(Problem::new(ProblemKind::Rebooting, "the machine has not been rebooted yet").into());
        }
        Ok(Resumed { journal, path, probe: wish.walk("probe", ":").is_some_and(Value::truth) })
    }

    /// What the run was started with.
    pub fn request(&self) -> StateRequest {
        StateRequest {
            saltenv: self.journal.saltenv.clone(),
            pillarenv: self.journal.pillarenv.clone(),
            pillar: self.journal.pillar.clone(),
            ..StateRequest::default()
        }
    }

    /// Does what is left.
    pub fn go_on(self, host: &Arc<Host>, progress: Listener<'_>) -> Result<Outcome> {
        if self.probe {
            return Ok(Outcome { value: true.into(), retcode: 0 });
        }
        // First of all: whatever happens now, nobody goes on with it a second time.
        std::fs::remove_file(&self.path).map_err(|error| Error::io("remove", &self.path, &error))?;
        let wish = self.request();
        let steps = host.options().get("state_events").is_some_and(Value::truth);
        let journal = self.journal;
        *host.run_notes().lock() = journal.notes;
        let options = RunOptions {
            test: false,
            mode: journal.mode,
            width: journal.width,
            failhard: journal.failhard,
            job: &journal.job,
        };
        let ran = states::go(&journal.low, &**host, &options, &told(progress, steps), Some(journal.past));
        ended(host, &wish, &options, journal.low, ran)
    }
}

/// Tells the operator of earlier runs that did not come to their end on this machine.
pub fn tell_of_others(host: &Host) {
    for text in trace::broken_off().into_iter().chain(forsaken(host.now())) {
        // Nobody need hear it.
        let _ = host.controller().ask(Ask::Event(Event { tag: format!("warning: {text}"), data: Map::new() }));
    }
}
