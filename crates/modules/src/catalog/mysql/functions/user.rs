//! Users, and their authentication.

use rocksalt_core::Map;
use rocksalt_macros::function;

use super::super::account::{self, AccountLogin, NATIVE, ServerVersion};
use super::super::client::MysqlConnection;
use super::super::sql::text;
use super::super::states::native;
use super::super::{Function, quote};
use crate::catalog::file::Flag;
use crate::machine::System;
use crate::{Error, Result};

/// Changes how a user logs in; false if there is no such user.
///
/// ```text
/// rocksalt '*' mysql.user_chpass frank localhost password=secret
/// rocksalt '*' mysql.user_chpass frank localhost password_hash='*6C8989366EAF75BB670AD8EA7A7FC1176A95CEF4'
/// rocksalt '*' mysql.user_chpass frank localhost allow_passwordless=True
/// ```
#[function("mysql.user_chpass", changes)]
pub struct UserChpass {
    /// The user's name.
    user: String,
    /// The user's host.
    #[default("localhost")]
    host: String,
    /// The password.
    #[secret]
    password: Option<String>,
    /// Its hash.
    password_hash: Option<String>,
    /// Without a password if none is given.
    allow_passwordless: Flag,
    /// Log in through the socket.
    unix_socket: Flag,
    /// Accepted for compatibility with Salt: the server knows where it keeps the hash.
    #[expect(dead_code, reason = "an argument without a meaning here")]
    password_column: Option<String>,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for UserChpass {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.strict(machine)?;
        let login = login(&self.password, &self.password_hash, self.allow_passwordless, self.unix_socket)?;
        let version = ServerVersion::ask(machine, &server)?;
        let Some(row) = account::find(machine, &server, &self.user, &self.host)? else { return Ok(false) };
        let plugin = Some(text(&row, "plugin"))
            .filter(|plugin| !plugin.is_empty() && *plugin != account::socket_plugin(&version));
        let account = quote::account(&self.user, &self.host);
        let statement = account::change(&account, &login, plugin.unwrap_or(NATIVE), &version)?;
        server.tell(machine, &statement, &login.secrets())?;
        Ok(true)
    }
}

/// Creates a user; false if it is there.
///
/// ```text
/// rocksalt '*' mysql.user_create frank localhost password=secret
/// rocksalt '*' mysql.user_create frank localhost allow_passwordless=True
/// ```
#[function("mysql.user_create", changes)]
pub struct UserCreate {
    /// The user's name.
    user: String,
    /// The user's host.
    #[default("localhost")]
    host: String,
    /// The password.
    #[secret]
    password: Option<String>,
    /// Its hash.
    password_hash: Option<String>,
    /// Without a password if none is given.
    allow_passwordless: Flag,
    /// Log in through the socket.
    unix_socket: Flag,
    /// Accepted for compatibility with Salt: the server knows where it keeps the hash.
    #[expect(dead_code, reason = "an argument without a meaning here")]
    password_column: Option<String>,
    /// The plugin that checks the password.
    #[default(native())]
    auth_plugin: String,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for UserCreate {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.strict(machine)?;
        let login = login(&self.password, &self.password_hash, self.allow_passwordless, self.unix_socket)?;
        let version = ServerVersion::ask(machine, &server)?;
        if account::find(machine, &server, &self.user, &self.host)?.is_some() {
            return Ok(false);
        }
        let account = quote::account(&self.user, &self.host);
        let statement = account::create(&account, &login, &self.auth_plugin, &version)?;
        server.tell(machine, &statement, &login.secrets())?;
        Ok(true)
    }
}

/// Whether a user exists, and whether it logs in as given.
///
/// ```text
/// rocksalt '*' mysql.user_exists frank localhost
/// rocksalt '*' mysql.user_exists frank localhost password=secret
/// rocksalt '*' mysql.user_exists frank passwordless=True
/// ```
#[function("mysql.user_exists", reads)]
pub struct UserExists {
    /// The user's name.
    user: String,
    /// The user's host.
    #[default("localhost")]
    host: String,
    /// The password.
    #[secret]
    password: Option<String>,
    /// Its hash.
    password_hash: Option<String>,
    /// Without a password.
    passwordless: Flag,
    /// Log in through the socket.
    unix_socket: Flag,
    /// The column that has the hash.
    password_column: Option<String>,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for UserExists {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.strict(machine)?;
        let version = ServerVersion::ask(machine, &server)?;
        let Some(row) = account::find(machine, &server, &self.user, &self.host)? else { return Ok(false) };
        let login = AccountLogin::wanted(self.password.as_deref(), self.password_hash.as_deref(), self.unix_socket.0);
        if login.is_passwordless() && !self.passwordless {
            return Ok(true);
        }
        Ok(account::logs_in(&row, &login, &version, self.password_column.as_deref()).unwrap_or(true))
    }
}

/// The server's entry for a user; null if there is none.
///
/// ```text
/// rocksalt '*' mysql.user_info frank localhost
/// ```
#[function("mysql.user_info", reads)]
pub struct UserInfo {
    /// The user's name.
    user: String,
    /// The user's host.
    #[default("localhost")]
    host: String,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for UserInfo {
    type Output = Option<Map>;

    fn call(self, machine: &dyn System) -> Result<Option<Map>> {
        let server = self.connection.strict(machine)?;
        Ok(account::find(machine, &server, &self.user, &self.host)?)
    }
}

/// All users, with their hosts.
///
/// ```text
/// rocksalt '*' mysql.user_list
/// ```
#[function("mysql.user_list", reads)]
pub struct UserList {
    #[flatten]
    connection: MysqlConnection,
}

impl Function for UserList {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        let server = self.connection.strict(machine)?;
        Ok(server.tell(machine, "SELECT User, Host FROM mysql.user", &[])?)
    }
}

/// Removes a user; false if there is none.
///
/// ```text
/// rocksalt '*' mysql.user_remove frank localhost
/// ```
#[function("mysql.user_remove", changes)]
pub struct UserRemove {
    /// The user's name.
    user: String,
    /// The user's host.
    #[default("localhost")]
    host: String,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for UserRemove {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.strict(machine)?;
        if account::find(machine, &server, &self.user, &self.host)?.is_none() {
            return Ok(false);
        }
        server.tell(machine, &format!("DROP USER {}", quote::account(&self.user, &self.host)), &[])?;
        Ok(true)
    }
}

/// Whether a login with this name and password succeeds.
///
/// ```text
/// rocksalt '*' mysql.verify_login frank secret
/// ```
#[function("mysql.verify_login", reads)]
pub struct VerifyLogin {
    /// The user's name.
    user: String,
    /// The password.
    #[secret]
    password: Option<String>,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for VerifyLogin {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.strict(machine)?;
        let server = server.with_user(&self.user, self.password.as_deref());
        match server.ask(machine, "SELECT 1") {
            Ok(_) => Ok(true),
            Err(failure) if failure.is_denied() => Ok(false),
            Err(failure) => Err(failure.into()),
        }
    }
}

/// The authentication of the user; without a password only if that is requested.
fn login<'a>(
    password: &'a Option<String>,
    hash: &'a Option<String>,
    passwordless: Flag,
    socket: Flag,
) -> Result<AccountLogin<'a>> {
    match AccountLogin::wanted(password.as_deref(), hash.as_deref(), socket.0) {
        AccountLogin::Nothing if !passwordless => {
            Err(Error::arguments("password or password_hash must be specified, unless allow_passwordless=True"))
        }
        login => Ok(login),
    }
}
