//! `service.dead`: a service that doesn't run.

use rocksalt_core::Value;
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::super::{ServiceAction, ServiceOptions, ServiceProvider, provider, status};
use super::boot::{self, ServiceProcess};
use super::{request, touches, watch};
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::file::Flag;
use crate::catalog::{Decision, State, Step, Touches, Verdict};
use crate::machine::{Probe, System};

/// Makes sure that a service does not run.
///
/// ```yaml
/// telnetd:
///   service.dead:
///     - enable: false
/// ```
#[state("service.dead", watches)]
pub struct Dead {
    /// The service. That there is none is well too.
    name: String,
    /// Whether it starts with the system; left as it is if this is left out.
    enable: Value,
    /// Part of the command line of its process, for services that can't tell whether they run. Not with systemd.
    sig: Option<String>,
    /// Seconds to wait after the stop, before it is looked whether it runs.
    init_delay: Value,
    /// Don't wait for the stop. With systemd only.
    no_block: Flag,
    /// Seconds that the stop may take.
    timeout: Value,
}

#[derive(Serialize, Deserialize)]
pub enum ServiceStopPlan {
    End { stop: bool, boot: Option<bool> },
    Watch(watch::WatchPlan),
}

impl Dead {
    fn how(&self) -> ServiceOptions {
        ServiceOptions {
            no_block: self.no_block.0,
            timeout: request::timeout(&self.timeout),
            ..ServiceOptions::default()
        }
    }
}

impl State for Dead {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let name = &self.name;
        if let Some(verdict) = request::slip(step.low, name) {
            return Ok(Decision::Settled(verdict));
        }
        let provider = provider(machine, Some(name))?;
        if provider.offline() {
            return Ok(Decision::Settled(Verdict::good("Running in OFFLINE mode. Nothing to do")));
        }
        if !provider.available(machine, name)? {
            let created =
                format!("Service {name} not present; if created in this state run, it would have been stopped");
            let verdict = if step.test { Verdict::would(created) } else { Verdict::good(request::unavailable(name)) };
            return Ok(Decision::Settled(verdict));
        }
        let runs = status(provider, machine, name, self.sig.as_deref())?;
        let mut boot = None;
        if let Some(enable) = request::enable(&self.enable)
            && !boot::is_right(provider, machine, name, enable)?
        {
            boot = Some(enable);
        }
        let verdict = match (runs, boot) {
            // As in Salt's real run, enabling or disabling counts as a change.
            (true, boot) => {
                Verdict::would(format!("Service {name} is set to be killed")).change(name.as_str(), boot.is_some())
            }
            (false, Some(enable)) => boot::would(provider, machine, name, enable)?,
            (false, None) => {
                return Ok(Decision::Settled(Verdict::good(format!("The service {name} is already dead"))));
            }
        };
        let verdict = Verdict { warnings: request::warnings(provider, &self.how()), ..verdict };
        Decision::own(&ServiceStopPlan::End { stop: runs, boot }, verdict)
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: ServiceStopPlan = plan.into_own()?;
        let name = &self.name;
        let provider = provider(machine, Some(name))?;
        let (stop, boot) = match plan {
            ServiceStopPlan::End { stop, boot } => (stop, boot),
            ServiceStopPlan::Watch(plan) => return plan.apply(provider, machine),
        };
        let how = self.how();
        let verdict = match (stop, boot) {
            (true, _) => self.stop(provider, machine, boot, &how)?,
            (false, Some(enable)) => boot::set(provider, machine, name, enable, &how, ServiceProcess::AsItWas)?,
            (false, None) => Verdict::good(format!("The service {name} is already dead")),
        };
        Ok(Verdict { warnings: request::warnings(provider, &how), ..verdict })
    }

    fn watched(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let request = watch::ServiceWatch {
            name: &self.name,
            sig: self.sig.as_deref(),
            act: ServiceAction::Stop,
            init_delay: &self.init_delay,
            how: self.how(),
        };
        request.dead(machine)?.map(ServiceStopPlan::Watch).into_plan()
    }

    fn touches(&self) -> Touches {
        touches(&self.name)
    }
}

impl Dead {
    fn stop(
        &self,
        provider: &dyn ServiceProvider,
        machine: &dyn System,
        boot: Option<bool>,
        how: &ServiceOptions,
    ) -> Result<Verdict> {
        let name = &self.name;
        let failed = format!("Service {name} failed to die");
        if let Err(error) = provider.act(machine, ServiceAction::Stop, name, how) {
            let text = error.to_string();
            let comment = if text.starts_with(&failed) { text } else { format!("{failed}\n\n{text}") };
            return Ok(Verdict::bad(comment));
        }
        if let Some(seconds) = request::seconds(&self.init_delay) {
            machine.sleep(seconds)?;
        }
        if status(provider, machine, name, self.sig.as_deref())? && !how.no_block {
            return Ok(Verdict::bad(failed));
        }
        let killed = Verdict::good(format!("Service {name} was killed")).change(name.as_str(), false);
        Ok(match (boot, request::enable(&self.enable)) {
            (Some(enable), _) => {
                let set = boot::set(provider, machine, name, enable, how, ServiceProcess::Dead)?;
                let changes = if set.changes.is_empty() { killed.changes } else { set.changes };
                Verdict { result: set.result, comment: set.comment, changes, ..Verdict::default() }
            }
            (None, Some(enable)) => Verdict { comment: boot::already(name, enable, ServiceProcess::Dead), ..killed },
            (None, None) => killed,
        })
    }
}
