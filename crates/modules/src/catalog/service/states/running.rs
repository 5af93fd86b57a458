//! `service.running`: a service that runs.

use rocksalt_core::{Map, Value};
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

/// Makes sure that a service runs.
///
/// ```yaml
/// nginx:
///   service.running:
///     - enable: true
///     - reload: true
///     - watch:
///       - file: /etc/nginx/nginx.conf
/// ```
///
/// If something that it watches has changed, the service is restarted, or reloaded if `reload` says so. systemd reads
/// its unit files anew first if those of the service have changed. If the service does not start, the last lines of its
/// log are in the comment.
#[state("service.running", watches)]
pub struct Running {
    /// The service, or another unit of systemd's: `backup.timer`.
    name: String,
    /// Whether it starts with the system; left as it is if this is left out.
    enable: Value,
    /// Part of the command line of its process, for services that can't tell whether they run. Not with systemd.
    sig: Option<String>,
    /// Seconds to wait after the start, before it is looked whether it runs.
    init_delay: Value,
    /// Don't wait for the start. With systemd only, as the next two.
    no_block: Flag,
    /// Remove a mask first.
    unmask: Flag,
    /// The mask to remove is one that lasts until the next boot.
    unmask_runtime: Flag,
    /// Seconds that the start may take. Without it, systemd's own limit holds.
    timeout: Value,
    /// On a change of what it watches, reload it and don't restart it.
    reload: Flag,
    /// On a change of what it watches, stop it and then start it.
    full_restart: Flag,
    /// With `reload`: restart it if it can't be reloaded.
    force: Flag,
}

#[derive(Serialize, Deserialize)]
pub enum ServiceStartPlan {
    Begin(StartSteps),
    Watch(watch::WatchPlan),
}

#[derive(Serialize, Deserialize)]
pub struct StartSteps {
    start: bool,
    /// Enable or disable a running service.
    boot: Option<bool>,
    /// A mask must be removed.
    unmask: bool,
}

impl Running {
    fn how(&self) -> ServiceOptions {
        ServiceOptions {
            no_block: self.no_block.0,
            unmask: self.unmask.0,
            unmask_runtime: self.unmask_runtime.0,
            timeout: request::timeout(&self.timeout),
        }
    }

    /// The text about a mask; `None` if it wasn't requested.
    fn of_mask(&self, provider: &dyn ServiceProvider, present: bool, done: bool) -> Option<String> {
        let name = &self.name;
        let action = if self.unmask_runtime.0 { "runtime unmasked" } else { "unmasked" };
        self.unmask.0.then(|| match (provider.masks().is_some(), present) {
            (false, _) => "Service masking not available on this minion".to_owned(),
            (true, false) => format!("Service {name} was already {action}"),
            (true, true) => format!("Service {name} {} {action}", if done { "was" } else { "would be" }),
        })
    }

    fn stays_masked(&self, provider: &dyn ServiceProvider, machine: &dyn Probe) -> Result<bool> {
        let Some(masks) = provider.masks() else { return Ok(false) };
        let removed = [self.unmask.0, self.unmask_runtime.0];
        for (runtime, removed) in [false, true].into_iter().zip(removed) {
            if !removed && masks.masked(machine, &self.name, runtime)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn mask_change(&self, verdict: Verdict) -> Verdict {
        let kind = if self.unmask_runtime.0 { "runtime masked" } else { "masked" };
        verdict.change(kind, Map::from_iter([("old".into(), true.into()), ("new".into(), false.into())]))
    }
}

impl State for Running {
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
                format!("Service {name} not present; if created in this state run, it would have been started");
            let verdict = if step.test { Verdict::would(created) } else { Verdict::bad(request::unavailable(name)) };
            return Ok(Decision::Settled(verdict));
        }
        let runs = status(provider, machine, name, self.sig.as_deref())?;
        let masked = match provider.masks().filter(|_| self.unmask.0) {
            Some(masks) => masks.masked(machine, name, self.unmask_runtime.0)?,
            None => false,
        };
        let mut boot = None;
        if let Some(enable) = request::enable(&self.enable)
            && !boot::is_right(provider, machine, name, enable)?
        {
            boot = Some(enable);
        }
        let with_mask = |comment: String, done| {
            [Some(comment), self.of_mask(provider, masked, done)].into_iter().flatten().collect::<Vec<_>>().join("\n")
        };
        let running = format!("The service {name} is already running");
        let verdict = match (runs, boot) {
            (false, _) => {
                let verdict = Verdict::would(with_mask(format!("Service {name} is set to start"), false));
                // A service that stays masked will not start.
                if self.stays_masked(provider, machine)? { verdict } else { verdict.change(name.as_str(), true) }
            }
            (true, Some(enable)) => boot::would(provider, machine, name, enable)?,
            (true, None) if masked => Verdict::would(with_mask(running, false)),
            (true, None) => return Ok(Decision::Settled(Verdict::good(with_mask(running, true)))),
        };
        let verdict = if masked { self.mask_change(verdict) } else { verdict };
        let verdict = Verdict { warnings: request::warnings(provider, &self.how()), ..verdict };
        Decision::own(&ServiceStartPlan::Begin(StartSteps { start: !runs, boot, unmask: masked }), verdict)
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: ServiceStartPlan = plan.into_own()?;
        let name = &self.name;
        let provider = provider(machine, Some(name))?;
        let plan = match plan {
            ServiceStartPlan::Begin(beginning) => beginning,
            ServiceStartPlan::Watch(plan) => return plan.apply(provider, machine),
        };
        let how = self.how();
        if plan.unmask
            && let Some(masks) = provider.masks()
        {
            masks.set_mask(machine, name, self.unmask_runtime.0, false)?;
        }
        let mut verdict = match (plan.start, plan.boot) {
            (true, _) => match self.start(provider, machine, &how)? {
                Ok(verdict) => verdict,
                Err(verdict) => verdict,
            },
            (false, Some(enable)) => boot::set(provider, machine, name, enable, &how, ServiceProcess::AsItWas)?,
            (false, None) => Verdict::good(format!("The service {name} is already running")),
        };
        if plan.start && verdict.result == Some(true) {
            verdict = self.after_start(provider, machine, verdict, plan.boot, &how)?;
        }
        // As in Salt, this text then replaces the others.
        if let Some(text) = self.of_mask(provider, plan.unmask, true).filter(|_| plan.start || plan.boot.is_none()) {
            verdict.comment = format!("{}\n{text}", verdict.comment);
        }
        if plan.unmask {
            verdict = self.mask_change(verdict);
        }
        Ok(Verdict { warnings: request::warnings(provider, &how), ..verdict })
    }

    fn watched(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let request = watch::ServiceWatch {
            name: &self.name,
            sig: self.sig.as_deref(),
            act: watch::on_change(self.reload.0, self.force.0, self.full_restart.0),
            init_delay: &self.init_delay,
            how: self.how(),
        };
        request.running(machine)?.map(ServiceStartPlan::Watch).into_plan()
    }

    fn touches(&self) -> Touches {
        touches(&self.name)
    }
}

impl Running {
    /// An `Err` is a verdict: the service was not started.
    #[allow(clippy::result_large_err, reason = "both are verdicts")]
    fn start(
        &self,
        provider: &dyn ServiceProvider,
        machine: &dyn System,
        how: &ServiceOptions,
    ) -> Result<std::result::Result<Verdict, Verdict>> {
        let name = &self.name;
        if let Err(error) = provider.act(machine, ServiceAction::Start, name, how) {
            return Ok(Err(Verdict::bad(error.to_string())));
        }
        if let Some(seconds) = request::seconds(&self.init_delay) {
            machine.sleep(seconds)?;
        }
        if self.is_up(provider, machine)? || how.no_block {
            return Ok(Ok(Verdict::good(format!("Started service {name}")).change(name.as_str(), true)));
        }
        let comment = format!("Service {name} failed to start");
        let log = provider.log(machine, name);
        Ok(Err(Verdict::bad(log.map_or_else(|| comment.clone(), |log| format!("{comment}\n\n{log}")))))
    }

    /// An init script may end before its daemon has its own process name.
    fn is_up(&self, provider: &dyn ServiceProvider, machine: &dyn System) -> Result<bool> {
        let sig = self.sig.as_deref();
        for _ in 0..20 {
            if status(provider, machine, &self.name, sig)? {
                return Ok(true);
            }
            if sig.is_none_or(str::is_empty) {
                break;
            }
            machine.sleep(0.1)?;
        }
        Ok(false)
    }

    fn after_start(
        &self,
        provider: &dyn ServiceProvider,
        machine: &dyn System,
        started: Verdict,
        boot: Option<bool>,
        how: &ServiceOptions,
    ) -> Result<Verdict> {
        let name = &self.name;
        let mut verdict = match (boot, request::enable(&self.enable)) {
            (Some(enable), _) => {
                let set = boot::set(provider, machine, name, enable, how, ServiceProcess::Running)?;
                let changes = if set.changes.is_empty() { started.changes } else { set.changes };
                Verdict { result: set.result, comment: set.comment, changes, ..Verdict::default() }
            }
            (None, Some(enable)) => {
                Verdict { comment: boot::already(name, enable, ServiceProcess::Running), ..started }
            }
            (None, None) => started,
        };
        if request::seconds(&self.init_delay).is_some() {
            verdict.comment = format!("{}\nDelayed return for {} seconds", verdict.comment, self.init_delay);
        }
        Ok(verdict)
    }
}
