//! Why an external pillar failed.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("unknown external pillar{hint}")]
    UnknownKind { hint: String },
    #[error("{0}")]
    Config(String),
    #[error("the id '{id}' can't be part of {place}: {why}")]
    Id { id: String, place: &'static str, why: &'static str },
    #[error("could not run '{command}': {source}")]
    Run {
        command: String,
        #[source]
        source: std::io::Error,
    },
    #[error("'{command}' failed ({status}){stderr}")]
    Failed { command: String, status: String, stderr: String },
    #[error("'{what}' took longer than {seconds} seconds")]
    TimedOut { what: String, seconds: u64 },
    #[error("'{what}' returned more than {limit} bytes")]
    TooLong { what: String, limit: usize },
    #[error("could not parse the output of '{what}': {why}")]
    Malformed { what: String, why: String },
    #[error("it returned {0} instead of a map")]
    NoMap(&'static str),
    #[error("could not fetch {url}: {why}")]
    Fetch { url: String, why: String },
    #[error("could not read {}: {source}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{}", .0.join("; "))]
    Compile(Vec<String>),
    #[error("the controller stopped")]
    Aborted,
}
