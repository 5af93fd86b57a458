//! [`Function`]: the contract of a function.

use rocksalt_core::call::{ArgumentMisfit, ProblemKind};
use rocksalt_core::description::Nature;
use rocksalt_core::value::{FromValueError, to_value};
use rocksalt_core::{Call, Map, Problem, Value};
use serde::Serialize;

use super::arguments::{Arguments, FunctionAttributes, bind, read, usage};
#[cfg(feature = "docs")]
use super::description::FunctionDescription;
use crate::machine::System;
use crate::{Error, Result};

/// A function that users call by name.
///
/// `#[function("noun.verb", reads)]` on the struct of its arguments defines the rest.
pub trait Function: Arguments + FunctionAttributes {
    type Output: Serialize;
    fn call(self, machine: &dyn System) -> Result<Self::Output>;

    /// The exit code for a result; 0 by default.
    fn retcode(_: &Self::Output) -> i32 {
        0
    }

    /// The result as a [`Value`]; a result that is one already need not be copied.
    fn value(output: Self::Output) -> Result<Value> {
        shown(&output)
    }
}

/// A function in the catalog.
#[derive(Clone, Copy)]
pub struct CatalogFunction {
    pub name: &'static str,
    /// Other names of the function.
    pub aliases: &'static [&'static str],
    /// The names of its arguments, in order.
    pub arguments: &'static [&'static str],
    /// The argument that takes all further positional ones.
    pub rest: &'static str,
    pub nature: Nature,
    /// Runs the function with all arguments by name.
    work: fn(Map, &dyn System) -> Result<FunctionOutcome>,
    #[cfg(feature = "docs")]
    pub description: fn() -> FunctionDescription,
}

/// The result of a function.
pub struct FunctionOutcome {
    pub value: Value,
    pub retcode: i32,
}

/// The catalog entry of a function.
pub const fn entry<F: Function>() -> CatalogFunction {
    CatalogFunction {
        name: F::NAME,
        aliases: F::ALIASES,
        arguments: F::NAMES,
        rest: F::REST,
        nature: F::NATURE,
        work: work::<F>,
        #[cfg(feature = "docs")]
        description: FunctionDescription::of_function::<F>,
    }
}

impl CatalogFunction {
    /// Assigns a call's arguments to their names, and reports those that don't fit.
    pub fn bind(&self, call: Call) -> std::result::Result<Map, Problem> {
        bind(self.arguments, self.rest, call)
    }

    pub fn call(&self, call: Call, machine: &dyn System) -> std::result::Result<FunctionOutcome, Problem> {
        let arguments = self.bind(call)?;
        (self.work)(arguments, machine).map_err(Error::problem)
    }
}

// The agent contains one copy of this for each function, so code that doesn't depend on the type is elsewhere.
fn work<F: Function>(arguments: Map, machine: &dyn System) -> Result<FunctionOutcome> {
    let function: F = read(arguments).map_err(|error| misfit(F::NAME, &error))?;
    let output = function.call(machine)?;
    let retcode = F::retcode(&output);
    Ok(FunctionOutcome { value: F::value(output)?, retcode })
}

fn shown(output: &impl Serialize) -> Result<Value> {
    to_value(output).map_err(|error| unshowable(&error))
}

#[cold]
#[inline(never)]
fn misfit(function: &str, error: &FromValueError) -> Error {
    let missing = error.missing_argument().map(|name| ArgumentMisfit::Missing(name.to_owned()));
    Error::from(
        Problem::new(ProblemKind::Arguments, format!("{function}: {error}")).hint(usage(function)).misfit(missing),
    )
}

#[cold]
#[inline(never)]
fn unshowable(error: &dyn std::fmt::Display) -> Error {
    Error::failed(error.to_string())
}
