//! [`Caller`]: the authenticated user of a request.

use std::net::IpAddr;

use rocksalt_core::record::Account;

use crate::access::Rights;

#[derive(Clone, Debug)]
pub struct Caller {
    pub user: String,
    /// How the user logged in: `file`, `ldap`, `cert` …; `local` for the unix socket.
    pub eauth: String,
    pub rights: Rights,
    /// `None` for the unix socket.
    pub from: Option<IpAddr>,
}

impl Caller {
    pub fn account(&self) -> Account {
        Account::new(&*self.eauth, &*self.user)
    }

    /// The daemon's own user or root on this machine.
    pub fn local(user: &str) -> Caller {
        Caller { user: user.to_owned(), eauth: "local".to_owned(), rights: Rights::All, from: None }
    }
}
