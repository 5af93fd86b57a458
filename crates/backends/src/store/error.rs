//! [`Error`]: why a store couldn't do something.

/// After all of them but [`Error::Unsure`] nothing was done.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("there is no store '{name}'; there are {}", super::KINDS.join(", "))]
    Unknown { name: String },
    /// It can't be used as it is set up: an address, a certificate, a directory that isn't ours alone.
    #[error("can't use the store: {why}")]
    Settings { why: String },
    /// It can't be reached now; the same may work later.
    #[error("can't {doing} in the store: {why}")]
    Away { doing: &'static str, why: String },
    /// It won't work later either, unless somebody mends it: a broken file, a full disk.
    #[error("can't {doing} in the store {place}: {why}")]
    Broken { doing: &'static str, place: String, why: String },
    /// The answer to a commit was lost, or the disk failed in the middle: all of it was done, or nothing. Read and see.
    #[error("it isn't known whether the store has made a change: {why}")]
    Unsure { why: String },
    /// More than the store takes at once.
    #[error("too much for the store: {what}")]
    TooLarge { what: String },
    /// A key can't be put under a lease that was given back, has expired, or never was.
    #[error("the lease is no longer there")]
    LeaseGone,
    #[error("'{key}' can't be a key of the store: {why}")]
    Key { key: String, why: String },
}

impl Error {
    pub(crate) fn unknown(name: &str) -> Error {
        Error::Unknown { name: name.to_owned() }
    }

    pub(super) fn settings(why: impl Into<String>) -> Error {
        Error::Settings { why: why.into() }
    }

    /// Whether the same may work later without anybody doing anything.
    pub fn is_passing(&self) -> bool {
        matches!(self, Error::Away { .. } | Error::Unsure { .. })
    }
}
