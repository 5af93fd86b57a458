//! [`Caller`]: who asks, as it was proved.

use std::net::IpAddr;

use crate::access::Rights;

#[derive(Clone, Debug)]
pub struct Caller {
    pub user: String,
    /// What proved it: `file`, `ldap`, `cert` …; `local` for the unix socket.
    pub eauth: String,
    pub rights: Rights,
    /// `None` for the unix socket.
    pub from: Option<IpAddr>,
}

impl Caller {
    /// Somebody on this machine who is the daemon's own user or root.
    pub fn local(user: &str) -> Caller {
        Caller { user: user.to_owned(), eauth: "local".to_owned(), rights: Rights::All, from: None }
    }
}
