//! Privileges of users.

use rocksalt_core::{Map, Value};
use rocksalt_macros::{arguments, function};

use super::super::client::MysqlConnection;
use super::super::privileges::{self, Grant, HeldPrivileges, MysqlObject, Privilege};
use super::super::states::{lines, list, required, revokes};
use super::super::{Function, quote};
use crate::catalog::file::Flag;
use crate::machine::System;
use crate::{Error, Result};

/// Which privileges on what, and whose.
#[arguments]
struct GrantArguments {
    /// The privileges, separated by commas.
    grant: String,
    /// What they are on: `db.*`, `db.table`, `*.*`.
    database: String,
    /// The user's name.
    user: String,
    /// The user's host.
    #[default("localhost")]
    host: String,
    /// With the grant option.
    grant_option: Flag,
    /// Escape underscores in the database's name, so that they are no wildcards.
    #[default(true)]
    escape: Flag,
}

/// Grants privileges to a user.
///
/// ```text
/// rocksalt '*' mysql.grant_add 'SELECT,INSERT' 'shop.*' frank localhost
/// ```
#[function("mysql.grant_add", changes)]
pub struct GrantAdd {
    #[flatten]
    right: GrantArguments,
    /// How the user must connect: a list of `SSL: true` and the like.
    ssl_option: Value,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for GrantAdd {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.strict(machine)?;
        let wanted = privileges::sql(&privileges::wanted(&self.right.grant)?);
        let object = MysqlObject::wanted(&self.right.database, self.right.escape.0)?.sql();
        let require = required(&self.ssl_option)?;
        let option = if self.right.grant_option.0 { " WITH GRANT OPTION" } else { "" };
        let account = quote::account(&self.right.user, &self.right.host);
        server.tell(machine, &format!("GRANT {wanted} ON {object} TO {account}{require}{option}"), &[])?;
        Ok(true)
    }
}

/// Whether a user has privileges.
///
/// ```text
/// rocksalt '*' mysql.grant_exists 'SELECT,INSERT' 'shop.*' frank localhost
/// ```
#[function("mysql.grant_exists", reads)]
pub struct GrantExists {
    #[flatten]
    right: GrantArguments,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for GrantExists {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.strict(machine)?;
        let wanted = privileges::wanted(&self.right.grant)?;
        let object = MysqlObject::wanted(&self.right.database, self.right.escape.0)?;
        let Some(grants) = list(machine, &server, &self.right.user, &self.right.host)? else { return Ok(false) };
        let held = HeldPrivileges::on(&object, &grants);
        Ok(held.covers(&wanted) && (held.grant_option || !self.right.grant_option))
    }
}

/// Revokes privileges of a user.
///
/// ```text
/// rocksalt '*' mysql.grant_revoke 'SELECT,INSERT' 'shop.*' frank localhost
/// ```
#[function("mysql.grant_revoke", changes)]
pub struct GrantRevoke {
    #[flatten]
    right: GrantArguments,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for GrantRevoke {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.strict(machine)?;
        let wanted = privileges::sql(&privileges::wanted(&self.right.grant)?);
        let object = MysqlObject::wanted(&self.right.database, self.right.escape.0)?.sql();
        let account = quote::account(&self.right.user, &self.right.host);
        for statement in revokes(&wanted, self.right.grant_option.0, &object, &account) {
            server.tell(machine, &statement, &[])?;
        }
        Ok(true)
    }
}

/// A name quoted as an SQL identifier.
///
/// ```text
/// rocksalt '*' mysql.quote_identifier 'foo`bar'
/// ```
#[function("mysql.quote_identifier", reads)]
pub struct QuoteIdentifier {
    /// The name.
    identifier: String,
    /// Quote it for a grant on a whole database.
    for_grants: Flag,
}

impl Function for QuoteIdentifier {
    type Output = String;

    fn call(self, _: &dyn System) -> Result<String> {
        Ok(if self.for_grants.0 { quote::pattern(&self.identifier) } else { quote::identifier(&self.identifier) })
    }
}

/// The parts of a GRANT statement.
///
/// ```text
/// rocksalt '*' mysql.tokenize_grant "GRANT SELECT, INSERT ON shop.* TO 'frank'@'localhost'"
/// ```
#[function("mysql.tokenize_grant", reads)]
pub struct TokenizeGrant {
    /// The statement.
    grant: String,
}

impl Function for TokenizeGrant {
    type Output = Map;

    fn call(self, _: &dyn System) -> Result<Map> {
        let grant = Grant::parse(&self.grant)
            .ok_or_else(|| Error::arguments(format!("'{}' is no grant of privileges", self.grant)))?;
        let name = |privilege: &Privilege| match &privilege.column {
            Some(column) => format!("{}.{column}", privilege.name).into(),
            None => privilege.name.as_str().into(),
        };
        Ok(Map::from_iter([
            ("user".into(), grant.user.into()),
            ("host".into(), grant.host.into()),
            ("grant".into(), Value::List(grant.privileges.iter().map(name).collect())),
            ("database".into(), grant.object.sql().into()),
        ]))
    }
}

/// The grants of a user, as the server prints them; false if there is no such user.
///
/// ```text
/// rocksalt '*' mysql.user_grants frank localhost
/// ```
#[function("mysql.user_grants", reads)]
pub struct UserGrants {
    /// The user's name.
    user: String,
    /// The user's host.
    #[default("localhost")]
    host: String,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for UserGrants {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let server = self.connection.strict(machine)?;
        let Some(lines) = lines(machine, &server, &self.user, &self.host)? else { return Ok(false.into()) };
        // Password hashes are not shown.
        let shown = |line: &String| {
            let (head, _) = line.split_once(" IDENTIFIED ").unwrap_or((line, ""));
            match line.contains("WITH GRANT OPTION") && !head.contains("WITH GRANT OPTION") {
                true => format!("{head} WITH GRANT OPTION").into(),
                false => head.into(),
            }
        };
        Ok(Value::List(lines.iter().map(shown).collect()))
    }
}
