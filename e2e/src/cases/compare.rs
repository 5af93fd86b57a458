//! Compares the answer of a run with the expected one.

use regex_automata::meta::Regex;
use rocksalt_core::{Value, json};
use serde_json::Value as Json;

/// Stands for any value in an expected answer.
const ANY: &str = "<any>";

pub(super) const KEYS: [&str; 7] = ["id", "state", "name", "result", "comment", "changes", "warnings"];

/// The expected answer of a run.
#[derive(Clone, Debug)]
pub enum Expected {
    /// The expected steps, compared only in the keys that are given.
    Steps(Vec<Json>),
    /// The run is refused, and its output contains all these texts.
    Errors(Vec<String>),
}

impl Expected {
    pub(super) fn read(value: &Value) -> Result<Expected, String> {
        if let Some(errors) = value.as_map().and_then(|map| map.get("errors")) {
            let errors = errors.as_list().ok_or("`errors` must be a list of texts")?;
            return Ok(Expected::Errors(errors.iter().map(ToString::to_string).collect()));
        }
        let steps = value.as_list().ok_or("it must be a list of steps, or {errors: [text]}")?;
        let steps: Vec<Json> = steps.iter().map(json::to_json).collect();
        if steps.is_empty() {
            return Err("it has no steps: nothing would be checked".into());
        }
        for step in &steps {
            let step = step.as_object().ok_or("a step is a map")?;
            if let Some(key) = step.keys().find(|key| !KEYS.contains(&key.as_str())) {
                return Err(format!("a step has no `{key}`; it has {}", KEYS.join(", ")));
            }
            if let Some(pattern) = step.get("comment").and_then(|comment| comment.get("matches")) {
                pattern_of(pattern)?;
            }
        }
        Ok(Expected::Steps(steps))
    }
}

/// Describes how a run's answer differs from the expected one; `None` if it doesn't.
pub fn compare(expected: &Expected, answer: &Result<Vec<Json>, String>) -> Option<String> {
    match (expected, answer) {
        (Expected::Errors(texts), Err(said)) => {
            let missing: Vec<&String> = texts.iter().filter(|text| !said.contains(text.as_str())).collect();
            (!missing.is_empty()).then(|| format!("it doesn't say {missing:?}, but:\n{said}"))
        }
        (Expected::Errors(_), Ok(steps)) => Some(format!("it must be refused, and ran:\n{}", shown(steps))),
        (Expected::Steps(_), Err(said)) => Some(format!("it was refused:\n{said}")),
        (Expected::Steps(expected), Ok(steps)) => compare_steps(expected, steps),
    }
}

fn compare_steps(expected: &[Json], steps: &[Json]) -> Option<String> {
    if expected.len() != steps.len() {
        return Some(format!("{} steps expected, {} were there:\n{}", expected.len(), steps.len(), shown(steps)));
    }
    let mut differences = Vec::new();
    for (number, (expected, step)) in (1..).zip(expected.iter().zip(steps)) {
        for (key, wanted) in expected.as_object().into_iter().flatten() {
            let found = step.get(key).unwrap_or(&Json::Null);
            if !(if key == "comment" { comment_is(wanted, found) } else { is(wanted, found) }) {
                let id = step.get("id").and_then(Json::as_str).unwrap_or_default();
                differences.push(format!(
                    "step {number} ({id}): {key}\n    expected: {wanted}\n    found:    {found}{}",
                    place(wanted, found)
                ));
            }
        }
    }
    (!differences.is_empty()).then(|| differences.join("\n  "))
}

/// Whether a value equals the wanted one, where `<any>` matches everything.
pub(super) fn is(wanted: &Json, found: &Json) -> bool {
    match (wanted, found) {
        (Json::String(any), _) if any == ANY => true,
        (Json::Object(wanted), Json::Object(found)) => {
            let same = |(key, value): (&String, &Json)| found.get(key).is_some_and(|found| is(value, found));
            wanted.len() == found.len() && wanted.iter().all(same)
        }
        (Json::Array(wanted), Json::Array(found)) => {
            wanted.len() == found.len() && wanted.iter().zip(found).all(|(wanted, found)| is(wanted, found))
        }
        _ => wanted == found,
    }
}

fn comment_is(wanted: &Json, found: &Json) -> bool {
    match (wanted.get("matches").map(pattern_of), found.as_str()) {
        (Some(Ok(pattern)), Some(found)) => pattern.is_match(found),
        (Some(_), _) => false,
        (None, _) => is(wanted, found),
    }
}

fn pattern_of(pattern: &Json) -> Result<Regex, String> {
    let text = pattern.as_str().ok_or("`matches` must be a pattern")?;
    Regex::new(text).map_err(|error| format!("`matches: {text}`: {error}"))
}

/// Shows where two texts start to differ, since long ones are mostly equal.
fn place(wanted: &Json, found: &Json) -> String {
    let (Some(wanted), Some(found)) = (wanted.as_str(), found.as_str()) else { return String::new() };
    let same = wanted.chars().zip(found.chars()).take_while(|(one, other)| one == other).count();
    let rest = |text: &str| text.chars().skip(same).take(40).collect::<String>();
    format!("\n    they differ after {same} characters: {:?} and {:?}", rest(wanted), rest(found))
}

fn shown(steps: &[Json]) -> String {
    steps.iter().map(|step| format!("    {step}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn differs(wanted: Json, found: Json) -> Option<String> {
        compare(&Expected::Steps(vec![wanted]), &Ok(vec![found]))
    }

    #[test]
    fn only_the_keys_that_are_given_are_compared_and_all_of_them() {
        let found = json!({"id": "a", "result": true, "comment": "done", "changes": {"pid": 7, "new": [1]}});
        assert_eq!(differs(json!({"result": true}), found.clone()), None);
        assert_eq!(differs(json!({"changes": {"pid": "<any>", "new": [1]}}), found.clone()), None);
        assert_eq!(differs(json!({"changes": "<any>"}), found.clone()), None);
        assert_eq!(differs(json!({"comment": {"matches": "^d.ne$"}}), found.clone()), None);
        for wrong in [
            json!({"result": null}),
            json!({"changes": {}}),
            json!({"changes": {"pid": 7}}),
            json!({"changes": {"pid": "<any>", "new": [1, 2]}}),
            json!({"comment": {"matches": "^one"}}),
            json!({"comment": "don"}),
        ] {
            assert!(differs(wrong.clone(), found.clone()).is_some_and(|text| text.contains("step 1 (a)")), "{wrong}");
        }
        assert!(compare(&Expected::Steps(Vec::new()), &Ok(vec![found])).is_some(), "one step too many");
    }
}
