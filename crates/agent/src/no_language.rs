//! The small agent has no state language: these functions do nothing or fail. The controller sends such calls to the
//! whole agent.

use std::sync::Arc;

use rocksalt_core::call::{Call, Return};
use rocksalt_core::link::AgentKind;
use rocksalt_core::{Map, Value};
use rocksalt_modules::machine::{HostSystem, Probe};
use rocksalt_modules::{Error, Result};

pub const AGENT_KIND: AgentKind = AgentKind::Small;

/// Receives how far a run is.
pub type ProgressListener = Box<dyn Fn(&Map) + Send + Sync>;

/// No function of the small agent reads the controller's files or the pillar.
pub fn attach_services(_: &Arc<HostSystem>, _: Option<ProgressListener>, _: Option<Map>) {}

/// Nor at grains.
pub fn grains(_: &dyn Probe) -> Map {
    Map::new()
}

/// There are no runs of states that could overlap.
pub fn with_state_lock(
    host: &Arc<HostSystem>,
    call: Call,
    run: fn(Call, &Arc<HostSystem>) -> Return,
) -> std::result::Result<Return, Return> {
    Ok(run(call, host))
}

pub fn compile_pillar(_: &Arc<HostSystem>, _: &Map) -> Result<Map> {
    Err(no_states())
}

pub fn step_outputs(_: &Arc<HostSystem>, _: &[Value]) -> Result<Map> {
    Err(no_states())
}

/// Nothing here reboots a machine.
pub fn announced_reboot(_: &HostSystem, _: &Return) -> Option<Map> {
    None
}

pub fn reboot(_: &Arc<HostSystem>, _: Option<&str>) {}

pub fn resume(_: &Arc<HostSystem>, _: &Map) -> Return {
    no_states().problem().into()
}

fn no_states() -> Error {
    Error::failed("the small agent has no states")
}
