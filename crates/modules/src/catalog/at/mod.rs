//! `at`: commands that run once, later.

mod queue;
mod states;

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

pub use states::STATES;

use self::queue::{Filter, QueuedJob};
use super::{CatalogFunction, Function, entry};
use crate::Result;
use crate::machine::System;

pub const FUNCTIONS: &[CatalogFunction] =
    &[entry::<At>(), entry::<Atc>(), entry::<Atq>(), entry::<Atrm>(), entry::<Jobcheck>()];

fn jobs(jobs: Vec<QueuedJob>) -> Map {
    let list: Vec<Value> = jobs.iter().map(|job| job.to_map().into()).collect();
    Map::from_iter([("jobs".into(), list.into())])
}

/// Schedules a command to run once, later.
///
/// ```text
/// rocksalt '*' at.at '12:05am' /sbin/reboot tag=reboot
/// rocksalt '*' at.at '3:05am +3 days' bin/myscript tag=nightly runas=jim
/// ```
#[function("at.at", changes)]
pub struct At {
    /// The time, in the syntax of at(1).
    timespec: String,
    /// The command.
    args: Vec<Value>,
    /// A tag to find it by.
    tag: Option<String>,
    /// The user to run it as.
    runas: Option<String>,
}

impl Function for At {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        if self.args.is_empty() {
            return Ok(jobs(Vec::new()));
        }
        let command = self.args.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        match queue::add(machine, &self.timespec, &command, self.tag.as_deref(), self.runas.as_deref())? {
            Some(job) => Ok(jobs(vec![job])),
            None => {
                let mut none = jobs(Vec::new());
                none.insert("error", queue::INVALID);
                Ok(none)
            }
        }
    }
}

/// The script of a job.
///
/// ```text
/// rocksalt '*' at.atc 4
/// ```
#[function("at.atc", reads)]
pub struct Atc {
    /// The job's number.
    #[required]
    jobid: Value,
}

impl Function for Atc {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let id = self.jobid.to_string();
        let invalid = || Value::Map(Map::from_iter([("error".into(), format!("invalid job id '{id}'").into())]));
        let script = queue::script(machine, &id)?;
        Ok(if script.is_empty() { invalid() } else { script.trim_end_matches('\n').into() })
    }
}

/// The pending jobs.
///
/// ```text
/// rocksalt '*' at.atq
/// rocksalt '*' at.atq reboot
/// ```
#[function("at.atq", reads)]
pub struct Atq {
    /// Only those with this tag, or this number.
    tag: Value,
}

impl Function for Atq {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let mut found = queue::all(machine)?;
        let tag = self.tag.to_string();
        found.retain(|job| !self.tag.truth() || job.tag == tag || job.id == tag);
        Ok(jobs(found))
    }
}

/// Removes jobs.
///
/// ```text
/// rocksalt '*' at.atrm 4 5
/// rocksalt '*' at.atrm all
/// rocksalt '*' at.atrm all reboot
/// ```
#[function("at.atrm", changes)]
pub struct Atrm {
    /// Numbers, or `all`, with a tag behind it if those of the tag are meant.
    args: Vec<Value>,
}

impl Function for Atrm {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let words: Vec<String> = self.args.iter().map(ToString::to_string).collect();
        let (mut ids, mut tag) = (Vec::new(), None);
        if !words.is_empty() {
            let all = words[0] == "all";
            tag = words.get(1).filter(|_| all).cloned();
            let meant = |job: &QueuedJob| match (all, &tag) {
                (true, Some(tag)) => job.tag == *tag,
                (true, None) => true,
                (false, _) => words.contains(&job.id),
            };
            ids = queue::all(machine)?.into_iter().filter(meant).map(|job| job.id).collect();
            queue::remove(machine, &ids)?;
        }
        let removed: Vec<Value> = ids.into_iter().map(Value::String).collect();
        let inner = Map::from_iter([("removed".into(), removed.into()), ("tag".into(), tag.into())]);
        Ok(Map::from_iter([("jobs".into(), inner.into())]))
    }
}

/// The jobs that match all conditions.
///
/// ```text
/// rocksalt '*' at.jobcheck runas=jam day=13
/// rocksalt '*' at.jobcheck day=13 month=12 year=26 tag=rose
/// ```
#[function("at.jobcheck", reads)]
pub struct Jobcheck {
    /// `hour`, `minute`, `day`, `month`, `year`, `tag`, `runas`; others are ignored.
    kwargs: Map,
}

impl Function for Jobcheck {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        if self.kwargs.is_empty() {
            return Ok(Map::from_iter([("error".into(), "You have given a condition".into())]));
        }
        let all = queue::all(machine)?;
        let (none, filter) = (all.is_empty(), Filter::of(&self.kwargs));
        let found: Vec<QueuedJob> = all.into_iter().filter(|job| filter.fits(job)).collect();
        let note = found.is_empty() && !none;
        let mut answer = jobs(found);
        if note {
            answer.insert("note", "No match jobs or time format error");
        }
        Ok(answer)
    }
}
