//! Calls a state once: conditions, arguments, the state itself, `check_cmd`.

use rocksalt_core::{Map, Value};
use rocksalt_modules::catalog::{self, StateEntry, Step, Verdict};
use rocksalt_modules::{Error, Result};
use rocksalt_sls::Chunk;

use super::outputs::SECRET;
use super::runner::StepRunner;
use super::scoped_machine::ScopedMachine;
use super::step_result::{hide, hide_all};
use super::{arguments, checks, conditions, slots};

/// How to call a state.
#[derive(Clone, Copy)]
pub struct CallOptions<'c> {
    pub test: bool,
    /// Calls the watch function, with the changes of the watched states.
    pub watched: Option<&'c Map>,
    /// The arguments of other states that are merged into this call.
    pub merged_arguments: &'c [Map],
    /// The call takes the next number of the run (`__run_num__`).
    pub counted: bool,
}

impl StepRunner<'_> {
    /// Calls a state once, with its conditions before and `check_cmd` after. An error becomes part of the verdict.
    pub(super) fn call_state(&self, chunk: &Chunk, options: CallOptions<'_>) -> Verdict {
        let entry = match verify(chunk, options.watched.is_some()) {
            Ok(entry) => entry,
            Err(errors) => return Verdict::bad(errors.iter().map(|text| format!("{text}\n")).collect::<String>()),
        };
        let called = match self.skipped(chunk) {
            Ok(Some(verdict)) => Ok(verdict),
            Ok(None) => self.invoke(chunk, entry, options),
            Err(error) => Err(error),
        };
        let mut verdict = match called {
            Ok(verdict) => self.checked(chunk, entry, verdict),
            Err(error) => error_verdict(error),
        };
        if chunk.arguments.get("no_log").is_some_and(Value::truth) {
            hide_all(&mut verdict);
        }
        verdict
    }

    /// The verdict if `onlyif`, `unless`, `creates` or a global condition says that the state must not run.
    fn skipped(&self, chunk: &Chunk) -> Result<Option<Verdict>> {
        if let Some(comment) = checks::skip_comment(chunk, self.machine)? {
            let mut verdict = Verdict::good(comment);
            verdict.further.insert("skip_watch", true);
            return Ok(Some(verdict));
        }
        let allowed = conditions::allow(chunk, self.machine)?;
        Ok((!allowed).then(|| Verdict::would("Failed to meet global state conditions. State not called.")))
    }

    /// Lets `check_cmd` decide the result, unless the state handles that argument itself.
    fn checked(&self, chunk: &Chunk, entry: &StateEntry, mut verdict: Verdict) -> Verdict {
        if let Some(commands) = chunk.arguments.get("check_cmd")
            && !entry.arguments.contains(&"check_cmd")
        {
            let (result, comment) = checks::run_check_cmd(commands, self.machine);
            verdict.result = Some(result);
            verdict.comment = comment.map_or(verdict.comment, str::to_owned);
        }
        verdict
    }

    /// Completes the arguments and calls the state itself.
    fn invoke(&self, chunk: &Chunk, entry: &StateEntry, options: CallOptions<'_>) -> Result<Verdict> {
        let mut own = arguments::state_arguments(chunk, entry);
        if let (Some(join), false) = (entry.join, options.merged_arguments.is_empty()) {
            let all: Vec<&Map> = std::iter::once(&own).chain(options.merged_arguments).collect();
            // The runner has checked that they can be merged.
            own = (join.join)(&all).unwrap_or(own);
        }
        slots::fill(&mut own, self.machine)?;
        let secrets = self.outputs.fill(&mut own, self.machine, options.test)?;
        let (names, hints) = arguments::unknown_arguments(&own, entry);
        if entry.strict && !names.is_empty() {
            return Ok(Verdict { warnings: hints, ..Verdict::bad(arguments::invalid(&names, entry.name)) });
        }
        let bound = entry.bind(own.clone());
        let name = own.get("name").map(ToString::to_string).unwrap_or_default();
        let low = self.low_data(chunk, own, options.watched);
        let saltenv = chunk.arguments.get("saltenv").and_then(Value::as_str).unwrap_or(&chunk.saltenv);
        let step = Step { id: &chunk.id, name: &name, sls: &chunk.sls, saltenv, low: &low, test: options.test };
        let watched = options.watched.is_some();
        let called = match ScopedMachine::of(chunk, self.machine) {
            Some(machine) => entry.call(bound, &machine, &step, watched),
            None => entry.call(bound, self.machine, &step, watched),
        };
        let mut verdict = called.unwrap_or_else(error_verdict);
        verdict.warnings.extend(hints);
        if chunk.name.starts_with(slots::MARK) {
            verdict.further.insert("name", name.as_str());
        }
        hide(&mut verdict, &secrets);
        if !secrets.is_empty() {
            verdict.outputs.insert(SECRET, true);
        }
        Ok(verdict)
    }

    /// The low data that a state sees as `__low__`.
    fn low_data(&self, chunk: &Chunk, own: Map, watched: Option<&Map>) -> Map {
        let mut low = match chunk.clone().into_value() {
            Value::Map(low) => low,
            _ => Map::new(),
        };
        low.extend(own);
        if let Some(changed) = watched {
            low.insert("__reqs__", changed.clone());
        }
        if chunk.arguments.get("clean").is_some_and(Value::truth) {
            low.insert("__required__", required(chunk, &self.low.chunks));
        }
        low
    }
}

/// The chunks that a state requires as `file`, by id or name: `clean` keeps their files.
fn required(chunk: &Chunk, chunks: &[Chunk]) -> Vec<Value> {
    let list = chunk.arguments.get("require").and_then(Value::as_list).unwrap_or_default();
    let files: Vec<&str> = list.iter().filter_map(|one| one.as_map()?.get("file")?.as_str()).collect();
    let is_named = |other: &&Chunk| files.contains(&other.id.as_str()) || files.contains(&other.name.as_str());
    chunks.iter().filter(is_named).cloned().map(Chunk::into_value).collect()
}

/// Finds the state, or returns why it can't be called.
fn verify(chunk: &Chunk, watched: bool) -> std::result::Result<&'static StateEntry, Vec<String>> {
    let mut errors = Vec::new();
    if let Some(name) = chunk.name_value.as_ref().filter(|name| name.truth() && name.as_str().is_none()) {
        let kind = python_kind(name);
        errors.push(format!("ID '{name}' in SLS '{}' is not formed as a string, but is a {kind}", chunk.sls));
    }
    if let Some(umask) = chunk.arguments.get("umask")
        && u32::from_str_radix(&umask.to_string(), 8).is_err()
    {
        errors.push(format!("Invalid umask: {umask}"));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let function = chunk.function();
    let entry = catalog::find_state(&function);
    let watches = || {
        let module = format!("{}.", chunk.state);
        catalog::states().any(|entry| entry.watches && entry.name.starts_with(&module))
    };
    match entry {
        Some(entry) if !watched || watches() => {
            let given = |name: &&&str| **name == "name" || chunk.arguments.contains_key(name);
            if !watched {
                let missing = entry.required.iter().filter(|name| !given(name));
                errors.extend(missing.map(|name| format!("Missing parameter {name} for state {function}")));
            }
            if errors.is_empty() { Ok(entry) } else { Err(errors) }
        }
        _ => {
            let function = if watched { format!("{}.mod_watch", chunk.state) } else { function };
            Err(vec![
                format!("State '{function}' was not found in SLS '{}'", chunk.sls),
                format!("Reason: '{function}' is not available."),
            ])
        }
    }
}

fn python_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::BigInt(_) => "int",
        Value::Float(_) => "float",
        Value::String(_) => "str",
        Value::Bytes(_) => "bytes",
        Value::List(_) => "list",
        Value::Map(_) => "dict",
    }
}

/// Salt's text for an exception in a state, with the reason.
fn error_verdict(error: Error) -> Verdict {
    let problem = error.problem();
    let mut verdict = Verdict::bad(format!("An exception occurred in this state: {}", problem.text));
    if let Some(hint) = &problem.hint {
        verdict.warnings.push(hint.clone());
    }
    verdict
}
