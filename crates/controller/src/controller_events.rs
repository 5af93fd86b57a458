//! The events of functions of the controller itself: Salt's `salt/run/…` and `salt/wheel/…`.

use rocksalt_core::record::{JobRecord, ReturnRecord, TargetOutcome};
use rocksalt_core::{Event, JobId, Map, Value};

use crate::job_events;

/// The tag of the events of a controller function: `salt/run/<jid>`; `None` for a job on targets.
pub fn tag(function: &str, job: JobId) -> Option<String> {
    let (kind, rest) = function.split_once('.')?;
    let place = match kind {
        "runner" => "run",
        "wheel" => "wheel",
        _ => return None,
    };
    // A function of a target never has three parts.
    rest.contains('.').then(|| format!("salt/{place}/{job}"))
}

pub(crate) fn new(job: &JobRecord) -> Option<Event> {
    let tag = tag(&job.function, job.id)?;
    let mut data = Map::new();
    data.insert("fun", job.function.as_str());
    data.insert("jid", job.id.as_str());
    if tag.starts_with("salt/wheel/") {
        data.insert("tag", tag.as_str());
    }
    data.insert("user", job.user.as_str());
    data.insert("fun_args", arguments(&job.args, &job.kwargs));
    Some(Event { tag: format!("{tag}/new"), data })
}

/// The event of a controller function's return. The recorded value normally has the form of the event already.
pub(crate) fn returned(job: &JobRecord, record: &ReturnRecord) -> Option<Event> {
    let tag = tag(&job.function, job.id)?;
    let mut data = match &record.outcome {
        TargetOutcome::Returned(result) if result.value.as_map().is_some_and(|map| map.contains_key("fun")) => {
            result.value.as_map().cloned().unwrap_or_default()
        }
        // The result was too large to be stored whole, or the outcome is unknown.
        other => {
            let mut data = new(job)?.data;
            data.insert("return", job_events::shown(other));
            data.insert("success", record.outcome.success());
            data
        }
    };
    // Each event gets its own time stamp.
    data.remove("_stamp");
    Some(Event { tag: format!("{tag}/ret"), data })
}

/// The arguments in Salt's form: named ones as a last map.
pub fn arguments(args: &[Value], kwargs: &Map) -> Value {
    let mut all = args.to_vec();
    if !kwargs.is_empty() {
        all.push(kwargs.clone().into());
    }
    Value::List(all)
}
