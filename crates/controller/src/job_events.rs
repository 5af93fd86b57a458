//! The events of a job, with Salt's tags and payloads.

use rocksalt_core::record::{JobRecord, ReturnRecord, TargetOutcome};
use rocksalt_core::{Event, JobId, Map, Value, json};

use crate::controller_events;

/// The events of a new job: Salt's old bare tag, and the current one.
pub fn new(job: &JobRecord) -> Vec<Event> {
    if let Some(event) = controller_events::new(job) {
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

/// A target's return.
pub fn returned(job: &JobRecord, record: &ReturnRecord) -> Event {
    if let Some(event) = controller_events::returned(job, record) {
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

/// The progress of a run of states: one event for each step that has ended.
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

/// The event of a step that has ended; `None` for other progress.
pub fn step(job: &JobRecord, target: &str, bytes: &[u8]) -> Option<Event> {
    let news = json::parse(std::str::from_utf8(bytes).ok()?).ok()?;
    let news = news.as_map()?;
    let result = news.get("ret")?.clone();
    let number = |value: Option<&Value>| value.and_then(Value::as_i64).unwrap_or_default();
    let run_num = number(result.as_map().and_then(|result| result.get("__run_num__")));
    Some(progress(job, target, run_num, result, number(news.get("total"))))
}

/// A warning of a run for its operator.
pub fn warning(job: &JobRecord, target: &str, text: &str, hint: Option<&str>) -> Event {
    let mut told = Map::new();
    told.insert("id", target);
    told.insert("jid", job.id.as_str());
    told.insert("cmd", "_minion_event");
    told.insert("text", text);
    told.insert("hint", hint);
    Event { tag: format!("salt/job/{}/warning/{target}", job.id), data: told }
}

/// An event that a target sent. The link decides its source, not the message (docs/security-rules.md#r3); tags of
/// controllers and of other targets are moved below the target's own.
pub fn from_target(job: JobId, target: &str, event: Event) -> Event {
    let own = ["salt/beacon/".to_owned(), "salt/minion/".to_owned(), format!("salt/state_result/{job}/")]
        .iter()
        .any(|kind| event.tag.strip_prefix(kind).and_then(|rest| rest.strip_prefix(target)).is_some_and(is_below));
    let tag = match is_reserved(&event.tag) && !own {
        true => format!("salt/minion/{target}/event/{}", event.tag),
        false => event.tag,
    };
    let mut data = Map::new();
    data.insert("id", target);
    data.insert("cmd", "_minion_event");
    data.insert("pretag", Value::Null);
    data.insert("data", event.data);
    data.insert("tag", tag.as_str());
    Event { tag, data }
}

fn is_below(rest: &str) -> bool {
    rest.starts_with('/')
}

/// Whether only the controller itself uses this tag: Salt's own, and bare job ids.
pub fn is_reserved(tag: &str) -> bool {
    const WORDS: [&str; 4] = ["_salt_error", "key", "minion_start", "salt"];
    let first = tag.split('/').next().unwrap_or_default();
    WORDS.contains(&first)
        || tag.starts_with("minion/refresh/")
        || tag.starts_with("syndic/")
        || tag.is_empty()
        || first.parse::<JobId>().is_ok()
}

/// Adds the time to an event, as Salt does: `_stamp`, and `ts` in an event of a target.
pub fn stamp(event: &mut Event, micros: u64) {
    let id = JobId::at(micros);
    let digits = id.as_str();
    let text = format!(
        "{}-{}-{}T{}:{}:{}.{}",
        &digits[..4],
        &digits[4..6],
        &digits[6..8],
        &digits[8..10],
        &digits[10..12],
        &digits[12..14],
        &digits[14..]
    );
    if event.data.contains_key("cmd") {
        event.data.insert("ts", (micros / 1_000_000) as i64);
    }
    event.data.insert("_stamp", text);
}

/// The arguments in Salt's form: named ones as a last map, marked with `__kwarg__`.
pub fn arguments(job: &JobRecord) -> Value {
    let mut all = job.args.clone();
    if !job.kwargs.is_empty() {
        let mut named = Map::from_iter([("__kwarg__".into(), Value::Bool(true))]);
        named.extend(job.kwargs.clone());
        all.push(named.into());
    }
    Value::List(all)
}

/// The result as users see it; for a target that was not reached, the reason.
pub fn shown(outcome: &TargetOutcome) -> Value {
    match outcome {
        TargetOutcome::Returned(result) => result.value.clone(),
        TargetOutcome::Unreached { text, hint: Some(hint), .. } => format!("{text}\nhint: {hint}").into(),
        TargetOutcome::Unreached { text, .. } => text.as_str().into(),
        TargetOutcome::Skipped(why) => why.as_str().into(),
        TargetOutcome::Lost(why) => format!("nobody knows how this ended: {why}").into(),
    }
}

pub fn retcode(outcome: &TargetOutcome) -> i64 {
    match outcome {
        TargetOutcome::Returned(result) => result.retcode.into(),
        // Salt's code for a target that returned no result.
        _ => 254,
    }
}

/// The outputter for a function's results, unless it is the default one.
pub fn outputter(function: &str) -> Option<&'static str> {
    rocksalt_catalog::nature(function).runs_states.then_some("highstate")
}

fn texts(all: &[String]) -> Value {
    Value::List(all.iter().map(|text| text.as_str().into()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(tag: &str) -> Event {
        let data = Map::from_iter([("id".into(), "other".into()), ("_stamp".into(), "forged".into())]);
        Event { tag: tag.into(), data }
    }

    #[test]
    fn a_target_speaks_under_its_own_name_only() {
        for (tag, expected) in [
            ("my/own/tag", "my/own/tag"),
            ("salt/beacon/h1/load/", "salt/beacon/h1/load/"),
            ("salt/minion/h1/start", "salt/minion/h1/start"),
            ("salt/minion/h11/start", "salt/minion/h1/event/salt/minion/h11/start"),
            ("salt/job/20260131093000123456/ret/h2", "salt/minion/h1/event/salt/job/20260131093000123456/ret/h2"),
            ("salt/state_result/19700101000000000000/h1/x", "salt/state_result/19700101000000000000/h1/x"),
            (
                "salt/state_result/19700101000000000001/h1/x",
                "salt/minion/h1/event/salt/state_result/19700101000000000001/h1/x",
            ),
            ("salt/auth", "salt/minion/h1/event/salt/auth"),
            ("salt", "salt/minion/h1/event/salt"),
            ("20260131093000123456", "salt/minion/h1/event/20260131093000123456"),
            ("minion_start", "salt/minion/h1/event/minion_start"),
            ("", "salt/minion/h1/event/"),
        ] {
            let mut named = from_target(JobId::at(0), "h1", event(tag));
            stamp(&mut named, 1_769_851_800_123_456);
            assert_eq!(named.tag, expected, "{tag}");
            assert_eq!(named.data.get("id"), Some(&"h1".into()));
            assert_eq!(named.data.get("_stamp"), Some(&"2026-01-31T09:30:00.123456".into()));
            assert_eq!(named.data.get("ts"), Some(&Value::Int(1_769_851_800)));
        }
    }
}
