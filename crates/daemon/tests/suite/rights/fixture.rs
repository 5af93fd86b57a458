//! A request service with four unreachable targets, and users with different rights.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use rocksalt_backends::store::{self, Store};
use rocksalt_backends::{files, pillar};
use rocksalt_connect::links::{LinkHandle, Links, Progress};
use rocksalt_controller::ledger::{self, Ledger};
use rocksalt_controller::pillar::{Compiler, Pillar};
use rocksalt_controller::{Controller, grains_cache::GrainsCache, peer};
use rocksalt_core::link::{AgentKind, Info, LinkFailure, Stage};
use rocksalt_core::roster::{Roster, RosterEntry};
use rocksalt_core::target::Nodegroups;
use rocksalt_core::{Map, Value, yaml};
use tempfile::TempDir;

/// id, os, role.
pub const TARGETS: [(&str, &str, &str); 4] =
    [("web1", "Debian", "web"), ("web2", "Debian", "web"), ("db1", "Debian", "db"), ("win1", "Windows", "desk")];

struct Nowhere;

#[async_trait]
impl Links for Nowhere {
    async fn open(
        &self,
        _: &RosterEntry,
        _: AgentKind,
        _: bool,
        _: Option<&Progress>,
    ) -> Result<Arc<dyn LinkHandle>, LinkFailure> {
        Err(LinkFailure::new(Stage::Connect, "nowhere"))
    }

    async fn secondary_agent(&self, _: &RosterEntry) -> Option<Arc<dyn LinkHandle>> {
        None
    }

    async fn list(&self) -> Result<Vec<Info>, LinkFailure> {
        Ok(Vec::new())
    }

    async fn close(&self, _: &[String], _: bool) -> Result<usize, LinkFailure> {
        Ok(0)
    }
}

pub fn map(text: &str) -> Map {
    match yaml::parse(text).unwrap_or_else(|error| panic!("{error}: {text}")) {
        Value::Map(map) => map,
        other => panic!("no map: {other}"),
    }
}

/// A private directory, as the daemon requires it.
pub fn directory() -> TempDir {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().permissions(mode).tempdir().expect("a directory")
}

/// A controller whose cached grains are in a directory, where a test may change them.
pub fn controller(directory: &Path) -> Arc<Controller> {
    let grains_cache = GrainsCache { directory: directory.join("grains"), fresh: Duration::from_secs(3600) };
    for (id, os, role) in TARGETS {
        grains_cache.remember(id, &map(&format!("{{os: {os}, role: {role}}}"))).expect("grains");
    }
    let links: Arc<dyn Links> = Arc::new(Nowhere);
    let files = || Arc::from(files::open("roots", &Map::new()).expect("files"));
    let external = pillar::ExternalPillars::new(&Value::Null, &pillar::Settings::default());
    let compiler = Compiler { links: Arc::clone(&links), options: Map::new() };
    Arc::new(Controller {
        roster: Roster {
            entries: TARGETS.iter().map(|(id, _, _)| RosterEntry::new(*id, "192.0.2.1")).collect(),
            nodegroups: Vec::new(),
        },
        nodegroups: Nodegroups::new(),
        links,
        files: files(),
        options: Map::new(),
        pillar: Pillar { files: files(), external: Arc::new(external), compiler: Arc::new(compiler) },
        grains_cache,
        peer: peer::Rules::default(),
        receive: None,
        agent_kind: |_| AgentKind::Whole,
        local_answer: |_| None,
        user: "tester".into(),
    })
}

pub async fn store() -> Arc<dyn Store> {
    store::open("memory", &store::Settings::default()).await.expect("a store")
}

pub fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

pub async fn ledger(store: Arc<dyn Store>) -> Arc<Ledger> {
    let settings = ledger::Settings {
        now,
        owner: "me".into(),
        keep_jobs_seconds: 3600,
        keep_events_seconds: 3600,
        largest_return: 1 << 20,
    };
    Arc::new(Ledger::open(store, settings).await.expect("a ledger"))
}
