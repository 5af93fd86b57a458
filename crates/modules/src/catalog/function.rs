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
/// `#[function("noun.verb", reads)]` stands over the struct of its arguments and says the rest.
pub trait Function: Arguments + FunctionAttributes {
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

/// A function in the list.
#[derive(Clone, Copy)]
pub struct CatalogFunction {
    pub name: &'static str,
    /// Other names for the same.
    pub aliases: &'static [&'static str],
    /// The names of its arguments in their order.
    pub arguments: &'static [&'static str],
    /// The one of them that takes all further positional ones.
    pub rest: &'static str,
    pub nature: Nature,
    /// Given all arguments under their names.
    work: fn(Map, &dyn System) -> Result<FunctionOutcome>,
    #[cfg(feature = "docs")]
    pub description: fn() -> FunctionDescription,
}

/// What a function gave.
pub struct FunctionOutcome {
    pub value: Value,
    pub retcode: i32,
}

/// The list entry of a function.
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
    /// Puts a call's arguments together under their names, and says which don't fit.
    pub fn bind(&self, call: Call) -> std::result::Result<Map, Problem> {
        bind(self.arguments, self.rest, call)
    }

    pub fn call(&self, call: Call, machine: &dyn System) -> std::result::Result<FunctionOutcome, Problem> {
        let arguments = self.bind(call)?;
        (self.work)(arguments, machine).map_err(Error::problem)
    }
}

// The agent carries this once for each function: what can be said without the type is said elsewhere.
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
