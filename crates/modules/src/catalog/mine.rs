//! `mine`: data that targets share through the controller.
//!
//! The mine is not implemented yet, so it is always empty. State files that read it get nothing, as on a minion when no
//! other minion has sent anything; functions that send data fail.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::{CatalogFunction, Function, entry};
use crate::machine::System;
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] =
    &[entry::<Delete>(), entry::<Flush>(), entry::<Get>(), entry::<Send>(), entry::<Update>(), entry::<Valid>()];

fn absent<T>() -> Result<T> {
    Err(Error::failed("there is no mine to put things into yet")
        .hint("`publish.publish` asks other targets directly, if the controller's `peer` rules allow it"))
}

/// Mine data of other targets, by their ids. Always an empty map, as there is no mine yet.
///
/// ```text
/// rocksalt '*' mine.get '*' network.ip_addrs
/// ```
#[function("mine.get", reads)]
#[allow(dead_code, reason = "there is nothing to look for yet")]
pub struct Get {
    /// Whose.
    tgt: String,
    /// The function, or a list of them.
    #[required]
    fun: Value,
    /// The kind of target expression.
    tgt_type: Option<String>,
    /// Leave out this target's own data.
    exclude_minion: bool,
}

impl Function for Get {
    type Output = Map;

    fn call(self, _: &dyn System) -> Result<Map> {
        Ok(Map::new())
    }
}

/// Would send a function's result to the mine. Fails, as there is no mine yet.
///
/// ```text
/// rocksalt '*' mine.send network.ip_addrs interface=eth0
/// ```
#[function("mine.send", changes)]
#[allow(dead_code, reason = "there is nowhere to put it yet")]
pub struct Send {
    /// The function, or its name in the mine.
    name: String,
    /// The function's arguments.
    args: Vec<Value>,
    /// The function's named arguments, and `mine_function`, `allow_tgt`, `allow_tgt_type`.
    kwargs: Map,
}

impl Function for Send {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        absent()
    }
}

/// Would send results of configured functions to the mine. Does nothing if none are configured; otherwise fails.
///
/// ```text
/// rocksalt '*' mine.update
/// ```
#[function("mine.update", changes)]
#[allow(dead_code, reason = "there is nowhere to put it yet")]
pub struct Update {
    /// Forget everything else first.
    clear: bool,
    /// The functions; else those of the option `mine_functions`.
    mine_functions: Value,
}

impl Function for Update {
    type Output = ();

    fn call(self, machine: &dyn System) -> Result<()> {
        let configured = machine.options().get("mine_functions").is_some_and(Value::truth);
        let pillar = machine.pillar()?;
        let given = self.mine_functions.truth() || configured || pillar.get("mine_functions").is_some_and(Value::truth);
        if given { absent() } else { Ok(()) }
    }
}

/// Removes a function's result from the mine. There is never anything to remove.
///
/// ```text
/// rocksalt '*' mine.delete network.ip_addrs
/// ```
#[function("mine.delete", changes)]
pub struct Delete {
    /// The function.
    #[allow(dead_code, reason = "there is nothing to forget")]
    fun: String,
}

impl Function for Delete {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(true)
    }
}

/// Removes all data of this target from the mine. There is never anything to remove.
///
/// ```text
/// rocksalt '*' mine.flush
/// ```
#[function("mine.flush", changes)]
pub struct Flush {}

impl Function for Flush {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(true)
    }
}

/// The functions whose results this target sends to the mine. Always none, as there is no mine yet.
///
/// ```text
/// rocksalt '*' mine.valid
/// ```
#[function("mine.valid", reads)]
pub struct Valid {}

impl Function for Valid {
    type Output = Map;

    fn call(self, _: &dyn System) -> Result<Map> {
        Ok(Map::new())
    }
}
