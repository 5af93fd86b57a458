//! The reaction of a service to a watched change (Salt's `mod_watch`).

use rocksalt_core::Value;
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::super::{ServiceAction, ServiceOptions, ServiceProvider, provider, status};
use super::{request, touches};
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::file::Flag;
use crate::catalog::{Decision, State, Step, Touches, Verdict};
use crate::machine::{Probe, System};

/// The action on a running service.
pub fn on_change(reload: bool, force: bool, full_restart: bool) -> ServiceAction {
    match (reload, force, full_restart) {
        (true, true, _) => ServiceAction::ForceReload,
        (true, false, _) => ServiceAction::Reload,
        (false, _, true) => ServiceAction::FullRestart,
        (false, _, false) => ServiceAction::Restart,
    }
}

pub struct ServiceWatch<'a> {
    pub name: &'a str,
    pub sig: Option<&'a str>,
    pub act: ServiceAction,
    pub init_delay: &'a Value,
    pub how: ServiceOptions,
}

#[derive(Serialize, Deserialize)]
pub struct WatchPlan {
    name: String,
    act: ServiceAction,
    init_delay: Value,
    how: ServiceOptions,
}

impl ServiceWatch<'_> {
    pub fn running(self, machine: &dyn Probe) -> Result<Decision<WatchPlan>> {
        let provider = provider(machine, Some(self.name))?;
        let act = match status(provider, machine, self.name, self.sig)? {
            false => ServiceAction::Start,
            // If both are equal, the plain word is used.
            true if self.act == ServiceAction::FullRestart && provider.restart_is_full() => ServiceAction::Restart,
            true => self.act,
        };
        Ok(self.planned(act))
    }

    pub fn dead(self, machine: &dyn Probe) -> Result<Decision<WatchPlan>> {
        if !status(provider(machine, Some(self.name))?, machine, self.name, self.sig)? {
            return Ok(Decision::Settled(Verdict::good("Service is already stopped")));
        }
        Ok(self.planned(ServiceAction::Stop))
    }

    fn planned(self, act: ServiceAction) -> Decision<WatchPlan> {
        let comment = format!("Service is set to be {}", words(act).1);
        let plan = WatchPlan { name: self.name.to_owned(), act, init_delay: self.init_delay.clone(), how: self.how };
        Decision::Change(plan, Verdict::would(comment).change(self.name, true))
    }
}

impl WatchPlan {
    pub fn apply(self, provider: &dyn ServiceProvider, machine: &dyn System) -> Result<Verdict> {
        if self.act == ServiceAction::Start {
            // Stops what is left of the service; a failure is ignored.
            let _ = provider.act(machine, ServiceAction::Stop, &self.name, &ServiceOptions::default());
        }
        let (verb, done) = words(self.act);
        if let Err(error) = provider.act(machine, self.act, &self.name, &self.how) {
            let failed = format!("Failed to {verb} the service");
            // In Salt, systemd's message is the whole comment.
            let comment = if provider.masks().is_some() { error.to_string() } else { format!("{failed}\n\n{error}") };
            return Ok(Verdict::bad(comment));
        }
        if let Some(seconds) = request::seconds(&self.init_delay) {
            machine.sleep(seconds)?;
        }
        if self.act != ServiceAction::Stop && !self.how.no_block && self.dies(provider, machine)? {
            let log = provider.log(machine, &self.name).unwrap_or_default();
            return Ok(Verdict::bad(format!("Failed to {verb} the service\n\n{log}").trim_end().to_owned()));
        }
        Ok(Verdict::good(format!("Service {done}")).change(self.name, true))
    }

    /// Whether a service ends right after its restart. Salt does not check this, and counts it as restarted. Only
    /// systemd reports more than the exit code of the tool.
    fn dies(&self, provider: &dyn ServiceProvider, machine: &dyn System) -> Result<bool> {
        Ok(provider.masks().is_some() && !provider.runs(machine, &self.name)?)
    }
}

/// Salt's words for the action: the infinitive and the participle.
fn words(act: ServiceAction) -> (&'static str, &'static str) {
    match act {
        ServiceAction::Start => ("start", "started"),
        ServiceAction::Stop => ("stop", "stopped"),
        ServiceAction::Restart => ("restart", "restarted"),
        ServiceAction::Reload => ("reload", "reloaded"),
        ServiceAction::ForceReload => ("forcefully reload", "forcefully reloaded"),
        ServiceAction::FullRestart => ("fully restart", "fully restarted"),
    }
}

/// Restarts or reloads a service as if something that it watches had changed.
///
/// ```yaml
/// nginx:
///   service.mod_watch:
///     - sfun: running
///     - reload: true
/// ```
///
/// There is seldom a need for it: `service.running` with `watch` does it when it is time.
#[state("service.mod_watch")]
pub struct ModWatch {
    /// The service.
    name: String,
    /// The state that it stands for: `running` or `dead`.
    sfun: Option<String>,
    /// Part of the command line of its process. Not with systemd.
    sig: Option<String>,
    /// Reload it and don't restart it.
    reload: Flag,
    /// Stop it and then start it.
    full_restart: Flag,
    /// Seconds to wait afterwards.
    init_delay: Value,
    /// With `reload`: restart it if it can't be reloaded.
    force: Flag,
}

impl State for ModWatch {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let act = on_change(self.reload.0, self.force.0, self.full_restart.0);
        let (name, sig, init_delay) = (self.name.as_str(), self.sig.as_deref(), &self.init_delay);
        let request = ServiceWatch { name, sig, act, init_delay, how: ServiceOptions::default() };
        match self.sfun.as_deref() {
            Some("running") => request.running(machine)?.into_plan(),
            Some("dead") => request.dead(machine)?.into_plan(),
            other => Ok(unable(other.unwrap_or("None"))),
        }
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: WatchPlan = plan.into_own()?;
        plan.apply(provider(machine, Some(&self.name))?, machine)
    }

    fn touches(&self) -> Touches {
        touches(&self.name)
    }
}

/// The decision of states that have no reaction to a change.
pub fn unable(state: &str) -> Decision {
    Decision::Settled(Verdict::bad(format!("Unable to trigger watch for service.{state}")))
}
