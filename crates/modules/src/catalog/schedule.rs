//! `schedule`: functions that a target runs by itself at certain times.
//!
//! The schedule is not implemented yet: it is always empty, and functions that add to it fail.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::{CatalogFunction, Function, entry};
use crate::machine::System;
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] = &[entry::<Add>(), entry::<List>()];

/// The jobs of the schedule. Always none, as there is no schedule yet.
///
/// ```text
/// rocksalt '*' schedule.list return_yaml=False
/// ```
#[function("schedule.list", reads)]
#[allow(dead_code, reason = "there is nothing to choose from yet")]
pub struct List {
    /// Also hidden ones.
    show_all: bool,
    /// Also those that are turned off.
    #[default(true)]
    show_disabled: bool,
    /// Only those of the `pillar` or the `opts`.
    r#where: Option<String>,
    /// As text; else as data.
    #[default(true)]
    return_yaml: bool,
    /// Those of a target that does not run.
    offline: bool,
}

impl Function for List {
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        Ok(match self.return_yaml {
            true => "schedule: {}\n".into(),
            false => Map::from_iter([("schedule".into(), Map::new().into())]).into(),
        })
    }
}

/// Would add a job to the schedule. Fails, as there is no schedule yet.
///
/// ```text
/// rocksalt '*' schedule.add job1 function=test.ping seconds=3600
/// ```
#[function(
    "schedule.add",
    changes,
    also(
        "schedule.delete",
        "schedule.disable",
        "schedule.disable_job",
        "schedule.enable",
        "schedule.enable_job",
        "schedule.modify",
        "schedule.run_job"
    )
)]
#[allow(dead_code, reason = "it can't be done yet")]
pub struct Add {
    /// Its name.
    #[default]
    name: String,
    /// What it does, and when.
    kwargs: Map,
}

impl Function for Add {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Err(Error::failed("there is no schedule yet")
            .hint("a cron job on the target does the same: see `cron.set_job`"))
    }
}
