//! `cron`'s states for single jobs and variables.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::crontab::{look, write};
use super::functions::set_variable;
use super::request::{CronJobSpec, CronOutcome, identifier, time};
use super::tab::{Tab, When};
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::file::Flag;
use crate::catalog::{Decision, State, Step, Thing, Touches, Verdict};
use crate::machine::{Probe, System};

/// The crontab to write, and the verdict.
#[derive(Serialize, Deserialize)]
pub struct CrontabPlan {
    text: String,
    done: Verdict,
    /// The text before the reason if writing fails.
    failure: String,
}

impl CrontabPlan {
    fn carry_out(self, machine: &dyn System, user: &str) -> Verdict {
        match write(machine, user, &self.text) {
            Ok(()) => self.done,
            Err(text) => Verdict::bad(format!("{}{text}", self.failure)),
        }
    }
}

/// Makes sure that a user's crontab has a job.
///
/// ```yaml
/// /usr/local/bin/backup --all:
///   cron.present:
///     - identifier: backup
///     - user: root
///     - minute: random
///     - hour: 2
/// ```
#[state("cron.present", strict)]
pub struct Present {
    /// The command to run.
    name: String,
    /// Whose job it is.
    #[default("root")]
    user: String,
    /// The minute, or `random`.
    #[default("*")]
    minute: Value,
    /// The hour, or `random`.
    #[default("*")]
    hour: Value,
    /// The day of the month, or `random`.
    #[default("*")]
    daymonth: Value,
    /// The month, or `random`.
    #[default("*")]
    month: Value,
    /// The day of the week, or `random`.
    #[default("*")]
    dayweek: Value,
    /// A comment above it.
    comment: Option<String>,
    /// Comment it out, so that it doesn't run.
    commented: Flag,
    /// Its identifier, independent of the command; by default the command itself.
    #[default(false)]
    identifier: Value,
    /// `@reboot`, `@daily` … instead of times.
    special: Option<String>,
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let (name, user) = (self.name.trim(), &self.user);
        let times = [&self.minute, &self.hour, &self.daymonth, &self.month, &self.dayweek].map(time);
        let request = CronJobSpec {
            when: self.special.clone().map_or(When::Times(times), When::Special),
            cmd: name.to_owned(),
            identifier: identifier(&self.identifier, name),
            comment: self.comment.clone(),
            commented: self.commented.0,
        };
        request.check()?;
        let failure = format!("Cron {name} for user {user} failed to commit with error \n");
        let mut tab = match look(machine, user, step.test) {
            Ok(tab) => tab,
            Err(error) => return Ok(Decision::Settled(Verdict::bad(format!("{failure}{error}")))),
        };
        let outcome = request.set(machine, &mut tab)?;
        decided(outcome, &tab, failure, "Cron", name, user).into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: CrontabPlan = plan.into_own()?;
        Ok(plan.carry_out(machine, &self.user))
    }

    fn touches(&self) -> Touches {
        touches(&self.user)
    }
}

/// Makes sure that a user's crontab does not have a job.
///
/// ```yaml
/// /usr/local/bin/backup --all:
///   cron.absent:
///     - identifier: backup
/// ```
#[state("cron.absent")]
pub struct Absent {
    /// The command to run.
    name: String,
    /// Whose job it is.
    #[default("root")]
    user: String,
    /// Its identifier, independent of the command; by default the command itself.
    #[default(false)]
    identifier: Value,
    /// `@reboot`, `@daily` …, for a job that has such a time.
    special: Option<String>,
    /// Further arguments are ignored, as in Salt.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let (name, user) = (self.name.trim(), &self.user);
        let failure = format!("Cron {name} for user {user} failed to commit with error ");
        let mut tab = match look(machine, user, step.test) {
            Ok(tab) => tab,
            Err(error) => return Ok(Decision::Settled(Verdict::bad(format!("{failure}{error}")))),
        };
        let identifier = identifier(&self.identifier, name);
        let of_kind = |when: &When| match (when, &self.special) {
            (When::Times(_), None) => true,
            (When::Special(spec), Some(wanted)) => spec == wanted,
            _ => false,
        };
        let mut jobs = tab.jobs();
        let found = jobs.find(|(_, job)| of_kind(&job.when) && job.is_meant(name, identifier.as_deref()));
        let found = found.map(|(index, _)| index);
        drop(jobs);
        removed(step, found, &mut tab, failure, "Cron", name, user).into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: CrontabPlan = plan.into_own()?;
        Ok(plan.carry_out(machine, &self.user))
    }

    fn touches(&self) -> Touches {
        touches(&self.user)
    }
}

/// Makes sure that a user's crontab sets a variable.
///
/// ```yaml
/// MAILTO:
///   cron.env_present:
///     - value: ops@example.com
/// ```
#[state("cron.env_present", strict)]
pub struct EnvPresent {
    /// The variable's name.
    name: String,
    /// Its value.
    value: Option<String>,
    /// Whose crontab it is.
    #[default("root")]
    user: String,
}

impl State for EnvPresent {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let (name, user) = (&self.name, &self.user);
        let failure = format!("Cron env {name} for user {user} failed to commit with error \n");
        let mut tab = match look(machine, user, step.test) {
            Ok(tab) => tab,
            Err(error) => return Ok(Decision::Settled(Verdict::bad(format!("{failure}{error}")))),
        };
        let outcome = set_variable(&mut tab, name, self.value.as_deref())?;
        decided(outcome, &tab, failure, "Cron env", name, user).into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: CrontabPlan = plan.into_own()?;
        Ok(plan.carry_out(machine, &self.user))
    }

    fn touches(&self) -> Touches {
        touches(&self.user)
    }
}

/// Makes sure that a user's crontab does not set a variable.
///
/// ```yaml
/// MAILTO:
///   cron.env_absent:
///     - user: alice
/// ```
#[state("cron.env_absent", strict)]
pub struct EnvAbsent {
    /// The variable's name.
    name: String,
    /// Whose crontab it is.
    #[default("root")]
    user: String,
}

impl State for EnvAbsent {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let (name, user) = (self.name.trim(), &self.user);
        let failure = format!("Cron env {name} for user {user} failed to commit with error ");
        let mut tab = match look(machine, user, step.test) {
            Ok(tab) => tab,
            Err(error) => return Ok(Decision::Settled(Verdict::bad(format!("{failure}{error}")))),
        };
        let found = tab.variables().find(|(_, known, _)| *known == name).map(|(index, ..)| index);
        removed(step, found, &mut tab, failure, "Cron env", name, user).into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: CrontabPlan = plan.into_own()?;
        Ok(plan.carry_out(machine, &self.user))
    }

    fn touches(&self) -> Touches {
        touches(&self.user)
    }
}

fn decided(
    outcome: CronOutcome,
    tab: &Tab,
    failure: String,
    what: &str,
    name: &str,
    user: &str,
) -> Decision<CrontabPlan> {
    let (would, done) = match outcome {
        CronOutcome::Present => return Decision::Settled(Verdict::good(format!("{what} {name} already present"))),
        CronOutcome::New => {
            (format!("{what} {name} is set to be added"), format!("{what} {name} added to {user}'s crontab"))
        }
        CronOutcome::Updated => (format!("{what} {name} is set to be updated"), format!("{what} {name} updated")),
    };
    let plan = CrontabPlan { text: tab.text(), done: Verdict::good(done).change(user, name), failure };
    Decision::Change(plan, Verdict::would(would).change(user, name))
}

fn removed(
    step: &Step<'_>,
    found: Option<usize>,
    tab: &mut Tab,
    failure: String,
    what: &str,
    name: &str,
    user: &str,
) -> Decision<CrontabPlan> {
    let Some(index) = found else {
        let text = if step.test { "is absent" } else { "already absent" };
        return Decision::Settled(Verdict::good(format!("{what} {name} {text}")));
    };
    tab.remove(index);
    let done = Verdict::good(format!("{what} {name} removed from {user}'s crontab")).change(user, name);
    let would = Verdict::would(format!("{what} {name} is set to be removed")).change(user, name);
    Decision::Change(CrontabPlan { text: tab.text(), done, failure }, would)
}

pub fn touches(user: &str) -> Touches {
    let crontab = Thing::Path(format!("/var/spool/cron/crontabs/{user}"));
    Touches::nothing().writes(crontab).reads(Thing::User(user.to_owned())).reads(Thing::Path("/etc/passwd".into()))
}
