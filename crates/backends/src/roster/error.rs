//! What may go wrong with a roster: all faults of a file at once.

use std::fmt;
use std::path::PathBuf;

/// Nothing was loaded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no kind of roster called '{name}'{hint}")]
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
    #[error("the roster {path} ended with {status}{}", behind(stderr))]
    Failed { path: PathBuf, status: String, stderr: String },
    #[error("the roster {path} printed no roster within {seconds} seconds; it was stopped{}", behind(stderr))]
    TimedOut { path: PathBuf, seconds: u64, stderr: String },
    #[error("the roster {path} printed more than {limit} bytes")]
    TooLong { path: PathBuf, limit: usize },
    #[error("'{text}' is not a host: {reason}")]
    BadHost { text: String, reason: String },
    #[error(transparent)]
    Network(#[from] rocksalt_core::target::Error),
    #[error("a scan of {networks} would try {count} addresses; at most {limit} are scanned at once")]
    TooManyAddresses { networks: String, count: u128, limit: u128 },
    #[error("loading the roster was given up")]
    Aborted,
}

/// Never empty; in the order of their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
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

fn behind(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("; it said: {stderr}") }
}

/// Collects what is wrong with one file while it is read.
pub(super) struct Report {
    file: String,
    faults: Vec<Fault>,
}

impl Report {
    pub fn new(file: impl Into<String>) -> Report {
        Report { file: file.into(), faults: Vec::new() }
    }

    /// Where something was written, as entries remember it. Line 0 is the file as a whole.
    pub fn origin(&self, line: usize) -> String {
        if line == 0 { self.file.clone() } else { format!("{}:{line}", self.file) }
    }

    pub fn add(&mut self, line: usize, message: impl Into<String>) {
        self.add_at(self.origin(line), message.into());
    }

    /// A fault that was found elsewhere.
    pub fn add_at(&mut self, origin: String, message: String) {
        let fault = Fault { origin, message };
        // What every entry inherits would be said as often as there are entries.
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
        // A file's faults in the order of its lines; files as they came.
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
