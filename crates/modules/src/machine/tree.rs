//! [`Tree`]: what the controller keeps for a target (files and pillar), and templates made of it.

use std::sync::{Arc, Mutex};

use rocksalt_core::{Map, Problem, Value, call::ProblemKind};

use super::Reboots;
use crate::Result;
use crate::catalog::Outcome;

/// The controller's file tree and pillar, as one run sees them.
///
/// A file is fetched once in a run, whoever asks; `path` never starts with `salt://` or a slash.
pub trait Tree: Send + Sync {
    /// This target's pillar. If parts of it did not render, `_errors` lists why, as in Salt.
    fn pillar(&self) -> Result<Arc<Map>>;

    /// Forgets the pillar, so that the next look compiles it anew.
    fn refresh_pillar(&self);

    /// `base`, `dev` …
    fn environments(&self) -> Result<Vec<String>>;

    /// Every entry of an environment, sorted by path.
    fn entries(&self, saltenv: &str) -> Result<Arc<Vec<TreeEntry>>>;

    /// A file's content; `None` if there is no such file.
    fn read(&self, saltenv: &str, path: &str) -> Result<Option<Arc<[u8]>>>;

    /// A file's sha256 in hex; `None` if there is no such file.
    fn hash(&self, saltenv: &str, path: &str) -> Result<Option<String>>;

    /// Renders a template. Its functions run on this machine, as Salt's do.
    fn render(&self, template: &Template<'_>) -> Result<String>;

    /// As [`Tree::render`], for a pipe that ends with data: `jinja|yaml`.
    fn render_data(&self, template: &Template<'_>) -> Result<Value>;

    /// Compiles or runs states: all of Salt's `state.*` functions.
    fn states(&self, wish: StateWish) -> Result<Outcome>;

    /// What states of one run leave for each other (`file.accumulated`); empty when the run begins.
    fn notes(&self) -> &Mutex<Map>;

    /// Where a step says that the machine is to be restarted; `None` where no run could go on afterwards.
    fn reboots(&self) -> Option<&Reboots> {
        None
    }
}

/// An entry of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    pub path: String,
    pub kind: EntryKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// `mode` has the permission bits that the file has on the controller.
    File {
        size: u64,
        mode: u32,
    },
    /// Directories without anything in them are listed too.
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
    /// Where it comes from, for messages and for relative imports: `salt://nginx/nginx.conf`.
    pub source: &'a str,
    pub saltenv: &'a str,
    /// Variables besides the usual ones (`salt`, `grains`, `pillar`, `opts` …).
    pub context: Map,
}

/// What somebody wants of the state language.
#[derive(Clone, Debug, Default)]
pub struct StateWish {
    pub verb: StateVerb,
    /// The names of state files; none means the top file.
    pub sls: Vec<String>,
    pub saltenv: Option<String>,
    pub pillarenv: Option<String>,
    /// Merged over the pillar.
    pub pillar: Map,
    pub test: bool,
    /// `ansible`, `justdoit` or `genius`; `None`: as configured.
    pub mode: Option<String>,
    /// State files, or ids, that are left out.
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
    /// What is wrong, without applying anything.
    Check,
    /// Goes on with a run after a restart of the machine; `argument` says with which.
    Resume,
}

/// For machines that nobody controls.
#[derive(Default)]
pub struct NoTree {
    notes: Mutex<Map>,
}

fn absent() -> crate::Error {
    Problem::new(ProblemKind::Failed, "there is no controller that keeps files and pillar").into()
}

impl Tree for NoTree {
    fn pillar(&self) -> Result<Arc<Map>> {
        Ok(Arc::default())
    }

    fn refresh_pillar(&self) {}

    fn environments(&self) -> Result<Vec<String>> {
        Err(absent())
    }

    fn entries(&self, _: &str) -> Result<Arc<Vec<TreeEntry>>> {
        Err(absent())
    }

    fn read(&self, _: &str, _: &str) -> Result<Option<Arc<[u8]>>> {
        Err(absent())
    }

    fn hash(&self, _: &str, _: &str) -> Result<Option<String>> {
        Err(absent())
    }

    fn render(&self, _: &Template<'_>) -> Result<String> {
        Err(absent())
    }

    fn render_data(&self, _: &Template<'_>) -> Result<Value> {
        Err(absent())
    }

    fn states(&self, _: StateWish) -> Result<Outcome> {
        Err(absent())
    }

    fn notes(&self) -> &Mutex<Map> {
        &self.notes
    }
}
