//! `manage`: which targets can be reached.

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{Context, Entry, Failure, Function, Mark, entry, select, texts};

pub const FUNCTIONS: &[Entry] = &[
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

/// Which targets can be reached and which can't.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "Salt's clients may give them")]
#[serde(default)]
pub struct Status {
    /// Has no meaning here.
    output: bool,
    /// Only these.
    tgt: Value,
    /// What kind of target it is.
    tgt_type: String,
    /// Has no meaning here.
    timeout: Value,
    /// Has no meaning here.
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

impl Function for Status {
    const NAME: &'static str = "manage.status";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let (up, down) = wanted(&context, &self.tgt, &self.tgt_type).await?;
        Ok(Map::from_iter([("up".into(), texts(up)), ("down".into(), texts(down))]).into())
    }
}

/// The targets that can be reached.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "Salt's clients may give them")]
#[serde(default)]
pub struct Up {
    /// Only these.
    tgt: Value,
    /// What kind of target it is.
    tgt_type: String,
    /// Has no meaning here.
    timeout: Value,
    /// Has no meaning here.
    gather_job_timeout: Value,
}

impl Default for Up {
    fn default() -> Up {
        Up { tgt: "*".into(), tgt_type: "glob".into(), timeout: Value::Null, gather_job_timeout: Value::Null }
    }
}

impl Function for Up {
    const NAME: &'static str = "manage.up";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        Ok(texts(wanted(&context, &self.tgt, &self.tgt_type).await?.0))
    }
}

/// The targets that can't be reached.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "Salt's clients may give them")]
#[serde(default)]
pub struct Down {
    /// Can't be done here: targets are what the roster says.
    removekeys: bool,
    /// Only these.
    tgt: Value,
    /// What kind of target it is.
    tgt_type: String,
    /// Has no meaning here.
    timeout: Value,
    /// Has no meaning here.
    gather_job_timeout: Value,
}

impl Default for Down {
    fn default() -> Down {
        let Up { tgt, tgt_type, timeout, gather_job_timeout } = Up::default();
        Down { removekeys: false, tgt, tgt_type, timeout, gather_job_timeout }
    }
}

impl Function for Down {
    const NAME: &'static str = "manage.down";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        if self.removekeys {
            return Err(Failure::said("targets are what the roster says: remove them there"));
        }
        Ok(texts(wanted(&context, &self.tgt, &self.tgt_type).await?.1))
    }
}

/// The targets that can be reached, as they were last seen.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Present {
    /// Only those of these ids.
    subset: Option<Vec<String>>,
    /// With their addresses.
    show_ip: bool,
}

impl Function for Present {
    const NAME: &'static str = "manage.present";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let (up, _) = seen(&context).await;
        Ok(shown(&context, up, self.subset, self.show_ip))
    }
}

/// The targets that can't be reached, as they were last seen.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct NotPresent {
    /// Only those of these ids.
    subset: Option<Vec<String>>,
    /// With their addresses.
    show_ip: bool,
}

impl Function for NotPresent {
    const NAME: &'static str = "manage.not_present";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let (_, down) = seen(&context).await;
        Ok(shown(&context, down, self.subset, self.show_ip))
    }
}

/// The version of the controller, and those of the agents on targets, which it brings itself.
#[derive(Deserialize, JsonSchema)]
pub struct Versions {}

impl Function for Versions {
    const NAME: &'static str = "manage.versions";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let (up, down) = seen(&context).await;
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

/// Up and down; whoever was never looked at is looked at now.
async fn seen(context: &Context) -> (Vec<String>, Vec<String>) {
    let presence = context.requests.presence();
    let known = presence.up().len() + presence.down().len();
    if known < context.loaded.controller.roster.entries.len() {
        presence.look(&context.loaded.controller).await;
    }
    (presence.up(), presence.down())
}

async fn wanted(context: &Context, target: &Value, kind: &str) -> Result<(Vec<String>, Vec<String>), Failure> {
    let (mut up, mut down) = seen(context).await;
    if target.as_str() != Some("*") {
        let entries = select(context, target, kind).await?;
        let meant = |id: &String| entries.iter().any(|entry| entry.id == *id);
        up.retain(meant);
        down.retain(meant);
    }
    Ok((up, down))
}

fn shown(context: &Context, mut ids: Vec<String>, subset: Option<Vec<String>>, show_ip: bool) -> Value {
    if let Some(subset) = subset {
        ids.retain(|id| subset.contains(id));
    }
    if !show_ip {
        return texts(ids);
    }
    let address = |id: &str| context.loaded.controller.roster.get(id).map(|entry| entry.host.clone());
    ids.into_iter().map(|id| (Value::from(id.as_str()), address(&id).into())).collect::<Map>().into()
}
