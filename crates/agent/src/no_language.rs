//! Stubs for the small agent, which has no state language: these functions do nothing or fail. The controller sends
//! such calls to the whole agent.

use std::sync::Arc;

use rocksalt_core::call::{Call, Return};
use rocksalt_core::link::AgentKind;
use rocksalt_core::{Map, Value};
use rocksalt_modules::machine::{HostSystem, Probe};
use rocksalt_modules::{Error, Result};

pub const AGENT_KIND: AgentKind = AgentKind::Small;

/// Receives the progress of a run.
pub type ProgressListener = Box<dyn Fn(&Map) + Send + Sync>;

/// Does nothing: no function of the small agent reads the controller's files or the pillar.
pub fn attach_services(_: &Arc<HostSystem>, _: Option<ProgressListener>, _: Option<Map>) {}

/// Returns no grains: no function of the small agent reads them.
pub fn grains(_: &dyn Probe) -> Map {
    Map::new()
}

/// Takes no lock: the small agent has no runs of states that could overlap.
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

/// Returns `None`: no function of the small agent reboots the machine.
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
