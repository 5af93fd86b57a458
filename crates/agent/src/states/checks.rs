//! Conditions of a state: `onlyif`, `unless` and `creates` before it runs, `check_cmd` after.

use std::path::Path;

use rocksalt_core::{Call, Map, Value};
use rocksalt_modules::catalog;
use rocksalt_modules::machine::System;
use rocksalt_modules::{Error, Result};
use rocksalt_sls::Chunk;

use super::slots;

/// Counts as the exit code of a command that could not be started.
const NOT_STARTED: i32 = 100;

/// The comment if a condition says that the state must not run.
pub fn skip_comment(chunk: &Chunk, machine: &dyn System) -> Result<Option<String>> {
    let given = |name: &str| chunk.arguments.get(name);
    let mut comments = Vec::new();
    let mut skip = false;
    if let Some(conditions) = given("onlyif") {
        let (holds, comment) = onlyif(chunk, conditions, machine)?;
        skip |= !holds;
        comments.extend(comment);
    }
    if let Some(conditions) = given("unless") {
        let (holds, comment) = unless(chunk, conditions, machine)?;
        skip |= holds;
        comments.extend(comment);
    }
    if let Some(paths) = given("creates") {
        let (there, comment) = creates(paths, machine);
        skip |= there;
        comments.push(comment);
    }
    Ok(skip.then(|| comments.join("\n")))
}

/// The result of one condition.
enum ConditionResult {
    /// An exit code.
    Code(i32),
    /// The truth of a function's result.
    Answer(bool),
    /// Neither a command nor a function; the text is a comment on it.
    Nothing(Option<String>),
}

/// Whether all conditions hold: the state is skipped if one fails.
fn onlyif(chunk: &Chunk, conditions: &Value, machine: &dyn System) -> Result<(bool, Option<String>)> {
    let mut comment = None;
    for condition in each(conditions) {
        comment = match evaluate(chunk, "onlyif", condition, NOT_STARTED, machine)? {
            ConditionResult::Code(0) | ConditionResult::Answer(true) => Some("onlyif condition is true".to_owned()),
            ConditionResult::Code(_) | ConditionResult::Answer(false) => {
                return Ok((false, Some("onlyif condition is false".into())));
            }
            ConditionResult::Nothing(Some(text)) => return Ok((true, Some(text))),
            ConditionResult::Nothing(None) => {
                return Ok((true, Some("onlyif execution failed, bad type passed".into())));
            }
        };
    }
    Ok((true, comment))
}

/// Whether all conditions hold: the state runs if one fails.
fn unless(chunk: &Chunk, conditions: &Value, machine: &dyn System) -> Result<(bool, Option<String>)> {
    let (mut holds, mut comment) = (false, None);
    for condition in each(conditions) {
        (holds, comment) = match evaluate(chunk, "unless", condition, 0, machine)? {
            ConditionResult::Code(0) | ConditionResult::Answer(true) => {
                (true, Some("unless condition is true".to_owned()))
            }
            ConditionResult::Code(_) | ConditionResult::Answer(false) => {
                return Ok((false, Some("unless condition is false".into())));
            }
            ConditionResult::Nothing(Some(text)) => return Ok((holds, Some(text))),
            ConditionResult::Nothing(None) => (false, Some("unless condition is false, bad type passed".into())),
        };
    }
    Ok((holds, comment))
}

fn each(conditions: &Value) -> &[Value] {
    match conditions {
        Value::List(conditions) => conditions,
        one => std::slice::from_ref(one),
    }
}

fn evaluate(
    chunk: &Chunk,
    name: &str,
    condition: &Value,
    not_started: i32,
    machine: &dyn System,
) -> Result<ConditionResult> {
    match condition {
        Value::String(line) => Ok(ConditionResult::Code(retcode(line, options(chunk), machine).unwrap_or(not_started))),
        Value::Map(entry) => {
            let Some(function) = entry.get("fun") else {
                return Ok(ConditionResult::Nothing(Some(format!("no `fun` argument in {name}: {condition}"))));
            };
            call_function(&function.to_string(), entry, machine)
        }
        _ => Ok(ConditionResult::Nothing(None)),
    }
}

fn call_function(function: &str, entry: &Map, machine: &dyn System) -> Result<ConditionResult> {
    let mut named = entry.clone();
    named.remove("fun");
    let path = named.remove("get_return").filter(Value::truth);
    let mut by_position = match named.remove("args") {
        Some(Value::List(arguments)) => arguments,
        Some(one) => vec![one],
        None => Vec::new(),
    };
    slots::fill(&mut named, machine)?;
    let mut listed = Map::from_iter([("args".into(), Value::List(by_position))]);
    slots::fill(&mut listed, machine)?;
    by_position = match listed.remove("args") {
        Some(Value::List(arguments)) => arguments,
        _ => Vec::new(),
    };
    let call = Call { args: by_position, kwargs: named, ..Call::new(function) };
    let answer = catalog::call(catalog::from_template(call), machine);
    if let Some(problem) = answer.problem {
        return Err(Error::from(problem));
    }
    if answer.retcode != 0 {
        return Ok(ConditionResult::Code(answer.retcode));
    }
    Ok(ConditionResult::Answer(match path {
        Some(path) => answer.value.walk(&path.to_string(), ":").is_some_and(Value::truth),
        None => answer.value.truth(),
    }))
}

/// The options of the state's own commands, which also apply to its conditions.
fn options(chunk: &Chunk) -> Map {
    let excluded: Vec<String> = match chunk.arguments.get("cmd_opts_exclude") {
        Some(names) => each(names).iter().map(ToString::to_string).collect(),
        None => Vec::new(),
    };
    let names = ["cwd", "runas", "env", "prepend_path", "timeout", "success_retcodes", "shell"];
    let wanted = names.into_iter().filter(|name| !excluded.iter().any(|excluded| excluded == name));
    wanted
        .filter_map(|name| {
            Some((Value::from(name), chunk.arguments.get(name).filter(|value| !value.is_null())?.clone()))
        })
        .collect()
}

/// The exit code of a command; `None` if it could not be started.
fn retcode(line: &str, options: Map, machine: &dyn System) -> Option<i32> {
    let mut call = Call::new("cmd.retcode").arg(line).kwarg("python_shell", true).kwarg("ignore_retcode", true);
    call.kwargs.extend(options);
    let answer = catalog::call(call, machine);
    let code = answer.value.as_i64().and_then(|code| i32::try_from(code).ok());
    code.filter(|_| answer.problem.is_none())
}

fn creates(paths: &Value, machine: &dyn System) -> (bool, String) {
    let exists = |path: &Value| matches!(machine.stat(Path::new(&path.to_string()), true), Ok(Some(_)));
    match paths {
        Value::String(path) if exists(paths) => (true, format!("{path} exists")),
        Value::List(paths) if paths.iter().all(exists) => (true, "All files in creates exist".into()),
        _ => (false, "Creates files not found".into()),
    }
}

/// Runs `check_cmd`. Returns whether the state succeeded, and the comment.
pub fn run_check_cmd(commands: &Value, machine: &dyn System) -> (bool, Option<&'static str>) {
    let mut outcome = (false, None);
    for command in each(commands) {
        match retcode(&command.to_string(), Map::new(), machine) {
            Some(0) => outcome = (true, Some("check_cmd determined the state succeeded")),
            _ => return (false, Some("check_cmd determined the state failed")),
        }
    }
    outcome
}
