//! The restart of the machine in the middle of a run: asked for, done, and gone on after.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rocksalt_core::Map;
use rocksalt_core::call::{Problem, ProblemKind, Return};
use rocksalt_modules::catalog;
use rocksalt_modules::machine::{Host, Probe, Reboots, StateVerb, StateWish};

/// What the controller must know, if a call left off to have the machine restarted.
pub fn reboot(host: &Host, result: &Return) -> Option<Map> {
    let rebooting = result.problem.as_ref().is_some_and(|problem| problem.kind == ProblemKind::Rebooting);
    host.tree().reboots().and_then(Reboots::announced).filter(|_| rebooting)
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
    let wish = StateWish { verb: StateVerb::Resume, argument: kwargs.clone().into(), ..StateWish::default() };
    match host.tree().states(wish) {
        Ok(outcome) => Return { value: outcome.value, retcode: outcome.retcode, problem: None },
        Err(error) => error.problem().into(),
    }
}

/// Why the machine was not restarted, if it was to be.
fn failed() -> MutexGuard<'static, Option<String>> {
    static FAILED: Mutex<Option<String>> = Mutex::new(None);
    FAILED.lock().unwrap_or_else(PoisonError::into_inner)
}
