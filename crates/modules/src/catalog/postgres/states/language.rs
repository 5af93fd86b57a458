//! `postgres_language`: languages of functions.

use rocksalt_macros::state;

use super::super::client::{PostgresServer, StateConnection};
use super::super::quote::{identifier, literal};
use super::super::sql::{SqlPlan, or_bad, settled};
use super::{Decision, State, Step, Touches, Verdict, decided, touches};
use crate::Result;
use crate::machine::Probe;

/// Makes sure that a language is in a database.
///
/// ```yaml
/// plperl:
///   postgres_language.present:
///     - maintenance_db: shop
/// ```
#[state("postgres_language.present", required("maintenance_db"))]
pub struct Present {
    /// The language's name.
    name: String,
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
        if has(machine, &server, name)? {
            return settled(Verdict::good(format!("Language {name} is already installed")));
        }
        let plan = SqlPlan {
            statements: vec![format!("CREATE LANGUAGE {}", identifier(name))],
            done: Verdict::good(format!("Language {name} has been installed")).change(name.as_str(), "Present"),
            failed: format!("Failed to install language {name}"),
        };
        decided(&server, plan.decide(format!("Language {name} is set to be installed"))?, Vec::new())
    }
}

/// Whether the database has the language.
pub fn has(machine: &dyn Probe, server: &PostgresServer, name: &str) -> Result<bool> {
    let rows = server.ask(
        machine,
        &format!("SELECT l.lanname AS name FROM pg_catalog.pg_language l WHERE l.lanname = {}", literal(name)),
    )?;
    Ok(!rows.is_empty())
}

/// Makes sure that a language is not in a database.
///
/// ```yaml
/// plperl:
///   postgres_language.absent:
///     - maintenance_db: shop
/// ```
#[state("postgres_language.absent", required("maintenance_db"))]
pub struct Absent {
    /// The language's name.
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
        if !has(machine, &server, name)? {
            return settled(Verdict::good(format!("Language {name} is not present so it cannot be removed")));
        }
        let plan = SqlPlan {
            statements: vec![format!("DROP LANGUAGE {}", identifier(name))],
            done: Verdict::good(format!("Language {name} has been removed")).change(name.as_str(), "Absent"),
            failed: format!("Failed to remove language {name}"),
        };
        decided(&server, plan.decide(format!("Language {name} is set to be removed"))?, Vec::new())
    }
}
