//! [`TargetInfo`]: what the controller knows about a target without contacting it.

use std::sync::Arc;

use rocksalt_core::request::{Needs, RunRequest};
use rocksalt_core::{Map, Value};

use super::presence::{PresenceState, TargetPresence};
use super::{Caller, Loaded, RequestService};

#[derive(Clone, Debug)]
pub struct TargetInfo {
    pub id: String,
    /// The name or address of the roster.
    pub address: String,
    pub port: Option<u16>,
    pub user: Option<String>,
    pub transport: String,
    pub state: PresenceState,
    /// When the current state began, in microseconds since 1970.
    pub since: Option<u64>,
    /// When it was last reached, in microseconds since 1970.
    pub last_seen: Option<u64>,
    /// Why it is down.
    pub why: Option<String>,
    /// From the cache, if they are fresh and the caller may read them.
    pub grains: Option<Map>,
}

impl TargetInfo {
    /// The value in the form of the APIs, with times in seconds since 1970.
    pub fn value(self) -> Value {
        let seconds = |micros: Option<u64>| micros.map_or(Value::Null, |micros| Value::Float(micros as f64 / 1e6));
        let up = match self.state {
            PresenceState::Up => Value::Bool(true),
            PresenceState::Down => Value::Bool(false),
            PresenceState::Unknown => Value::Null,
        };
        let mut map = Map::new();
        map.insert("id", self.id);
        map.insert("host", self.address);
        map.insert("port", self.port.map(u32::from));
        map.insert("user", self.user);
        map.insert("transport", self.transport);
        map.insert("up", up);
        map.insert("since", seconds(self.since));
        map.insert("last_seen", seconds(self.last_seen));
        map.insert("why", self.why);
        map.insert("grains", self.grains.unwrap_or_default());
        map.into()
    }
}

/// The targets of the roster, sorted by id.
pub(super) async fn targets(requests: &Arc<RequestService>, loaded: &Arc<Loaded>, caller: &Caller) -> Vec<TargetInfo> {
    let all = may_have_grains(requests, loaded, caller, "*", "glob").await;
    let mut known = Vec::with_capacity(loaded.controller.roster.entries.len());
    for entry in &loaded.controller.roster.entries {
        let grains = match all || may_have_grains(requests, loaded, caller, &entry.id, "list").await {
            true => loaded.controller.known_grains(entry),
            false => None,
        };
        let TargetPresence { state, since, last_seen, why } = requests.presence.of(&entry.id);
        known.push(TargetInfo {
            id: entry.id.clone(),
            address: entry.host.clone(),
            port: entry.port,
            user: entry.user.clone(),
            transport: entry.transport.clone(),
            state,
            since,
            last_seen,
            why,
            grains,
        });
    }
    known.sort_by(|one, other| one.id.cmp(&other.id));
    known
}

/// Only a caller who may run `grains.items` on the target may read its grains.
async fn may_have_grains(
    requests: &RequestService,
    loaded: &Loaded,
    caller: &Caller,
    target: &str,
    kind: &str,
) -> bool {
    let run = RunRequest {
        function: "grains.items".into(),
        target: target.into(),
        target_kind: kind.into(),
        ..RunRequest::default()
    };
    loaded.access.check(caller, &Needs::Function(&run), &loaded.controller, requests.ledger()).await.is_ok()
}
