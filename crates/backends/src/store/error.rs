//! [`Error`]: why a store operation failed.

/// Nothing was done, except maybe after [`Error::OutcomeUnknown`].
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("unknown store '{name}'; known are {}", super::KINDS.join(", "))]
    UnknownKind { name: String },
    /// The setup is wrong: an address, a certificate, a directory that others can access.
    #[error("can't use the store: {why}")]
    Settings { why: String },
    /// The store can't be reached; a retry may succeed.
    #[error("can't {doing} in the store: {why}")]
    Unavailable { doing: &'static str, why: String },
    /// It fails until somebody repairs it: a damaged file, a full disk.
    #[error("can't {doing} in the store {place}: {why}")]
    Broken { doing: &'static str, place: String, why: String },
    /// The answer to a commit was lost, or the disk failed during it: all of it was done, or nothing. Read to find out.
    #[error("it is unknown whether the store made a change: {why}")]
    OutcomeUnknown { why: String },
    /// More than the store's limits.
    #[error("too large for the store: {what}")]
    TooLarge { what: String },
    /// The lease of a put has ended, has expired, or never existed.
    #[error("the lease no longer exists")]
    LeaseGone,
    #[error("'{key}' is not a valid key: {why}")]
    Key { key: String, why: String },
}

impl Error {
    pub(crate) fn unknown(name: &str) -> Error {
        Error::UnknownKind { name: name.to_owned() }
    }

    pub(super) fn settings(why: impl Into<String>) -> Error {
        Error::Settings { why: why.into() }
    }

    /// Whether a retry may succeed without a repair.
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::Unavailable { .. } | Error::OutcomeUnknown { .. })
    }
}
