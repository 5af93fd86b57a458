//! `at.present`, `at.absent` and `at.watch`.

use rocksalt_core::{Map, Value};
use rocksalt_macros::{arguments, state};

use super::queue::{self, Filter, QueuedJob};
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::file::Flag;
use crate::catalog::{Decision, State, StateEntry, Step, Thing, Touches, Verdict, state};
use crate::machine::accounts;
use crate::machine::{Probe, System};

pub const STATES: &[StateEntry] = &[state::<Absent>(), state::<Present>(), state::<Watch>()];

/// A command that is to run once, later.
#[arguments]
pub struct AtJob {
    /// The command, unless `job` names one.
    name: String,
    /// The time, in the syntax of at(1).
    timespec: String,
    /// A tag to find it by.
    tag: Option<String>,
    /// The user to run it as.
    user: Option<String>,
    /// The command.
    job: Option<String>,
    /// Only if there is none with this tag.
    unique_tag: Flag,
}

/// Adds a command that runs once, later. Each run adds one, unless `unique_tag` says otherwise.
///
/// ```yaml
/// echo hello > /tmp/hello:
///   at.present:
///     - timespec: now + 1 hour
///     - tag: hello
///     - unique_tag: true
/// ```
#[state("at.present", strict, required("timespec"))]
pub struct Present(AtJob);

/// As `at.present`, but only if something that it watches has changed.
///
/// ```yaml
/// systemctl restart app:
///   at.watch:
///     - timespec: now + 1 min
///     - tag: restart
///     - unique_tag: true
///     - watch:
///       - file: /etc/app.conf
/// ```
#[state("at.watch", strict, watches, required("timespec"))]
pub struct Watch(AtJob);

/// Removes commands that are to run later: all of them, or those that fit all that is said.
///
/// ```yaml
/// old jobs:
///   at.absent:
///     - tag: hello
///     - year: 26
/// ```
#[state("at.absent")]
pub struct Absent {
    /// Anything.
    #[allow(dead_code, reason = "every state has a name")]
    name: String,
    /// The job of this number, and no other.
    jobid: Value,
    /// `tag`, `runas`, `year`, `month`, `day`, `hour`, `minute`.
    kwargs: Map,
}

impl AtJob {
    fn command(&self) -> &str {
        self.job.as_deref().filter(|job| !job.is_empty()).unwrap_or(&self.name)
    }

    fn user(&self) -> Option<&str> {
        self.user.as_deref().filter(|user| !user.is_empty())
    }

    fn told(&self) -> String {
        let user = self.user().map(|user| format!(" as {user}")).unwrap_or_default();
        format!("job {} added and will run{user} on {}", self.command(), self.timespec)
    }

    fn plan(&self, machine: &dyn Probe) -> Result<Decision> {
        if self.unique_tag.0 {
            let Some(tag) = self.tag.as_deref().filter(|tag| !tag.is_empty()) else {
                return Ok(Decision::Settled(Verdict::bad("no tag provided and unique_tag is set to True")));
            };
            if queue::all(machine)?.iter().any(|job| job.tag == tag) {
                return Ok(Decision::Settled(Verdict::good(format!("atleast one job with tag {tag} exists."))));
            }
        }
        if let Some(user) = self.user().filter(|user| accounts::user(machine, user).is_none()) {
            return Ok(Decision::Settled(Verdict::bad(format!("user {user} does not exists"))));
        }
        Ok(Decision::Change(
            Plan::default(),
            Verdict::would(format!("job {} added and will run on {}", self.command(), self.timespec)),
        ))
    }

    fn apply(&self, machine: &dyn System) -> Result<Verdict> {
        let tag = self.tag.as_deref().filter(|tag| !tag.is_empty());
        Ok(match queue::add(machine, &self.timespec, self.command(), tag, self.user())? {
            Some(job) => Verdict::good(self.told()).changes(job.to_map()),
            None => Verdict::bad(queue::INVALID),
        })
    }

    fn touches(&self) -> Touches {
        let touches = Touches::nothing().writes(Thing::Path("/var/spool/cron/atjobs".into()));
        let touches = touches.reads(Thing::Path("/etc/passwd".into()));
        self.user().map_or(touches.clone(), |user| touches.reads(Thing::User(user.to_owned())))
    }
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        self.0.plan(machine)
    }

    fn apply(&self, _: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        self.0.apply(machine)
    }

    fn touches(&self) -> Touches {
        self.0.touches()
    }
}

impl State for Watch {
    fn plan(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(Decision::Settled(Verdict::good("")))
    }

    fn apply(&self, _: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        self.0.apply(machine)
    }

    fn watched(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        self.0.plan(machine)
    }

    fn touches(&self) -> Touches {
        self.0.touches()
    }
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        if self.kwargs.contains_key("limit") {
            return Ok(Decision::Settled(Verdict::bad(format!("limit parameter not supported {}", step.name))));
        }
        let filter = Filter::of(&self.kwargs);
        let id = self.jobid.to_string();
        let meant = |job: &QueuedJob| if self.jobid.truth() { job.id == id } else { filter.fits(job) };
        let ids: Vec<String> = queue::all(machine)?.into_iter().filter(meant).map(|job| job.id).collect();
        if ids.is_empty() {
            let comment = match self.jobid.truth() {
                true => format!("job with id {id} not present"),
                false => "removed 0 job(s)".to_owned(),
            };
            return Ok(Decision::Settled(Verdict::good(comment)));
        }
        let would = Verdict::would(format!("removed {} job(s)", ids.len())).changes(removed(&ids));
        Decision::own(&ids, would)
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let ids: Vec<String> = plan.into_own()?;
        queue::remove(machine, &ids)?;
        let comment = match self.jobid.truth() {
            true => format!("job with id {} was removed", self.jobid),
            false => format!("removed {} job(s)", ids.len()),
        };
        Ok(Verdict::good(comment).changes(removed(&ids)))
    }

    fn touches(&self) -> Touches {
        Touches::nothing().writes(Thing::Path("/var/spool/cron/atjobs".into()))
    }
}

fn removed(ids: &[String]) -> Map {
    let list: Vec<Value> = ids.iter().map(|id| id.as_str().into()).collect();
    Map::from_iter([("removed".into(), list.into())])
}
