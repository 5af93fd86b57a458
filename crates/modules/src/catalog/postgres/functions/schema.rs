//! Schemas, languages and extensions.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::super::Function;
use super::super::client::{FunctionConnection, Names, PostgresServer};
use super::super::quote::{identifier, literal};
use super::super::sql::text;
use super::super::states::{extensions, has_language, schemas};
use super::by_name;
use crate::Result;
use crate::catalog::file::Flag;
use crate::machine::System;

/// Creates a schema; false if it is there.
///
/// ```text
/// rocksalt '*' postgres.schema_create shop sales owner=frank
/// ```
#[function("postgres.schema_create", changes)]
pub struct SchemaCreate {
    /// The database's name.
    dbname: String,
    /// The schema's name.
    name: String,
    /// The owner's name.
    owner: Option<String>,
    /// How to reach the server: `user` (of the operating system), `db_user`, `db_password`, `db_host`, `db_port`.
    kwargs: Map,
}

impl Function for SchemaCreate {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = PostgresServer::of(machine, &self.kwargs, Names::State)?;
        let server = server.on(&self.dbname);
        if !schemas(machine, &server, Some(&self.name))?.is_empty() {
            return Ok(false);
        }
        let owner =
            self.owner.as_deref().map(|owner| format!(" AUTHORIZATION {}", identifier(owner))).unwrap_or_default();
        server.must(machine, &format!("CREATE SCHEMA {}{owner};", identifier(&self.name)), &[])?;
        Ok(true)
    }
}

/// Whether a database has such a schema.
///
/// ```text
/// rocksalt '*' postgres.schema_exists shop sales
/// ```
#[function("postgres.schema_exists", reads)]
pub struct SchemaExists {
    /// The database's name.
    dbname: String,
    /// The schema's name.
    name: String,
    /// How to reach the server: `user` (of the operating system), `db_user`, `db_password`, `db_host`, `db_port`.
    kwargs: Map,
}

impl Function for SchemaExists {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = PostgresServer::of(machine, &self.kwargs, Names::State)?;
        Ok(!schemas(machine, &server.on(&self.dbname), Some(&self.name))?.is_empty())
    }
}

/// Owner and access list of a schema; null if there is none.
///
/// ```text
/// rocksalt '*' postgres.schema_get shop sales
/// ```
#[function("postgres.schema_get", reads)]
pub struct SchemaGet {
    /// The database's name.
    dbname: String,
    /// The schema's name.
    name: String,
    /// How to reach the server: `user` (of the operating system), `db_user`, `db_password`, `db_host`, `db_port`.
    kwargs: Map,
}

impl Function for SchemaGet {
    type Output = Option<Map>;

    fn call(self, machine: &dyn System) -> Result<Option<Map>> {
        let server = PostgresServer::of(machine, &self.kwargs, Names::State)?;
        let rows = by_name(schemas(machine, &server.on(&self.dbname), Some(&self.name))?, "name");
        Ok(rows.get(&self.name).and_then(Value::as_map).cloned())
    }
}

/// All schemas of a database, with owner and access list.
///
/// ```text
/// rocksalt '*' postgres.schema_list shop
/// ```
#[function("postgres.schema_list", reads)]
pub struct SchemaList {
    /// The database's name.
    dbname: String,
    /// How to reach the server: `user` (of the operating system), `db_user`, `db_password`, `db_host`, `db_port`.
    kwargs: Map,
}

impl Function for SchemaList {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let server = PostgresServer::of(machine, &self.kwargs, Names::State)?;
        Ok(by_name(schemas(machine, &server.on(&self.dbname), None)?, "name"))
    }
}

/// Removes a schema; false if it is not there.
///
/// ```text
/// rocksalt '*' postgres.schema_remove shop sales
/// ```
#[function("postgres.schema_remove", changes)]
pub struct SchemaRemove {
    /// The database's name.
    dbname: String,
    /// The schema's name.
    name: String,
    /// How to reach the server: `user` (of the operating system), `db_user`, `db_password`, `db_host`, `db_port`.
    kwargs: Map,
}

impl Function for SchemaRemove {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = PostgresServer::of(machine, &self.kwargs, Names::State)?;
        let server = server.on(&self.dbname);
        if schemas(machine, &server, Some(&self.name))?.is_empty() {
            return Ok(false);
        }
        server.must(machine, &format!("DROP SCHEMA {};", identifier(&self.name)), &[])?;
        Ok(true)
    }
}

/// Installs a language in a database; false if it is there.
///
/// ```text
/// rocksalt '*' postgres.language_create plperl shop
/// ```
#[function("postgres.language_create", changes)]
pub struct LanguageCreate {
    /// The language's name.
    name: String,
    /// The database's name.
    maintenance_db: String,
    /// How to reach the server: `user`, `host`, `port`, `password`, `runas`.
    kwargs: Map,
}

impl Function for LanguageCreate {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = PostgresServer::of(machine, &self.kwargs, Names::Function)?;
        let server = server.on(&self.maintenance_db);
        if has_language(machine, &server, &self.name)? {
            return Ok(false);
        }
        server.must(machine, &format!("CREATE LANGUAGE {};", identifier(&self.name)), &[])?;
        Ok(true)
    }
}

/// Whether a database has a language.
///
/// ```text
/// rocksalt '*' postgres.language_exists plpgsql shop
/// ```
#[function("postgres.language_exists", reads)]
pub struct LanguageExists {
    /// The language's name.
    name: String,
    /// The database's name.
    maintenance_db: String,
    /// How to reach the server: `user`, `host`, `port`, `password`, `runas`.
    kwargs: Map,
}

impl Function for LanguageExists {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = PostgresServer::of(machine, &self.kwargs, Names::Function)?;
        has_language(machine, &server.on(&self.maintenance_db), &self.name)
    }
}

/// The languages of a database.
///
/// ```text
/// rocksalt '*' postgres.language_list shop
/// ```
#[function("postgres.language_list", reads)]
pub struct LanguageList {
    /// The database's name.
    maintenance_db: String,
    /// How to reach the server: `user`, `host`, `port`, `password`, `runas`.
    kwargs: Map,
}

impl Function for LanguageList {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let server = PostgresServer::of(machine, &self.kwargs, Names::Function)?;
        let rows =
            server.on(&self.maintenance_db).ask(machine, "SELECT l.lanname AS name FROM pg_catalog.pg_language l")?;
        Ok(rows.iter().map(|row| (text(row, "name").into(), text(row, "name").into())).collect())
    }
}

/// Removes a language from a database; false if it is not there.
///
/// ```text
/// rocksalt '*' postgres.language_remove plperl shop
/// ```
#[function("postgres.language_remove", changes)]
pub struct LanguageRemove {
    /// The language's name.
    name: String,
    /// The database's name.
    maintenance_db: String,
    /// How to reach the server: `user`, `host`, `port`, `password`, `runas`.
    kwargs: Map,
}

impl Function for LanguageRemove {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = PostgresServer::of(machine, &self.kwargs, Names::Function)?;
        let server = server.on(&self.maintenance_db);
        if !has_language(machine, &server, &self.name)? {
            return Ok(false);
        }
        server.must(machine, &format!("DROP LANGUAGE {};", identifier(&self.name)), &[])?;
        Ok(true)
    }
}

/// The available extensions.
///
/// ```text
/// rocksalt '*' postgres.available_extensions
/// ```
#[function("postgres.available_extensions", reads)]
pub struct AvailableExtensions {
    #[flatten]
    connection: FunctionConnection,
}

impl Function for AvailableExtensions {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let server = self.connection.server(machine)?;
        Ok(by_name(extensions(machine, &server, "available", None)?, "name"))
    }
}

/// Installs an extension in a database, `maintenance_db`.
///
/// ```text
/// rocksalt '*' postgres.create_extension hstore maintenance_db=shop
/// ```
#[function("postgres.create_extension", changes)]
pub struct CreateExtension {
    /// The extension's name.
    name: String,
    /// The schema that its things are in.
    schema: Option<String>,
    /// Its version.
    ext_version: Option<String>,
    /// The version of what was there before extensions were.
    from_version: Option<String>,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for CreateExtension {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        let clauses = [
            self.schema.as_deref().map(|schema| format!(" SCHEMA {}", identifier(schema))),
            self.ext_version.as_deref().map(|version| format!(" VERSION {}", literal(version))),
            self.from_version.as_deref().map(|from| format!(" FROM {}", literal(from))),
        ];
        let clauses: String = clauses.into_iter().flatten().collect();
        server.must(machine, &format!("CREATE EXTENSION IF NOT EXISTS {}{clauses};", identifier(&self.name)), &[])?;
        Ok(true)
    }
}

/// Removes an extension from a database, `maintenance_db`.
///
/// ```text
/// rocksalt '*' postgres.drop_extension hstore maintenance_db=shop
/// ```
#[function("postgres.drop_extension", changes)]
pub struct DropExtension {
    /// The extension's name.
    name: String,
    /// Refuse if something needs it.
    restrict: Flag,
    /// Remove what needs it, too.
    #[default(true)]
    cascade: Flag,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for DropExtension {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        let how = if self.restrict.0 {
            " RESTRICT"
        } else if self.cascade.0 {
            " CASCADE"
        } else {
            ""
        };
        server.must(machine, &format!("DROP EXTENSION IF EXISTS {}{how};", identifier(&self.name)), &[])?;
        Ok(true)
    }
}

/// Details of an available extension; null if there is none.
///
/// ```text
/// rocksalt '*' postgres.get_available_extension hstore
/// ```
#[function("postgres.get_available_extension", reads)]
pub struct GetAvailableExtension {
    /// The extension's name.
    name: String,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for GetAvailableExtension {
    type Output = Option<Map>;

    fn call(self, machine: &dyn System) -> Result<Option<Map>> {
        let server = self.connection.server(machine)?;
        Ok(extensions(machine, &server, "available", Some(&self.name))?.into_iter().next())
    }
}

/// Details of an installed extension; null if there is none.
///
/// ```text
/// rocksalt '*' postgres.get_installed_extension plpgsql
/// ```
#[function("postgres.get_installed_extension", reads)]
pub struct GetInstalledExtension {
    /// The extension's name.
    name: String,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for GetInstalledExtension {
    type Output = Option<Map>;

    fn call(self, machine: &dyn System) -> Result<Option<Map>> {
        let server = self.connection.server(machine)?;
        Ok(extensions(machine, &server, "pg_extension", Some(&self.name))?.into_iter().next())
    }
}

/// The extensions that are installed.
///
/// ```text
/// rocksalt '*' postgres.installed_extensions
/// ```
#[function("postgres.installed_extensions", reads)]
pub struct InstalledExtensions {
    #[flatten]
    connection: FunctionConnection,
}

impl Function for InstalledExtensions {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let server = self.connection.server(machine)?;
        Ok(by_name(extensions(machine, &server, "pg_extension", None)?, "extname"))
    }
}

/// Whether an extension could be installed.
///
/// ```text
/// rocksalt '*' postgres.is_available_extension hstore
/// ```
#[function("postgres.is_available_extension", reads)]
pub struct IsAvailableExtension {
    /// The extension's name.
    name: String,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for IsAvailableExtension {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        Ok(!extensions(machine, &server, "available", Some(&self.name))?.is_empty())
    }
}

/// Whether an extension is installed.
///
/// ```text
/// rocksalt '*' postgres.is_installed_extension plpgsql
/// ```
#[function("postgres.is_installed_extension", reads)]
pub struct IsInstalledExtension {
    /// The extension's name.
    name: String,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for IsInstalledExtension {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        Ok(!extensions(machine, &server, "pg_extension", Some(&self.name))?.is_empty())
    }
}
