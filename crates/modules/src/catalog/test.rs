//! `test`: is the way to the target open, and what does it say?

use rocksalt_core::{Map, Value};
use serde::Deserialize;

use super::{Entry, Function, entry};
use crate::machine::System;
use crate::{Error, Result};

pub const FUNCTIONS: &[Entry] = &[
    entry::<Arg>(),
    entry::<Echo>(),
    entry::<Exception>(),
    entry::<False>(),
    entry::<Ping>(),
    entry::<Sleep>(),
    entry::<True>(),
    entry::<Version>(),
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
