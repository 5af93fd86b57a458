//! [`Error`]: why a store couldn't do something.

#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("there is no store '{name}'; there are {}", super::KINDS.join(", "))]
    Unknown { name: String },
    /// It can't be reached now; the same may work later.
    #[error("can't {doing} in the store: {why}")]
    Away { doing: &'static str, why: String },
    /// It won't work later either: a broken file, a full disk, a value that is too large.
    #[error("can't {doing} in the store {place}: {why}")]
    Broken { doing: &'static str, place: String, why: String },
}

impl Error {
    pub(crate) fn unknown(name: &str) -> Error {
        Error::Unknown { name: name.to_owned() }
    }
}
