//! `key`: whom the controller knows.
//!
//! The roster's targets are the minions, and their SSH host keys the keys. Who is in the roster is accepted; nothing here
//! changes the roster or what ssh trusts (rules R8, R17).

use rocksalt_core::pattern::glob;
use rocksalt_core::roster;
use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{Context, Entry, Failure, Function, Mark, entry, texts};

pub const FUNCTIONS: &[Entry] = &[
    entry::<Accept>().also(&["key.accept_dict"]),
    entry::<Change>().also(&["key.reject", "key.reject_dict", "key.delete_dict"]),
    entry::<Finger>(),
    entry::<FingerMaster>(),
    entry::<Gen>().also(&["key.gen"]),
    entry::<List>(),
    entry::<ListAll>(),
    entry::<NameMatch>().also(&["key.glob_match"]),
];

/// All targets: those of the roster are accepted, and there are no others.
#[derive(Deserialize, JsonSchema)]
pub struct ListAll {}

impl Function for ListAll {
    const NAME: &'static str = "key.list_all";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
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

/// The targets of one kind.
#[derive(Deserialize, JsonSchema)]
pub struct List {
    /// `accepted` (or `acc`), `pre` (or `un`, `unaccepted`), `rejected`, `denied` or `all`.
    r#match: String,
}

impl Function for List {
    const NAME: &'static str = "key.list";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let name = match self.r#match.as_str() {
            word if word.starts_with("acc") => "minions",
            word if word.starts_with("pre") || word.starts_with("un") => "minions_pre",
            word if word.starts_with("rej") => "minions_rejected",
            word if word.starts_with("den") => "minions_denied",
            "all" => return ListAll {}.call(context).await,
            other => return Err(Failure::said(format!("there are no keys of the kind '{other}'"))),
        };
        let found = if name == "minions" { ids(&context, "*") } else { Value::List(Vec::new()) };
        Ok(Map::from_iter([(name.into(), found)]).into())
    }
}

/// The targets whose ids fit.
#[derive(Deserialize, JsonSchema)]
pub struct NameMatch {
    /// An id, a pattern, or several with commas between.
    r#match: Value,
}

impl Function for NameMatch {
    const NAME: &'static str = "key.name_match";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let found = fitting(&context, &self.r#match);
        let found = texts(found.iter().map(|entry| entry.id.as_str()));
        Ok(if found.truth() { Map::from_iter([("minions".into(), found)]).into() } else { Map::new().into() })
    }
}

/// The fingerprints of targets' SSH host keys, as they are recorded.
#[derive(Deserialize, JsonSchema)]
pub struct Finger {
    /// An id, a pattern, or several with commas between.
    r#match: Value,
    /// `sha256`: no other is safe, and none is given.
    #[serde(default)]
    hash_type: Option<String>,
}

impl Function for Finger {
    const NAME: &'static str = "key.finger";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        if self.hash_type.is_some_and(|kind| kind != "sha256") {
            return Err(Failure::said("fingerprints are made with sha256 only"));
        }
        let entries: Vec<roster::Entry> = fitting(&context, &self.r#match).into_iter().cloned().collect();
        if entries.is_empty() {
            return Ok(Map::new().into());
        }
        let keys = context.loaded.host_keys.clone();
        // Files are read, and hashed names are compared one by one.
        let found = tokio::task::spawn_blocking(move || {
            let prints = match keys {
                Some(keys) => keys.fingerprints(&entries.iter().collect::<Vec<_>>()),
                None => vec![None; entries.len()],
            };
            // A target without a recorded key is still one: its fingerprint is empty.
            let pairs = entries.into_iter().zip(prints);
            pairs.map(|(entry, print)| (entry.id.into(), print.unwrap_or_default().into())).collect::<Map>()
        });
        let found = found.await.map_err(|_| Failure::said("the recorded keys could not be read"))?;
        Ok(Map::from_iter([("minions".into(), found.into())]).into())
    }
}

/// The fingerprint of the controller's own key. It has none: it logs in to targets with the keys of its user.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "Salt's clients may give it")]
pub struct FingerMaster {
    /// Has no meaning here.
    #[serde(default)]
    hash_type: Value,
}

impl Function for FingerMaster {
    const NAME: &'static str = "key.finger_master";
    const MARK: Mark = Mark::Looks;

    async fn call(self, _: Context) -> Result<Value, Failure> {
        Ok(Map::from_iter([("local".into(), Map::new().into())]).into())
    }
}

/// Accepts targets. Those of the roster are accepted already, so there is never anything to do.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "there is nothing to do")]
pub struct Accept {
    /// An id, a pattern, or several with commas between.
    r#match: Value,
    /// Also those that were rejected.
    #[serde(default)]
    include_rejected: bool,
    /// Also those that were denied.
    #[serde(default)]
    include_denied: bool,
}

impl Function for Accept {
    const NAME: &'static str = "key.accept";

    async fn call(self, _: Context) -> Result<Value, Failure> {
        Ok(Map::new().into())
    }
}

/// Would reject or remove targets. A failure where one is meant: the roster says who is a target, and is changed as a file.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "Salt's clients may give them")]
pub struct Change {
    /// An id, a pattern, or several with commas between.
    r#match: Value,
    /// Also those that were accepted.
    #[serde(default)]
    include_accepted: bool,
    /// Also those that were denied.
    #[serde(default)]
    include_denied: bool,
}

impl Function for Change {
    const NAME: &'static str = "key.delete";

    async fn call(self, context: Context) -> Result<Value, Failure> {
        match fitting(&context, &self.r#match).first() {
            Some(entry) => Err(Failure::said(format!(
                "{} is a target because the roster says so{}: remove it there",
                entry.id,
                if entry.origin.is_empty() { String::new() } else { format!(" ({})", entry.origin) }
            ))),
            None => Ok(Map::new().into()),
        }
    }
}

/// Would make a key pair for a target. A failure: targets need no key of ours, only an SSH server.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "it can't be done")]
pub struct Gen {
    /// The target's id.
    #[serde(default)]
    id_: Value,
    /// Further ones.
    kwargs: Map,
}

impl Function for Gen {
    const NAME: &'static str = "key.gen_accept";

    async fn call(self, _: Context) -> Result<Value, Failure> {
        Err(Failure::said(
            "targets have no keys of ours: they are reached over SSH\nhint: add the target to the roster",
        ))
    }
}

fn fitting<'a>(context: &'a Context, pattern: &Value) -> Vec<&'a roster::Entry> {
    let patterns: Vec<String> = match pattern {
        Value::List(items) => items.iter().map(ToString::to_string).collect(),
        other => other.to_string().split(',').map(|part| part.trim().to_owned()).collect(),
    };
    let fits = |entry: &&roster::Entry| patterns.iter().any(|pattern| glob::matches(pattern, &entry.id));
    let mut found: Vec<&roster::Entry> = context.loaded.controller.roster.entries.iter().filter(fits).collect();
    found.sort_by(|a, b| a.id.cmp(&b.id));
    found
}

fn ids(context: &Context, pattern: &str) -> Value {
    texts(fitting(context, &pattern.into()).into_iter().map(|entry| entry.id.as_str()))
}
