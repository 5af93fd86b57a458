//! [`Error`]: the errors of throw-away hosts.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot start {program}; install the Debian package that has it (scripts/packages lists them all)")]
    Start { program: String, source: io::Error },

    #[error("{command} failed with {status}:\n{output}")]
    Tool { command: String, status: String, output: String },

    #[error("cannot {doing} {}", path.display())]
    File { doing: &'static str, path: PathBuf, source: io::Error },

    #[error("{0}")]
    Unsupported(String),

    #[error("host {host} had no server on port 22 after {seconds} s; its log:\n{log}")]
    NotUp { host: String, seconds: u64, log: String },

    #[error("no bed named {0:?}; `rocksalt-testbed up N` makes one")]
    NoBed(String),

    #[error("bed {bed:?} exists already; `rocksalt-testbed down --bed {bed}` removes it")]
    BedExists { bed: String },

    #[error("bed {bed:?} has hosts 1 to {count}, not {number}")]
    NoHost { bed: String, number: usize, count: usize },

    #[error("{program} was still running after {seconds} s and was killed; it had printed:\n{output}")]
    TimedOut { program: String, seconds: u64, output: String },

    #[error("{program} ended, but something that it started still holds its output open; it had printed:\n{output}")]
    OutputHeldOpen { program: String, output: String },

    #[error("there is no {}; build it first (`cargo build`), or name one in ROCKSALT_BIN", .0.display())]
    NoBinary(PathBuf),
}

/// Adds the operation and the file to an I/O error.
pub(crate) trait FileContext<T> {
    fn file(self, doing: &'static str, path: impl Into<PathBuf>) -> Result<T, Error>;
}

impl<T> FileContext<T> for io::Result<T> {
    fn file(self, doing: &'static str, path: impl Into<PathBuf>) -> Result<T, Error> {
        self.map_err(|source| Error::File { doing, path: path.into(), source })
    }
}
