//! Databases, tablespaces, and queries.

use rocksalt_core::Map;
use rocksalt_macros::function;

use super::super::Function;
use super::super::client::FunctionConnection;
use super::super::quote::{identifier, literal, without_commands, word};
use super::super::sql::text;
use super::super::states::{databases, give_all, tablespaces};
use super::by_name;
use crate::Result;
use crate::catalog::file::Flag;
use crate::machine::System;

/// Changes the owner or the tablespace of a database.
///
/// ```text
/// rocksalt '*' postgres.db_alter shop owner=frank
/// rocksalt '*' postgres.db_alter shop owner=frank owner_recurse=True
/// ```
#[function("postgres.db_alter", changes)]
pub struct DbAlter {
    /// The database's name.
    name: String,
    /// The tablespace.
    tablespace: Option<String>,
    /// The owner's name.
    owner: Option<String>,
    /// Give the owner all that is in it, too.
    owner_recurse: Flag,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for DbAlter {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        let name = identifier(&self.name);
        if let Some(tablespace) = &self.tablespace {
            server.must(machine, &format!("ALTER DATABASE {name} SET TABLESPACE {};", identifier(tablespace)), &[])?;
        }
        match &self.owner {
            Some(owner) if self.owner_recurse.0 => {
                let on = server.on(&self.name);
                on.must(machine, &give_all(machine, &on, &self.name, owner)?, &[])?;
            }
            Some(owner) => {
                server.must(machine, &format!("ALTER DATABASE {name} OWNER TO {};", identifier(owner)), &[])?
            }
            None => {}
        }
        Ok(true)
    }
}

/// Creates a database.
///
/// ```text
/// rocksalt '*' postgres.db_create shop
/// rocksalt '*' postgres.db_create shop owner=frank template=template0 encoding=UTF8
/// ```
#[function("postgres.db_create", changes)]
pub struct DbCreate {
    /// The database's name.
    name: String,
    /// The tablespace.
    tablespace: Option<String>,
    /// The character encoding.
    encoding: Option<String>,
    /// How texts are sorted.
    lc_collate: Option<String>,
    /// What letters are.
    lc_ctype: Option<String>,
    /// The owner's name.
    owner: Option<String>,
    /// The database that it is a copy of.
    template: Option<String>,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for DbCreate {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        let clauses = [
            ("TABLESPACE", self.tablespace.as_deref().map(identifier)),
            ("OWNER", self.owner.as_deref().map(identifier)),
            ("TEMPLATE", self.template.as_deref().map(identifier)),
            ("ENCODING", self.encoding.as_deref().map(literal)),
            ("LC_COLLATE", self.lc_collate.as_deref().map(literal)),
            ("LC_CTYPE", self.lc_ctype.as_deref().map(literal)),
        ];
        let clause = |(key, value): &(&str, Option<String>)| value.as_ref().map(|value| format!(" {key} = {value}"));
        let clauses: String = clauses.iter().filter_map(clause).collect();
        server.must(machine, &format!("CREATE DATABASE {}{clauses};", identifier(&self.name)), &[])?;
        Ok(true)
    }
}

/// Whether there is such a database.
///
/// ```text
/// rocksalt '*' postgres.db_exists shop
/// ```
#[function("postgres.db_exists", reads)]
pub struct DbExists {
    /// The database's name.
    name: String,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for DbExists {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        Ok(!databases(machine, &server, Some(&self.name))?.is_empty())
    }
}

/// All databases, with their properties.
///
/// ```text
/// rocksalt '*' postgres.db_list
/// ```
#[function("postgres.db_list", reads)]
pub struct DbList {
    #[flatten]
    connection: FunctionConnection,
}

impl Function for DbList {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let server = self.connection.server(machine)?;
        Ok(by_name(databases(machine, &server, None)?, "Name"))
    }
}

/// Removes a database with all that is in it.
///
/// ```text
/// rocksalt '*' postgres.db_remove shop
/// ```
#[function("postgres.db_remove", changes)]
pub struct DbRemove {
    /// The database's name.
    name: String,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for DbRemove {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        server.must(machine, &format!("DROP DATABASE {};", identifier(&self.name)), &[])?;
        Ok(true)
    }
}

/// Sets the owner of a database and of all objects that users created in it.
///
/// ```text
/// rocksalt '*' postgres.owner_to shop frank
/// ```
#[function("postgres.owner_to", changes)]
pub struct OwnerTo {
    /// The database's name.
    dbname: String,
    /// The new owner's name.
    ownername: String,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for OwnerTo {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        let on = server.on(&self.dbname);
        on.must(machine, &give_all(machine, &on, &self.dbname, &self.ownername)?, &[])?;
        Ok(true)
    }
}

/// The rows of a query.
///
/// ```text
/// rocksalt '*' postgres.psql_query 'SELECT * FROM pg_stat_activity'
/// ```
#[function("postgres.psql_query", changes)]
pub struct PsqlQuery {
    /// The query.
    query: String,
    /// It may change something.
    write: Flag,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for PsqlQuery {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        let server = self.connection.server(machine)?;
        let query = without_commands(self.query.trim().trim_end_matches(';'))?;
        match self.write.0 {
            true => server.run(machine, query),
            false => server.ask(machine, query),
        }
    }
}

/// Changes name, owner or options of a tablespace.
///
/// ```text
/// rocksalt '*' postgres.tablespace_alter fast new_owner=frank
/// rocksalt '*' postgres.tablespace_alter fast set_option='{seq_page_cost: 1.1}'
/// ```
#[function("postgres.tablespace_alter", changes)]
pub struct TablespaceAlter {
    /// The tablespace's name.
    name: String,
    /// Its new name.
    new_name: Option<String>,
    /// Its new owner.
    new_owner: Option<String>,
    /// Options to set.
    set_option: Option<Map>,
    /// An option to forget.
    reset_option: Option<String>,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for TablespaceAlter {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        let name = identifier(&self.name);
        let mut statements = String::new();
        for (key, value) in self.set_option.iter().flat_map(Map::iter) {
            let (key, value) = (key.to_string(), value.to_string());
            statements += &format!("ALTER TABLESPACE {name} SET ({} = {});\n", word(&key)?, word(&value)?);
        }
        if let Some(option) = &self.reset_option {
            statements += &format!("ALTER TABLESPACE {name} RESET ({});\n", word(option)?);
        }
        if let Some(owner) = &self.new_owner {
            statements += &format!("ALTER TABLESPACE {name} OWNER TO {};\n", identifier(owner));
        }
        if let Some(new) = &self.new_name {
            statements += &format!("ALTER TABLESPACE {name} RENAME TO {};\n", identifier(new));
        }
        server.must(machine, &statements, &[])?;
        Ok(true)
    }
}

/// Creates a tablespace.
///
/// ```text
/// rocksalt '*' postgres.tablespace_create fast /srv/fast
/// ```
#[function("postgres.tablespace_create", changes)]
pub struct TablespaceCreate {
    /// The tablespace's name.
    name: String,
    /// The directory, which must be there and be the server's.
    location: String,
    /// Options such as `seq_page_cost`.
    options: Option<Map>,
    /// The owner's name.
    owner: Option<String>,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for TablespaceCreate {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        let mut set = Vec::new();
        for (key, value) in self.options.iter().flat_map(Map::iter) {
            let (key, value) = (key.to_string(), value.to_string());
            set.push(format!("{} = {}", word(&key)?, word(&value)?));
        }
        let owner = self.owner.as_deref().map(|owner| format!(" OWNER {}", identifier(owner))).unwrap_or_default();
        let with = if set.is_empty() { String::new() } else { format!(" WITH ({})", set.join(", ")) };
        let (name, place) = (identifier(&self.name), literal(&self.location));
        server.must(machine, &format!("CREATE TABLESPACE {name}{owner} LOCATION {place}{with};"), &[])?;
        Ok(true)
    }
}

/// Whether there is such a tablespace.
///
/// ```text
/// rocksalt '*' postgres.tablespace_exists fast
/// ```
#[function("postgres.tablespace_exists", reads)]
pub struct TablespaceExists {
    /// The tablespace's name.
    name: String,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for TablespaceExists {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        Ok(!tablespaces(machine, &server, Some(&self.name))?.is_empty())
    }
}

/// All tablespaces, with their properties.
///
/// ```text
/// rocksalt '*' postgres.tablespace_list
/// ```
#[function("postgres.tablespace_list", reads)]
pub struct TablespaceList {
    #[flatten]
    connection: FunctionConnection,
}

impl Function for TablespaceList {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let server = self.connection.server(machine)?;
        Ok(by_name(tablespaces(machine, &server, None)?, "Name"))
    }
}

/// Removes a tablespace.
///
/// ```text
/// rocksalt '*' postgres.tablespace_remove fast
/// ```
#[function("postgres.tablespace_remove", changes)]
pub struct TablespaceRemove {
    /// The tablespace's name.
    name: String,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for TablespaceRemove {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        server.must(machine, &format!("DROP TABLESPACE {};", identifier(&self.name)), &[])?;
        Ok(true)
    }
}

/// The version of the server.
///
/// ```text
/// rocksalt '*' postgres.version
/// ```
#[function("postgres.version", reads)]
pub struct Version {
    #[flatten]
    connection: FunctionConnection,
}

impl Function for Version {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let server = self.connection.server(machine)?;
        let rows = server.ask(machine, "SELECT pg_catalog.current_setting('server_version') AS version")?;
        Ok(rows.first().map(|row| text(row, "version").to_owned()).unwrap_or_default())
    }
}
