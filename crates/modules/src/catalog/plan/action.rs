//! [`Action`]: a single change to the machine. The list is closed: every plan consists of these.

use serde::{Deserialize, Serialize};

use super::super::sql::SqlStatement;
use crate::machine::{Command, bytes};

#[derive(Clone, Serialize, Deserialize)]
pub enum Action {
    /// Sets flags of a file, as `chattr` does.
    Attributes {
        path: String,
        flags: String,
        failure: String,
    },
    Check(ContentCheck),
    /// Copies a file with the owner, mode and times of the original.
    Copy {
        from: String,
        to: String,
    },
    /// A part that is known to fail: the other actions are still done, but the verdict is bad.
    Fail(String),
    HardLink {
        existing: String,
        link: String,
    },
    /// Makes a directory, unless it exists.
    MakeDirectory {
        path: String,
        mode: u32,
        uid: Option<u32>,
        gid: Option<u32>,
    },
    Mode {
        path: String,
        mode: u32,
        failure: String,
    },
    Owner {
        path: String,
        uid: Option<u32>,
        gid: Option<u32>,
        follow: bool,
        failure: String,
    },
    /// Removes a file or link, or a directory with its content.
    Remove(String),
    /// Moves a file or directory; copies it if the destination is on another file system.
    Rename {
        from: String,
        to: String,
    },
    /// Replaces a file or link by a symbolic link, atomically.
    ReplaceLink {
        target: String,
        link: String,
    },
    /// Runs a command; its failure ends the plan.
    Run(Command),
    /// A statement on a database server; its failure ends the plan.
    Sql(SqlStatement),
    /// Ends the plan: the state fails with this comment.
    Stop(String),
    Symlink {
        target: String,
        link: String,
    },
    /// Sets access and modification time, in seconds since 1970.
    Times {
        path: String,
        atime: f64,
        mtime: f64,
    },
    /// Runs a command whose failure doesn't end the plan. A failure is reported as `failure`, or not at all if that is
    /// empty.
    TryRun {
        command: Command,
        failure: Option<String>,
    },
    /// Replaces a file as a whole; `parents` also makes its parent directories.
    Write {
        path: String,
        #[serde(with = "bytes")]
        content: Vec<u8>,
        mode: Option<u32>,
        parents: bool,
    },
}

/// A command that must accept the new content before it is installed. It gets the name of a temporary file as its last
/// argument.
#[derive(Clone, Serialize, Deserialize)]
pub struct ContentCheck {
    pub command: String,
    #[serde(with = "bytes")]
    pub content: Vec<u8>,
    /// The directory of the temporary file; `/tmp` by default.
    pub directory: Option<String>,
    /// The suffix of the temporary file's name.
    pub ending: String,
}
