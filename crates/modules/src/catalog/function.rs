//! [`Function`]: the contract of a function, and how a call's arguments reach it.

use rocksalt_core::value::{FromValueError, fields_of, from_value, to_value};
use rocksalt_core::{Call, Map, Problem, Value, call::ProblemKind, nearest};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::machine::System;
use crate::{Error, Result};

/// A function that users call by name.
///
/// The struct's fields are its arguments, in the order in which they may be given by position; the
/// struct's doc comment is the function's documentation, a field's doc comment the argument's.
/// An argument that may be left out is `#[serde(default)]`.
#[cfg(feature = "docs")]
pub trait Function: DeserializeOwned + schemars::JsonSchema {
    const NAME: &'static str;
    /// The argument that takes all further positional ones as a list. Those after it go by name only.
    const REST: &'static str = "args";
    type Output: Serialize;
    fn call(self, machine: &dyn System) -> Result<Self::Output>;

    /// The exit code that the result means; 0 unless the function knows better.
    fn retcode(_: &Self::Output) -> i32 {
        0
    }

    /// The result as a value; one that is a value already need not be copied.
    fn value(output: Self::Output) -> Result<Value> {
        shown(&output)
    }
}

/// As with docs, but the agent carries no schemas.
#[cfg(not(feature = "docs"))]
pub trait Function: DeserializeOwned {
    const NAME: &'static str;
    /// The argument that takes all further positional ones as a list. Those after it go by name only.
    const REST: &'static str = "args";
    type Output: Serialize;
    fn call(self, machine: &dyn System) -> Result<Self::Output>;

    fn retcode(_: &Self::Output) -> i32 {
        0
    }

    fn value(output: Self::Output) -> Result<Value> {
        shown(&output)
    }
}

/// A function in the list.
pub struct Entry {
    pub name: &'static str,
    /// Other names for the same (`cmd.exec_code_all` has none, `file.dirname` might).
    pub aliases: &'static [&'static str],
    /// The names of its arguments in their order.
    pub arguments: fn() -> &'static [&'static str],
    /// The one of them that takes all further positional ones, as in [`Function::REST`].
    pub rest: &'static str,
    /// Given all arguments under their names.
    work: fn(Value, &dyn System) -> Result<Outcome>,
    /// Only reads the arguments.
    #[cfg(feature = "docs")]
    read: fn(Value) -> Result<()>,
    #[cfg(feature = "docs")]
    pub schema: fn() -> schemars::Schema,
}

/// What a function gave.
pub struct Outcome {
    pub value: Value,
    pub retcode: i32,
}

/// The list entry of a function.
pub const fn entry<F: Function>() -> Entry {
    Entry {
        name: F::NAME,
        aliases: &[],
        arguments: fields_of::<F>,
        rest: F::REST,
        work: work::<F>,
        #[cfg(feature = "docs")]
        read: |arguments| from_value::<F>(arguments).map(drop).map_err(|error| misfit(F::NAME, &error)),
        #[cfg(feature = "docs")]
        schema: || schemars::schema_for!(F),
    }
}

impl Entry {
    /// Puts a call's arguments together under their names, and says which don't fit.
    pub fn bind(&self, call: Call) -> std::result::Result<Map, Problem> {
        bind((self.arguments)(), self.rest, call)
    }

    pub fn call(&self, call: Call, machine: &dyn System) -> std::result::Result<Outcome, Problem> {
        let arguments = self.bind(call)?;
        (self.work)(Value::Map(arguments), machine).map_err(Error::problem)
    }

    /// Whether a call's arguments are all there and of the right kind; nothing is called.
    #[cfg(feature = "docs")]
    pub fn check(&self, call: Call) -> std::result::Result<(), Problem> {
        let arguments = self.bind(call)?;
        (self.read)(Value::Map(arguments)).map_err(Error::problem)
    }

    #[must_use]
    pub const fn also(mut self, aliases: &'static [&'static str]) -> Entry {
        self.aliases = aliases;
        self
    }
}

// The agent carries this once for each function: what can be said without the type is said elsewhere.
fn work<F: Function>(arguments: Value, machine: &dyn System) -> Result<Outcome> {
    let function: F = from_value(arguments).map_err(|error| misfit(F::NAME, &error))?;
    let output = function.call(machine)?;
    let retcode = F::retcode(&output);
    Ok(Outcome { value: F::value(output)?, retcode })
}

fn shown(output: &impl Serialize) -> Result<Value> {
    to_value(output).map_err(|error| unshowable(&error))
}

#[cold]
#[inline(never)]
fn misfit(function: &str, error: &FromValueError) -> Error {
    Error::arguments(format!("{function}: {error}")).hint(usage(function))
}

#[cold]
#[inline(never)]
fn unshowable(error: &dyn std::fmt::Display) -> Error {
    Error::failed(error.to_string())
}

/// The field that takes all further named arguments as a map.
pub const NAMED: &str = "kwargs";

/// Puts positional and named arguments together under their names.
///
/// `rest` names the field for further positional arguments; fields after it are given by name only.
pub fn bind(fields: &[&str], rest: &str, call: Call) -> std::result::Result<Map, Problem> {
    let fault = |text: String| {
        Problem::new(ProblemKind::Arguments, format!("{}: {text}", call.function)).hint(usage(&call.function))
    };
    let takes_rest = fields.contains(&rest);
    let takes_named = fields.contains(&NAMED);
    let names: Vec<&str> = fields.iter().copied().filter(|name| *name != NAMED).collect();
    let positional: Vec<&str> = names.iter().copied().take_while(|name| *name != rest).collect();
    let mut bound = Map::new();
    let mut further = Vec::new();
    for (index, value) in call.args.iter().enumerate() {
        match positional.get(index) {
            Some(name) => {
                bound.insert(*name, value.clone());
            }
            None if takes_rest => further.push(value.clone()),
            None => {
                return Err(fault(format!(
                    "takes at most {} arguments by position, got {}",
                    positional.len(),
                    call.args.len()
                )));
            }
        }
    }
    if takes_rest && (!further.is_empty() || !call.kwargs.contains_key(rest)) {
        bound.insert(rest, further);
    }
    let mut named = Map::new();
    for (key, value) in call.kwargs.iter() {
        let name = key.as_str().unwrap_or_default();
        if names.contains(&name) {
            if bound.contains_key(name) {
                return Err(fault(format!("argument '{name}' was given twice, by position and by name")));
            }
            bound.insert(name, value.clone());
        } else if takes_named {
            named.insert(key.clone(), value.clone());
        } else if !name.starts_with("__") {
            // Names with two underscores are Salt's own (`__pub_user` …); clients send them along.
            return Err(fault(format!("has no argument '{name}'{}", nearest::hint(name, names.iter().copied()))));
        }
    }
    if takes_named {
        bound.insert(NAMED, named);
    }
    Ok(bound)
}

fn usage(function: &str) -> String {
    format!("see `rocksalt doc {function}`")
}
