//! [`Access`]: who may do what, by Salt's `external_auth` and what goes with it.

use std::sync::Arc;

use rocksalt_controller::Controller;
use rocksalt_controller::ledger::Ledger;
use rocksalt_core::request::Needs;
use rocksalt_core::{Map, Value};

use crate::desk::{Caller, Kind, Refusal};

/// What somebody may do.
#[derive(Clone, Debug, Default)]
pub enum Rights {
    /// Everything: this machine's own users on the unix socket.
    All,
    /// What `external_auth` says for this user and these groups, looked up anew for each request.
    Listed { groups: Vec<String> },
    #[default]
    None,
}

#[derive(Clone, Debug, Default)]
pub struct Access {}

impl Access {
    /// From `external_auth` of the configuration.
    pub fn parse(_external_auth: &Map) -> Result<Access, String> {
        Ok(Access {})
    }

    pub async fn check(
        &self,
        caller: &Caller,
        _needs: &Needs<'_>,
        _controller: &Arc<Controller>,
        _ledger: &Arc<Ledger>,
    ) -> Result<(), Refusal> {
        match caller.rights {
            Rights::All => Ok(()),
            // TODO(AUTH)
            _ => Err(Refusal::new(Kind::Forbidden, "not yet")),
        }
    }

    /// The way of a decision, for people.
    pub async fn explain(
        &self,
        _user: &str,
        _function: &str,
        _target: &str,
        _controller: &Arc<Controller>,
    ) -> Result<Value, Refusal> {
        // TODO(AUTH)
        Err(Refusal::new(Kind::Unavailable, "not yet"))
    }

    /// `perms` of the login answer: what the rules give a user, as they are written.
    pub fn permissions(&self, _eauth: &str, _user: &str, _groups: &[String]) -> Value {
        Value::List(Vec::new())
    }
}
