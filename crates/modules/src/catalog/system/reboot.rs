//! `system.reboot`: reboots in the middle of a run, which resumes afterwards.

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::power;
use crate::catalog::Plan;
use crate::catalog::file::Flag;
use crate::catalog::{Decision, State, Step, Touches, Verdict};
use crate::machine::{Probe, RebootRequest, System};
use crate::{Error, Result};

/// Restarts the machine; the run goes on with what is left of it when the machine is up again.
///
/// ```yaml
/// new kernel:
///   system.reboot:
///     - onchanges:
///       - pkg: linux-image-amd64
/// ```
///
/// Before the restart all steps that run are waited for, and what the run has done so far is written to a file that
/// only its user can read. The command waits for the machine, connects anew and has the rest done; the result has all
/// steps. Steps are done once, whatever happens: if the machine does not come back in time, the next run says how far
/// this one was.
#[state("system.reboot", strict)]
pub struct Reboot {
    /// Anything.
    #[allow(dead_code, reason = "every state has a name")]
    name: String,
    /// Told to those who are logged in.
    message: Option<String>,
    /// How many seconds the restart may take.
    #[default(patience())]
    timeout: Value,
    /// Only if something has asked for a restart, as new kernels do (`/run/reboot-required`).
    only_on_pending_reboot: Flag,
}

/// Servers can take minutes before they even begin to boot.
pub const PATIENCE: f64 = 600.0;

fn patience() -> Value {
    Value::Float(PATIENCE)
}

impl State for Reboot {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let wait = self.timeout.to_string().parse().ok().filter(|wait: &f64| (1.0..=86_400.0).contains(wait));
        let Some(wait) = wait else {
            return Err(Error::arguments(format!("'{}' is no number of seconds between 1 and 86400", self.timeout)));
        };
        if self.only_on_pending_reboot.0 && !power::is_pending(machine) {
            return Ok(Decision::Settled(Verdict::good("No reboot is pending")));
        }
        Decision::own(&wait, Verdict::would("The system would be rebooted").change("reboot", true))
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let wait: f64 = plan.into_own()?;
        if !ask_for_reboot(machine, RebootRequest { message: self.message.clone(), wait }) {
            return Err(Error::failed("nothing is there that could go on with the run after a reboot")
                .hint("apply it from a controller, by `rocksalt apply` or `state.apply`"));
        }
        Ok(Verdict::good("The system was rebooted").change("reboot", true))
    }

    fn touches(&self) -> Touches {
        Touches::everything()
    }
}

/// Passes the request to the run; false if no run could resume.
pub fn ask_for_reboot(machine: &dyn Probe, ask_for_reboot: RebootRequest) -> bool {
    machine.run_notes().reboots().request(ask_for_reboot)
}
