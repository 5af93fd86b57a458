//! [`FunctionArguments`]: the arguments of a call, and how a function reads them.

use std::rc::Rc;

use crate::error::{Error, Result};
use crate::value::Value;

/// Positional and keyword arguments. A function takes them in the order of its parameters, then calls
/// [`FunctionArguments::finish`], which refuses what is left.
#[derive(Clone, Default)]
pub struct FunctionArguments {
    function: Rc<str>,
    /// In reverse, so that taking the next one is cheap.
    positional: Vec<Value>,
    keyword: Vec<(Rc<str>, Value)>,
    given: usize,
    taken: usize,
    /// How many of the taken ones had to be there.
    required: usize,
    /// How many come before those that are passed: a filter's value.
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

    /// The function's name, for messages.
    pub fn named(mut self, function: impl Into<Rc<str>>) -> FunctionArguments {
        self.function = function.into();
        self
    }

    /// As those of one of Jinja's filters, which Python counts with its value.
    pub(crate) fn of_filter(mut self) -> FunctionArguments {
        self.implicit = 1;
        self
    }

    /// The name in messages. Jinja's filters are called otherwise in Python.
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

    /// How many positional ones are left.
    pub fn positional_left(&self) -> usize {
        self.positional.len()
    }

    /// The next positional one.
    pub fn next_positional(&mut self) -> Option<Value> {
        self.taken += 1;
        self.positional.pop()
    }

    /// A keyword argument, whatever the positional ones.
    pub fn keyword(&mut self, name: &str) -> Option<Value> {
        let index = self.keyword.iter().position(|(given, _)| **given == *name)?;
        Some(self.keyword.remove(index).1)
    }

    /// All positional ones that are left, in order.
    pub fn rest(&mut self) -> Vec<Value> {
        let mut rest = std::mem::take(&mut self.positional);
        rest.reverse();
        rest
    }

    /// All keyword ones that are left, in order.
    pub fn keywords(&mut self) -> Vec<(Rc<str>, Value)> {
        std::mem::take(&mut self.keyword)
    }

    /// The next parameter, by position or by its name, if it is given.
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

    /// The next parameter, which must be given.
    pub fn take(&mut self, name: &str) -> Result<Value> {
        self.required = self.taken + 1;
        self.optional(name)?.ok_or_else(|| {
            Error::type_error(format!("{}() missing 1 required positional argument: '{name}'", self.shown()))
        })
    }

    pub fn or(&mut self, name: &str, default: impl Into<Value>) -> Result<Value> {
        Ok(self.optional(name)?.unwrap_or_else(|| default.into()))
    }

    /// Python's truth of a parameter.
    pub fn flag(&mut self, name: &str, default: bool) -> Result<bool> {
        self.optional(name)?.map_or(Ok(default), |value| value.truth())
    }

    /// A parameter that must be an integer.
    pub fn integer(&mut self, name: &str, default: i64) -> Result<i64> {
        self.optional(name)?.map_or(Ok(default), |value| value.to_index())
    }

    /// A parameter that is used as a text.
    pub fn text(&mut self, name: &str, default: &str) -> Result<String> {
        self.optional(name)?.map_or_else(|| Ok(default.to_owned()), |value| value.to_text())
    }

    /// Refuses what no parameter took.
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
    /// An integer that fits, as for an index or a count.
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
