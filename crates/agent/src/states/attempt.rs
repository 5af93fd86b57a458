//! One call of a state, with all that goes before and after it.

use rocksalt_core::{Map, Value};
use rocksalt_modules::catalog::{self, StateEntry, Step, Verdict};
use rocksalt_modules::machine::System;
use rocksalt_modules::{Error, Result};
use rocksalt_sls::Chunk;

use super::outputs::{Outputs, SECRET};
use super::result::{hide, hide_all};
use super::within::Within;
use super::{arguments, checks, conditions, slots};

/// What all calls of a run share.
pub struct Calling<'r> {
    pub machine: &'r dyn System,
    pub outputs: &'r Outputs,
    /// All of the run.
    pub chunks: &'r [Chunk],
    /// Each call counts as one of the run.
    pub counted: bool,
}

/// How a state is to be called.
#[derive(Clone, Copy)]
pub struct Manner<'m> {
    pub test: bool,
    /// Something that it watches has changed: what to tell it of that.
    pub watched: Option<&'m Map>,
    /// The arguments of other states whose work it does too.
    pub with: &'m [Map],
}

impl Calling<'_> {
    /// Calls a state once. Whatever goes wrong is part of the verdict.
    pub fn call(&self, chunk: &Chunk, manner: Manner<'_>) -> Verdict {
        let entry = match verify(chunk, manner.watched.is_some()) {
            Ok(entry) => entry,
            Err(errors) => return Verdict::bad(errors.iter().map(|text| format!("{text}\n")).collect::<String>()),
        };
        let mut verdict = self.attempt(chunk, entry, manner).unwrap_or_else(broken);
        if chunk.arguments.get("no_log").is_some_and(Value::truth) {
            hide_all(&mut verdict);
        }
        verdict
    }

    fn attempt(&self, chunk: &Chunk, entry: &StateEntry, manner: Manner<'_>) -> Result<Verdict> {
        let mut verdict = match checks::skip(chunk, self.machine)? {
            Some(comment) => {
                let mut verdict = Verdict::good(comment);
                verdict.further.insert("skip_watch", true);
                verdict
            }
            None if !conditions::allow(chunk, self.machine)? => {
                Verdict::would("Failed to meet global state conditions. State not called.")
            }
            None => self.state(chunk, entry, manner)?,
        };
        // A state that has this argument itself sees to it.
        if let Some(commands) = chunk.arguments.get("check_cmd")
            && !(entry.arguments)().contains(&"check_cmd")
        {
            let (result, comment) = checks::succeeded(commands, self.machine);
            verdict.result = Some(result);
            verdict.comment = comment.map_or(verdict.comment, str::to_owned);
        }
        Ok(verdict)
    }

    fn state(&self, chunk: &Chunk, entry: &StateEntry, manner: Manner<'_>) -> Result<Verdict> {
        let mut own = arguments::own(chunk, entry);
        if let (Some(join), false) = (entry.join, manner.with.is_empty()) {
            let all: Vec<&Map> = std::iter::once(&own).chain(manner.with).collect();
            // Checked before: those that can't be joined never come here.
            own = (join.join)(&all).unwrap_or(own);
        }
        slots::fill(&mut own, self.machine)?;
        let secrets = self.outputs.fill(&mut own, self.machine, manner.test)?;
        let (names, hints) = arguments::strange(&own, entry);
        if entry.strict && !names.is_empty() {
            return Ok(Verdict { warnings: hints, ..Verdict::bad(arguments::invalid(&names, entry.name)) });
        }
        let bound = entry.bind(own.clone());
        let name = own.get("name").map(ToString::to_string).unwrap_or_default();
        let mut low = match chunk.clone().into_value() {
            Value::Map(low) => low,
            _ => Map::new(),
        };
        low.extend(own);
        if let Some(changed) = manner.watched {
            low.insert("__reqs__", changed.clone());
        }
        if chunk.arguments.get("clean").is_some_and(Value::truth) {
            low.insert("__required__", required(chunk, self.chunks));
        }
        let saltenv = chunk.arguments.get("saltenv").and_then(Value::as_str).unwrap_or(&chunk.saltenv);
        let step = Step { id: &chunk.id, name: &name, sls: &chunk.sls, saltenv, low: &low, test: manner.test };
        let called = self.within(chunk, |machine| entry.call(bound, machine, &step, manner.watched.is_some()));
        let mut verdict = called.unwrap_or_else(broken);
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

    /// With the umask and the user that the state wants.
    fn within(&self, chunk: &Chunk, call: impl FnOnce(&dyn System) -> Result<Verdict>) -> Result<Verdict> {
        let umask = chunk.arguments.get("umask").and_then(|text| u32::from_str_radix(&text.to_string(), 8).ok());
        let user = chunk.arguments.get("runas").filter(|user| user.truth()).map(ToString::to_string);
        match (umask, &user) {
            (None, None) => call(self.machine),
            _ => call(&Within { machine: self.machine, umask, user }),
        }
    }
}

/// What a state names as a `file` that it requires, by id or name: `clean` leaves it alone.
fn required(chunk: &Chunk, chunks: &[Chunk]) -> Vec<Value> {
    let list = chunk.arguments.get("require").and_then(Value::as_list).unwrap_or_default();
    let files: Vec<&str> = list.iter().filter_map(|one| one.as_map()?.get("file")?.as_str()).collect();
    let is_named = |other: &&Chunk| files.contains(&other.id.as_str()) || files.contains(&other.name.as_str());
    chunks.iter().filter(is_named).cloned().map(Chunk::into_value).collect()
}

/// The state that is meant, or what is wrong with that.
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

/// What Salt says where its Python breaks; the reason is in it.
fn broken(error: Error) -> Verdict {
    let problem = error.problem();
    let mut verdict = Verdict::bad(format!("An exception occurred in this state: {}", problem.text));
    if let Some(hint) = &problem.hint {
        verdict.warnings.push(hint.clone());
    }
    verdict
}
