//! Accounts of users: how one is found, and the statements that make it and change it.

use rocksalt_core::Map;

use super::super::sql::text;
use super::client::{Failure, Server};
use super::quote;
use crate::machine::Probe;
use crate::text::digest::{Kind, raw};
use crate::{Error, Result};

/// Which of the two servers it is, and how old.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub text: String,
    pub mariadb: bool,
    numbers: Vec<u32>,
}

impl Version {
    pub fn ask(machine: &dyn Probe, server: &Server) -> Result<Version, Failure> {
        let rows = server.ask(machine, "SELECT VERSION() AS version")?;
        Ok(Version::new(rows.first().map(|row| text(row, "version")).unwrap_or_default()))
    }

    pub fn new(version: &str) -> Version {
        let numbers =
            version.split(|letter: char| !letter.is_ascii_digit() && letter != '.').next().unwrap_or_default();
        Version {
            text: version.to_owned(),
            mariadb: version.contains("MariaDB"),
            numbers: numbers.split('.').filter_map(|number| number.parse().ok()).collect(),
        }
    }

    fn since(&self, numbers: &[u32]) -> bool {
        self.numbers.as_slice() >= numbers
    }
}

/// How somebody shall log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login<'a> {
    Password(&'a str),
    Hash(&'a str),
    /// By the name of the operating system's user, through the socket.
    Socket,
    Nothing,
}

/// The plugin that takes plain passwords unless one says otherwise.
pub const NATIVE: &str = "mysql_native_password";

impl<'a> Login<'a> {
    /// A password goes before its hash, and both before logging in without.
    pub fn wanted(password: Option<&'a str>, hash: Option<&'a str>, socket: bool) -> Login<'a> {
        let given = |text: &Option<&'a str>| text.filter(|text| !text.is_empty());
        match (given(&password), given(&hash)) {
            (Some(password), _) => Login::Password(password),
            (_, Some(hash)) => Login::Hash(hash),
            _ if socket => Login::Socket,
            _ => Login::Nothing,
        }
    }

    /// What must not be shown.
    pub fn secrets(&self) -> Vec<&'a str> {
        match self {
            Login::Password(secret) | Login::Hash(secret) => vec![secret],
            Login::Socket | Login::Nothing => Vec::new(),
        }
    }
}

/// The row of an account, if there is one.
pub fn find(machine: &dyn Probe, server: &Server, user: &str, host: &str) -> Result<Option<Map>, Failure> {
    let (user, host) = (quote::literal(user), quote::literal(host));
    let rows = server.ask(machine, &format!("SELECT * FROM mysql.user WHERE User = {user} AND Host = {host}"))?;
    Ok(rows.into_iter().next())
}

/// Whether an account logs in as requested; `None` if nobody can tell.
pub fn logs_in(account: &Map, login: &Login<'_>, version: &Version, column: Option<&str>) -> Option<bool> {
    let plugin = text(account, "plugin");
    let hash = match column {
        Some(column) => text(account, column),
        None => [text(account, "Password"), text(account, "authentication_string")]
            .into_iter()
            .find(|hash| !hash.is_empty())
            .unwrap_or_default(),
    };
    match login {
        Login::Password(password) if plugin == NATIVE || plugin.is_empty() => {
            Some(native(password) == hash.to_uppercase())
        }
        // Others can't be compared from outside: their salt is the server's own, or the hash another kind.
        Login::Password(_) if plugin == socket_plugin(version) => Some(false),
        Login::Password(_) => None,
        Login::Hash(wanted) => Some(hash.eq_ignore_ascii_case(wanted)),
        Login::Socket => Some(plugin == socket_plugin(version)),
        Login::Nothing => Some(hash.is_empty()),
    }
}

/// The hash of a password by [`NATIVE`].
fn native(password: &str) -> String {
    let sum = raw(Kind::Sha1, &raw(Kind::Sha1, password.as_bytes()));
    format!("*{}", sum.iter().map(|byte| format!("{byte:02X}")).collect::<String>())
}

pub fn socket_plugin(version: &Version) -> &'static str {
    if version.mariadb { "unix_socket" } else { "auth_socket" }
}

/// The statement that makes an account.
pub fn create(account: &str, login: &Login<'_>, plugin: &str, version: &Version) -> Result<String> {
    Ok(format!("CREATE USER {account}{}", identified(login, plugin, version, true)?))
}

/// The statement that changes how it logs in.
pub fn change(account: &str, login: &Login<'_>, plugin: &str, version: &Version) -> Result<String> {
    let modern = if version.mariadb { version.since(&[10, 2]) } else { version.since(&[5, 7, 6]) };
    if modern {
        return Ok(format!("ALTER USER {account}{}", identified(login, plugin, version, false)?));
    }
    match login {
        Login::Password(password) => Ok(format!("SET PASSWORD FOR {account} = PASSWORD({})", quote::literal(password))),
        Login::Hash(hash) => Ok(format!("SET PASSWORD FOR {account} = {}", quote::literal(hash))),
        Login::Nothing => Ok(format!("SET PASSWORD FOR {account} = ''")),
        Login::Socket => {
            Err(Error::failed(format!("{} can't change an account to log in by the socket", version.text)))
        }
    }
}

fn identified(login: &Login<'_>, plugin: &str, version: &Version, new: bool) -> Result<String> {
    if !plugin.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') || plugin.is_empty() {
        return Err(Error::arguments(format!("auth_plugin: '{plugin}' can't be the name of a plugin")));
    }
    let named = if version.mariadb { plugin != NATIVE } else { version.since(&[5, 7, 6]) };
    let socket = socket_plugin(version);
    Ok(match (login, version.mariadb) {
        (Login::Password(text), true) if named => {
            format!(" IDENTIFIED VIA {plugin} USING PASSWORD({})", quote::literal(text))
        }
        (Login::Hash(text), true) if named => format!(" IDENTIFIED VIA {plugin} USING {}", quote::literal(text)),
        (Login::Password(text), false) if named => format!(" IDENTIFIED WITH {plugin} BY {}", quote::literal(text)),
        (Login::Hash(text), false) if named => format!(" IDENTIFIED WITH {plugin} AS {}", quote::literal(text)),
        (Login::Password(text), _) => format!(" IDENTIFIED BY {}", quote::literal(text)),
        (Login::Hash(text), _) => format!(" IDENTIFIED BY PASSWORD {}", quote::literal(text)),
        (Login::Socket, true) => format!(" IDENTIFIED VIA {socket}"),
        (Login::Socket, false) => format!(" IDENTIFIED WITH {socket}"),
        (Login::Nothing, _) if new => String::new(),
        (Login::Nothing, _) => " IDENTIFIED BY ''".to_owned(),
    })
}

/// Why an account can't log in through the socket, if it can't.
pub fn no_socket(
    machine: &dyn Probe,
    server: &Server,
    version: &Version,
    host: &str,
) -> Result<Option<String>, Failure> {
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
        let mariadb = Version::new("10.11.18-MariaDB-0+deb12u1");
        let (old, new) = (Version::new("5.6.51-log"), Version::new("8.0.36"));
        let login = Login::Password("it's");
        let made = |version: &Version, plugin| create("'a'@'h'", &login, plugin, version).expect("it can be said");
        assert_eq!(made(&mariadb, NATIVE), "CREATE USER 'a'@'h' IDENTIFIED BY 'it''s'");
        assert_eq!(made(&mariadb, "ed25519"), "CREATE USER 'a'@'h' IDENTIFIED VIA ed25519 USING PASSWORD('it''s')");
        assert_eq!(made(&new, NATIVE), "CREATE USER 'a'@'h' IDENTIFIED WITH mysql_native_password BY 'it''s'");
        assert_eq!(made(&old, NATIVE), "CREATE USER 'a'@'h' IDENTIFIED BY 'it''s'");
        assert_eq!(
            change("'a'@'h'", &login, NATIVE, &old).ok().as_deref(),
            Some("SET PASSWORD FOR 'a'@'h' = PASSWORD('it''s')")
        );
        assert_eq!(
            change("'a'@'h'", &Login::Nothing, NATIVE, &mariadb).ok().as_deref(),
            Some("ALTER USER 'a'@'h' IDENTIFIED BY ''")
        );
        assert!(create("'a'@'h'", &login, "x BY 'y'; --", &mariadb).is_err());
    }

    #[test]
    fn passwords_are_compared_with_the_stored_hash() {
        let version = Version::new("10.11.18-MariaDB");
        let row = |plugin: &str, hash: &str| {
            Map::from_iter([("plugin".into(), plugin.into()), ("Password".into(), hash.into())])
        };
        // SELECT PASSWORD('mypass')
        let hash = "*6C8989366EAF75BB670AD8EA7A7FC1176A95CEF4";
        let check = |plugin, login: &Login<'_>| logs_in(&row(plugin, hash), login, &version, None);
        assert_eq!(check(NATIVE, &Login::Password("mypass")), Some(true));
        assert_eq!(check(NATIVE, &Login::Password("Mypass")), Some(false));
        assert_eq!(check(NATIVE, &Login::Hash(hash)), Some(true));
        assert_eq!(check(NATIVE, &Login::Nothing), Some(false));
        assert_eq!(check("ed25519", &Login::Password("mypass")), None);
        assert_eq!(check("unix_socket", &Login::Password("mypass")), Some(false));
        assert_eq!(check("unix_socket", &Login::Socket), Some(true));
        assert_eq!(Login::wanted(Some(""), None, false), Login::Nothing);
        assert_eq!(Login::wanted(Some("a"), Some("b"), true), Login::Password("a"));
    }
}
