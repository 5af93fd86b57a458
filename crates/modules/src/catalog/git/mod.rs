//! `git`: repositories on the target, by its own git.

#![allow(clippy::result_large_err, reason = "a verdict found on the way is how most runs end, not a rare error")]

mod access;
mod change;
mod cloned;
mod config;
mod detached;
mod inspect;
mod latest;
mod options;
mod present;
mod read;
mod remotes;
mod run;
mod settings;
mod sound;

pub use access::redacted;

use super::{CatalogFunction, Function, StateEntry, entry, state};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<change::Add>(),
    entry::<change::Archive>(),
    entry::<change::Branch>(),
    entry::<change::Checkout>(),
    entry::<remotes::Clone>(),
    entry::<change::Commit>(),
    entry::<config::ConfigGet>(),
    entry::<config::ConfigGetRegexp>(),
    entry::<config::ConfigSet>(),
    entry::<config::ConfigUnset>(),
    entry::<inspect::CurrentBranch>(),
    entry::<inspect::Describe>(),
    entry::<inspect::Diff>(),
    entry::<change::DiscardLocalChanges>(),
    entry::<remotes::Fetch>(),
    entry::<change::Init>(),
    entry::<inspect::IsWorktree>(),
    entry::<inspect::ListBranches>(),
    entry::<inspect::ListTags>(),
    entry::<remotes::LsRemote>(),
    entry::<change::Merge>(),
    entry::<inspect::MergeBase>(),
    entry::<remotes::Pull>(),
    entry::<remotes::Push>(),
    entry::<change::Rebase>(),
    entry::<remotes::RemoteGet>(),
    entry::<remotes::RemoteRefs>(),
    entry::<remotes::RemoteSet>(),
    entry::<remotes::Remotes>(),
    entry::<change::Reset>(),
    entry::<inspect::RevParse>(),
    entry::<inspect::Revision>(),
    entry::<change::Rm>(),
    entry::<change::Stash>(),
    entry::<inspect::Status>(),
    entry::<remotes::Submodule>(),
    entry::<inspect::SymbolicRef>(),
    entry::<change::Tag>(),
    entry::<inspect::Version>(),
];

pub const STATES: &[StateEntry] = &[
    state::<cloned::Cloned>(),
    state::<settings::ConfigSet>(),
    state::<settings::ConfigUnset>(),
    state::<detached::Detached>(),
    state::<latest::Latest>(),
    state::<present::Present>(),
];

/// Joins comments to one text; as in Salt, a full stop only follows several.
fn comments(comments: &[String]) -> String {
    let text = comments.join(". ");
    if comments.len() > 1 { text + "." } else { text }
}

/// Tests of directories.
mod look {
    use std::path::Path;

    use super::run::Git;
    use crate::machine::{FileKind, Probe};

    fn kind(machine: &dyn Probe, path: &str) -> Option<FileKind> {
        machine.stat(Path::new(path), true).ok().flatten().map(|stat| stat.kind)
    }

    pub fn is_file(machine: &dyn Probe, path: &str) -> bool {
        kind(machine, path) == Some(FileKind::File)
    }

    pub fn is_directory(machine: &dyn Probe, path: &str) -> bool {
        kind(machine, path) == Some(FileKind::Directory)
    }

    /// Whether this is an additional working tree: its `.git` is a file that contains the path of the repository.
    pub fn is_worktree(machine: &dyn Probe, path: &str, user: Option<&str>) -> bool {
        if !is_directory(machine, path) {
            return false;
        }
        let top = Git::looking(machine, path, user).output(&["rev-parse", "--show-toplevel"]);
        let Ok(top) = top.map(|top| format!("{top}/.git")) else { return false };
        let link = machine.read(Path::new(&top)).unwrap_or_default();
        let link = String::from_utf8_lossy(&link);
        link.strip_prefix("gitdir:").is_some_and(|place| place.trim_start().starts_with('/'))
    }
}
