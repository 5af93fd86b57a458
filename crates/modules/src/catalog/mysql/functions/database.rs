//! Databases and their tables.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::super::client::{MysqlConnection, MysqlServer};
use super::super::sql::text;
use super::super::states::{OWN, find, sound};
use super::super::{Function, quote};
use crate::Result;
use crate::machine::System;

/// Changes the character set or the collation of a database.
///
/// ```text
/// rocksalt '*' mysql.alter_db shop character_set=latin1
/// ```
#[function("mysql.alter_db", changes)]
pub struct AlterDb {
    /// The database's name.
    name: String,
    /// The character set.
    character_set: Option<String>,
    /// The collation.
    collate: Option<String>,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for AlterDb {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.strict(machine)?;
        if self.character_set.is_none() && self.collate.is_none() {
            return Ok(true);
        }
        let clauses = clauses(&self.character_set, &self.collate)?;
        server.tell(machine, &format!("ALTER DATABASE {}{clauses}", quote::identifier(&self.name)), &[])?;
        Ok(true)
    }
}

/// Checks the tables of a database, or one of them.
///
/// ```text
/// rocksalt '*' mysql.db_check shop
/// rocksalt '*' mysql.db_check shop orders
/// ```
#[function("mysql.db_check", changes)]
pub struct DbCheck {
    /// The database's name.
    name: String,
    /// The table; all unless given.
    table: Option<String>,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for DbCheck {
    type Output = Vec<Value>;

    fn call(self, machine: &dyn System) -> Result<Vec<Value>> {
        let server = self.connection.strict(machine)?;
        maintain(machine, &server, "CHECK", &self.name, self.table)
    }
}

/// Optimizes the tables of a database, or one of them.
///
/// ```text
/// rocksalt '*' mysql.db_optimize shop
/// rocksalt '*' mysql.db_optimize shop orders
/// ```
#[function("mysql.db_optimize", changes)]
pub struct DbOptimize {
    /// The database's name.
    name: String,
    /// The table; all unless given.
    table: Option<String>,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for DbOptimize {
    type Output = Vec<Value>;

    fn call(self, machine: &dyn System) -> Result<Vec<Value>> {
        let server = self.connection.strict(machine)?;
        maintain(machine, &server, "OPTIMIZE", &self.name, self.table)
    }
}

/// Repairs the tables of a database, or one of them.
///
/// ```text
/// rocksalt '*' mysql.db_repair shop
/// rocksalt '*' mysql.db_repair shop orders
/// ```
#[function("mysql.db_repair", changes)]
pub struct DbRepair {
    /// The database's name.
    name: String,
    /// The table; all unless given.
    table: Option<String>,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for DbRepair {
    type Output = Vec<Value>;

    fn call(self, machine: &dyn System) -> Result<Vec<Value>> {
        let server = self.connection.strict(machine)?;
        maintain(machine, &server, "REPAIR", &self.name, self.table)
    }
}

/// Creates a database; false if it is there.
///
/// ```text
/// rocksalt '*' mysql.db_create shop
/// rocksalt '*' mysql.db_create shop utf8mb4 utf8mb4_unicode_ci
/// ```
#[function("mysql.db_create", changes)]
pub struct DbCreate {
    /// The database's name.
    name: String,
    /// The character set.
    character_set: Option<String>,
    /// The collation.
    collate: Option<String>,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for DbCreate {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.strict(machine)?;
        let clauses = clauses(&self.character_set, &self.collate)?;
        if find(machine, &server, &self.name)?.is_some() {
            return Ok(false);
        }
        server.tell(machine, &format!("CREATE DATABASE {}{clauses}", quote::identifier(&self.name)), &[])?;
        Ok(true)
    }
}

/// Whether there is such a database.
///
/// ```text
/// rocksalt '*' mysql.db_exists shop
/// ```
#[function("mysql.db_exists", reads)]
pub struct DbExists {
    /// The database's name.
    name: String,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for DbExists {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.strict(machine)?;
        Ok(find(machine, &server, &self.name)?.is_some())
    }
}

/// Character set and collation of a database; an empty map if it is not there.
///
/// ```text
/// rocksalt '*' mysql.db_get shop
/// ```
#[function("mysql.db_get", reads)]
pub struct DbGet {
    /// The database's name.
    name: String,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for DbGet {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let server = self.connection.strict(machine)?;
        let found = find(machine, &server, &self.name)?;
        Ok(match found {
            Some((charset, collation)) => {
                Map::from_iter([("character_set".into(), charset.into()), ("collate".into(), collation.into())])
            }
            None => Map::new(),
        })
    }
}

/// The names of all databases.
///
/// ```text
/// rocksalt '*' mysql.db_list
/// ```
#[function("mysql.db_list", reads)]
pub struct DbList {
    #[flatten]
    connection: MysqlConnection,
}

impl Function for DbList {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let server = self.connection.strict(machine)?;
        let rows = server.tell(machine, "SHOW DATABASES", &[])?;
        Ok(rows.iter().map(|row| text(row, "Database").to_owned()).collect())
    }
}

/// Removes a database with all that is in it; false if it is not there.
///
/// ```text
/// rocksalt '*' mysql.db_remove shop
/// ```
#[function("mysql.db_remove", changes)]
pub struct DbRemove {
    /// The database's name.
    name: String,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for DbRemove {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.strict(machine)?;
        if OWN.contains(&self.name.as_str()) || find(machine, &server, &self.name)?.is_none() {
            return Ok(false);
        }
        server.tell(machine, &format!("DROP DATABASE {}", quote::identifier(&self.name)), &[])?;
        Ok(true)
    }
}

/// The tables of a database; false if it is not there.
///
/// ```text
/// rocksalt '*' mysql.db_tables shop
/// ```
#[function("mysql.db_tables", reads)]
pub struct DbTables {
    /// The database's name.
    name: String,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for DbTables {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let server = self.connection.strict(machine)?;
        if find(machine, &server, &self.name)?.is_none() {
            return Ok(false.into());
        }
        Ok(Value::List(tables(machine, &server, &self.name)?.into_iter().map(Value::from).collect()))
    }
}

fn tables(machine: &dyn System, server: &MysqlServer, database: &str) -> Result<Vec<String>> {
    let rows = server.tell(machine, &format!("SHOW TABLES IN {}", quote::identifier(database)), &[])?;
    Ok(rows.iter().filter_map(|row| row.values().next()).map(ToString::to_string).collect())
}

/// The server's message about each table.
fn maintain(
    machine: &dyn System,
    server: &MysqlServer,
    verb: &str,
    database: &str,
    table: Option<String>,
) -> Result<Vec<Value>> {
    let told = |table: &str| {
        let statement = format!("{verb} TABLE {}.{}", quote::identifier(database), quote::identifier(table));
        Ok::<_, crate::Error>(server.tell(machine, &statement, &[])?.into_iter().map(Value::Map).collect::<Vec<_>>())
    };
    match table {
        Some(table) => told(&table),
        None => tables(machine, server, database)?.iter().map(|table| told(table).map(Value::List)).collect(),
    }
}

fn clauses(charset: &Option<String>, collation: &Option<String>) -> Result<String> {
    let mut clauses = String::new();
    for (keyword, name) in [("CHARACTER SET", charset), ("COLLATE", collation)] {
        if let Some(name) = name {
            sound(name)?;
            clauses += &format!(" {keyword} {name}");
        }
    }
    Ok(clauses)
}
