//! `mysql_database`: databases, with their character set.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::client::{MysqlConnection, MysqlServer};
use super::super::quote;
use super::super::sql::{SqlPlan, or_bad, settled, text};
use super::{Decision, State, Step, Touches, Verdict, decided, touches};
use crate::machine::Probe;
use crate::{Error, Result};

/// Makes sure that a database is there.
///
/// ```yaml
/// shop:
///   mysql_database.present:
///     - character_set: utf8mb4
///     - collate: utf8mb4_unicode_ci
/// ```
///
/// The server is reached as `connection_host`, `connection_user`, `connection_pass`, `connection_port`,
/// `connection_unix_socket`, `connection_default_file` and `connection_charset` say, or `mysql.host` … of the
/// target's options or pillar.
#[state("mysql_database.present")]
pub struct Present {
    /// The database's name.
    name: String,
    /// Its character set; that of the server unless given.
    character_set: Option<String>,
    /// Its collation.
    collate: Option<String>,
    #[flatten]
    connection: MysqlConnection,
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
        for name in [&self.character_set, &self.collate].into_iter().flatten() {
            sound(name)?;
        }
        let server = self.connection.server(machine)?;
        let decision = self.decide(machine, &server)?;
        decided(&server, decision, &[])
    }

    fn decide(&self, machine: &dyn Probe, server: &MysqlServer) -> Result<Decision<SqlPlan>> {
        let name = &self.name;
        let clause = |keyword: &str, value: Option<&String>| {
            value.map(|value| format!(" {keyword} {value}")).unwrap_or_default()
        };
        let clauses = clause("CHARACTER SET", self.character_set.as_ref()) + &clause("COLLATE", self.collate.as_ref());
        let Some((charset, collation)) = find(machine, server, name)? else {
            return SqlPlan {
                statements: vec![format!("CREATE DATABASE {}{clauses}", quote::identifier(name))],
                done: Verdict::good(format!("The database {name} has been created")).change(name.as_str(), "Present"),
                failed: format!("Failed to create database {name}"),
            }
            .decide(format!("Database {name} is not present and needs to be created"));
        };
        let wanted = self.resolve(machine, server)?;
        let mut comment = format!("Database {name} is already present");
        let other_charset =
            wanted.charset.as_ref().is_some_and(|wanted| *wanted != charset) && self.character_set.is_some();
        let other_collation =
            self.collate.is_some() && wanted.collation.as_ref().is_some_and(|wanted| *wanted != collation);
        if other_charset {
            let new = self.character_set.as_deref().unwrap_or_default();
            comment = format!("Database character set {new} != {charset} needs to be updated");
        }
        if other_collation {
            let new = self.collate.as_deref().unwrap_or_default();
            comment += &format!("\nDatabase collate {new} != {collation} needs to be updated");
        }
        if !other_charset && !other_collation {
            return settled(Verdict::good(comment));
        }
        let mut changes = Map::new();
        for (key, before, now) in
            [("collate", &collation, &wanted.collation), ("character_set", &charset, &wanted.charset)]
        {
            if let Some(now) = now.as_ref().filter(|now| *now != before) {
                let change = [("before".into(), Value::from(before.as_str())), ("now".into(), now.as_str().into())];
                changes.insert(key, Map::from_iter(change));
            }
        }
        let would = match other_collation {
            true => comment.clone(),
            false => format!("{comment}\nDatabase {name} is going to be updated"),
        };
        SqlPlan {
            statements: vec![format!("ALTER DATABASE {}{clauses}", quote::identifier(name))],
            done: Verdict::good(comment).changes(changes),
            failed: format!("Failed to alter database {name}"),
        }
        .decide(would)
    }

    /// The names as the server resolves them: newer servers read `utf8` as `utf8mb3`, and each character set has a
    /// default collation.
    fn resolve(&self, machine: &dyn Probe, server: &MysqlServer) -> Result<DatabaseSpec> {
        let mut wanted = DatabaseSpec::default();
        if let Some(charset) = &self.character_set {
            let rows = server.ask(
                machine,
                &format!(
                    "SELECT CHARSET(CONVERT('' USING {charset})) AS charset, \
                     COLLATION(CONVERT('' USING {charset})) AS collation"
                ),
            )?;
            let row = rows.first().cloned().unwrap_or_default();
            wanted.charset = Some(text(&row, "charset").to_owned());
            wanted.collation = Some(text(&row, "collation").to_owned());
        }
        if let Some(collation) = &self.collate {
            let newer = collation.strip_prefix("utf8_").map(|rest| format!("utf8mb3_{rest}"));
            let names = [Some(collation.clone()), newer].into_iter().flatten();
            let names: Vec<String> = names.map(|name| quote::literal(&name)).collect();
            let rows = server.ask(
                machine,
                &format!(
                    "SELECT COLLATION_NAME AS collation, CHARACTER_SET_NAME AS charset \
                     FROM information_schema.COLLATIONS WHERE COLLATION_NAME IN ({})",
                    names.join(", ")
                ),
            )?;
            let row = rows.first().ok_or_else(|| {
                Error::failed(format!("collate: the server has no collation '{collation}'"))
                    .hint("`SHOW COLLATION` lists those that it has")
            })?;
            wanted.collation = Some(text(row, "collation").to_owned());
            let charset = text(row, "charset");
            if wanted.charset.is_none() && !charset.is_empty() {
                wanted.charset = Some(charset.to_owned());
            }
        }
        Ok(wanted)
    }
}

#[derive(Default)]
struct DatabaseSpec {
    charset: Option<String>,
    collation: Option<String>,
}

/// Character set and collation of a database, if it exists.
pub fn find(machine: &dyn Probe, server: &MysqlServer, name: &str) -> Result<Option<(String, String)>> {
    let rows = server.ask(
        machine,
        &format!(
            "SELECT DEFAULT_CHARACTER_SET_NAME AS charset, DEFAULT_COLLATION_NAME AS collation \
             FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = {}",
            quote::literal(name)
        ),
    )?;
    Ok(rows.first().map(|row| (text(row, "charset").to_owned(), text(row, "collation").to_owned())))
}

/// Checks the name of a character set or collation, which is used in SQL unquoted.
pub fn sound(name: &str) -> Result<()> {
    match !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
        true => Ok(()),
        false => Err(Error::arguments(format!("'{name}' can't be the name of a character set or a collation"))),
    }
}

/// Databases that the server needs.
pub const OWN: &[&str] = &["mysql", "information_schema", "performance_schema", "sys"];

/// Makes sure that a database is not there, with all that is in it.
///
/// ```yaml
/// old_shop:
///   mysql_database.absent
/// ```
#[state("mysql_database.absent")]
pub struct Absent {
    /// The database's name.
    name: String,
    #[flatten]
    connection: MysqlConnection,
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
        let name = &self.name;
        let server = self.connection.server(machine)?;
        let decision = match find(machine, &server, name)? {
            None => settled(Verdict::good(format!("Database {name} is not present, so it cannot be removed"))),
            Some(_) if OWN.contains(&name.as_str()) => {
                settled(Verdict::bad(format!("Unable to remove database {name} (the server can't be without it)")))
            }
            Some(_) => SqlPlan {
                statements: vec![format!("DROP DATABASE {}", quote::identifier(name))],
                done: Verdict::good(format!("Database {name} has been removed")).change(name.as_str(), "Absent"),
                failed: format!("Unable to remove database {name}"),
            }
            .decide(format!("Database {name} is present and needs to be removed")),
        };
        decided(&server, decision?, &[])
    }
}
