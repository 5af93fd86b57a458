//! [`Action`]: a single change to the machine. The list is closed: every plan consists of these.

use serde::{Deserialize, Serialize};

use super::super::sql::SqlStatement;
use crate::machine::{Command, bytes};

#[derive(Clone, Serialize, Deserialize)]
pub enum Action {
    /// Flags of a file, as `chattr` takes them.
    Attributes {
        path: String,
        flags: String,
        failure: String,
    },
    Check(ContentCheck),
    /// A copy with owner, mode and times of the original.
    Copy {
        from: String,
        to: String,
    },
    /// A part that is known to fail: the other actions are done, and the verdict is bad.
    Fail(String),
    HardLink {
        existing: String,
        link: String,
    },
    /// Makes a directory, unless it is there.
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
    /// A file or link, or a directory with all that is in it.
    Remove(String),
    /// Moves a file or directory, onto another file system by copying.
    Rename {
        from: String,
        to: String,
    },
    /// Puts a symbolic link in the place of a file or link, atomically.
    ReplaceLink {
        target: String,
        link: String,
    },
    /// A command whose failure ends the plan.
    Run(Command),
    /// A statement on a database server; its failure ends the plan.
    Sql(SqlStatement),
    /// Ends the plan: the state fails with this comment.
    Stop(String),
    Symlink {
        target: String,
        link: String,
    },
    /// Access and modification time, in seconds since 1970.
    Times {
        path: String,
        atime: f64,
        mtime: f64,
    },
    /// A command whose failure doesn't end the plan. `failure` is reported then; without it nothing is.
    TryRun {
        command: Command,
        failure: Option<String>,
    },
    /// Replaces a file as a whole; `parents`: makes the directories above it.
    Write {
        path: String,
        #[serde(with = "bytes")]
        content: Vec<u8>,
        mode: Option<u32>,
        parents: bool,
    },
}

/// A command that must accept new content before the content is put in its place. It gets the name of a temporary file
/// as its last argument.
#[derive(Clone, Serialize, Deserialize)]
pub struct ContentCheck {
    pub command: String,
    #[serde(with = "bytes")]
    pub content: Vec<u8>,
    /// Where the temporary file is made; `/tmp` by default.
    pub directory: Option<String>,
    /// The end of the temporary file's name.
    pub ending: String,
}
