//! Where targets are written down.
//!
//! A new kind of roster is a file here, a line in [`SOURCES`], and cases in `tests/cases/roster`.

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

use error::Report;

pub use detect::open_path;
pub use error::{Error, Fault, Faults};
pub use host::parse_host;

#[async_trait]
pub trait Source: Send + Sync {
    /// All targets, as they are now. Ids differ, and every entry knows where it was written.
    async fn load(&self) -> Result<Roster, Error>;
}

/// What the configuration says of a roster; each kind takes what it needs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The file or folder.
    pub path: Option<PathBuf>,
    /// Salt's `roster_defaults`: what holds for every entry that doesn't say otherwise.
    pub defaults: Map,
    /// The user's home, for `~/` in paths; they stay as they are without it.
    pub home: Option<PathBuf>,
    /// How long a script may run.
    pub script_timeout: Duration,
    pub scan: Scan,
}

/// What to scan, and how.
#[derive(Clone, Debug)]
pub struct Scan {
    /// Addresses and networks.
    pub networks: Vec<String>,
    /// The first that answers is the target's.
    pub ports: Vec<u16>,
    /// For one connection.
    pub timeout: Duration,
    /// Connections at the same time.
    pub limit: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            path: None,
            defaults: Map::new(),
            home: None,
            script_timeout: Duration::from_secs(30),
            scan: Scan::default(),
        }
    }
}

impl Default for Scan {
    fn default() -> Scan {
        Scan { networks: Vec::new(), ports: vec![22], timeout: Duration::from_secs(1), limit: 256 }
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

type Open = fn(&Settings) -> Result<Box<dyn Source>, Error>;

/// Every kind of roster, by its name in the configuration.
pub const SOURCES: &[(&str, Open)] = &[
    ("ansible", ansible::open),
    ("directory", directory::open),
    ("flat", flat::open),
    ("scan", scan::open),
    ("script", script::open),
    ("sshconfig", sshconfig::open),
];

/// Opens a roster by the name of its kind; nothing is read yet.
pub fn open(name: &str, settings: &Settings) -> Result<Box<dyn Source>, Error> {
    // Salt's name for it.
    let name = if name == "dir" { "directory" } else { name };
    let Some((_, open)) = SOURCES.iter().find(|(known, _)| *known == name) else {
        let hint = hint(name, SOURCES.iter().map(|(known, _)| *known));
        return Err(Error::UnknownSource { name: name.to_owned(), hint });
    };
    open(settings)
}

/// A source that is a file, read as a whole.
struct File {
    settings: Settings,
    path: PathBuf,
    read: fn(&Path, &Settings) -> Result<Roster, Error>,
}

#[async_trait]
impl Source for File {
    async fn load(&self) -> Result<Roster, Error> {
        let (path, settings, read) = (self.path.clone(), self.settings.clone(), self.read);
        tokio::task::spawn_blocking(move || read(&path, &settings)).await.map_err(|_| Error::Aborted)?
    }
}

fn read_text(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|cause| Error::Read { path: path.to_owned(), cause })
}

/// Says where a template begins: half of a roster would be worse than none.
fn refuse_template(text: &str, report: &mut Report) -> bool {
    let line = text.lines().position(|line| {
        !line.trim_start().starts_with('#') && ["{{", "{%", "{#"].iter().any(|mark| line.contains(mark))
    });
    if let Some(index) = line {
        let message = "this is a Jinja template; rosters are read as they are, templates come with the state language. \
                       A script that prints the roster can do the same (see docs/rosters.md)";
        report.add(index + 1, message);
    }
    line.is_some()
}
