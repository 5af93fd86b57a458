//! The restart of the machine in the middle of a run: asked for, done, and gone on after.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rocksalt_core::Map;
use rocksalt_core::call::{Problem, ProblemKind, Return};
use rocksalt_modules::catalog;
use rocksalt_modules::machine::{Host, Probe, StateRequest, StateVerb, System};

/// What the controller must know, if a call left off to have the machine restarted.
pub fn reboot(host: &Host, result: &Return) -> Option<Map> {
    let rebooting = result.problem.as_ref().is_some_and(|problem| problem.kind == ProblemKind::Rebooting);
    rebooting.then(|| host.run_notes().reboots().announced()).flatten()
}

/// Restarts the machine; why it can't is said to whoever wants to go on.
pub fn restart(host: &Arc<Host>, message: Option<&str>) {
    *failed() = None;
    if let Err(error) = catalog::restart(&**host, message) {
        *failed() = Some(error.to_string());
    }
}

/// Goes on with a run after a restart.
pub fn resume(host: &Arc<Host>, kwargs: &Map) -> Return {
    if let Some(why) = failed().clone() {
        return Problem::new(ProblemKind::Failed, why).into();
    }
    let wish = StateRequest { verb: StateVerb::Resume, argument: kwargs.clone().into(), ..StateRequest::default() };
    match host.states().run(wish) {
        Ok(outcome) => Return { value: outcome.value, retcode: outcome.retcode, problem: None },
        Err(error) => error.problem().into(),
    }
}

/// Why the machine was not restarted, if it was to be.
fn failed() -> MutexGuard<'static, Option<String>> {
    static FAILED: Mutex<Option<String>> = Mutex::new(None);
    FAILED.lock().unwrap_or_else(PoisonError::into_inner)
}
