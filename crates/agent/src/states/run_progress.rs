//! [`RunProgress`]: what a run has done so far, so that another process can resume it.

use std::collections::{BTreeMap, BTreeSet};

use rocksalt_core::{Map, Value};
use rocksalt_modules::catalog::Verdict;
use rocksalt_sls::schedule::StepOutcome;

use super::step_result::StepResult;

#[derive(Clone, Default)]
pub struct RunProgress {
    /// The outcomes of the steps that ran, by item of the schedule.
    pub outcomes: BTreeMap<usize, StepOutcome>,
    /// The items that have a result, including skipped ones.
    pub recorded: BTreeSet<usize>,
    /// The results with their numbers and tags.
    pub results: Vec<(usize, String, Map)>,
    /// The results of dry runs, by chunk.
    pub dry_runs: BTreeMap<usize, StepResult>,
    /// As [`Outputs::to_value`](super::outputs::Outputs::to_value) returned them.
    pub outputs: Value,
    /// The number of calls so far.
    pub calls: usize,
}

impl RunProgress {
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        let outcome = |(item, outcome): (&usize, &StepOutcome)| {
            let flags = [outcome.changed, outcome.ran, outcome.skip_requisites];
            let mut list = vec![(*item).into(), outcome.result.into()];
            list.extend(flags.map(Value::from));
            Value::List(list)
        };
        map.insert("outcomes", self.outcomes.iter().map(outcome).collect::<Vec<_>>());
        map.insert("recorded", self.recorded.iter().map(|item| (*item).into()).collect::<Vec<Value>>());
        let result = |(number, tag, result): &(usize, String, Map)| {
            Value::List(vec![(*number).into(), tag.as_str().into(), result.clone().into()])
        };
        map.insert("results", self.results.iter().map(result).collect::<Vec<_>>());
        let dry_run =
            |(chunk, result): (&usize, &StepResult)| Value::List(vec![(*chunk).into(), result_to_value(result)]);
        map.insert("dry_runs", self.dry_runs.iter().map(dry_run).collect::<Vec<_>>());
        map.insert("outputs", self.outputs.clone());
        map.insert("calls", self.calls);
        map.into()
    }

    /// `None` if the value is not the progress of a run.
    pub fn from_value(value: &Value) -> Option<RunProgress> {
        let map = value.as_map()?;
        let list = |key: &str| map.get(key)?.as_list();
        let outcome = |one: &Value| match one.as_list()? {
            [item, result, changed, ran, skip] => {
                let (changed, ran, skip_requisites) = (changed.as_bool()?, ran.as_bool()?, skip.as_bool()?);
                Some((index(item)?, StepOutcome { result: result.as_bool(), changed, ran, skip_requisites }))
            }
            _ => None,
        };
        let result = |one: &Value| match one.as_list()? {
            [number, tag, result] => Some((index(number)?, tag.as_str()?.to_owned(), result.as_map()?.clone())),
            _ => None,
        };
        let dry_run = |one: &Value| match one.as_list()? {
            [chunk, ended] => Some((index(chunk)?, result_from_value(ended)?)),
            _ => None,
        };
        Some(RunProgress {
            outcomes: list("outcomes")?.iter().map(outcome).collect::<Option<_>>()?,
            recorded: list("recorded")?.iter().map(index).collect::<Option<_>>()?,
            results: list("results")?.iter().map(result).collect::<Option<_>>()?,
            dry_runs: list("dry_runs")?.iter().map(dry_run).collect::<Option<_>>()?,
            outputs: map.get("outputs")?.clone(),
            calls: index(map.get("calls")?)?,
        })
    }
}

fn index(value: &Value) -> Option<usize> {
    usize::try_from(value.as_i64()?).ok()
}

fn result_to_value(ended: &StepResult) -> Value {
    let verdict = &ended.verdict;
    let mut map = Map::new();
    map.insert("result", verdict.result);
    map.insert("comment", verdict.comment.as_str());
    map.insert("changes", verdict.changes.clone());
    map.insert("outputs", verdict.outputs.clone());
    map.insert("warnings", verdict.warnings.iter().map(|text| text.as_str().into()).collect::<Vec<Value>>());
    map.insert("further", verdict.further.clone());
    map.insert("ran", ended.ran);
    map.insert("started", ended.started);
    map.insert("duration", ended.duration);
    map.insert("number", ended.number);
    map.insert("beside", ended.parallel);
    map.into()
}

fn result_from_value(kept: &Value) -> Option<StepResult> {
    let map = kept.as_map()?;
    let inner = |key: &str| Some(map.get(key)?.as_map()?.clone());
    let number = |key: &str| match map.get(key)? {
        Value::Float(number) => Some(*number),
        other => other.as_i64().map(|number| number as f64),
    };
    let warnings = map.get("warnings")?.as_list()?.iter().map(ToString::to_string).collect();
    Some(StepResult {
        verdict: Verdict {
            result: map.get("result")?.as_bool(),
            comment: map.get("comment")?.as_str()?.to_owned(),
            changes: inner("changes")?,
            outputs: inner("outputs")?,
            warnings,
            further: inner("further")?,
        },
        ran: map.get("ran")?.as_bool()?,
        started: number("started")?,
        duration: number("duration")?,
        number: index(map.get("number")?)?,
        parallel: map.get("beside")?.as_bool()?,
    })
}

#[cfg(test)]
mod tests {
    use rocksalt_core::value::{from_cbor, to_cbor};

    use super::*;

    #[test]
    fn progress_survives_a_round_trip() {
        let verdict = Verdict::would("would").change("a", 1i64).output("x", "y").warning("beware");
        let ended = StepResult { verdict, ran: true, started: 1.5, duration: 2.0, number: 3, parallel: false };
        let outcome = StepOutcome { result: None, changed: true, ran: true, skip_requisites: false };
        let progress = RunProgress {
            outcomes: BTreeMap::from([(2, outcome.clone())]),
            recorded: BTreeSet::from([1, 2]),
            results: vec![(0, "test_|-a_|-a_|-nop".into(), Map::from_iter([("result".into(), true.into())]))],
            dry_runs: BTreeMap::from([(4, ended)]),
            outputs: Value::Map(Map::new()),
            calls: 7,
        };
        let again =
            RunProgress::from_value(&from_cbor(&to_cbor(&progress.to_value())).expect("CBOR")).expect("progress");
        assert_eq!(again.to_value(), progress.to_value());
        assert_eq!((again.outcomes.get(&2), again.calls), (Some(&outcome), 7));
        assert_eq!(again.dry_runs[&4].verdict, progress.dry_runs[&4].verdict);
        assert!(
            RunProgress::from_value(&Value::Null).is_none()
                && RunProgress::from_value(&Value::Map(Map::new())).is_none()
        );
    }
}
