//! [`Command`]: a child process to run, and [`Output`], its result.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bytes;

/// What to run. Never a shell unless the caller names one as `argv[0]`.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Command {
    pub argv: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Variables to set (`Some`) or remove (`None`) in the agent's environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, Option<String>)>,
    /// Starts from an empty environment instead.
    #[serde(default, skip_serializing_if = "is_false")]
    pub clean_env: bool,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "bytes::option")]
    pub stdin: Option<Vec<u8>>,
    /// Runs as this user, with its groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub umask: Option<u32>,
    /// Standard error is merged into standard output, in the order of writing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub merge_stderr: bool,
    /// The command leaves a daemon running, which may keep its output open: only wait for the command itself. Standard
    /// error is merged.
    #[serde(default, skip_serializing_if = "is_false")]
    pub leaves_daemon: bool,
    /// Half of it is worse than all of it: if the agent dies it may finish, while the lock of the run is kept.
    #[serde(default, skip_serializing_if = "is_false")]
    pub finishes: bool,
    /// After this time the whole process group is killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// Receives the output as it arrives, in addition to the result.
    #[serde(skip)]
    pub sink: Option<Sink>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference to the field")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Receives pieces of output as they arrive.
pub type Sink = Arc<dyn Fn(Pipe, &[u8]) + Send + Sync>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipe {
    Stdout,
    Stderr,
}

/// The result of a command. As in Python, a command that was killed by signal 9 has the code -9.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub pid: u32,
    pub timed_out: bool,
}

impl Command {
    pub fn new<I, S>(argv: I) -> Command
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        Command { argv: argv.into_iter().map(Into::into).collect(), ..Command::default() }
    }
}

impl Output {
    pub fn success(&self) -> bool {
        self.code == 0 && !self.timed_out
    }

    /// Standard output as text, with invalid UTF-8 replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}
