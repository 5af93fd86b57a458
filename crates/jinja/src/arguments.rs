//! [`FunctionArguments`]: the arguments of a call, and how a function reads them.

use std::rc::Rc;

use crate::error::{Error, Result};
use crate::value::Value;

/// The positional and keyword arguments of one call. A function takes them in the order of its parameters, then calls
/// [`FunctionArguments::finish`], which refuses unused arguments.
#[derive(Clone, Default)]
pub struct FunctionArguments {
    function: Rc<str>,
    /// Reversed, so that taking the next one is cheap.
    positional: Vec<Value>,
    keyword: Vec<(Rc<str>, Value)>,
    given: usize,
    taken: usize,
    /// The number of required parameters taken so far.
    required: usize,
    /// The number of implicit leading arguments: a filter's value.
    implicit: usize,
}

impl FunctionArguments {
    pub fn new(mut positional: Vec<Value>, keyword: Vec<(Rc<str>, Value)>) -> FunctionArguments {
        positional.reverse();
        let given = positional.len();
        FunctionArguments { positional, keyword, given, ..FunctionArguments::default() }
    }

    pub fn none() -> FunctionArguments {
        FunctionArguments::default()
    }

    pub fn of(positional: impl Into<Vec<Value>>) -> FunctionArguments {
        FunctionArguments::new(positional.into(), Vec::new())
    }

    /// Sets the function's name for messages.
    pub fn named(mut self, function: impl Into<Rc<str>>) -> FunctionArguments {
        self.function = function.into();
        self
    }

    /// Marks the arguments as those of a Jinja filter: Python counts the filtered value among them.
    pub(crate) fn of_filter(mut self) -> FunctionArguments {
        self.implicit = 1;
        self
    }

    /// The function's name in messages. Python's names for Jinja's filters differ.
    fn shown(&self) -> String {
        match (self.implicit, &*self.function) {
            (0, name) => name.to_owned(),
            (_, "d") => "do_default".to_owned(),
            (_, name) => format!("do_{name}"),
        }
    }

    pub fn function(&self) -> &str {
        &self.function
    }

    pub fn is_empty(&self) -> bool {
        self.positional.is_empty() && self.keyword.is_empty()
    }

    /// The number of positional arguments left.
    pub fn positional_left(&self) -> usize {
        self.positional.len()
    }

    /// Takes the next positional argument.
    pub fn next_positional(&mut self) -> Option<Value> {
        self.taken += 1;
        self.positional.pop()
    }

    /// Takes a keyword argument; positional arguments don't matter.
    pub fn keyword(&mut self, name: &str) -> Option<Value> {
        let index = self.keyword.iter().position(|(given, _)| **given == *name)?;
        Some(self.keyword.remove(index).1)
    }

    /// Takes all positional arguments that are left, in order.
    pub fn rest(&mut self) -> Vec<Value> {
        let mut rest = std::mem::take(&mut self.positional);
        rest.reverse();
        rest
    }

    /// Takes all keyword arguments that are left, in order.
    pub fn keywords(&mut self) -> Vec<(Rc<str>, Value)> {
        std::mem::take(&mut self.keyword)
    }

    /// Takes the next parameter, by position or by name, if it is given.
    pub fn optional(&mut self, name: &str) -> Result<Option<Value>> {
        self.taken += 1;
        match self.positional.pop() {
            Some(value) => {
                if self.keyword.iter().any(|(given, _)| **given == *name) {
                    let function = self.shown();
                    return Err(Error::type_error(format!("{function}() got multiple values for argument '{name}'")));
                }
                Ok(Some(value))
            }
            None => Ok(self.keyword(name)),
        }
    }

    /// Takes the next parameter, which must be given.
    pub fn take(&mut self, name: &str) -> Result<Value> {
        self.required = self.taken + 1;
        self.optional(name)?.ok_or_else(|| {
            Error::type_error(format!("{}() missing 1 required positional argument: '{name}'", self.shown()))
        })
    }

    pub fn or(&mut self, name: &str, default: impl Into<Value>) -> Result<Value> {
        Ok(self.optional(name)?.unwrap_or_else(|| default.into()))
    }

    /// Takes a parameter as a boolean, by Python's truth.
    pub fn flag(&mut self, name: &str, default: bool) -> Result<bool> {
        self.optional(name)?.map_or(Ok(default), |value| value.truth())
    }

    /// Takes a parameter that must be an integer.
    pub fn integer(&mut self, name: &str, default: i64) -> Result<i64> {
        self.optional(name)?.map_or(Ok(default), |value| value.to_index())
    }

    /// Takes a parameter as text.
    pub fn text(&mut self, name: &str, default: &str) -> Result<String> {
        self.optional(name)?.map_or_else(|| Ok(default.to_owned()), |value| value.to_text())
    }

    /// Fails if arguments are left that no parameter took.
    pub fn finish(self) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let function = self.shown();
        if let Some((name, _)) = self.keyword.first() {
            return Err(Error::type_error(format!("{function}() got an unexpected keyword argument '{name}'")));
        }
        if !self.positional.is_empty() {
            let [required, taken, given] = [self.required, self.taken, self.given].map(|count| count + self.implicit);
            let (s, were) = (if taken == 1 { "" } else { "s" }, if given == 1 { "was" } else { "were" });
            let taken = if required == taken { taken.to_string() } else { format!("from {required} to {taken}") };
            return Err(Error::type_error(format!(
                "{function}() takes {taken} positional argument{s} but {given} {were} given"
            )));
        }
        Ok(())
    }
}

impl Value {
    /// Returns an integer that fits into 64 bits, as for an index or a count.
    pub fn to_index(&self) -> Result<i64> {
        match self {
            Value::Int(number) => Ok(*number),
            Value::Bool(flag) => Ok(i64::from(*flag)),
            Value::BigInt(_) => Err(Error::exception("OverflowError", "Python int too large to convert to C ssize_t")),
            other => {
                Err(Error::type_error(format!("'{}' object cannot be interpreted as an integer", other.type_name())))
            }
        }
    }
}
