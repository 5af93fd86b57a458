//! Errors of rosters; all faults of a file are reported together.

use std::fmt;
use std::path::PathBuf;

/// Nothing was loaded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("unknown kind of roster '{name}'{hint}")]
    UnknownSource { name: String, hint: String },
    #[error("a roster of the kind '{0}' needs a path")]
    NoPath(&'static str),
    #[error("a scan needs a network, as in 192.0.2.0/24")]
    NoNetwork,
    #[error("reading the roster {path}")]
    Read {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("{0}")]
    Faults(Faults),
    #[error("running the roster {path}")]
    Run {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("the roster {path} ended with {status}{}", with_stderr(stderr))]
    Failed { path: PathBuf, status: String, stderr: String },
    #[error("the roster {path} printed no roster within {seconds} seconds; it was stopped{}", with_stderr(stderr))]
    TimedOut { path: PathBuf, seconds: u64, stderr: String },
    #[error("the roster {path} printed more than {limit} bytes")]
    TooLong { path: PathBuf, limit: usize },
    #[error("'{text}' is not a host: {reason}")]
    BadHost { text: String, reason: String },
    #[error(transparent)]
    Network(#[from] rocksalt_core::target::Error),
    #[error("a scan of {networks} would try {count} addresses; the limit is {limit}")]
    TooManyAddresses { networks: String, count: u128, limit: u128 },
    #[error("loading the roster was aborted")]
    Aborted,
}

/// Never empty; ordered by file and line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(pub Vec<RosterFault>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RosterFault {
    /// `roster:12`
    pub origin: String,
    pub message: String,
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            let newline = if index == 0 { "" } else { "\n" };
            write!(f, "{newline}{}: {}", fault.origin, fault.message)?;
        }
        Ok(())
    }
}

fn with_stderr(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("; stderr: {stderr}") }
}

/// Collects the faults of one file while it is read.
pub(super) struct FaultReport {
    file: String,
    faults: Vec<RosterFault>,
}

impl FaultReport {
    pub fn new(file: impl Into<String>) -> FaultReport {
        FaultReport { file: file.into(), faults: Vec::new() }
    }

    /// `file:line`, as entries store it. Line 0 is the whole file.
    pub fn origin(&self, line: usize) -> String {
        if line == 0 { self.file.clone() } else { format!("{}:{line}", self.file) }
    }

    pub fn add(&mut self, line: usize, message: impl Into<String>) {
        self.add_at(self.origin(line), message.into());
    }

    /// Adds a fault with its own origin.
    pub fn add_at(&mut self, origin: String, message: String) {
        let fault = RosterFault { origin, message };
        // A fault in the defaults would be reported once for each entry.
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    pub fn absorb(&mut self, faults: Faults) {
        for fault in faults.0 {
            self.add_at(fault.origin, fault.message);
        }
    }

    pub fn finish<T>(mut self, loaded: T) -> Result<T, Error> {
        // Sorted by line in each file; files in the order of their first fault.
        let mut files: Vec<String> = Vec::new();
        self.faults.sort_by_cached_key(|fault| {
            let (file, line) = fault.origin.rsplit_once(':').unwrap_or((&fault.origin, ""));
            let index = files.iter().position(|known| known == file).unwrap_or_else(|| {
                files.push(file.to_owned());
                files.len() - 1
            });
            (index, line.parse::<usize>().unwrap_or(0))
        });
        if self.faults.is_empty() { Ok(loaded) } else { Err(Error::Faults(Faults(self.faults))) }
    }
}
