//! `beacons`: what a target monitors and reports by itself.
//!
//! There are no beacons yet: the lists are always empty, and functions that set one up fail.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::{CatalogFunction, Function, entry};
use crate::machine::System;
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] = &[entry::<Add>(), entry::<List>(), entry::<ListAvailable>()];

/// The beacons that are set up. Always none, as there are no beacons yet.
///
/// ```text
/// rocksalt '*' beacons.list return_yaml=False
/// ```
#[function("beacons.list", reads)]
#[allow(dead_code, reason = "there is nothing to choose from yet")]
pub struct List {
    /// As text; else as data.
    #[default(true)]
    return_yaml: bool,
    /// Also those of the pillar.
    #[default(true)]
    include_pillar: bool,
    /// Also those of the options.
    #[default(true)]
    include_opts: bool,
}

impl Function for List {
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
#[function("beacons.list_available", reads)]
pub struct ListAvailable {
    /// As text; else as data.
    #[default(true)]
    return_yaml: bool,
}

impl Function for ListAvailable {
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        Ok(if self.return_yaml { "beacons: []\n".into() } else { Value::List(Vec::new()) })
    }
}

/// Would set up a beacon. Fails, as there are no beacons yet.
///
/// ```text
/// rocksalt '*' beacons.add load '[{"interval": 60}]'
/// ```
#[function(
    "beacons.add",
    changes,
    also(
        "beacons.delete",
        "beacons.disable",
        "beacons.disable_beacon",
        "beacons.enable",
        "beacons.enable_beacon",
        "beacons.modify",
        "beacons.reset",
        "beacons.save"
    )
)]
#[allow(dead_code, reason = "it can't be done yet")]
pub struct Add {
    /// Which.
    #[default]
    name: String,
    /// Its settings.
    beacon_data: Value,
    /// Further ones.
    kwargs: Map,
}

impl Function for Add {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Err(Error::failed("there are no beacons yet"))
    }
}
