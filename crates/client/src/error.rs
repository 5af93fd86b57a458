//! [`Error`]: why the daemon did not do it, or could not be asked.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The daemon understood, and will not.
    #[error("{text}")]
    Refused {
        kind: Kind,
        text: String,
        hint: Option<String>,
        /// The HTTP status.
        status: u16,
        /// By this its logs know the request.
        request: Option<String>,
    },
    #[error("can't reach {to}")]
    Connect {
        to: String,
        #[source]
        source: io::Error,
    },
    #[error("the connection to {to} broke")]
    Broken {
        to: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("{to} did not answer within {seconds} s")]
    Timeout { to: String, seconds: u64 },
    #[error("{to} answered what makes no sense here: {what}")]
    Answer { to: String, what: String },
    #[error("{0}")]
    Settings(String),
}

/// Why the daemon refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It doesn't know who asks.
    Unauthenticated,
    Forbidden,
    NotFound,
    /// The target means nobody.
    NoTargets,
    /// It makes no sense as it is written.
    Invalid,
    /// There is something of that name already.
    Taken,
    /// Larger than it takes.
    TooLarge,
    /// Too often; the hint says when to try again.
    TooMany,
    /// Not now.
    Unavailable,
    Timeout,
    /// A fault of the daemon.
    Internal,
}

impl Kind {
    pub(crate) fn from_name(name: &str) -> Option<Kind> {
        Some(match name {
            "unauthenticated" => Kind::Unauthenticated,
            "forbidden" => Kind::Forbidden,
            "not_found" => Kind::NotFound,
            "no_targets" => Kind::NoTargets,
            "invalid" | "not_allowed" | "not_supported" => Kind::Invalid,
            "taken" => Kind::Taken,
            "too_large" => Kind::TooLarge,
            "too_many" => Kind::TooMany,
            "unavailable" => Kind::Unavailable,
            "timeout" => Kind::Timeout,
            "internal" => Kind::Internal,
            _ => return None,
        })
    }

    pub(crate) fn from_status(status: u16) -> Kind {
        match status {
            401 => Kind::Unauthenticated,
            403 => Kind::Forbidden,
            404 => Kind::NotFound,
            409 => Kind::Taken,
            413 => Kind::TooLarge,
            429 => Kind::TooMany,
            502 | 503 => Kind::Unavailable,
            504 => Kind::Timeout,
            400..=499 => Kind::Invalid,
            _ => Kind::Internal,
        }
    }
}

impl Error {
    /// The daemon's way out, if it gave one.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Error::Refused { hint, .. } => hint.as_deref(),
            _ => None,
        }
    }

    /// The daemon's reason, if it gave one.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Error::Refused { kind, .. } => Some(*kind),
            _ => None,
        }
    }

    /// Whether asking again, a little later, may help: nothing is wrong with the question itself.
    pub fn passing(&self) -> bool {
        match self {
            Error::Refused { kind, .. } => matches!(kind, Kind::Unavailable | Kind::Timeout | Kind::TooMany),
            Error::Connect { .. } | Error::Broken { .. } | Error::Timeout { .. } => true,
            Error::Answer { .. } | Error::Settings(_) => false,
        }
    }
}
