//! `key`: the targets and their SSH host keys.
//!
//! The roster's targets are Salt's accepted minions, and their SSH host keys are the keys. Nothing here changes the roster
//! or the known hosts (`docs/security-rules.md#r8`, `#r17`).

use rocksalt_core::pattern::glob;
use rocksalt_core::roster;
use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{
    CallRecord, ControllerFunction, FunctionContext, FunctionEntry, FunctionFailure, entry, list_value,
};

pub const FUNCTIONS: &[FunctionEntry] = &[
    entry::<Accept>().also(&["key.accept_dict"]),
    entry::<DeleteKey>().also(&["key.reject", "key.reject_dict", "key.delete_dict"]),
    entry::<Finger>(),
    entry::<FingerMaster>(),
    entry::<Gen>().also(&["key.gen"]),
    entry::<List>(),
    entry::<ListAll>(),
    entry::<NameMatch>().also(&["key.glob_match"]),
];

/// All targets. Those of the roster are accepted; there are no others.
#[derive(Deserialize, JsonSchema)]
pub struct ListAll {}

impl ControllerFunction for ListAll {
    const NAME: &'static str = "key.list_all";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let none = || Value::List(Vec::new());
        let mut all = Map::new();
        all.insert("minions", ids(&context, "*"));
        all.insert("minions_pre", none());
        all.insert("minions_rejected", none());
        all.insert("minions_denied", none());
        all.insert("local", none());
        Ok(all.into())
    }
}

/// The targets with a key status.
#[derive(Deserialize, JsonSchema)]
pub struct List {
    /// `accepted` (or `acc`), `pre` (or `un`, `unaccepted`), `rejected`, `denied` or `all`.
    r#match: String,
}

impl ControllerFunction for List {
    const NAME: &'static str = "key.list";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let name = match self.r#match.as_str() {
            word if word.starts_with("acc") => "minions",
            word if word.starts_with("pre") || word.starts_with("un") => "minions_pre",
            word if word.starts_with("rej") => "minions_rejected",
            word if word.starts_with("den") => "minions_denied",
            "all" => return ListAll {}.call(context).await,
            other => return Err(FunctionFailure::failed(format!("unknown key status '{other}'"))),
        };
        let found = if name == "minions" { ids(&context, "*") } else { Value::List(Vec::new()) };
        Ok(Map::from_iter([(name.into(), found)]).into())
    }
}

/// The targets whose ids match.
#[derive(Deserialize, JsonSchema)]
pub struct NameMatch {
    /// An id, a glob, or several separated by commas.
    r#match: Value,
}

impl ControllerFunction for NameMatch {
    const NAME: &'static str = "key.name_match";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let found = matching(&context, &self.r#match);
        let found = list_value(found.iter().map(|entry| entry.id.as_str()));
        Ok(if found.truth() { Map::from_iter([("minions".into(), found)]).into() } else { Map::new().into() })
    }
}

/// The fingerprints of targets' SSH host keys in the known hosts.
#[derive(Deserialize, JsonSchema)]
pub struct Finger {
    /// An id, a glob, or several separated by commas.
    r#match: Value,
    /// Only `sha256` is supported.
    #[serde(default)]
    hash_type: Option<String>,
}

impl ControllerFunction for Finger {
    const NAME: &'static str = "key.finger";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        if self.hash_type.is_some_and(|kind| kind != "sha256") {
            return Err(FunctionFailure::failed("only sha256 fingerprints are supported"));
        }
        let entries: Vec<roster::RosterEntry> = matching(&context, &self.r#match).into_iter().cloned().collect();
        if entries.is_empty() {
            return Ok(Map::new().into());
        }
        let keys = context.loaded.host_keys.clone();
        // Reads files, and compares hashed host names one by one.
        let found = tokio::task::spawn_blocking(move || {
            let prints = match keys {
                Some(keys) => keys.fingerprints(&entries.iter().collect::<Vec<_>>()),
                None => vec![None; entries.len()],
            };
            // A target without a known key has an empty fingerprint.
            let pairs = entries.into_iter().zip(prints);
            pairs.map(|(entry, print)| (entry.id.into(), print.unwrap_or_default().into())).collect::<Map>()
        });
        let found = found.await.map_err(|_| FunctionFailure::failed("could not read the known keys"))?;
        Ok(Map::from_iter([("minions".into(), found.into())]).into())
    }
}

/// The fingerprint of the controller's key. It has none: it logs in to targets with its user's SSH keys.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "accepted for Salt's clients")]
pub struct FingerMaster {
    /// Ignored.
    #[serde(default)]
    hash_type: Value,
}

impl ControllerFunction for FingerMaster {
    const NAME: &'static str = "key.finger_master";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, _: FunctionContext) -> Result<Value, FunctionFailure> {
        Ok(Map::from_iter([("local".into(), Map::new().into())]).into())
    }
}

/// Accepts targets. Does nothing: those of the roster are accepted already.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "it does nothing")]
pub struct Accept {
    /// An id, a glob, or several separated by commas.
    r#match: Value,
    /// Include rejected ones.
    #[serde(default)]
    include_rejected: bool,
    /// Include denied ones.
    #[serde(default)]
    include_denied: bool,
}

impl ControllerFunction for Accept {
    const NAME: &'static str = "key.accept";

    async fn call(self, _: FunctionContext) -> Result<Value, FunctionFailure> {
        Ok(Map::new().into())
    }
}

/// Rejects or deletes targets. Fails if one matches: targets are defined by the roster, a file.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "accepted for Salt's clients")]
pub struct DeleteKey {
    /// An id, a glob, or several separated by commas.
    r#match: Value,
    /// Include accepted ones.
    #[serde(default)]
    include_accepted: bool,
    /// Include denied ones.
    #[serde(default)]
    include_denied: bool,
}

impl ControllerFunction for DeleteKey {
    const NAME: &'static str = "key.delete";

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        match matching(&context, &self.r#match).first() {
            Some(entry) => Err(FunctionFailure::failed(format!(
                "{} is defined in the roster{}: remove it there",
                entry.id,
                if entry.origin.is_empty() { String::new() } else { format!(" ({})", entry.origin) }
            ))),
            None => Ok(Map::new().into()),
        }
    }
}

/// Generates a key pair for a target. Always fails: targets only need an SSH server.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "not supported")]
pub struct Gen {
    /// The target's id.
    #[serde(default)]
    id_: Value,
    /// Further arguments.
    kwargs: Map,
}

impl ControllerFunction for Gen {
    const NAME: &'static str = "key.gen_accept";

    async fn call(self, _: FunctionContext) -> Result<Value, FunctionFailure> {
        Err(FunctionFailure::failed(
            "targets need no key pair: they are reached over SSH\nhint: add the target to the roster",
        ))
    }
}

fn matching<'a>(context: &'a FunctionContext, pattern: &Value) -> Vec<&'a roster::RosterEntry> {
    let patterns: Vec<String> = match pattern {
        Value::List(items) => items.iter().map(ToString::to_string).collect(),
        other => other.to_string().split(',').map(|part| part.trim().to_owned()).collect(),
    };
    let fits = |entry: &&roster::RosterEntry| patterns.iter().any(|pattern| glob::matches(pattern, &entry.id));
    let mut found: Vec<&roster::RosterEntry> = context.loaded.controller.roster.entries.iter().filter(fits).collect();
    found.sort_by(|a, b| a.id.cmp(&b.id));
    found
}

fn ids(context: &FunctionContext, pattern: &str) -> Value {
    list_value(matching(context, &pattern.into()).into_iter().map(|entry| entry.id.as_str()))
}
