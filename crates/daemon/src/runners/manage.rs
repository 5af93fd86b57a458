//! `manage`: which targets are up.

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{
    CallRecord, ControllerFunction, FunctionContext, FunctionEntry, FunctionFailure, entry, list_value, select,
};

pub const FUNCTIONS: &[FunctionEntry] = &[
    entry::<Down>(),
    entry::<NotPresent>().also(&[
        "manage.list_not_state",
        "manage.not_alived",
        "manage.not_allowed",
        "manage.not_joined",
        "manage.not_reaped",
    ]),
    entry::<Present>().also(&[
        "manage.alived",
        "manage.allowed",
        "manage.joined",
        "manage.list_state",
        "manage.reaped",
    ]),
    entry::<Status>(),
    entry::<Up>(),
    entry::<Versions>(),
];

/// The targets that are up, and those that are down.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "accepted for Salt's clients")]
#[serde(default)]
pub struct Status {
    /// Ignored.
    output: bool,
    /// The target expression.
    tgt: Value,
    /// The kind of the target expression.
    tgt_type: String,
    /// Ignored.
    timeout: Value,
    /// Ignored.
    gather_job_timeout: Value,
}

impl Default for Status {
    fn default() -> Status {
        Status {
            output: true,
            tgt: "*".into(),
            tgt_type: "glob".into(),
            timeout: Value::Null,
            gather_job_timeout: Value::Null,
        }
    }
}

impl ControllerFunction for Status {
    const NAME: &'static str = "manage.status";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let (up, down) = presence_of(&context, &self.tgt, &self.tgt_type).await?;
        Ok(Map::from_iter([("up".into(), list_value(up)), ("down".into(), list_value(down))]).into())
    }
}

/// The targets that are up.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "accepted for Salt's clients")]
#[serde(default)]
pub struct Up {
    /// The target expression.
    tgt: Value,
    /// The kind of the target expression.
    tgt_type: String,
    /// Ignored.
    timeout: Value,
    /// Ignored.
    gather_job_timeout: Value,
}

impl Default for Up {
    fn default() -> Up {
        Up { tgt: "*".into(), tgt_type: "glob".into(), timeout: Value::Null, gather_job_timeout: Value::Null }
    }
}

impl ControllerFunction for Up {
    const NAME: &'static str = "manage.up";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        Ok(list_value(presence_of(&context, &self.tgt, &self.tgt_type).await?.0))
    }
}

/// The targets that are down.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "accepted for Salt's clients")]
#[serde(default)]
pub struct Down {
    /// Not supported: targets are defined by the roster.
    removekeys: bool,
    /// The target expression.
    tgt: Value,
    /// The kind of the target expression.
    tgt_type: String,
    /// Ignored.
    timeout: Value,
    /// Ignored.
    gather_job_timeout: Value,
}

impl Default for Down {
    fn default() -> Down {
        let Up { tgt, tgt_type, timeout, gather_job_timeout } = Up::default();
        Down { removekeys: false, tgt, tgt_type, timeout, gather_job_timeout }
    }
}

impl ControllerFunction for Down {
    const NAME: &'static str = "manage.down";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        if self.removekeys {
            return Err(FunctionFailure::failed("targets are defined by the roster: remove them there"));
        }
        Ok(list_value(presence_of(&context, &self.tgt, &self.tgt_type).await?.1))
    }
}

/// The targets that were up when last checked.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Present {
    /// Only these ids.
    subset: Option<Vec<String>>,
    /// Include their addresses.
    show_ip: bool,
}

impl ControllerFunction for Present {
    const NAME: &'static str = "manage.present";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let (up, _) = presence(&context).await;
        Ok(id_list(&context, up, self.subset, self.show_ip))
    }
}

/// The targets that were down when last checked.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct NotPresent {
    /// Only these ids.
    subset: Option<Vec<String>>,
    /// Include their addresses.
    show_ip: bool,
}

impl ControllerFunction for NotPresent {
    const NAME: &'static str = "manage.not_present";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let (_, down) = presence(&context).await;
        Ok(id_list(&context, down, self.subset, self.show_ip))
    }
}

/// The versions of the controller and of the agents, which it uploads itself.
#[derive(Deserialize, JsonSchema)]
pub struct Versions {}

impl ControllerFunction for Versions {
    const NAME: &'static str = "manage.versions";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let (up, down) = presence(&context).await;
        let own = env!("CARGO_PKG_VERSION");
        let mut all = Map::new();
        if !up.is_empty() {
            all.insert("Up to date", up.into_iter().map(|id| (id.into(), own.into())).collect::<Map>());
        }
        if !down.is_empty() {
            all.insert("Minion offline", down.into_iter().map(|id| (id.into(), false.into())).collect::<Map>());
        }
        all.insert("Master", own);
        Ok(all.into())
    }
}

/// The targets that are up and down; checks those that never were checked.
async fn presence(context: &FunctionContext) -> (Vec<String>, Vec<String>) {
    let presence = context.requests.presence();
    let known = presence.up().len() + presence.down().len();
    if known < context.loaded.controller.roster.entries.len() {
        presence.look(&context.loaded.controller).await;
    }
    (presence.up(), presence.down())
}

async fn presence_of(
    context: &FunctionContext,
    target: &Value,
    kind: &str,
) -> Result<(Vec<String>, Vec<String>), FunctionFailure> {
    let (mut up, mut down) = presence(context).await;
    if target.as_str() != Some("*") {
        let entries = select(context, target, kind).await?;
        let meant = |id: &String| entries.iter().any(|entry| entry.id == *id);
        up.retain(meant);
        down.retain(meant);
    }
    Ok((up, down))
}

fn id_list(context: &FunctionContext, mut ids: Vec<String>, subset: Option<Vec<String>>, show_ip: bool) -> Value {
    if let Some(subset) = subset {
        ids.retain(|id| subset.contains(id));
    }
    if !show_ip {
        return list_value(ids);
    }
    let address = |id: &str| context.loaded.controller.roster.get(id).map(|entry| entry.host.clone());
    ids.into_iter().map(|id| (Value::from(id.as_str()), address(&id).into())).collect::<Map>().into()
}
