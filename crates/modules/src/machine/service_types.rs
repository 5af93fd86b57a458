//! The data that [`Services`](super::Services) take and return.

use rocksalt_core::{Map, Value};

/// An entry of the controller's file tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    pub path: String,
    pub kind: EntryKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// `mode` has the permission bits of the file on the controller.
    File {
        size: u64,
        mode: u32,
    },
    /// Empty directories are listed too.
    Directory,
    Link {
        target: String,
    },
}

/// A text to render.
#[derive(Clone, Debug)]
pub struct Template<'a> {
    /// `jinja`, or a pipe of renderers.
    pub renderer: &'a str,
    pub text: &'a str,
    /// The origin, for messages and for relative imports: `salt://nginx/nginx.conf`.
    pub source: &'a str,
    pub saltenv: &'a str,
    /// Variables besides the usual ones (`salt`, `grains`, `pillar`, `opts` …).
    pub context: Map,
}

/// A request to compile or run states.
#[derive(Clone, Debug, Default)]
pub struct StateRequest {
    pub verb: StateVerb,
    /// The names of state files; none means the top file.
    pub sls: Vec<String>,
    pub saltenv: Option<String>,
    pub pillarenv: Option<String>,
    /// Merged over the pillar.
    pub pillar: Map,
    pub test: bool,
    /// `ansible` (also `ordered`), `justdoit` or `genius`; `None` uses the configured one.
    pub mode: Option<String>,
    /// State files or ids to leave out.
    pub exclude: Vec<Value>,
    /// For `Single`: `file.managed` and its arguments. For `SlsId`: the id. For `High`, `Low`: the data.
    pub argument: Value,
    pub arguments: Map,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateVerb {
    #[default]
    Apply,
    /// One state, without files.
    Single,
    /// Only the steps of one id, with what they require.
    SlsId,
    /// High data, or low data, that the caller gives.
    RunHigh,
    RunLow,
    ShowHigh,
    ShowLow,
    ShowTop,
    /// The steps with their edges, and why each waits.
    Graph,
    /// Reports what is wrong, without applying anything.
    Check,
    /// Resumes a run after a reboot; `argument` identifies the run.
    Resume,
}
