//! External pillars: sources of a target's pillar besides `pillar_roots`.
//!
//! To add a kind: a file here, a line in [`KINDS`] and a setup in `tests/suite/pillar_conformance.rs`.

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
pub use external::{ExternalPillars, kinds};

#[async_trait]
pub trait PillarSource: Send + Sync {
    /// This source's pillar for a target; an empty map if it has none.
    async fn pillar(&self, target: &PillarTarget<'_>) -> Result<Map, Error>;
}

/// The target that a pillar is for. All fields but the id come from the target and are not trusted.
#[derive(Clone, Copy, Debug)]
pub struct PillarTarget<'a> {
    /// As verified by the target's link (`docs/security-rules.md#r3`).
    pub id: &'a str,
    pub grains: &'a Map,
    /// The pillar compiled so far.
    pub pillar: &'a Map,
    /// Empty if none was requested.
    pub saltenv: &'a str,
    /// Empty if none was requested.
    pub pillarenv: &'a str,
}

/// Compiles a pillar from directories with a top file. The controller implements it, because it has the state language.
#[async_trait]
pub trait DirectoryCompiler: Send + Sync {
    /// Uses the top file of the first directory; files of the others can be included. Errors are Salt's lines.
    async fn compile(
        &self,
        directories: &[PathBuf],
        environment: &str,
        target: &PillarTarget<'_>,
    ) -> Result<Map, Vec<String>>;
}

/// Settings of all external pillars.
#[derive(Clone)]
pub struct Settings {
    /// Time limit of one source for one target.
    pub timeout: Duration,
    /// Size limit of one source's output for one target, in bytes.
    pub limit: usize,
    /// Directory for copies of repositories.
    pub cache: PathBuf,
    /// How long a copy is used before it is fetched again.
    pub update_interval: Duration,
    /// The branch of environment `base`: Salt's `git_pillar_base`.
    pub base_branch: String,
    /// Whether repositories of one environment may include each other: Salt's `git_pillar_includes`.
    pub includes: bool,
    /// For `nodegroups/` in file trees.
    pub nodegroups: Nodegroups,
    /// Salt's `pillar_roots`, for file trees with a relative directory.
    pub roots: Map,
    pub merge_lists: bool,
    pub compile: Option<Arc<dyn DirectoryCompiler>>,
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

type OpenPillar = fn(&Value, &Settings) -> Result<Box<dyn PillarSource>, Error>;

/// All kinds, by their names in the configuration.
pub const KINDS: &[(&str, OpenPillar)] = &[
    ("cmd_json", cmd::open_json),
    ("cmd_yaml", cmd::open_yaml),
    ("file_tree", file_tree::open),
    ("git", git::open),
    ("http_json", http::open_json),
    ("http_yaml", http::open_yaml),
];

/// Opens a source by kind; nothing is read yet.
pub fn open(name: &str, config: &Value, settings: &Settings) -> Result<Box<dyn PillarSource>, Error> {
    match KINDS.iter().find(|(known, _)| *known == name) {
        Some((_, open)) => open(config, settings),
        None => Err(Error::UnknownKind { hint: hint(name, KINDS.iter().map(|(known, _)| *known)) }),
    }
}

/// A source must return a map; null counts as an empty one.
fn expect_map(value: Value) -> Result<Map, Error> {
    match value {
        Value::Map(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        other => Err(Error::NoMap(other.kind())),
    }
}
