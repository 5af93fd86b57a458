//! External pillars: where a target's pillar comes from besides the pillar's own tree.
//!
//! A new kind is a file here, a line in [`KINDS`], and a setup in `tests/suite/pillar_conformance.rs`.

mod arguments;
mod cmd;
mod command;
mod error;
mod external;
mod file_tree;
mod git;
mod http;
mod id;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rocksalt_core::nearest::hint;
use rocksalt_core::target::Nodegroups;
use rocksalt_core::{Map, Value};

pub use error::Error;
pub use external::{External, kinds};

#[async_trait]
pub trait Pillar: Send + Sync {
    /// What this source has for a target; an empty map if it has nothing.
    async fn pillar(&self, target: &Target<'_>) -> Result<Map, Error>;
}

/// Whom a pillar is for. All of it but the id comes from the target itself and is not to be trusted.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// As its link says (rule R3).
    pub id: &'a str,
    pub grains: &'a Map,
    /// The pillar that is there so far.
    pub pillar: &'a Map,
    /// Empty if none was asked for.
    pub saltenv: &'a str,
    /// Empty if none was asked for.
    pub pillarenv: &'a str,
}

/// Makes a pillar of a directory with a top file; the controller does it, as it has the state language.
#[async_trait]
pub trait Compile: Send + Sync {
    /// The first directory's top file counts; the others are only included from. Errors are Salt's lines.
    async fn compile(
        &self,
        directories: &[PathBuf],
        environment: &str,
        target: &Target<'_>,
    ) -> Result<Map, Vec<String>>;
}

/// What holds for all external pillars.
#[derive(Clone)]
pub struct Settings {
    /// How long one of them may take for one target.
    pub timeout: Duration,
    /// The most that one of them may give for one target, in bytes.
    pub limit: usize,
    /// Where copies of repositories are kept.
    pub cache: PathBuf,
    /// How long a copy counts as fresh.
    pub update_interval: Duration,
    /// The branch that is environment `base`: Salt's `git_pillar_base`.
    pub base_branch: String,
    /// Whether repositories of one environment may include each other: Salt's `git_pillar_includes`.
    pub includes: bool,
    /// For `nodegroups/` in file trees.
    pub nodegroups: Nodegroups,
    /// Salt's `pillar_roots`: file trees with a relative directory are below them.
    pub roots: Map,
    pub merge_lists: bool,
    pub compile: Option<Arc<dyn Compile>>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            timeout: Duration::from_secs(60),
            limit: 16 * 1024 * 1024,
            cache: PathBuf::from("/var/cache/rocksalt/git_pillar"),
            update_interval: Duration::from_secs(60),
            base_branch: "master".into(),
            includes: true,
            nodegroups: Nodegroups::new(),
            roots: Map::new(),
            merge_lists: false,
            compile: None,
        }
    }
}

type Open = fn(&Value, &Settings) -> Result<Box<dyn Pillar>, Error>;

/// Every kind, by its name in the configuration.
pub const KINDS: &[(&str, Open)] = &[
    ("cmd_json", cmd::open_json),
    ("cmd_yaml", cmd::open_yaml),
    ("file_tree", file_tree::open),
    ("git", git::open),
    ("http_json", http::open_json),
    ("http_yaml", http::open_yaml),
];

/// Opens a kind with what the configuration gives it; nothing is read yet.
pub fn open(name: &str, config: &Value, settings: &Settings) -> Result<Box<dyn Pillar>, Error> {
    match KINDS.iter().find(|(known, _)| *known == name) {
        Some((_, open)) => open(config, settings),
        None => Err(Error::UnknownKind { hint: hint(name, KINDS.iter().map(|(known, _)| *known)) }),
    }
}

/// What a source gave must be a map; nothing counts as an empty one.
fn map(value: Value) -> Result<Map, Error> {
    match value {
        Value::Map(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        other => Err(Error::NoMap(other.kind())),
    }
}
