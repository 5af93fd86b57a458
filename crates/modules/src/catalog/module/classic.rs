//! `module.run` with one function as its name, and the arguments beside it.

use rocksalt_core::call::ArgumentMisfit;
use rocksalt_core::{Call, Map, Value, nearest};

use super::{Decision, Plan, Verdict, succeeded};
use crate::catalog::{self, NAMED};
use crate::machine::System;

pub fn plan(function: &str) -> Decision {
    match catalog::find(function) {
        Some(_) => {
            Decision::Change(Plan::default(), Verdict::would(format!("Module function {function} is set to execute")))
        }
        None => {
            let mut verdict = Verdict::bad(format!("Module function {function} is not available"));
            let hint = nearest::hint(function, catalog::all().map(|entry| entry.name));
            if !hint.is_empty() {
                verdict.warnings.push(format!("there is no function '{function}'{hint}"));
            }
            Decision::Settled(verdict)
        }
    }
}

pub fn apply(function: &str, given: &Map, machine: &dyn System) -> Verdict {
    let Some(entry) = catalog::find(function) else {
        return Verdict::bad(format!("Module function {function} is not available"));
    };
    let names = entry.arguments;
    let mut call = Call::new(function);
    let mut taken = vec!["returner".to_owned()];
    for name in names.iter().copied().filter(|name| *name != entry.rest && *name != NAMED) {
        let written = written(name);
        // Some may also be given under their own name, unless the run uses that name.
        if let Some(value) = given.get(&written).or_else(|| given.get(name)) {
            call.kwargs.insert(name, value.clone());
        }
        taken.extend([written, name.to_owned()]);
    }
    if names.contains(&entry.rest) {
        match given.get(&written(entry.rest)) {
            None => {}
            Some(Value::List(further)) => {
                // Positional arguments require that all earlier ones are positional too.
                call = by_position(call, names, entry.rest);
                call.args.extend(further.iter().cloned());
            }
            Some(_) => return Verdict::bad(format!("'{}' must be a list.", entry.rest)),
        }
        taken.push(written(entry.rest));
    }
    if names.contains(&NAMED) {
        match given.get(NAMED) {
            None => {}
            Some(Value::Map(named)) => call.kwargs.extend(named.clone()),
            Some(_) => return Verdict::bad(format!("'{NAMED}' must be a dict.")),
        }
        taken.push(NAMED.to_owned());
    }
    let mut verdict = finish(function, catalog::call(catalog::from_template(call), machine));
    for key in given.keys().map(ToString::to_string).filter(|key| !taken.contains(key)) {
        let hint = nearest::hint(&key, names.iter().copied());
        verdict.warnings.push(format!("{function}: no argument '{key}'{hint}"));
    }
    verdict
}

fn finish(function: &str, answer: rocksalt_core::Return) -> Verdict {
    if let Some(problem) = answer.problem {
        return Verdict::bad(match &problem.misfit {
            Some(ArgumentMisfit::Missing(name)) => {
                format!("The following arguments are missing: {}", written(name))
            }
            _ => format!("Module function {function} threw an exception. Exception: {}", problem.text),
        });
    }
    let result = Some(succeeded(&answer.value));
    let comment = format!("Module function {function} executed");
    Verdict { result, comment, ..Verdict::default() }.output("ret", answer.value.clone()).change("ret", answer.value)
}

/// The name under which an argument must be written if the run uses its own name.
fn written(name: &str) -> String {
    match name {
        "name" | "fun" | "names" | "state" | "saltenv" => format!("m_{name}"),
        other => other.to_owned(),
    }
}

fn by_position(mut call: Call, names: &[&str], rest: &str) -> Call {
    for name in names.iter().take_while(|name| **name != rest) {
        match call.kwargs.remove(name) {
            Some(value) => call.args.push(value),
            None => break,
        }
    }
    call
}
