//! Results in Salt's format, by `client`.

use rocksalt_controller::job_events;
use rocksalt_core::record::{JobRecord, ReturnRecord, TargetOutcome};
use rocksalt_core::{Map, Value};

use crate::functions::{payload, stamp};
use crate::requests::{ControllerResult, FunctionResult};

/// `local`: a target without a result is false, an unknown one has Salt's text.
pub fn local(job: &JobRecord, returns: Vec<ReturnRecord>, full: bool) -> Map {
    let mut results = Map::with_capacity(job.targets.len());
    let mut returns = by_target(job, returns);
    for id in &job.targets {
        results.insert(id.as_str(), returns.take(id).map_or(Value::Bool(false), |record| one(job, record, full)));
    }
    for id in &job.missing {
        let text = format!(
            "Minion did not return. [No response]\nThe minions may not have all finished running and any remaining \
             minions will return upon completion. To look up the return data for this job later, run the following \
             command:\n\nsalt-run jobs.lookup_jid {}",
            job.id
        );
        results.insert(id.as_str(), if full { no_return(text).into() } else { Value::String(text) });
    }
    results
}

fn no_return(text: String) -> Map {
    let mut shown = Map::with_capacity(3);
    shown.insert("out", "no_return");
    shown.insert("ret", text);
    shown.insert("retcode", 1);
    shown
}

fn one(job: &JobRecord, record: ReturnRecord, full: bool) -> Value {
    let TargetOutcome::Returned(result) = record.outcome else { return Value::Bool(false) };
    if !full {
        return result.value;
    }
    let mut shown = Map::with_capacity(4);
    shown.insert("ret", result.value);
    match (record.outputter, &result.problem) {
        (Some(outputter), None) => drop(shown.insert("out", outputter)),
        (_, Some(_)) => drop(shown.insert("out", "nested")),
        (None, None) => {}
    }
    shown.insert("retcode", result.retcode);
    shown.insert("jid", job.id.as_str());
    shown.into()
}

/// `local_batch`: an element for each target with a result.
pub fn batch(job: &JobRecord, returns: Vec<ReturnRecord>) -> Vec<Value> {
    let mut returns = by_target(job, returns);
    let given = job.targets.iter().filter_map(|id| match returns.take(id)?.outcome {
        TargetOutcome::Returned(result) => Some(Map::from_iter([(id.as_str().into(), result.value)]).into()),
        _ => None,
    });
    given.collect()
}

/// `local_async`.
pub fn started(job: &JobRecord) -> Value {
    let minions = job.targets.iter().map(|id| id.as_str().into()).collect();
    Map::from_iter([("jid".into(), job.id.as_str().into()), ("minions".into(), Value::List(minions))]).into()
}

/// `ssh`: the full return of each target.
pub fn ssh(job: &JobRecord, returns: Vec<ReturnRecord>) -> Map {
    let mut results = Map::with_capacity(job.targets.len());
    for record in returns {
        let mut shown = Map::with_capacity(7);
        shown.insert("jid", job.id.as_str());
        shown.insert("return", job_events::shown(&record.outcome));
        shown.insert("retcode", job_events::retcode(&record.outcome));
        shown.insert("success", record.outcome.success());
        shown.insert("id", record.target.as_str());
        shown.insert("fun", job.function.as_str());
        shown.insert("fun_args", job_events::arguments(job));
        results.insert(record.target, shown);
    }
    results
}

/// `runner`: the bare result, or with `full_return` its event.
pub fn runner(ran: ControllerResult, full: bool) -> FunctionResult {
    if !full {
        return ran.result.unwrap_or(FunctionResult::Value(Value::Null));
    }
    let tag = format!("{}/ret", ran.tag);
    event(tag, ran, payload).into()
}

/// `wheel`: always the whole event.
pub fn wheel(ran: ControllerResult) -> Value {
    let tag = ran.tag.clone();
    event(tag, ran, |ran| {
        let mut data = payload(ran);
        data.remove("fun_args");
        data
    })
}

fn event(tag: String, ran: ControllerResult, data: impl Fn(&ControllerResult) -> Map) -> Value {
    let mut data = data(&ran);
    data.insert("_stamp", stamp(ran.stamp));
    data.insert("success", ran.success);
    data.insert("return", ran.into_value());
    Map::from_iter([("tag".into(), tag.into()), ("data".into(), data.into())]).into()
}

/// `runner_async` and `wheel_async`.
pub fn background(ran: &ControllerResult) -> Value {
    Map::from_iter([("tag".into(), ran.tag.as_str().into()), ("jid".into(), ran.job.as_str().into())]).into()
}

/// Returns by target.
struct ReturnsByTarget(std::collections::HashMap<String, ReturnRecord>);

fn by_target(job: &JobRecord, returns: Vec<ReturnRecord>) -> ReturnsByTarget {
    let mut all = std::collections::HashMap::with_capacity(job.targets.len());
    all.extend(returns.into_iter().map(|record| (record.target.clone(), record)));
    ReturnsByTarget(all)
}

impl ReturnsByTarget {
    fn take(&mut self, id: &str) -> Option<ReturnRecord> {
        self.0.remove(id)
    }
}
