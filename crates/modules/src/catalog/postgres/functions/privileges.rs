//! Privileges of roles.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::super::Function;
use super::super::client::FunctionConnection;
use super::super::privileges::{self, PostgresObject, PostgresObjectKind};
use crate::Result;
use crate::catalog::file::Flag;
use crate::machine::System;

/// Whether a role has privileges on an object, or is in a group.
///
/// ```text
/// rocksalt '*' postgres.has_privileges frank orders table SELECT,INSERT maintenance_db=shop
/// ```
#[function("postgres.has_privileges", reads)]
pub struct HasPrivileges {
    /// The role's name; `public` is everybody.
    name: String,
    /// The object; `ALL` for all of a schema.
    object_name: String,
    /// `table`, `sequence`, `schema`, `tablespace`, `language`, `database`, `group` or `function`.
    object_type: String,
    /// The privileges, separated by commas.
    privileges: Value,
    /// With the grant option.
    grant_option: Flag,
    /// The schema that tables, sequences and functions are in.
    #[default("public")]
    prepend: String,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for HasPrivileges {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        let object = PostgresObject::new(&self.object_name, &self.object_type, &self.prepend)?;
        let wanted = privileges::wanted(&self.privileges, object.kind)?;
        object.allows(machine, &server, &self.name, &wanted, self.grant_option.0)
    }
}

/// Grants privileges on an object to a role; false if it has them.
///
/// ```text
/// rocksalt '*' postgres.privileges_grant frank orders table SELECT,INSERT maintenance_db=shop
/// ```
#[function("postgres.privileges_grant", changes)]
pub struct PrivilegesGrant {
    /// The role's name; `public` is everybody.
    name: String,
    /// The object; `ALL` for all of a schema.
    object_name: String,
    /// `table`, `sequence`, `schema`, `tablespace`, `language`, `database`, `group` or `function`.
    object_type: String,
    /// The privileges, separated by commas.
    privileges: Value,
    /// With the grant option.
    grant_option: Flag,
    /// The schema that tables, sequences and functions are in.
    #[default("public")]
    prepend: String,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for PrivilegesGrant {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        let object = PostgresObject::new(&self.object_name, &self.object_type, &self.prepend)?;
        let wanted = privileges::wanted(&self.privileges, object.kind)?;

        if object.allows(machine, &server, &self.name, &wanted, self.grant_option.0)? {
            return Ok(false);
        }
        server.must(machine, &format!("{};", object.grant(&self.name, &wanted, self.grant_option.0)?), &[])?;
        Ok(true)
    }
}

/// The privileges on an object by role, and whether they have the grant option.
///
/// ```text
/// rocksalt '*' postgres.privileges_list orders table maintenance_db=shop
/// ```
#[function("postgres.privileges_list", reads)]
pub struct PrivilegesList {
    /// The object.
    name: String,
    /// `table`, `sequence`, `schema`, `tablespace`, `language`, `database`, `group` or `function`.
    object_type: String,
    /// The schema that tables, sequences and functions are in.
    #[default("public")]
    prepend: String,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for PrivilegesList {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let server = self.connection.server(machine)?;
        let object = PostgresObject::new(&self.name, &self.object_type, &self.prepend)?;
        if object.kind == PostgresObjectKind::Group {
            let members = object.members(machine, &server)?;
            return Ok(members.into_iter().map(|(name, admin)| (name.into(), Value::Bool(admin))).collect());
        }
        Ok(privileges::told(&object.access(machine, &server)?))
    }
}

/// Revokes privileges on an object from a role; false if it has none of them.
///
/// ```text
/// rocksalt '*' postgres.privileges_revoke frank orders table SELECT,INSERT maintenance_db=shop
/// ```
#[function("postgres.privileges_revoke", changes)]
pub struct PrivilegesRevoke {
    /// The role's name; `public` is everybody.
    name: String,
    /// The object; `ALL` for all of a schema.
    object_name: String,
    /// `table`, `sequence`, `schema`, `tablespace`, `language`, `database`, `group` or `function`.
    object_type: String,
    /// The privileges, separated by commas.
    privileges: Value,
    /// The schema that tables, sequences and functions are in.
    #[default("public")]
    prepend: String,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for PrivilegesRevoke {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        let object = PostgresObject::new(&self.object_name, &self.object_type, &self.prepend)?;
        let wanted = privileges::wanted(&self.privileges, object.kind)?;

        if !object.allows_some(machine, &server, &self.name, &wanted)? {
            return Ok(false);
        }
        server.must(machine, &format!("{};", object.revoke(&self.name, &wanted)?), &[])?;
        Ok(true)
    }
}
