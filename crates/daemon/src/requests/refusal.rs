//! [`Refusal`]: why a request is refused, with a hint.

use rocksalt_backends::store;
use rocksalt_controller::jobs;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The caller is not logged in.
    Unauthenticated,
    /// The caller lacks the right.
    Forbidden,
    NotFound,
    /// The request is invalid.
    Invalid,
    /// The name is taken.
    Taken,
    /// The store or a part of the daemon does not work at the moment.
    Unavailable,
    Timeout,
}

#[derive(Clone, Debug, thiserror::Error)]
#[error("{text}")]
pub struct Refusal {
    pub kind: RefusalKind,
    pub text: String,
    pub hint: Option<String>,
}

impl Refusal {
    pub fn new(kind: RefusalKind, text: impl Into<String>) -> Refusal {
        Refusal { kind, text: text.into(), hint: None }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Refusal {
        self.hint = Some(hint.into());
        self
    }
}

impl From<store::Error> for Refusal {
    fn from(error: store::Error) -> Refusal {
        Refusal::new(RefusalKind::Unavailable, error.to_string())
    }
}

impl From<jobs::Error> for Refusal {
    fn from(error: jobs::Error) -> Refusal {
        let kind = match &error {
            jobs::Error::Target(_) | jobs::Error::Option(_) => RefusalKind::Invalid,
            jobs::Error::Taken(_) => RefusalKind::Taken,
            jobs::Error::Beyond(_) => RefusalKind::Forbidden,
            jobs::Error::Store(_) => RefusalKind::Unavailable,
        };
        Refusal::new(kind, error.to_string())
    }
}
