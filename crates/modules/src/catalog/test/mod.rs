//! `test`: reachability of targets, and the form of calls and results.

mod arguments;
mod numbers;
mod provider;
mod random;
mod states;
mod versions;

use rocksalt_core::{Call, Map, Problem, Value};
use rocksalt_macros::function;
use serde::{Serialize, Serializer};

use super::arguments::FunctionAttributes as _;
use super::{CatalogFunction, Function, entry};
use crate::machine::System;
use crate::{Error, Result};

pub use states::STATES;

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<Arg>(),
    entry::<arguments::ArgRepr>(),
    entry::<arguments::ArgType>(),
    entry::<arguments::Args>(),
    entry::<Assertion>(),
    entry::<numbers::Collatz>(),
    entry::<CrossTest>(),
    entry::<Echo>(),
    entry::<Exception>(),
    entry::<False>(),
    entry::<numbers::Fib>(),
    entry::<GetOpts>(),
    entry::<arguments::Kwarg>(),
    entry::<ModuleReport>(),
    entry::<NotLoaded>(),
    entry::<Ping>(),
    entry::<provider::Provider>(),
    entry::<provider::Providers>(),
    entry::<random::RandSleep>(),
    entry::<random::RandomHash>(),
    entry::<Retcode>(),
    entry::<Sleep>(),
    entry::<True>(),
    entry::<Version>(),
    entry::<versions::Versions>(),
    entry::<versions::VersionsInformation>(),
];

/// Answers `True` if the target can be reached and works.
///
/// ```text
/// rocksalt '*' test.ping
/// ```
#[function("test.ping", reads, repeatable, small)]
pub struct Ping {}

impl Function for Ping {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(true)
    }
}

/// Returns `True`.
///
/// ```text
/// rocksalt '*' test.true
/// ```
#[function("test.true", reads, repeatable, small, also("test.true_"))]
pub struct True {}

impl Function for True {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(true)
    }
}

/// Returns `False`.
///
/// ```text
/// rocksalt '*' test.false
/// ```
#[function("test.false", reads, repeatable, small, also("test.false_"))]
pub struct False {}

impl Function for False {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(false)
    }
}

/// Returns its argument.
///
/// ```text
/// rocksalt '*' test.echo 'hello'
/// ```
#[function("test.echo", reads, repeatable, small, also("test.outputter"))]
pub struct Echo {
    /// What to give back.
    #[required]
    text: Value,
}

impl Function for Echo {
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        Ok(self.text)
    }
}

/// Returns the arguments as they arrived.
///
/// ```text
/// rocksalt '*' test.arg 1 "two" '{three: 3}' wow=yes
/// ```
#[function("test.arg", reads, repeatable, small, also("test.arg_clean"))]
pub struct Arg {
    /// Any arguments by position.
    args: Vec<Value>,
    /// Any arguments by name.
    kwargs: Map,
}

impl Function for Arg {
    type Output = Map;

    fn call(self, _: &dyn System) -> Result<Map> {
        Ok([("args".into(), Value::List(self.args)), ("kwargs".into(), Value::Map(self.kwargs))].into_iter().collect())
    }
}

/// Fails, to see what a failure looks like.
///
/// ```text
/// rocksalt '*' test.exception 'Oh noes!'
/// ```
#[function("test.exception", reads, repeatable, small)]
pub struct Exception {
    /// The failure's text.
    #[default("Test Exception")]
    message: String,
}

impl Function for Exception {
    type Output = ();

    fn call(self, _: &dyn System) -> Result<()> {
        Err(Error::failed(self.message))
    }
}

/// Waits this many seconds, then returns `True`.
///
/// ```text
/// rocksalt '*' test.sleep 20
/// ```
#[function("test.sleep", reads, repeatable, small)]
pub struct Sleep {
    /// In seconds.
    length: f64,
}

impl Function for Sleep {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        machine.sleep(self.length)?;
        Ok(true)
    }
}

/// The version of the agent.
///
/// ```text
/// rocksalt '*' test.version
/// ```
#[function("test.version", reads, repeatable, small)]
pub struct Version {}

impl Function for Version {
    type Output = &'static str;

    fn call(self, _: &dyn System) -> Result<&'static str> {
        Ok(env!("CARGO_PKG_VERSION"))
    }
}

/// Fails unless its argument is true.
///
/// ```text
/// rocksalt '*' test.assertion False
/// ```
#[function("test.assertion", reads, repeatable)]
pub struct Assertion {
    /// What is to be true.
    #[required]
    assertion: Value,
}

impl Function for Assertion {
    type Output = ();

    fn call(self, _: &dyn System) -> Result<()> {
        match self.assertion.truth() {
            true => Ok(()),
            false => Err(Error::failed(format!("{} is not true", self.assertion))),
        }
    }
}

/// Calls another function by its name.
///
/// ```text
/// rocksalt '*' test.cross_test file.gid_to_group 0
/// ```
#[function("test.cross_test", changes)]
pub struct CrossTest {
    /// The function.
    func: String,
    /// Its arguments by position.
    args: Vec<Value>,
    /// Its arguments by name.
    kwargs: Map,
}

impl Function for CrossTest {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        // Calling itself would never end.
        if self.func == Self::NAME {
            return Err(Error::arguments("test.cross_test doesn't call itself"));
        }
        let call = Call { args: self.args, kwargs: self.kwargs, ..Call::new(self.func) };
        let entry = super::get(&call.function)?;
        let outcome: std::result::Result<_, Problem> = entry.call(call, machine);
        Ok(outcome?.value)
    }
}

/// The target's options.
///
/// ```text
/// rocksalt '*' test.get_opts
/// ```
#[function("test.get_opts", reads, repeatable, also("test.opts_pkg"))]
pub struct GetOpts {}

impl Function for GetOpts {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(machine.options().clone())
    }
}

/// All functions and modules.
///
/// ```text
/// rocksalt '*' test.module_report
/// ```
#[function("test.module_report", reads, repeatable)]
pub struct ModuleReport {}

impl Function for ModuleReport {
    type Output = Map;

    fn call(self, _: &dyn System) -> Result<Map> {
        let functions: Vec<Value> = super::all().map(|entry| entry.name.into()).collect();
        let modules: Vec<Value> = super::nouns().map(Value::from).collect();
        Ok(Map::from_iter([("functions".into(), functions.into()), ("modules".into(), modules.into())]))
    }
}

/// What could not be loaded: nothing, since everything is part of the program.
///
/// ```text
/// rocksalt '*' test.not_loaded
/// ```
#[function("test.not_loaded", reads, repeatable)]
pub struct NotLoaded {}

impl Function for NotLoaded {
    type Output = Vec<Value>;

    fn call(self, _: &dyn System) -> Result<Vec<Value>> {
        Ok(Vec::new())
    }
}

/// Returns `True`, with an exit code.
///
/// ```text
/// rocksalt '*' test.retcode 42
/// ```
#[function("test.retcode", reads, repeatable, small)]
pub struct Retcode {
    /// The exit code.
    #[default(42)]
    code: i32,
}

/// The result `True`, with any exit code.
pub struct Coded(i32);

impl Serialize for Coded {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}

impl Function for Retcode {
    type Output = Coded;

    fn call(self, _: &dyn System) -> Result<Coded> {
        Ok(Coded(self.code))
    }

    fn retcode(output: &Coded) -> i32 {
        output.0
    }
}
