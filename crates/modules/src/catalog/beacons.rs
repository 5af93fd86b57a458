//! `beacons`: what a target watches and tells of by itself.
//!
//! There are no beacons yet: none is there, none can be had. Whoever lists them gets nothing, whoever wants to set one up
//! a failure.

use rocksalt_core::{Map, Value};
use serde::Deserialize;

use super::{Entry, Function, entry};
use crate::machine::System;
use crate::{Error, Result};

pub const FUNCTIONS: &[Entry] = &[
    entry::<Add>().also(&[
        "beacons.delete",
        "beacons.disable",
        "beacons.disable_beacon",
        "beacons.enable",
        "beacons.enable_beacon",
        "beacons.modify",
        "beacons.reset",
        "beacons.save",
    ]),
    entry::<List>(),
    entry::<ListAvailable>(),
];

/// The beacons that are set up. Always none, as there are no beacons yet.
///
/// ```text
/// rocksalt '*' beacons.list return_yaml=False
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
#[allow(dead_code, reason = "there is nothing to choose from yet")]
pub struct List {
    /// As text; else as data.
    #[serde(default = "yes")]
    return_yaml: bool,
    /// Also those of the pillar.
    #[serde(default = "yes")]
    include_pillar: bool,
    /// Also those of the options.
    #[serde(default = "yes")]
    include_opts: bool,
}

impl Function for List {
    const NAME: &'static str = "beacons.list";
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        Ok(match self.return_yaml {
            true => "beacons: {}\n".into(),
            false => Map::from_iter([("beacons".into(), Map::new().into())]).into(),
        })
    }
}

/// The kinds of beacons that could be set up. Always none, as there are no beacons yet.
///
/// ```text
/// rocksalt '*' beacons.list_available return_yaml=False
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ListAvailable {
    /// As text; else as data.
    #[serde(default = "yes")]
    return_yaml: bool,
}

impl Function for ListAvailable {
    const NAME: &'static str = "beacons.list_available";
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        Ok(if self.return_yaml { "beacons: []\n".into() } else { Value::List(Vec::new()) })
    }
}

/// Would set up a beacon. A failure, as there are no beacons yet.
///
/// ```text
/// rocksalt '*' beacons.add load '[{"interval": 60}]'
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
#[allow(dead_code, reason = "it can't be done yet")]
pub struct Add {
    /// Which.
    #[serde(default)]
    name: String,
    /// Its settings.
    #[serde(default)]
    beacon_data: Value,
    /// Further ones.
    kwargs: Map,
}

impl Function for Add {
    const NAME: &'static str = "beacons.add";
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Err(Error::failed("there are no beacons yet"))
    }
}

fn yes() -> bool {
    true
}
