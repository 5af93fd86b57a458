//! `postgres_database`: databases.

use rocksalt_core::Map;
use rocksalt_macros::state;

use super::super::client::{PostgresServer, StateConnection};
use super::super::quote::{identifier, literal};
use super::super::sql::{SqlPlan, or_bad, settled, text};
use super::{Decision, State, Step, Touches, Verdict, decided, touches};
use crate::catalog::file::Flag;
use crate::machine::Probe;
use crate::{Error, Result};

/// Makes sure that a database is there.
///
/// ```yaml
/// shop:
///   postgres_database.present:
///     - owner: frank
///     - encoding: UTF8
///     - template: template0
/// ```
#[state("postgres_database.present")]
pub struct Present {
    /// The database's name.
    name: String,
    /// Where its files are.
    tablespace: Option<String>,
    /// The character encoding; can be set only when it is made.
    encoding: Option<String>,
    /// How texts are sorted; can be set only when it is made.
    lc_collate: Option<String>,
    /// What letters are; can be set only when it is made.
    lc_ctype: Option<String>,
    /// The owner's name.
    owner: Option<String>,
    /// Give the owner all that is in the database, too.
    owner_recurse: Flag,
    /// The database that it is a copy of.
    template: Option<String>,
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
        let encoding = |text: &str| text.to_lowercase().replace(['-', '_'], "");
        let Some(row) = find(machine, &server, Some(name))?.into_iter().next() else {
            let would = format!("Database {name} is set to be created");
            return decided(&server, self.creation().decide(would)?, Vec::new());
        };
        let other = |wanted: &Option<String>, key: &str| {
            wanted.as_deref().is_some_and(|wanted| !wanted.is_empty() && wanted != text(&row, key))
        };
        let encoding_differs = self
            .encoding
            .as_deref()
            .is_some_and(|wanted| !wanted.is_empty() && encoding(wanted) != encoding(text(&row, "Encoding")));
        if encoding_differs || other(&self.lc_collate, "Collate") || other(&self.lc_ctype, "Ctype") {
            return settled(Verdict::bad(format!(
                "Database {name} has wrong parameters which couldn't be changed on fly."
            )));
        }
        let (owner, space) = (other(&self.owner, "Owner"), other(&self.tablespace, "Tablespace"));
        if !owner && !space {
            return settled(Verdict::good(format!("Database {name} is already present")));
        }
        let mut statements = Vec::new();
        let mut on = server.clone();
        if let Some(tablespace) = self.tablespace.as_deref().filter(|_| space) {
            statements.push(format!("ALTER DATABASE {} SET TABLESPACE {}", identifier(name), identifier(tablespace)));
        }
        if let Some(owner) = self.owner.as_deref().filter(|_| owner) {
            if self.owner_recurse.0 {
                // A database with a connection can't be moved: in that case the statements run from another database.
                if statements.is_empty() {
                    on = server.on(name);
                }
                statements.push(give_all(machine, &server.on(name), name, owner)?);
            } else {
                statements.push(format!("ALTER DATABASE {} OWNER TO {}", identifier(name), identifier(owner)));
            }
        }
        if space && owner && self.owner_recurse.0 {
            return Err(Error::arguments("tablespace and owner_recurse can't both be changed in one step")
                .hint("use two steps, one with the tablespace and one with the owner"));
        }
        let plan = SqlPlan {
            statements,
            done: Verdict::good(format!("Parameters for database {name} have been changed"))
                .change(name.as_str(), "Parameters changed"),
            failed: format!("Failed to change parameters for database {name}"),
        };
        decided(&on, plan.decide(format!("Database {name} exists, but parameters need to be changed"))?, Vec::new())
    }

    fn creation(&self) -> SqlPlan {
        let name = &self.name;
        let clauses = [
            ("TABLESPACE", self.tablespace.as_deref().map(identifier)),
            ("OWNER", self.owner.as_deref().map(identifier)),
            ("TEMPLATE", self.template.as_deref().map(identifier)),
            ("ENCODING", self.encoding.as_deref().map(literal)),
            ("LC_COLLATE", self.lc_collate.as_deref().map(literal)),
            ("LC_CTYPE", self.lc_ctype.as_deref().map(literal)),
        ];
        let clauses: String =
            clauses.iter().filter_map(|(key, value)| value.as_ref().map(|value| format!(" {key} = {value}"))).collect();
        SqlPlan {
            statements: vec![format!("CREATE DATABASE {}{clauses}", identifier(name))],
            done: Verdict::good(format!("The database {name} has been created")).change(name.as_str(), "Present"),
            failed: format!("Failed to create database {name}"),
        }
    }
}

/// All databases, or one, in Salt's form, each with its `Name`.
pub fn find(machine: &dyn Probe, server: &PostgresServer, name: Option<&str>) -> Result<Vec<Map>> {
    let only = name.map(|name| format!(" AND d.datname = {}", literal(name))).unwrap_or_default();
    let query = format!(
        "SELECT d.datname AS \"Name\", r.rolname AS \"Owner\", \
         pg_catalog.pg_encoding_to_char(d.encoding) AS \"Encoding\", d.datcollate AS \"Collate\", \
         d.datctype AS \"Ctype\", COALESCE(d.datacl::text, '') AS \"Access privileges\", t.spcname AS \"Tablespace\" \
         FROM pg_catalog.pg_database d, pg_catalog.pg_roles r, pg_catalog.pg_tablespace t \
         WHERE r.oid = d.datdba AND t.oid = d.dattablespace{only}"
    );
    server.ask(machine, &query)
}

/// The statements that change the owner of a database and of all user objects in it, as one transaction.
pub fn give_all(machine: &dyn Probe, server: &PostgresServer, name: &str, owner: &str) -> Result<String> {
    let owner = identifier(owner);
    let users = "n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'";
    let query = format!(
        "SELECT pg_catalog.format('SCHEMA %I', n.nspname) AS what FROM pg_catalog.pg_namespace n WHERE {users} \
         UNION ALL SELECT pg_catalog.format('%s %I.%I', CASE c.relkind WHEN 'S' THEN 'SEQUENCE' \
         WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END, \
         n.nspname, c.relname) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE {users} AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND NOT EXISTS (SELECT 1 \
         FROM pg_catalog.pg_depend x WHERE x.classid = 'pg_catalog.pg_class'::pg_catalog.regclass \
         AND x.objid = c.oid AND x.deptype IN ('a', 'i') AND c.relkind = 'S') \
         UNION ALL SELECT pg_catalog.format('ROUTINE %s', p.oid::pg_catalog.regprocedure) FROM pg_catalog.pg_proc p \
         JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE {users}"
    );
    let mut statements = format!("BEGIN;\nALTER DATABASE {} OWNER TO {owner};\n", identifier(name));
    for row in server.ask(machine, &query)? {
        statements += &format!("ALTER {} OWNER TO {owner};\n", text(&row, "what"));
    }
    Ok(statements + "COMMIT;")
}

/// Makes sure that a database is not there, with all that is in it.
///
/// ```yaml
/// old_shop:
///   postgres_database.absent
/// ```
#[state("postgres_database.absent")]
pub struct Absent {
    /// The database's name.
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
        if find(machine, &server, Some(name))?.is_empty() {
            return settled(Verdict::good(format!("Database {name} is not present, so it cannot be removed")));
        }
        let plan = SqlPlan {
            statements: vec![format!("DROP DATABASE {}", identifier(name))],
            done: Verdict::good(format!("Database {name} has been removed")).change(name.as_str(), "Absent"),
            failed: format!("Database {name} failed to be removed"),
        };
        decided(&server, plan.decide(format!("Database {name} is set to be removed"))?, Vec::new())
    }
}
