//! [`ApiRoute`]: the list of all routes, so that a test can try each without rights (`docs/security-rules.md#r2`).

/// One method on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiRoute {
    pub method: &'static str,
    /// As axum writes it: `/jobs/{id}`.
    pub path: &'static str,
    pub needs: RouteAuth,
}

/// How a route authenticates its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteAuth {
    /// Not at all: the route reveals and changes nothing of importance.
    None,
    /// By a token in a header, a cookie or the path, a client certificate, or the unix socket.
    Token,
    /// By a token or a password in the body.
    Body,
}
