//! `postgres_tablespace`: directories for the files of databases.

use rocksalt_core::Map;
use rocksalt_macros::state;

use super::super::client::{PostgresServer, StateConnection};
use super::super::csv;
use super::super::quote::{identifier, literal, word};
use super::super::sql::{SqlPlan, or_bad, settled, text};
use super::{Decision, State, Step, Thing, Touches, Verdict, decided, touches};
use crate::Result;
use crate::machine::Probe;

/// Makes sure that a tablespace is there.
///
/// ```yaml
/// fast:
///   postgres_tablespace.present:
///     - directory: /srv/fast
///     - owner: frank
///     - options:
///         random_page_cost: 1.1
/// ```
#[state("postgres_tablespace.present", required("directory"))]
pub struct Present {
    /// The tablespace's name.
    name: String,
    /// The directory, which must be there and be the server's.
    #[default]
    directory: String,
    /// Options such as `seq_page_cost`.
    options: Option<Map>,
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
        // The directory must be created first.
        touches().reads(Thing::Path(self.directory.clone()))
    }
}

impl Present {
    fn look(&self, machine: &dyn Probe) -> Result<Decision> {
        let server = self.connection.server(machine)?;
        let (name, quoted) = (&self.name, identifier(&self.name));
        let mut options = Vec::new();
        for (key, value) in self.options.iter().flat_map(Map::iter) {
            options.push((word(&key.to_string())?.to_owned(), word(&value.to_string())?.to_owned(), key, value));
        }
        let Some(row) = find(machine, &server, Some(name))?.into_iter().next() else {
            let owner = self.owner.as_deref().map(|owner| format!(" OWNER {}", identifier(owner))).unwrap_or_default();
            let set: Vec<String> = options.iter().map(|(key, value, ..)| format!("{key} = {value}")).collect();
            let with = if set.is_empty() { String::new() } else { format!(" WITH ({})", set.join(", ")) };
            let place = literal(&self.directory);
            let plan = SqlPlan {
                statements: vec![format!("CREATE TABLESPACE {quoted}{owner} LOCATION {place}{with}")],
                done: Verdict::good(format!("The tablespace {name} has been created")).change(name.as_str(), "Present"),
                failed: format!("Failed to create tablespace {name}"),
            };
            return decided(&server, plan.decide(format!("Tablespace {name} is set to be created"))?, Vec::new());
        };
        if text(&row, "Location") != self.directory {
            return settled(Verdict::bad(format!(
                "Tablespace {name} is not at the right location. This is unfixable without dropping and recreating the \
                 tablespace."
            )));
        }
        let (mut statements, mut changes) = (Vec::new(), Map::new());
        let (mut done, mut would) = (String::new(), String::new());
        if let Some(owner) = self.owner.as_deref().filter(|owner| !owner.is_empty() && *owner != text(&row, "Owner")) {
            statements.push(format!("ALTER TABLESPACE {quoted} OWNER TO {}", identifier(owner)));
            changes.insert("owner", owner);
            (done, would) =
                (format!("Tablespace {name} owner changed"), format!("Tablespace {name} owner to be altered"));
        }
        let has = csv::array(text(&row, "Opts"));
        let mut set = Map::new();
        for (key, value, name_of, given) in options {
            if !has.contains(&format!("{key}={value}")) {
                statements.push(format!("ALTER TABLESPACE {quoted} SET ({key} = {value})"));
                set.insert(name_of.clone(), given.clone());
            }
        }
        if !set.is_empty() {
            changes.insert("options", set);
            (done, would) =
                (format!("Tablespace {name} opts changed"), format!("Tablespace {name} options to be altered"));
        }
        if statements.is_empty() {
            return settled(Verdict::good(format!("Tablespace {name} is already present")));
        }
        let plan = SqlPlan {
            statements,
            done: Verdict::good(done).change(name.as_str(), changes),
            failed: format!("Failed to change tablespace {name}"),
        };
        decided(&server, plan.decide(would)?, Vec::new())
    }
}

/// All tablespaces, or one, in Salt's form, each with its `Name`.
pub fn find(machine: &dyn Probe, server: &PostgresServer, name: Option<&str>) -> Result<Vec<Map>> {
    let only = name.map(|name| format!(" WHERE t.spcname = {}", literal(name))).unwrap_or_default();
    server.ask(
        machine,
        &format!(
            "SELECT t.spcname AS \"Name\", r.rolname AS \"Owner\", COALESCE(t.spcacl::text, '') AS \"ACL\", \
             COALESCE(t.spcoptions::text, '') AS \"Opts\", \
             pg_catalog.pg_tablespace_location(t.oid) AS \"Location\" FROM pg_catalog.pg_tablespace t \
             JOIN pg_catalog.pg_roles r ON t.spcowner = r.oid{only}"
        ),
    )
}

/// Makes sure that a tablespace is not there. What is in it must be gone before.
///
/// ```yaml
/// old:
///   postgres_tablespace.absent
/// ```
#[state("postgres_tablespace.absent")]
pub struct Absent {
    /// The tablespace's name.
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
            return settled(Verdict::good(format!("Tablespace {name} is not present, so it cannot be removed")));
        }
        let plan = SqlPlan {
            statements: vec![format!("DROP TABLESPACE {}", identifier(name))],
            done: Verdict::good(format!("Tablespace {name} has been removed")).change(name.as_str(), "Absent"),
            failed: format!("Tablespace {name} failed to be removed"),
        };
        decided(&server, plan.decide(format!("Tablespace {name} is set to be removed"))?, Vec::new())
    }
}
