//! `group`: the groups of a target.

use rocksalt_core::{Map, Value};
use serde::Deserialize;

use super::{Entry, Function, entry};
use crate::Result;
use crate::machine::System;
use crate::machine::accounts;

pub const FUNCTIONS: &[Entry] = &[entry::<Info>()];

/// What is known of a group; an empty map if there is none of that name.
///
/// ```text
/// rocksalt '*' group.info www-data
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Info {
    /// The name.
    name: String,
}

impl Function for Info {
    const NAME: &'static str = "group.info";
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let found = accounts::group(machine, &self.name).filter(|group| group.name == self.name);
        Ok(found.map_or_else(Map::new, |group| {
            let members: Vec<Value> = group.members.into_iter().map(Value::from).collect();
            Map::from_iter([
                ("name".into(), group.name.into()),
                ("passwd".into(), "x".into()),
                ("gid".into(), group.gid.into()),
                ("members".into(), members.into()),
            ])
        }))
    }
}
