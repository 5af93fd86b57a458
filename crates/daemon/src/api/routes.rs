//! [`Route`]: what a door opens, for tests that must not forget any.

/// One method of one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub method: &'static str,
    /// As axum has it: `/jobs/{jid}`.
    pub path: &'static str,
    pub needs: Login,
}

/// How somebody proves who they are, before anything else is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Login {
    /// It is for all.
    Nobody,
    /// By a token, a certificate or the unix socket.
    Token,
    /// By credentials in the body.
    Body,
}
