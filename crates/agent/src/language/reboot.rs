//! Reboots the machine in the middle of a run, and resumes the run afterwards.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rocksalt_core::Map;
use rocksalt_core::call::{Problem, ProblemKind, Return};
use rocksalt_modules::catalog;
use rocksalt_modules::machine::{HostSystem, Probe, StateRequest, StateVerb, System};

/// The data that the controller needs if a call paused for a reboot.
pub fn announced_reboot(host: &HostSystem, result: &Return) -> Option<Map> {
    let rebooting = result.problem.as_ref().is_some_and(|problem| problem.kind == ProblemKind::Rebooting);
    rebooting.then(|| host.run_notes().reboots().announced()).flatten()
}

/// Reboots the machine. If that fails, [`resume`] returns the reason.
pub fn reboot(host: &Arc<HostSystem>, message: Option<&str>) {
    *reboot_failure() = None;
    if let Err(error) = catalog::restart(&**host, message) {
        *reboot_failure() = Some(error.to_string());
    }
}

/// Resumes a run after a reboot.
pub fn resume(host: &Arc<HostSystem>, kwargs: &Map) -> Return {
    if let Some(why) = reboot_failure().clone() {
        return Problem::new(ProblemKind::Failed, why).into();
    }
    let request = StateRequest { verb: StateVerb::Resume, argument: kwargs.clone().into(), ..StateRequest::default() };
    match host.states().run(request) {
        Ok(outcome) => Return { value: outcome.value, retcode: outcome.retcode, problem: None },
        Err(error) => error.problem().into(),
    }
}

/// Why the last reboot failed.
fn reboot_failure() -> MutexGuard<'static, Option<String>> {
    static FAILED: Mutex<Option<String>> = Mutex::new(None);
    FAILED.lock().unwrap_or_else(PoisonError::into_inner)
}
