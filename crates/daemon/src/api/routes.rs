//! [`Route`]: what a door lists of itself, so that a test can try each without a right (rule R2).

/// One method on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub method: &'static str,
    /// As axum writes it: `/jobs/{id}`.
    pub path: &'static str,
    pub needs: Login,
}

/// Whether somebody must have logged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Login {
    /// Open to everybody: it tells and does nothing that matters.
    Nobody,
    /// A token in the header, a cookie or the path; or a client certificate, or the unix socket.
    Token,
    /// A token or a password in the body.
    Body,
}
