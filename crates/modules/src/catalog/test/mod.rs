//! `test`: is the way to the target open, and what does it say?

mod arguments;
mod numbers;
mod provider;
mod random;
mod states;
mod versions;

use rocksalt_core::{Call, Map, Problem, Value};
use serde::{Deserialize, Serialize, Serializer};

use super::{Entry, Function, entry};
use crate::machine::System;
use crate::{Error, Result};

pub use states::STATES;

/// Those of the small agent.
pub const SMALL: &[Entry] = &[
    entry::<Arg>().also(&["test.arg_clean"]),
    entry::<Echo>().also(&["test.outputter"]),
    entry::<Exception>(),
    entry::<False>().also(&["test.false_"]),
    entry::<Ping>(),
    entry::<Retcode>(),
    entry::<Sleep>(),
    entry::<True>().also(&["test.true_"]),
    entry::<Version>(),
];

pub const FUNCTIONS: &[Entry] = &[
    entry::<Arg>().also(&["test.arg_clean"]),
    entry::<arguments::ArgRepr>(),
    entry::<arguments::ArgType>(),
    entry::<arguments::Args>(),
    entry::<Assertion>(),
    entry::<numbers::Collatz>(),
    entry::<CrossTest>(),
    entry::<Echo>().also(&["test.outputter"]),
    entry::<Exception>(),
    entry::<False>().also(&["test.false_"]),
    entry::<numbers::Fib>(),
    entry::<GetOpts>().also(&["test.opts_pkg"]),
    entry::<arguments::Kwarg>(),
    entry::<ModuleReport>(),
    entry::<NotLoaded>(),
    entry::<Ping>(),
    entry::<provider::Provider>(),
    entry::<provider::Providers>(),
    entry::<random::RandSleep>(),
    entry::<random::RandomHash>().also(&["test.rand_str"]),
    entry::<Retcode>(),
    entry::<Sleep>(),
    entry::<True>().also(&["test.true_"]),
    entry::<Version>(),
    entry::<versions::Versions>().also(&["test.versions_report"]),
    entry::<versions::VersionsInformation>(),
];

/// Answers `True` if the target can be reached and works.
///
/// ```text
/// rocksalt '*' test.ping
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Ping {}

impl Function for Ping {
    const NAME: &'static str = "test.ping";
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(true)
    }
}

/// Answers `True`.
///
/// ```text
/// rocksalt '*' test.true
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct True {}

impl Function for True {
    const NAME: &'static str = "test.true";
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(true)
    }
}

/// Answers `False`.
///
/// ```text
/// rocksalt '*' test.false
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct False {}

impl Function for False {
    const NAME: &'static str = "test.false";
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(false)
    }
}

/// Gives back what it is given.
///
/// ```text
/// rocksalt '*' test.echo 'hello'
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Echo {
    /// What to give back.
    text: Value,
}

impl Function for Echo {
    const NAME: &'static str = "test.echo";
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        Ok(self.text)
    }
}

/// Shows how the arguments arrived.
///
/// ```text
/// rocksalt '*' test.arg 1 "two" '{three: 3}' wow=yes
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Arg {
    /// Any arguments by position.
    args: Vec<Value>,
    /// Any arguments by name.
    kwargs: Map,
}

impl Function for Arg {
    const NAME: &'static str = "test.arg";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Exception {
    /// The failure's text.
    #[serde(default = "default_message")]
    message: String,
}

fn default_message() -> String {
    "Test Exception".into()
}

impl Function for Exception {
    const NAME: &'static str = "test.exception";
    type Output = ();

    fn call(self, _: &dyn System) -> Result<()> {
        Err(Error::failed(self.message))
    }
}

/// Waits so many seconds, then answers `True`.
///
/// ```text
/// rocksalt '*' test.sleep 20
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Sleep {
    /// In seconds.
    length: f64,
}

impl Function for Sleep {
    const NAME: &'static str = "test.sleep";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Version {}

impl Function for Version {
    const NAME: &'static str = "test.version";
    type Output = &'static str;

    fn call(self, _: &dyn System) -> Result<&'static str> {
        Ok(env!("CARGO_PKG_VERSION"))
    }
}

/// Fails unless it is given something true.
///
/// ```text
/// rocksalt '*' test.assertion False
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Assertion {
    /// What is to be true.
    assertion: Value,
}

impl Function for Assertion {
    const NAME: &'static str = "test.assertion";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct CrossTest {
    /// The function.
    func: String,
    /// Its arguments by position.
    #[serde(default)]
    args: Vec<Value>,
    /// Its arguments by name.
    kwargs: Map,
}

impl Function for CrossTest {
    const NAME: &'static str = "test.cross_test";
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        // Calling itself by way of itself would never end.
        if self.func == Self::NAME {
            return Err(Error::arguments("test.cross_test doesn't call itself"));
        }
        let call = Call { args: self.args, kwargs: self.kwargs, ..Call::new(self.func) };
        let entry = super::get(&call.function)?;
        let outcome: std::result::Result<_, Problem> = entry.call(call, machine);
        Ok(outcome?.value)
    }
}

/// The options that the target was given.
///
/// ```text
/// rocksalt '*' test.get_opts
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct GetOpts {}

impl Function for GetOpts {
    const NAME: &'static str = "test.get_opts";
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(machine.options().clone())
    }
}

/// All functions and nouns that there are.
///
/// ```text
/// rocksalt '*' test.module_report
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ModuleReport {}

impl Function for ModuleReport {
    const NAME: &'static str = "test.module_report";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct NotLoaded {}

impl Function for NotLoaded {
    const NAME: &'static str = "test.not_loaded";
    type Output = Vec<Value>;

    fn call(self, _: &dyn System) -> Result<Vec<Value>> {
        Ok(Vec::new())
    }
}

/// Answers `True`, with an exit code.
///
/// ```text
/// rocksalt '*' test.retcode 42
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Retcode {
    /// The exit code.
    #[serde(default = "answer")]
    code: i32,
}

fn answer() -> i32 {
    42
}

/// `True`, whatever the code.
pub struct Coded(i32);

impl Serialize for Coded {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}

impl Function for Retcode {
    const NAME: &'static str = "test.retcode";
    type Output = Coded;

    fn call(self, _: &dyn System) -> Result<Coded> {
        Ok(Coded(self.code))
    }

    fn retcode(output: &Coded) -> i32 {
        output.0
    }
}
