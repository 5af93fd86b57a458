//! The states of PostgreSQL's nouns.

mod database;
mod extension;
mod group;
mod language;
mod privileges;
mod schema;
mod tablespace;
mod user;

pub use database::{find as databases, give_all};
pub use extension::find as extensions;
pub use language::has as has_language;
pub use schema::find as schemas;
pub use tablespace::find as tablespaces;

use rocksalt_core::Map;

use super::super::state;
use super::client::PostgresServer;
use super::role::RoleSpec;
use super::sql::{SqlPlan, SqlServer, settled};
use super::{Decision, State, StateEntry, Step, Thing, Touches, Verdict};
use crate::Result;
use crate::machine::Probe;

pub const DATABASE_STATES: &[StateEntry] = &[state::<database::Absent>(), state::<database::Present>()];
pub const EXTENSION_STATES: &[StateEntry] = &[state::<extension::Absent>(), state::<extension::Present>()];
pub const GROUP_STATES: &[StateEntry] = &[state::<group::Absent>(), state::<group::Present>()];
pub const LANGUAGE_STATES: &[StateEntry] = &[state::<language::Absent>(), state::<language::Present>()];
pub const PRIVILEGES_STATES: &[StateEntry] = &[state::<privileges::Absent>(), state::<privileges::Present>()];
pub const SCHEMA_STATES: &[StateEntry] = &[state::<schema::Absent>(), state::<schema::Present>()];
pub const TABLESPACE_STATES: &[StateEntry] = &[state::<tablespace::Absent>(), state::<tablespace::Present>()];
pub const USER_STATES: &[StateEntry] = &[state::<user::Absent>(), state::<user::Present>()];

fn decided(server: &PostgresServer, decision: Decision<SqlPlan>, secrets: Vec<String>) -> Result<Decision> {
    Ok(decision.map(|plan| plan.on(&SqlServer::Postgres(server.clone()), &secrets)))
}

/// The decision for a role: users and groups differ only in their names and in whether they log in.
fn role_decision(
    machine: &dyn Probe,
    server: PostgresServer,
    name: &str,
    kind: &str,
    login: bool,
    request: &RoleSpec<'_>,
    found: Option<Map>,
) -> Result<Decision> {
    let title = if kind == "user" { "User" } else { "Group" };
    let (mode, difference) = match &found {
        None => ("create", request.create(machine, &server, name, login)?),
        Some(role) => ("update", request.update(machine, &server, name, role)?),
    };
    if found.is_some() && difference.update.is_empty() {
        return settled(Verdict::good(format!("{title} {name} is already present")));
    }
    let done = Verdict::good(format!("The {kind} {name} has been {mode}d"));
    let done = match found {
        Some(_) => done.change(name, difference.update),
        None => done.change(name, "Present"),
    };
    let failed = format!("Failed to {mode} {kind} {name}");
    let plan = SqlPlan { statements: vec![difference.statements], done, failed };
    decided(&server, plan.decide(format!("{title} {name} is set to be {mode}d"))?, difference.secrets)
}

/// All of them write to the server, and need it to run with its configuration.
fn touches() -> Touches {
    let mut touches = Touches::nothing().reads(Thing::Packages).reads(Thing::User("postgres".into()));
    for service in ["postgresql", "postgres"] {
        touches = touches.reads(Thing::Service(service.into()));
    }
    for path in ["/etc/postgresql", "/etc/postgresql-common"] {
        touches = touches.reads(Thing::Path(path.into()));
    }
    touches.writes(Thing::Path("/var/lib/postgresql".into()))
}
