//! Users and groups.

use rocksalt_core::{Map, Value};
use rocksalt_macros::{arguments, function};

use super::super::Function;
use super::super::client::{FunctionConnection, PostgresServer};
use super::super::quote::identifier;
use super::super::role::{self, RoleDifference, RoleSpec};
use crate::Result;
use crate::catalog::file::Flag;
use crate::machine::System;

/// What a role may do, and its password.
#[arguments]
struct RoleAttributes {
    /// May make databases.
    createdb: Option<bool>,
    /// May make roles.
    createroles: Option<bool>,
    /// How the password is kept: `scram-sha-256`, `md5`, or false to leave that to the server.
    encrypted: Value,
    /// May log in.
    login: Option<bool>,
    /// Has the privileges of its groups.
    inherit: Option<bool>,
    /// May do everything.
    superuser: Option<bool>,
    /// May replicate.
    replication: Option<bool>,
    /// The password.
    rolepassword: Option<String>,
}

impl RoleAttributes {
    fn spec<'a>(&'a self, valid_until: Option<&'a str>, groups: Value) -> RoleSpec<'a> {
        RoleSpec {
            createdb: self.createdb,
            createroles: self.createroles,
            superuser: self.superuser,
            replication: self.replication,
            inherit: self.inherit,
            login: self.login,
            password: self.rolepassword.as_deref(),
            encrypted: self.encrypted.clone(),
            refresh_password: true,
            valid_until,
            groups,
        }
    }
}

/// Creates a group; false if it is there.
///
/// ```text
/// rocksalt '*' postgres.group_create readers
/// ```
#[function("postgres.group_create", changes)]
pub struct GroupCreate {
    /// The group's name.
    groupname: String,
    #[flatten]
    attributes: RoleAttributes,
    /// Groups that it is in: a list, or a comma-separated text.
    groups: Value,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for GroupCreate {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        let request = self.attributes.spec(None, self.groups);
        if role::find(machine, &server, &self.groupname, false)?.is_some() {
            return Ok(false);
        }
        let difference = request.create(machine, &server, &self.groupname, false)?;
        carry_out(machine, &server, &difference)
    }
}

/// Removes a group; false if it is not there.
///
/// ```text
/// rocksalt '*' postgres.group_remove readers
/// ```
#[function("postgres.group_remove", changes)]
pub struct GroupRemove {
    /// The group's name.
    groupname: String,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for GroupRemove {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        if role::find(machine, &server, &self.groupname, false)?.is_none() {
            return Ok(false);
        }
        server.must(machine, &format!("DROP ROLE {};", identifier(&self.groupname)), &[])?;
        Ok(true)
    }
}

/// Changes a group; false if it is not there.
///
/// ```text
/// rocksalt '*' postgres.group_update readers login=True
/// ```
#[function("postgres.group_update", changes)]
pub struct GroupUpdate {
    /// The group's name.
    groupname: String,
    #[flatten]
    attributes: RoleAttributes,
    /// Groups that it is in: a list, or a comma-separated text.
    groups: Value,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for GroupUpdate {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        let request = self.attributes.spec(None, self.groups);
        let Some(role) = role::find(machine, &server, &self.groupname, false)? else { return Ok(false) };
        let difference = request.update(machine, &server, &self.groupname, &role)?;
        carry_out(machine, &server, &difference)
    }
}

/// Creates a user; false if it is there.
///
/// ```text
/// rocksalt '*' postgres.user_create frank rolepassword=secret
/// ```
#[function("postgres.user_create", changes)]
pub struct UserCreate {
    /// The user's name.
    username: String,
    #[flatten]
    attributes: RoleAttributes,
    /// Until when the password holds.
    valid_until: Option<String>,
    /// Groups that it is in: a list, or a comma-separated text.
    groups: Value,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for UserCreate {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        let request = self.attributes.spec(self.valid_until.as_deref(), self.groups);
        if role::find(machine, &server, &self.username, false)?.is_some() {
            return Ok(false);
        }
        let difference = request.create(machine, &server, &self.username, true)?;
        carry_out(machine, &server, &difference)
    }
}

/// Removes a user; false if it is not there.
///
/// ```text
/// rocksalt '*' postgres.user_remove frank
/// ```
#[function("postgres.user_remove", changes)]
pub struct UserRemove {
    /// The user's name.
    username: String,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for UserRemove {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        if role::find(machine, &server, &self.username, false)?.is_none() {
            return Ok(false);
        }
        server.must(machine, &format!("DROP ROLE {};", identifier(&self.username)), &[])?;
        Ok(true)
    }
}

/// Changes a user; false if it is not there.
///
/// ```text
/// rocksalt '*' postgres.user_update frank createdb=True
/// ```
#[function("postgres.user_update", changes)]
pub struct UserUpdate {
    /// The user's name.
    username: String,
    #[flatten]
    attributes: RoleAttributes,
    /// Until when the password holds.
    valid_until: Option<String>,
    /// Groups that it is in: a list, or a comma-separated text.
    groups: Value,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for UserUpdate {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        let request = self.attributes.spec(self.valid_until.as_deref(), self.groups);
        let Some(role) = role::find(machine, &server, &self.username, false)? else { return Ok(false) };
        let difference = request.update(machine, &server, &self.username, &role)?;
        carry_out(machine, &server, &difference)
    }
}

/// Details of a role; null if there is none.
///
/// ```text
/// rocksalt '*' postgres.role_get postgres
/// ```
#[function("postgres.role_get", reads)]
pub struct RoleGet {
    /// The role's name.
    name: String,
    /// With the verifier of the password.
    return_password: Flag,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for RoleGet {
    type Output = Option<Map>;

    fn call(self, machine: &dyn System) -> Result<Option<Map>> {
        let server = self.connection.server(machine)?;
        role::find(machine, &server, &self.name, self.return_password.0)
    }
}

/// Whether there is such a role.
///
/// ```text
/// rocksalt '*' postgres.user_exists frank
/// ```
#[function("postgres.user_exists", reads)]
pub struct UserExists {
    /// The role's name.
    name: String,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for UserExists {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.server(machine)?;
        Ok(role::find(machine, &server, &self.name, false)?.is_some())
    }
}

/// All roles, with their properties.
///
/// ```text
/// rocksalt '*' postgres.user_list
/// rocksalt '*' postgres.user_list return_password=True
/// ```
#[function("postgres.user_list", reads)]
pub struct UserList {
    /// With the verifier of the password.
    return_password: Flag,
    #[flatten]
    connection: FunctionConnection,
}

impl Function for UserList {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let server = self.connection.server(machine)?;
        role::list(machine, &server, None, self.return_password.0)
    }
}

fn carry_out(machine: &dyn System, server: &PostgresServer, difference: &RoleDifference) -> Result<bool> {
    let secrets: Vec<&str> = difference.secrets.iter().map(String::as_str).collect();
    server.must(machine, &difference.statements, &secrets)?;
    Ok(true)
}
