//! The events of a job, with Salt's tags and payloads.

use rocksalt_core::record::{JobRecord, Kept, ReturnRecord};
use rocksalt_core::{Event, Map, Value};

use crate::own_events;

/// A job was taken: the bare tag of old, and the one of today.
pub fn new(job: &JobRecord) -> Vec<Event> {
    if let Some(event) = own_events::new(job) {
        return vec![event];
    }
    let minions = texts(&job.targets);
    let bare = Map::from_iter([("minions".into(), minions.clone())]);
    let mut data = Map::new();
    data.insert("jid", job.id.as_str());
    data.insert("tgt", job.target.as_str());
    data.insert("tgt_type", job.target_kind.as_str());
    data.insert("fun", job.function.as_str());
    data.insert("arg", arguments(job));
    data.insert("user", job.user.as_str());
    data.insert("minions", minions);
    data.insert("missing", texts(&job.missing));
    vec![Event { tag: job.id.to_string(), data: bare }, Event { tag: format!("salt/job/{}/new", job.id), data }]
}

/// A target's share is known.
pub fn returned(job: &JobRecord, record: &ReturnRecord) -> Event {
    if let Some(event) = own_events::returned(job, record) {
        return event;
    }
    let mut data = Map::new();
    data.insert("cmd", "_return");
    data.insert("id", record.target.as_str());
    data.insert("jid", job.id.as_str());
    data.insert("fun", job.function.as_str());
    data.insert("fun_args", arguments(job));
    data.insert("return", shown(&record.outcome));
    data.insert("retcode", retcode(&record.outcome));
    data.insert("success", record.outcome.success());
    data.insert("user", job.user.as_str());
    if let Some(outputter) = &record.outputter {
        data.insert("out", outputter.as_str());
    }
    Event { tag: format!("salt/job/{}/ret/{}", job.id, record.target), data }
}

/// How far a run of states is on a target: one event for each step that is done.
pub fn progress(job: &JobRecord, target: &str, number: i64, result: Value, total: i64) -> Event {
    let tag = format!("salt/job/{}/prog/{target}/{number}", job.id);
    let mut inner = Map::new();
    inner.insert("ret", result);
    inner.insert("len", total);
    let mut data = Map::new();
    data.insert("id", target);
    data.insert("jid", job.id.as_str());
    data.insert("tag", tag.as_str());
    data.insert("cmd", "_minion_event");
    data.insert("data", inner);
    Event { tag, data }
}

/// The arguments as Salt shows them: named ones as a last map that says that it is one.
pub fn arguments(job: &JobRecord) -> Value {
    let mut all = job.args.clone();
    if !job.kwargs.is_empty() {
        let mut named = Map::from_iter([("__kwarg__".into(), Value::Bool(true))]);
        named.extend(job.kwargs.clone());
        all.push(named.into());
    }
    Value::List(all)
}

/// The result as users see it; of a target that was not reached, why.
pub fn shown(outcome: &Kept) -> Value {
    match outcome {
        Kept::Returned(result) => result.value.clone(),
        Kept::Unreached { text, hint: Some(hint), .. } => format!("{text}\nhint: {hint}").into(),
        Kept::Unreached { text, .. } => text.as_str().into(),
        Kept::Skipped(why) => why.as_str().into(),
        Kept::Lost => "nobody knows how this ended: the controller was gone, and the target has no record of it".into(),
    }
}

pub fn retcode(outcome: &Kept) -> i64 {
    match outcome {
        Kept::Returned(result) => result.retcode.into(),
        // Salt's own for a target that gave no result.
        _ => 254,
    }
}

/// How a function's results are shown, where that isn't the usual way.
pub fn outputter(function: &str) -> Option<&'static str> {
    const STATES: [&str; 7] =
        ["state.apply", "state.high", "state.highstate", "state.low", "state.single", "state.sls", "state.sls_id"];
    STATES.contains(&function).then_some("highstate")
}

fn texts(all: &[String]) -> Value {
    Value::List(all.iter().map(|text| text.as_str().into()).collect())
}
