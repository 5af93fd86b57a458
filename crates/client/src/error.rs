//! [`Error`]: why a request failed, at the daemon or on the way to it.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The daemon answered with an error status.
    #[error("{text}")]
    Refused {
        kind: RefusalKind,
        text: String,
        hint: Option<String>,
        /// The HTTP status.
        status: u16,
        /// The request id in the daemon's logs.
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
    #[error("unexpected response from {to}: {what}")]
    Answer { to: String, what: String },
    #[error("{0}")]
    Settings(String),
}

/// Why the daemon refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The caller is not identified.
    Unauthenticated,
    Forbidden,
    NotFound,
    /// The target expression matches no target.
    NoTargets,
    /// The request is malformed.
    Invalid,
    /// The name is in use already.
    Taken,
    /// The request is larger than allowed.
    TooLarge,
    /// Too many requests; the hint says when to retry.
    TooMany,
    /// The daemon can't do it at the moment.
    Unavailable,
    Timeout,
    /// A bug or an internal failure in the daemon.
    Internal,
}

impl RefusalKind {
    pub(crate) fn from_name(name: &str) -> Option<RefusalKind> {
        Some(match name {
            "unauthenticated" => RefusalKind::Unauthenticated,
            "forbidden" => RefusalKind::Forbidden,
            "not_found" => RefusalKind::NotFound,
            "no_targets" => RefusalKind::NoTargets,
            "invalid" | "not_allowed" | "not_supported" => RefusalKind::Invalid,
            "taken" => RefusalKind::Taken,
            "too_large" => RefusalKind::TooLarge,
            "too_many" => RefusalKind::TooMany,
            "unavailable" => RefusalKind::Unavailable,
            "timeout" => RefusalKind::Timeout,
            "internal" => RefusalKind::Internal,
            _ => return None,
        })
    }

    pub(crate) fn from_status(status: u16) -> RefusalKind {
        match status {
            401 => RefusalKind::Unauthenticated,
            403 => RefusalKind::Forbidden,
            404 => RefusalKind::NotFound,
            409 => RefusalKind::Taken,
            413 => RefusalKind::TooLarge,
            429 => RefusalKind::TooMany,
            502 | 503 => RefusalKind::Unavailable,
            504 => RefusalKind::Timeout,
            400..=499 => RefusalKind::Invalid,
            _ => RefusalKind::Internal,
        }
    }
}

impl Error {
    /// The daemon's hint, if it sent one.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Error::Refused { hint, .. } => hint.as_deref(),
            _ => None,
        }
    }

    /// The daemon's reason, if it sent one.
    pub fn kind(&self) -> Option<RefusalKind> {
        match self {
            Error::Refused { kind, .. } => Some(*kind),
            _ => None,
        }
    }

    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Error::Refused { kind, .. } => {
                matches!(kind, RefusalKind::Unavailable | RefusalKind::Timeout | RefusalKind::TooMany)
            }
            Error::Connect { .. } | Error::Broken { .. } | Error::Timeout { .. } => true,
            Error::Answer { .. } | Error::Settings(_) => false,
        }
    }
}
