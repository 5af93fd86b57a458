//! `publish`: calls on other targets, through the controller.

use rocksalt_core::frame::Ask;
use rocksalt_core::{Call, Map, Value, yaml};
use rocksalt_macros::function;

use super::{CatalogFunction, Function, entry};
use crate::machine::System;
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] = &[entry::<FullData>(), entry::<Publish>(), entry::<Runner>()];

/// The default number of seconds to wait for other targets.
pub const PATIENCE: u32 = 5;

fn patience() -> u32 {
    PATIENCE
}

/// Runs a function on other targets and returns each result.
///
/// Only what the controller's rules for peers allow: by default nothing.
///
/// ```text
/// rocksalt '*' publish.publish 'web*' network.interfaces
/// rocksalt '*' publish.publish 'os:Debian' test.arg 'arg1,arg2' tgt_type=grain
/// ```
#[function("publish.publish", changes)]
pub struct Publish {
    /// Which targets.
    tgt: String,
    /// The function.
    fun: String,
    /// Its arguments: a list, or a comma-separated text; `name=value` goes by name.
    arg: Value,
    /// What kind of target expression it is: `glob`, `list`, `grain`, `compound` …
    #[default("glob")]
    tgt_type: String,
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    returner: Value,
    /// How long to wait, in seconds.
    #[default(patience())]
    timeout: u32,
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    via_master: Value,
}

impl Function for Publish {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let answers = ask(machine, self.tgt, &self.fun, &self.arg, self.tgt_type, self.timeout)?;
        Ok(answers.into_iter().map(|(id, answer)| (id, bare(answer))).collect())
    }
}

/// As `publish.publish`, with the exit code and the other details of each return.
///
/// ```text
/// rocksalt '*' publish.full_data 'web*' test.ping
/// ```
#[function("publish.full_data", changes)]
pub struct FullData {
    /// Which targets.
    tgt: String,
    /// The function.
    fun: String,
    /// Its arguments: a list, or a comma-separated text; `name=value` goes by name.
    arg: Value,
    /// What kind of target expression it is: `glob`, `list`, `grain`, `compound` …
    #[default("glob")]
    tgt_type: String,
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    returner: Value,
    /// How long to wait, in seconds.
    #[default(patience())]
    timeout: u32,
}

impl Function for FullData {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        ask(machine, self.tgt, &self.fun, &self.arg, self.tgt_type, self.timeout)
    }
}

/// Fails: targets can't run runners on the controller.
///
/// ```text
/// rocksalt '*' publish.runner manage.down
/// ```
#[function("publish.runner", changes)]
pub struct Runner {
    /// The runner.
    fun: String,
    /// Its arguments.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    arg: Value,
    /// How long to wait, in seconds.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    timeout: Value,
}

impl Function for Runner {
    type Output = ();

    fn call(self, _: &dyn System) -> Result<()> {
        Err(Error::failed(format!("targets may not run '{}' on the controller", self.fun))
            .hint("call it on the controller, or send it an event that a rule there reacts to"))
    }
}

fn ask(
    machine: &dyn System,
    target: String,
    function: &str,
    args: &Value,
    target_type: String,
    timeout: u32,
) -> Result<Map> {
    let call = call(function, args)?;
    match machine.controller().ask(Ask::Publish { target, target_type, call: Box::new(call), timeout })? {
        Value::Map(answers) => Ok(answers),
        Value::Null => Ok(Map::new()),
        other => Err(Error::failed(format!("the controller answered with {} instead of a map", other.kind()))),
    }
}

/// The bare result from a target's full answer.
fn bare(answer: Value) -> Value {
    match answer {
        Value::Map(mut map) if map.contains_key("ret") => map.remove("ret").unwrap_or_default(),
        other => other,
    }
}

/// A call with arguments in the form that users of `publish` write.
pub fn call(function: &str, args: &Value) -> Result<Call> {
    let mut call = Call::new(function);
    let words: Vec<Value> = match args {
        Value::Null => Vec::new(),
        Value::List(items) => items.clone(),
        Value::String(text) => text.split(',').map(|word| Value::from(word.trim())).collect(),
        other => vec![other.clone()],
    };
    for word in words {
        let Value::String(text) = &word else {
            call.args.push(word);
            continue;
        };
        let read = |text: &str| yaml::parse(text).unwrap_or_else(|_| text.into());
        let named = text.split_once('=').filter(|(name, _)| {
            let letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            !name.is_empty() && name.chars().all(letter) && !name.starts_with(|first: char| first.is_ascii_digit())
        });
        match named {
            Some((name, value)) => {
                call.kwargs.insert(name, read(value));
            }
            None => call.args.push(read(text)),
        }
    }
    Ok(call)
}
