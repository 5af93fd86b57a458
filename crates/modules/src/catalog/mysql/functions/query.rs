//! Functions that run SQL of the caller.

use rocksalt_core::Map;
use rocksalt_macros::function;

use super::super::client::MysqlConnection;
use super::super::{Function, answer};
use crate::catalog::cp::source;
use crate::machine::System;
use crate::{Error, Result};

/// Runs the statements of a file in a database.
///
/// ```text
/// rocksalt '*' mysql.file_query shop file_name=/tmp/schema.sql
/// rocksalt '*' mysql.file_query shop file_name=salt://shop/schema.sql
/// ```
#[function("mysql.file_query", changes)]
pub struct FileQuery {
    /// The database's name.
    database: String,
    /// The file: `salt://…`, `http(s)://…` or a path on the target.
    file_name: String,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for FileQuery {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let server = self.connection.strict(machine)?;
        let content = source::content(machine, &self.file_name, None)?
            .ok_or_else(|| Error::failed(format!("File {} does not exist", self.file_name)))?;
        let start = machine.now();
        let reply = server.run(machine, &self.database, &String::from_utf8_lossy(&content))?;
        Ok(answer::of_file(&reply, machine.now() - start))
    }
}

/// Runs statements in a database, and returns the rows or how many were changed.
///
/// ```text
/// rocksalt '*' mysql.query shop "SELECT id, name FROM users LIMIT 3"
/// rocksalt '*' mysql.query shop "DELETE FROM users WHERE id = 4"
/// ```
#[function("mysql.query", changes)]
pub struct Query {
    /// The database's name.
    database: String,
    /// The statements.
    query: String,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for Query {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let server = self.connection.strict(machine)?;
        let start = machine.now();
        let reply = server.run(machine, &self.database, &self.query)?;
        Ok(answer::of_query(&reply, machine.now() - start))
    }
}
