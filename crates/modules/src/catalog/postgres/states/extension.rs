//! `postgres_extension`: extensions in databases.

use rocksalt_core::Map;
use rocksalt_macros::state;

use super::super::client::{PostgresServer, StateConnection};
use super::super::quote::{identifier, literal};
use super::super::sql::{SqlPlan, or_bad, settled, text};
use super::{Decision, State, Step, Touches, Verdict, decided, touches};
use crate::Result;
use crate::machine::Probe;

/// Makes sure that an extension is in a database, `maintenance_db`.
///
/// ```yaml
/// postgis:
///   postgres_extension.present:
///     - maintenance_db: shop
///     - schema: public
/// ```
#[state("postgres_extension.present")]
pub struct Present {
    /// The extension's name.
    name: String,
    /// Accepted for compatibility with Salt: one looks first.
    if_not_exists: Option<bool>,
    /// The schema that its things are in.
    schema: Option<String>,
    /// The version that it must at least have.
    ext_version: Option<String>,
    /// The version of what was there before extensions were.
    from_version: Option<String>,
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
        let _ = self.if_not_exists;
        let found = find(machine, &server, "pg_extension", Some(name))?.into_iter().next();
        let (schema, version) = (self.schema.as_deref(), self.ext_version.as_deref());
        let (mode, ending, statements) = match &found {
            None => {
                let mut clauses = String::new();
                clauses += &schema.map(|schema| format!(" SCHEMA {}", identifier(schema))).unwrap_or_default();
                clauses += &version.map(|version| format!(" VERSION {}", literal(version))).unwrap_or_default();
                clauses +=
                    &self.from_version.as_deref().map(|from| format!(" FROM {}", literal(from))).unwrap_or_default();
                ("install", "ed", vec![format!("CREATE EXTENSION IF NOT EXISTS {}{clauses}", identifier(name))])
            }
            Some(row) => {
                let mut statements = Vec::new();
                let movable = text(row, "extrelocatable") == "t"
                    && schema.is_some_and(|schema| schema != text(row, "schema_name"));
                if let Some(schema) = schema.filter(|_| movable) {
                    statements.push(format!("ALTER EXTENSION {} SET SCHEMA {}", identifier(name), identifier(schema)));
                }
                if let Some(version) = version.filter(|version| older(text(row, "extversion"), version)) {
                    statements.push(format!("ALTER EXTENSION {} UPDATE TO {}", identifier(name), literal(version)));
                }
                ("upgrade", "d", statements)
            }
        };
        if statements.is_empty() {
            return settled(Verdict::good(format!("Extension {name} is already present")));
        }
        let told = if mode == "install" { "Installed" } else { "Upgraded" };
        let plan = SqlPlan {
            statements,
            done: Verdict::good(format!("The extension {name} has been {mode}{ending}")).change(name.as_str(), told),
            failed: format!("Failed to {mode} extension {name}"),
        };
        decided(&server, plan.decide(format!("Extension {name} is set to be {mode}{ending}"))?, Vec::new())
    }
}

/// Makes sure that an extension is not in a database, `maintenance_db`.
///
/// ```yaml
/// adminpack:
///   postgres_extension.absent:
///     - maintenance_db: shop
/// ```
#[state("postgres_extension.absent")]
pub struct Absent {
    /// The extension's name.
    name: String,
    /// Accepted for compatibility with Salt: one looks first.
    if_exists: Option<bool>,
    /// Refuse if something needs it.
    restrict: Option<bool>,
    /// Remove what needs it, too; so it is unless one says otherwise.
    cascade: Option<bool>,
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
        let _ = self.if_exists;
        if find(machine, &server, "pg_extension", Some(name))?.is_empty() {
            return settled(Verdict::good(format!("Extension {name} is not present, so it cannot be removed")));
        }
        let how = match (self.cascade, self.restrict) {
            (None | Some(true), None | Some(false)) => " CASCADE",
            (_, Some(true)) => " RESTRICT",
            _ => "",
        };
        let plan = SqlPlan {
            statements: vec![format!("DROP EXTENSION {}{how}", identifier(name))],
            done: Verdict::good(format!("Extension {name} has been removed")).change(name.as_str(), "Absent"),
            failed: format!("Extension {name} failed to be removed"),
        };
        decided(&server, plan.decide(format!("Extension {name} is set to be removed"))?, Vec::new())
    }
}

/// All extensions, or one, from `pg_extension` or `pg_available_extensions`.
pub fn find(machine: &dyn Probe, server: &PostgresServer, table: &str, name: Option<&str>) -> Result<Vec<Map>> {
    let (query, column) = match table {
        "pg_extension" => (
            "SELECT e.*, n.nspname AS schema_name FROM pg_catalog.pg_extension e \
             JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace",
            "e.extname",
        ),
        _ => ("SELECT * FROM pg_catalog.pg_available_extensions() a", "a.name"),
    };
    let only = name.map(|name| format!(" WHERE {column} = {}", literal(name))).unwrap_or_default();
    server.ask(machine, &format!("{query}{only}"))
}

/// Compares versions: `1.2` is older than `1.10`.
pub fn older(one: &str, other: &str) -> bool {
    let parts = |version: &str| -> Vec<(u64, String)> {
        let part = |part: &str| {
            let digits = part.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(part.len());
            (part[..digits].parse().unwrap_or(0), part[digits..].to_owned())
        };
        version.split('.').map(part).collect()
    };
    parts(one) < parts(other)
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_are_compared_by_number() {
        assert!(super::older("1.2", "1.10") && !super::older("1.10", "1.2") && !super::older("1.2", "1.2"));
        assert!(super::older("3.0.0dev", "3.0.1"));
    }
}
