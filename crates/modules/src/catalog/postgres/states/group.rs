//! `postgres_group`: roles that have members.

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::super::client::StateConnection;
use super::super::quote::identifier;
use super::super::role::{self, RoleSpec};
use super::super::sql::{SqlPlan, or_bad, settled};
use super::{Decision, State, Step, Touches, Verdict, decided, role_decision, touches};
use crate::Result;
use crate::catalog::file::Flag;
use crate::machine::Probe;

/// Makes sure that a group is there.
///
/// ```yaml
/// readers:
///   postgres_group.present:
///     - groups: [everybody]
/// ```
#[state("postgres_group.present")]
pub struct Present {
    /// The group's name.
    name: String,
    /// May make databases.
    createdb: Option<bool>,
    /// May make roles.
    createroles: Option<bool>,
    /// How the password is kept: `scram-sha-256`, `md5`, or false to leave that to the server; as the server does unless given.
    encrypted: Value,
    /// May do everything.
    superuser: Option<bool>,
    /// May replicate.
    replication: Option<bool>,
    /// Has the privileges of its groups.
    inherit: Option<bool>,
    /// May log in.
    login: Option<bool>,
    /// The password, or the verifier of it that the server keeps.
    #[secret]
    password: Option<String>,
    /// Set the password in each run, without a look at what it is.
    refresh_password: Flag,
    /// Groups that it is in: a list, or a comma-separated text.
    groups: Value,
    #[flatten]
    connection: StateConnection,
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        or_bad(self.look(machine))
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

impl Present {
    fn look(&self, machine: &dyn Probe) -> Result<Decision> {
        let server = self.connection.server(machine)?;
        let name = &self.name;
        let found = role::find(machine, &server, name, !self.refresh_password.0 && self.password.is_some())?;
        let request = RoleSpec {
            createdb: self.createdb,
            createroles: self.createroles,
            superuser: self.superuser,
            replication: self.replication,
            inherit: self.inherit,
            login: self.login,
            password: self.password.as_deref(),
            encrypted: self.encrypted.clone(),
            refresh_password: self.refresh_password.0,
            valid_until: None,
            groups: self.groups.clone(),
        };
        role_decision(machine, server, name, "group", false, &request, found)
    }
}

/// Makes sure that a group is not there.
///
/// ```yaml
/// old-group:
///   postgres_group.absent
/// ```
#[state("postgres_group.absent")]
pub struct Absent {
    /// The group's name.
    name: String,
    #[flatten]
    connection: StateConnection,
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        or_bad(self.look(machine))
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

impl Absent {
    fn look(&self, machine: &dyn Probe) -> Result<Decision> {
        let server = self.connection.server(machine)?;
        let name = &self.name;
        if role::find(machine, &server, name, false)?.is_none() {
            return settled(Verdict::good(format!("Group {name} is not present, so it cannot be removed")));
        }
        let plan = SqlPlan {
            statements: vec![format!("DROP ROLE {}", identifier(name))],
            done: Verdict::good(format!("Group {name} has been removed")).change(name.as_str(), "Absent"),
            failed: format!("Group {name} failed to be removed"),
        };
        decided(&server, plan.decide(format!("Group {name} is set to be removed"))?, Vec::new())
    }
}
