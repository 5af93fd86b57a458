//! What the small agent has instead of the state language: nothing. The controller asks the whole one for it.

use std::sync::Arc;

use rocksalt_core::call::{Call, Return};
use rocksalt_core::link::AgentKind;
use rocksalt_core::{Map, Value};
use rocksalt_modules::machine::{Host, Probe};
use rocksalt_modules::{Error, Result};

pub const AGENT_KIND: AgentKind = AgentKind::Small;

/// Receives how far a run is.
pub type ProgressListener = Box<dyn Fn(&Map) + Send + Sync>;

/// No function of the small agent looks at the controller's files or the pillar.
pub fn attach_services(_: &Arc<Host>, _: Option<ProgressListener>, _: Option<Map>) {}

/// Nor at grains.
pub fn grains(_: &dyn Probe) -> Map {
    Map::new()
}

/// It has no runs of states that might overlap.
pub fn alone(
    host: &Arc<Host>,
    call: Call,
    work: fn(Call, &Arc<Host>) -> Return,
) -> std::result::Result<Return, Return> {
    Ok(work(call, host))
}

pub fn pillar(_: &Arc<Host>, _: &Map) -> Result<Map> {
    Err(none())
}

pub fn outputs(_: &Arc<Host>, _: &[Value]) -> Result<Map> {
    Err(none())
}

/// Nothing here restarts a machine.
pub fn reboot(_: &Host, _: &Return) -> Option<Map> {
    None
}

pub fn restart(_: &Arc<Host>, _: Option<&str>) {}

pub fn resume(_: &Arc<Host>, _: &Map) -> Return {
    none().problem().into()
}

fn none() -> Error {
    Error::failed("the small agent knows no states")
}
