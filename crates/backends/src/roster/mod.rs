//! Rosters: the lists of targets.
//!
//! To add a kind: a file here, a line in [`SOURCES`] and cases in `tests/cases`.

mod ansible;
mod detect;
mod directory;
mod entry;
mod error;
mod flat;
mod host;
mod names;
mod scan;
mod script;
mod ssh_options;
mod sshconfig;

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use rocksalt_core::nearest::hint;
use rocksalt_core::roster::Roster;
use rocksalt_core::value::Map;

use error::FaultReport;

pub use detect::open_path;
pub use error::{Error, Faults, RosterFault};
pub use host::parse_host;

#[async_trait]
pub trait RosterSource: Send + Sync {
    /// Loads all targets. Ids are unique, and every entry has its origin.
    async fn load(&self) -> Result<Roster, Error>;
}

/// Settings of all kinds of rosters; each kind uses what it needs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The file or directory.
    pub path: Option<PathBuf>,
    /// Salt's `roster_defaults`: values for keys that an entry doesn't have.
    pub defaults: Map,
    /// The user's home, for `~/` in paths; without it such paths stay unchanged.
    pub home: Option<PathBuf>,
    /// Time limit of a script.
    pub script_timeout: Duration,
    pub scan: ScanSettings,
}

/// Settings of the scan roster.
#[derive(Clone, Debug)]
pub struct ScanSettings {
    /// Addresses and networks.
    pub networks: Vec<String>,
    /// The first open port is the target's.
    pub ports: Vec<u16>,
    /// Time limit of one connection.
    pub timeout: Duration,
    /// Concurrent connections.
    pub limit: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            path: None,
            defaults: Map::new(),
            home: None,
            script_timeout: Duration::from_secs(30),
            scan: ScanSettings::default(),
        }
    }
}

impl Default for ScanSettings {
    fn default() -> ScanSettings {
        ScanSettings { networks: Vec::new(), ports: vec![22], timeout: Duration::from_secs(1), limit: 256 }
    }
}

impl Settings {
    pub fn at(path: impl Into<PathBuf>) -> Settings {
        Settings { path: Some(path.into()), ..Settings::default() }
    }

    fn path(&self, kind: &'static str) -> Result<PathBuf, Error> {
        self.path.clone().ok_or(Error::NoPath(kind))
    }
}

type OpenRoster = fn(&Settings) -> Result<Box<dyn RosterSource>, Error>;

/// All kinds of rosters, by their names in the configuration.
pub const SOURCES: &[(&str, OpenRoster)] = &[
    ("ansible", ansible::open),
    ("directory", directory::open),
    ("flat", flat::open),
    ("scan", scan::open),
    ("script", script::open),
    ("sshconfig", sshconfig::open),
];

/// Opens a roster by kind; nothing is read yet.
pub fn open(name: &str, settings: &Settings) -> Result<Box<dyn RosterSource>, Error> {
    // Salt's name.
    let name = if name == "dir" { "directory" } else { name };
    let Some((_, open)) = SOURCES.iter().find(|(known, _)| *known == name) else {
        let hint = hint(name, SOURCES.iter().map(|(known, _)| *known));
        return Err(Error::UnknownSource { name: name.to_owned(), hint });
    };
    open(settings)
}

/// A roster in a single file.
struct FileRoster {
    settings: Settings,
    path: PathBuf,
    read: fn(&Path, &Settings) -> Result<Roster, Error>,
}

#[async_trait]
impl RosterSource for FileRoster {
    async fn load(&self) -> Result<Roster, Error> {
        let (path, settings, read) = (self.path.clone(), self.settings.clone(), self.read);
        tokio::task::spawn_blocking(move || read(&path, &settings)).await.map_err(|_| Error::Aborted)?
    }
}

fn read_text(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|cause| Error::Read { path: path.to_owned(), cause })
}

/// Reports the first line with template syntax. A roster that is read in part would be worse than none.
fn refuse_template(text: &str, report: &mut FaultReport) -> bool {
    let line = text.lines().position(|line| {
        !line.trim_start().starts_with('#') && ["{{", "{%", "{#"].iter().any(|mark| line.contains(mark))
    });
    if let Some(index) = line {
        let message = "this is a Jinja template, and rosters are not rendered. \
                       A script that prints the roster can do the same (see docs/rosters.md)";
        report.add(index + 1, message);
    }
    line.is_some()
}
