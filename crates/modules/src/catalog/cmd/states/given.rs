//! The arguments of a state of `cmd` for the function that it calls.

use std::path::Path;

use rocksalt_core::{Map, Value, nearest};

use super::super::super::arguments::{self, Arguments};
use super::super::finished::All;
use super::{Step, Verdict};
use crate::machine::{FileKind, Probe};
use crate::{Error, Result};

/// Arguments with a meaning for all states, which are handled elsewhere.
const COMMON: [&str; 4] = ["saltenv", "umask", "template", "name"];

/// Selects the function's arguments from the step's: each of its fields that is given, and `more`.
///
/// Nulls count as not given.
pub fn arguments<A: Arguments>(state: &str, step: &Step<'_>, more: Map) -> Result<A> {
    let fields = A::NAMES;
    let given = step.low.iter().filter(|(key, value)| !value.is_null() && is_one_of(key, fields));
    let mut own: Map = given.map(|(key, value)| (key.clone(), value.clone())).collect();
    own.extend(more);
    arguments::read(own).map_err(|error| Error::arguments(format!("{state}: {error}")))
}

fn is_one_of(key: &Value, fields: &[&str]) -> bool {
    key.as_str().is_some_and(|key| fields.contains(&key) && !COMMON.contains(&key))
}

/// Warnings about arguments that neither the state nor its function has.
pub fn strange(state: &str, further: &Map, own: &[&str], function: &[&str]) -> Vec<String> {
    let names: Vec<&str> = further.keys().filter_map(Value::as_str).collect();
    let unknown =
        names.into_iter().filter(|name| !function.contains(name) && !name.starts_with("__") && *name != "sfun");
    unknown
        .map(|name| {
            let known = own.iter().chain(function).copied().filter(|name| *name != "kwargs");
            format!("{state}: no argument '{name}'{}", nearest::hint(name, known))
        })
        .collect()
}

/// Salt's verdict for variables that are neither a list nor a map.
pub fn wrong_environment(env: &Value) -> Option<Verdict> {
    let right = matches!(env, Value::Null | Value::List(_) | Value::Map(_));
    (!right).then(|| Verdict::bad("Invalidly-formatted 'env' parameter. See documentation."))
}

/// Salt's verdict for a missing directory.
pub fn missing_directory(machine: &dyn Probe, cwd: Option<&str>) -> Option<Verdict> {
    let cwd = cwd.filter(|cwd| !cwd.is_empty())?;
    let is_directory = matches!(machine.stat(Path::new(cwd), true), Ok(Some(stat)) if stat.kind == FileKind::Directory);
    (!is_directory).then(|| Verdict::bad(format!("Desired working directory \"{cwd}\" is not available")))
}

/// The verdict for a finished command. With `hidden`, its output is only available to other steps.
pub fn verdict(comment: String, all: All, hidden: bool) -> Verdict {
    let (stdout, stderr) = match hidden {
        true => (String::new(), String::new()),
        false => (all.stdout.clone(), all.stderr.clone()),
    };
    let mut verdict = Verdict { result: Some(all.retcode == 0), comment, ..Verdict::default() }
        .change("pid", all.pid)
        .change("retcode", all.retcode)
        .change("stdout", stdout)
        .change("stderr", stderr)
        .output("pid", all.pid)
        .output("retcode", all.retcode)
        .output("stdout", all.stdout)
        .output("stderr", all.stderr);
    if all.cache_error {
        verdict.changes.insert("cache_error", true);
    }
    verdict
}
