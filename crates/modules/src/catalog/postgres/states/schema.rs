//! `postgres_schema`: schemas of databases.

use rocksalt_core::Map;
use rocksalt_macros::state;

use super::super::client::{PostgresServer, StateConnection};
use super::super::quote::{identifier, literal};
use super::super::sql::{SqlPlan, or_bad, settled};
use super::{Decision, State, Step, Touches, Verdict, decided, touches};
use crate::Result;
use crate::machine::Probe;

/// Makes sure that a schema is in a database.
///
/// ```yaml
/// sales:
///   postgres_schema.present:
///     - dbname: shop
///     - owner: frank
/// ```
#[state("postgres_schema.present", required("dbname"))]
pub struct Present {
    /// The database's name.
    #[default]
    dbname: String,
    /// The schema's name.
    name: String,
    /// The owner's name.
    owner: Option<String>,
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
        let (name, dbname) = (&self.name, &self.dbname);
        let server = server.on(dbname);
        let there = find(machine, &server, Some(name))?.into_iter().next();

        if there.is_some() {
            let verdict = Verdict::good(format!("Schema {name} already exists in database {dbname}"));
            return settled(of(verdict, dbname));
        }
        let owner =
            self.owner.as_deref().map(|owner| format!(" AUTHORIZATION {}", identifier(owner))).unwrap_or_default();
        let done = Verdict::good(format!("Schema {name} has been created in database {dbname}"));
        let plan = SqlPlan {
            statements: vec![format!("CREATE SCHEMA {}{owner}", identifier(name))],
            done: of(done.change(name.as_str(), "Present"), dbname),
            failed: format!("Failed to create schema {name} in database {dbname}"),
        };
        let would = format!("Schema {name} is set to be created in database {dbname}.");
        decided(&server, plan.decide(would)?, Vec::new())
    }
}

/// Salt's result also contains the database.
fn of(mut verdict: Verdict, dbname: &str) -> Verdict {
    verdict.further.insert("dbname", dbname);
    verdict
}

/// All schemas, or one: `name`, `owner`, `acl`.
pub fn find(machine: &dyn Probe, server: &PostgresServer, name: Option<&str>) -> Result<Vec<Map>> {
    let only = name.map(|name| format!(" WHERE n.nspname = {}", literal(name))).unwrap_or_default();
    server.ask(
        machine,
        &format!(
            "SELECT n.nspname AS \"name\", COALESCE(n.nspacl::text, '') AS \"acl\", r.rolname AS \"owner\" \
             FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles r ON n.nspowner = r.oid{only}"
        ),
    )
}

/// Makes sure that a schema is not in a database. What is in it must be gone before.
///
/// ```yaml
/// sales:
///   postgres_schema.absent:
///     - dbname: shop
/// ```
#[state("postgres_schema.absent", required("dbname"))]
pub struct Absent {
    /// The database's name.
    #[default]
    dbname: String,
    /// The schema's name.
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
        let (name, dbname) = (&self.name, &self.dbname);
        let server = server.on(dbname);
        let there = find(machine, &server, Some(name))?.into_iter().next();

        if there.is_none() {
            let verdict =
                Verdict::good(format!("Schema {name} is not present in database {dbname}, so it cannot be removed"));
            return settled(of(verdict, dbname));
        }
        let done = Verdict::good(format!("Schema {name} has been removed from database {dbname}"));
        let plan = SqlPlan {
            statements: vec![format!("DROP SCHEMA {}", identifier(name))],
            done: of(done.change(name.as_str(), "Absent"), dbname),
            failed: format!("Schema {name} failed to be removed"),
        };
        let would = format!("Schema {name} is set to be removed from database {dbname}");
        decided(&server, plan.decide(would)?, Vec::new())
    }
}
