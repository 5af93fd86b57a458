//! `sys`: what functions and states there are, answered without a target.

use rocksalt_core::pattern::glob;
use rocksalt_core::value::from_value;
use rocksalt_core::{Call, Map, Problem, Return, Value};

use crate::{Description, docs, get, matching, matching_states, nouns, state_nouns};

/// The answer to a call of `sys.*`; nothing to any other.
pub fn answer(call: &Call) -> Option<Return> {
    if !call.function.starts_with("sys.") {
        return None;
    }
    let value = get(&call.function).and_then(|function| evaluate(function, call));
    Some(match value {
        Ok(value) => Return { value, retcode: 0, problem: None },
        Err(problem) => problem.into(),
    })
}

fn evaluate(function: &Description, call: &Call) -> Result<Value, Problem> {
    function.check(call.clone())?;
    let patterns = patterns(call);
    let texts = |doc: fn(&str) -> Map| match patterns.is_empty() {
        true => doc("").into(),
        false => patterns.iter().flat_map(|pattern| doc(pattern)).collect::<Map>().into(),
    };
    Ok(match function.name {
        "sys.argspec" => {
            let named = call.kwargs.get("module").or(call.args.first());
            docs::argspec(&named.map(Value::to_string).unwrap_or_default())
        }
        "sys.doc" => texts(docs::doc),
        "sys.state_doc" => texts(docs::state_doc),
        "sys.list_functions" => names(&patterns, |pattern| matching(pattern).map(|one| one.name).collect()),
        "sys.list_state_functions" => {
            names(&patterns, |pattern| matching_states(pattern).map(|one| one.name).collect())
        }
        "sys.list_modules" => fitting(&patterns, nouns()),
        _ => fitting(&patterns, state_nouns()),
    })
}

/// The patterns of those that take several.
fn patterns(call: &Call) -> Vec<String> {
    let named = call.kwargs.get("args").cloned().and_then(|value| from_value(value).ok()).unwrap_or_default();
    let given: Vec<String> = call.args.iter().map(Value::to_string).collect();
    if given.is_empty() { named } else { given }
}

fn names(patterns: &[String], find: impl Fn(&str) -> Vec<&'static str>) -> Value {
    let mut names: Vec<&str> = match patterns {
        [] => find(""),
        some => some.iter().flat_map(|pattern| find(pattern)).collect(),
    };
    names.sort_unstable();
    names.dedup();
    Value::List(names.into_iter().map(Value::from).collect())
}

fn fitting(patterns: &[String], nouns: impl Iterator<Item = &'static str>) -> Value {
    let is_wanted = |noun: &&str| patterns.is_empty() || patterns.iter().any(|pattern| glob::matches(pattern, noun));
    Value::List(nouns.filter(is_wanted).map(Value::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(call: Call) -> Value {
        answer(&call).expect("it is ours").value
    }

    #[test]
    fn sys_is_answered_here() {
        assert!(answer(&Call::new("test.ping")).is_none());
        assert_eq!(
            answered(Call::new("sys.list_functions").arg("sys.list_m*").arg("timezone.get_z*")),
            Value::List(["sys.list_modules", "timezone.get_zone", "timezone.get_zonecode"].map(Value::from).into())
        );
        assert_eq!(answered(Call::new("sys.list_state_modules").arg("tim*")), vec![Value::from("timezone")].into());
        let doc = answered(Call::new("sys.doc").arg("test.ping"));
        assert!(doc.as_map().is_some_and(|doc| doc.contains_key("test.ping") && doc.len() == 1));
        let nop = "Does nothing and succeeds, whatever its arguments.\n\n    anchor:\n      test.nop:\n        - require:\n          \
                   - sls: base\n\n**kwargs\n    Anything.\n";
        let doc = answered(Call::new("sys.state_doc").arg("test.nop"));
        assert_eq!(doc.as_map().and_then(|doc| doc.get("test.nop")), Some(&nop.into()));
        assert!(answered(Call::new("sys.argspec").kwarg("module", "cmd.run")).as_map().is_some());
        let wrong = answer(&Call::new("sys.nonsense")).expect("it is ours");
        assert_eq!(wrong.problem.map(|problem| problem.text), Some("'sys.nonsense' is not available.".into()));
    }
}
