//! User accounts: finding them, and the statements that create and change them.

use rocksalt_core::Map;

use super::super::sql::text;
use super::client::{MysqlFailure, MysqlServer};
use super::quote;
use crate::machine::Probe;
use crate::text::digest::{DigestAlgorithm, raw};
use crate::{Error, Result};

/// The kind of server, and its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerVersion {
    pub text: String,
    pub mariadb: bool,
    numbers: Vec<u32>,
}

impl ServerVersion {
    pub fn ask(machine: &dyn Probe, server: &MysqlServer) -> Result<ServerVersion, MysqlFailure> {
        let rows = server.ask(machine, "SELECT VERSION() AS version")?;
        Ok(ServerVersion::new(rows.first().map(|row| text(row, "version")).unwrap_or_default()))
    }

    pub fn new(version: &str) -> ServerVersion {
        let numbers =
            version.split(|letter: char| !letter.is_ascii_digit() && letter != '.').next().unwrap_or_default();
        ServerVersion {
            text: version.to_owned(),
            mariadb: version.contains("MariaDB"),
            numbers: numbers.split('.').filter_map(|number| number.parse().ok()).collect(),
        }
    }

    fn since(&self, numbers: &[u32]) -> bool {
        self.numbers.as_slice() >= numbers
    }
}

/// The authentication method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountLogin<'a> {
    Password(&'a str),
    Hash(&'a str),
    /// By the name of the operating system's user, through the socket.
    Socket,
    Nothing,
}

/// The default plugin for plain passwords.
pub const NATIVE: &str = "mysql_native_password";

impl<'a> AccountLogin<'a> {
    /// A password takes precedence over its hash, and both over no password.
    pub fn wanted(password: Option<&'a str>, hash: Option<&'a str>, socket: bool) -> AccountLogin<'a> {
        let given = |text: &Option<&'a str>| text.filter(|text| !text.is_empty());
        match (given(&password), given(&hash)) {
            (Some(password), _) => AccountLogin::Password(password),
            (_, Some(hash)) => AccountLogin::Hash(hash),
            _ if socket => AccountLogin::Socket,
            _ => AccountLogin::Nothing,
        }
    }

    /// Whether it needs neither a password nor its hash.
    pub fn is_passwordless(&self) -> bool {
        matches!(self, AccountLogin::Nothing | AccountLogin::Socket)
    }

    /// Secrets, which must not be shown.
    pub fn secrets(&self) -> Vec<&'a str> {
        match self {
            AccountLogin::Password(secret) | AccountLogin::Hash(secret) => vec![secret],
            AccountLogin::Socket | AccountLogin::Nothing => Vec::new(),
        }
    }
}

/// The row of an account, if it exists.
pub fn find(machine: &dyn Probe, server: &MysqlServer, user: &str, host: &str) -> Result<Option<Map>, MysqlFailure> {
    let (user, host) = (quote::literal(user), quote::literal(host));
    let rows = server.ask(machine, &format!("SELECT * FROM mysql.user WHERE User = {user} AND Host = {host}"))?;
    Ok(rows.into_iter().next())
}

/// Whether an account has the requested authentication; `None` if this can't be determined.
pub fn logs_in(account: &Map, login: &AccountLogin<'_>, version: &ServerVersion, column: Option<&str>) -> Option<bool> {
    let plugin = text(account, "plugin");
    let hash = match column {
        Some(column) => text(account, column),
        None => [text(account, "Password"), text(account, "authentication_string")]
            .into_iter()
            .find(|hash| !hash.is_empty())
            .unwrap_or_default(),
    };
    match login {
        AccountLogin::Password(password) if plugin == NATIVE || plugin.is_empty() => {
            Some(native(password) == hash.to_uppercase())
        }
        // Other hashes can't be compared: they are salted, or of another kind.
        AccountLogin::Password(_) if plugin == socket_plugin(version) => Some(false),
        AccountLogin::Password(_) => None,
        AccountLogin::Hash(wanted) => Some(hash.eq_ignore_ascii_case(wanted)),
        AccountLogin::Socket => Some(plugin == socket_plugin(version)),
        AccountLogin::Nothing => Some(hash.is_empty()),
    }
}

/// The password hash of [`NATIVE`].
fn native(password: &str) -> String {
    let sum = raw(DigestAlgorithm::Sha1, &raw(DigestAlgorithm::Sha1, password.as_bytes()));
    format!("*{}", sum.iter().map(|byte| format!("{byte:02X}")).collect::<String>())
}

pub fn socket_plugin(version: &ServerVersion) -> &'static str {
    if version.mariadb { "unix_socket" } else { "auth_socket" }
}

/// The statement that creates an account.
pub fn create(account: &str, login: &AccountLogin<'_>, plugin: &str, version: &ServerVersion) -> Result<String> {
    Ok(format!("CREATE USER {account}{}", identified(login, plugin, version, true)?))
}

/// The statement that changes its authentication.
pub fn change(account: &str, login: &AccountLogin<'_>, plugin: &str, version: &ServerVersion) -> Result<String> {
    let modern = if version.mariadb { version.since(&[10, 2]) } else { version.since(&[5, 7, 6]) };
    if modern {
        return Ok(format!("ALTER USER {account}{}", identified(login, plugin, version, false)?));
    }
    match login {
        AccountLogin::Password(password) => {
            Ok(format!("SET PASSWORD FOR {account} = PASSWORD({})", quote::literal(password)))
        }
        AccountLogin::Hash(hash) => Ok(format!("SET PASSWORD FOR {account} = {}", quote::literal(hash))),
        AccountLogin::Nothing => Ok(format!("SET PASSWORD FOR {account} = ''")),
        AccountLogin::Socket => {
            Err(Error::failed(format!("{} can't change an account to log in by the socket", version.text)))
        }
    }
}

fn identified(login: &AccountLogin<'_>, plugin: &str, version: &ServerVersion, new: bool) -> Result<String> {
    if !plugin.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') || plugin.is_empty() {
        return Err(Error::arguments(format!("auth_plugin: '{plugin}' can't be the name of a plugin")));
    }
    let named = if version.mariadb { plugin != NATIVE } else { version.since(&[5, 7, 6]) };
    let socket = socket_plugin(version);
    Ok(match (login, version.mariadb) {
        (AccountLogin::Password(text), true) if named => {
            format!(" IDENTIFIED VIA {plugin} USING PASSWORD({})", quote::literal(text))
        }
        (AccountLogin::Hash(text), true) if named => format!(" IDENTIFIED VIA {plugin} USING {}", quote::literal(text)),
        (AccountLogin::Password(text), false) if named => {
            format!(" IDENTIFIED WITH {plugin} BY {}", quote::literal(text))
        }
        (AccountLogin::Hash(text), false) if named => format!(" IDENTIFIED WITH {plugin} AS {}", quote::literal(text)),
        (AccountLogin::Password(text), _) => format!(" IDENTIFIED BY {}", quote::literal(text)),
        (AccountLogin::Hash(text), _) => format!(" IDENTIFIED BY PASSWORD {}", quote::literal(text)),
        (AccountLogin::Socket, true) => format!(" IDENTIFIED VIA {socket}"),
        (AccountLogin::Socket, false) => format!(" IDENTIFIED WITH {socket}"),
        (AccountLogin::Nothing, _) if new => String::new(),
        (AccountLogin::Nothing, _) => " IDENTIFIED BY ''".to_owned(),
    })
}

/// Why an account can't authenticate through the socket, if it can't.
pub fn no_socket(
    machine: &dyn Probe,
    server: &MysqlServer,
    version: &ServerVersion,
    host: &str,
) -> Result<Option<String>, MysqlFailure> {
    let plugin = socket_plugin(version);
    let rows = server.ask(
        machine,
        &format!("SELECT PLUGIN_STATUS AS status FROM information_schema.PLUGINS WHERE PLUGIN_NAME = '{plugin}'"),
    )?;
    Ok(match rows.first() {
        None => Some(format!("The {plugin} plugin is not enabled.")),
        Some(_) if host != "localhost" => Some(format!("Auth via {plugin} can be set only for host=localhost")),
        Some(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_fit_the_server() {
        let mariadb = ServerVersion::new("10.11.18-MariaDB-0+deb12u1");
        let (old, new) = (ServerVersion::new("5.6.51-log"), ServerVersion::new("8.0.36"));
        let login = AccountLogin::Password("it's");
        let made =
            |version: &ServerVersion, plugin| create("'a'@'h'", &login, plugin, version).expect("it can be said");
        assert_eq!(made(&mariadb, NATIVE), "CREATE USER 'a'@'h' IDENTIFIED BY 'it''s'");
        assert_eq!(made(&mariadb, "ed25519"), "CREATE USER 'a'@'h' IDENTIFIED VIA ed25519 USING PASSWORD('it''s')");
        assert_eq!(made(&new, NATIVE), "CREATE USER 'a'@'h' IDENTIFIED WITH mysql_native_password BY 'it''s'");
        assert_eq!(made(&old, NATIVE), "CREATE USER 'a'@'h' IDENTIFIED BY 'it''s'");
        assert_eq!(
            change("'a'@'h'", &login, NATIVE, &old).ok().as_deref(),
            Some("SET PASSWORD FOR 'a'@'h' = PASSWORD('it''s')")
        );
        assert_eq!(
            change("'a'@'h'", &AccountLogin::Nothing, NATIVE, &mariadb).ok().as_deref(),
            Some("ALTER USER 'a'@'h' IDENTIFIED BY ''")
        );
        assert!(create("'a'@'h'", &login, "x BY 'y'; --", &mariadb).is_err());
    }

    #[test]
    fn passwords_are_compared_with_the_stored_hash() {
        let version = ServerVersion::new("10.11.18-MariaDB");
        let row = |plugin: &str, hash: &str| {
            Map::from_iter([("plugin".into(), plugin.into()), ("Password".into(), hash.into())])
        };
        // SELECT PASSWORD('mypass')
        let hash = "*6C8989366EAF75BB670AD8EA7A7FC1176A95CEF4";
        let check = |plugin, login: &AccountLogin<'_>| logs_in(&row(plugin, hash), login, &version, None);
        assert_eq!(check(NATIVE, &AccountLogin::Password("mypass")), Some(true));
        assert_eq!(check(NATIVE, &AccountLogin::Password("Mypass")), Some(false));
        assert_eq!(check(NATIVE, &AccountLogin::Hash(hash)), Some(true));
        assert_eq!(check(NATIVE, &AccountLogin::Nothing), Some(false));
        assert_eq!(check("ed25519", &AccountLogin::Password("mypass")), None);
        assert_eq!(check("unix_socket", &AccountLogin::Password("mypass")), Some(false));
        assert_eq!(check("unix_socket", &AccountLogin::Socket), Some(true));
        assert_eq!(AccountLogin::wanted(Some(""), None, false), AccountLogin::Nothing);
        assert_eq!(AccountLogin::wanted(Some("a"), Some("b"), true), AccountLogin::Password("a"));
    }
}
