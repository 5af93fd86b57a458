//! `module.run` with functions and their arguments below them.

use rocksalt_core::call::{ArgumentMisfit, ProblemKind};
use rocksalt_core::{Call, Map, Problem, Value};

use super::{Decision, Plan, Verdict, succeeded};
use crate::Result;
use crate::catalog;
use crate::machine::System;

pub fn plan(given: &Map, test: bool) -> Decision {
    let functions: Vec<String> = given.keys().map(|key| bare(&key.to_string()).to_owned()).collect();
    let (known, missing): (Vec<_>, Vec<_>) = functions.iter().partition(|name| catalog::find(name).is_some());
    let name = Value::List(given.keys().cloned().collect());
    let list = |names: &[&String]| names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    // Salt's bug, which users know: `FunctionTrue a, b to be executed.`
    let plural = |names: &[&String]| if names.len() > 1 { "True" } else { "" };
    let unavailable = format!("Unavailable function{}: {}.", plural(&missing), list(&missing));
    let would = format!("Function{} {} to be executed.", plural(&known), list(&known));
    let mut verdict = match (missing.is_empty(), known.is_empty()) {
        (true, _) => Verdict::would(would),
        (false, nothing) if nothing || !test => Verdict::bad(unavailable),
        (false, _) => Verdict::bad(format!("{unavailable} {would}")),
    };
    verdict.further.insert("name", name);
    match missing.is_empty() {
        true => Decision::Change(Plan::default(), verdict),
        false => Decision::Settled(verdict),
    }
}

pub fn apply(given: &Map, machine: &dyn System) -> Result<Verdict> {
    let (mut failures, mut successes, mut changes) = (Vec::new(), Vec::new(), Map::new());
    for (key, arguments) in given.iter() {
        let name = key.to_string();
        let answer = catalog::call(catalog::from_template(call(bare(&name), arguments)), machine);
        let value = match answer.problem {
            None => answer.value,
            Some(problem) if problem.kind == ProblemKind::Arguments => {
                failures.push(format!("'{name}' failed: {}", reason(problem)));
                continue;
            }
            Some(problem) => return Err(problem.into()),
        };
        let said = value.as_map().map(|map| map.get("comment").map(ToString::to_string));
        if succeeded(&value) {
            let text = said.map_or_else(|| value.to_string(), |said| said.unwrap_or_else(|| "Success".into()));
            successes.push(format!("{name}: {text}"));
            changes.insert(name, value);
        } else {
            failures.push(match said {
                Some(said) => format!("'{name}' failed: {}", said.unwrap_or_else(|| "(error message N/A)".into())),
                None => format!("'{name}': {value}"),
            });
        }
    }
    let result = Some(failures.is_empty());
    failures.extend(successes);
    let mut verdict = Verdict { result, comment: failures.join(", "), changes: changes.clone(), ..Verdict::default() };
    verdict.further.insert("name", Value::List(given.keys().cloned().collect()));
    verdict.outputs = changes;
    Ok(verdict)
}

/// The function's name: `test.echo:second` calls the same function again.
fn bare(name: &str) -> &str {
    name.split(':').next().unwrap_or_default()
}

/// Each item of the list is a positional argument, or a map of named arguments.
fn call(function: &str, arguments: &Value) -> Call {
    let entries = match arguments {
        Value::Null => Vec::new(),
        Value::List(entries) => entries.clone(),
        one => vec![one.clone()],
    };
    let mut call = Call::new(function);
    for entry in entries {
        match entry {
            Value::Map(named) => call.kwargs.extend(named),
            by_position => call.args.push(by_position),
        }
    }
    call
}

/// Why a call failed; for a missing argument in Salt's wording.
fn reason(problem: Problem) -> String {
    match problem.misfit {
        Some(ArgumentMisfit::Missing(name)) => format!("Missing arguments: {name}"),
        _ => problem.text,
    }
}
