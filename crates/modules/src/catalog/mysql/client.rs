//! [`MysqlServer`]: a MySQL or MariaDB server, accessed through its own command line client.
//!
//! Statements are passed on standard input and the password in the environment: neither is ever among the arguments,
//! which every user of the machine can read.

use std::time::Duration;

use rocksalt_core::{Map, Value, nearest};
use rocksalt_macros::arguments;
use serde::{Deserialize, Serialize};

use super::super::{cmd, config, sql};
use super::reply::MysqlReply;
use crate::machine::{Command, Output, Probe, System};
use crate::{Error, Result};

/// The connection parameters of a server.
#[derive(Clone, Serialize, Deserialize)]
pub struct MysqlServer {
    program: String,
    arguments: Vec<String>,
    password: Option<String>,
    charset: Option<String>,
    /// Unknown arguments.
    pub strange: Vec<String>,
}

/// How the caller says which server is meant.
#[arguments]
pub struct MysqlConnection {
    /// How to reach the server: `connection_host`, `connection_user` …
    kwargs: Map,
}

impl MysqlConnection {
    pub fn server(&self, machine: &dyn Probe) -> Result<MysqlServer> {
        MysqlServer::of(machine, &self.kwargs)
    }

    /// As [`MysqlConnection::server`], but an unknown argument is an error.
    pub fn strict(&self, machine: &dyn Probe) -> Result<MysqlServer> {
        MysqlServer::strict(machine, &self.kwargs)
    }
}

/// Why a query failed.
#[derive(Debug)]
pub enum MysqlFailure {
    /// The server refused, or could not be reached.
    MysqlServer { code: u32, text: String },
    /// The query did not reach the server.
    Other(Error),
}

const CONNECTION: &[&str] = &[
    "connection_host",
    "connection_user",
    "connection_pass",
    "connection_port",
    "connection_db",
    "connection_unix_socket",
    "connection_default_file",
    "connection_default_group",
    "connection_charset",
    "connection_conv",
    "connection_use_unicode",
    "client_flags",
];

impl MysqlServer {
    /// From the arguments `connection_*`, otherwise from `mysql.*` in the options and the pillar.
    pub fn of(machine: &dyn Probe, kwargs: &Map) -> Result<MysqlServer> {
        let found = ["mariadb", "mysql"].iter().find_map(|name| cmd::which(machine, name));
        let program = found.ok_or_else(|| {
            Error::failed("neither `mariadb` nor `mysql` is on this machine")
                .hint("install the client, for example Debian's mariadb-client, in a step before this one")
        })?;
        let file = kwargs.get("connection_default_file").filter(|file| file.truth());
        let value = |name: &str| -> Result<Option<String>> {
            let given = match kwargs.get(&format!("connection_{name}")) {
                Some(given) => Some(given.clone()),
                // A file that the caller names replaces all of them.
                None if file.is_some() => None,
                None => config::option(machine, &format!("mysql.{name}"))?,
            };
            Ok(given.filter(Value::truth).map(|value| value.to_string()))
        };
        let mut arguments = Vec::new();
        if let Some(file) = value("default_file")? {
            arguments.push(format!("--defaults-file={file}"));
        }
        if let Some(group) = value("default_group")? {
            match group.strip_prefix("client").or_else(|| group.strip_prefix("mysql")) {
                Some("") => {}
                Some(suffix) => arguments.push(format!("--defaults-group-suffix={suffix}")),
                None => {
                    return Err(Error::arguments(format!(
                        "connection_default_group: the client reads only groups whose name begins with 'client' or \
                         'mysql', not '{group}'"
                    )));
                }
            }
        }
        for (name, option) in [("host", "host"), ("user", "user"), ("port", "port"), ("unix_socket", "socket")] {
            arguments.extend(value(name)?.map(|value| format!("--{option}={value}")));
        }
        arguments.extend(["--connect-timeout=20", "--binary-mode", "--xml", "--column-names", "-vvv"].map(Into::into));
        let unknown = kwargs.keys().filter_map(Value::as_str).filter(|name| !CONNECTION.contains(name));
        let strange =
            unknown.map(|name| format!("no argument '{name}'{}", nearest::hint(name, CONNECTION.iter().copied())));
        Ok(MysqlServer {
            program: program.to_string_lossy().into_owned(),
            arguments,
            password: value("pass")?,
            charset: value("charset")?,
            strange: strange.collect(),
        })
    }

    /// As [`MysqlServer::of`], but an unknown argument is an error, for functions.
    pub fn strict(machine: &dyn Probe, kwargs: &Map) -> Result<MysqlServer> {
        let server = MysqlServer::of(machine, kwargs)?;
        match server.strange.first() {
            Some(strange) => Err(Error::arguments(strange.clone())),
            None => Ok(server),
        }
    }

    /// The same, with another password.
    #[must_use]
    pub fn with_password(&self, password: &str) -> MysqlServer {
        MysqlServer { password: Some(password.to_owned()), ..self.clone() }
    }

    /// The same, as another user.
    #[must_use]
    pub fn with_user(&self, user: &str, password: Option<&str>) -> MysqlServer {
        let mut server = self.clone();
        server.arguments.retain(|argument| !argument.starts_with("--user="));
        server.arguments.push(format!("--user={user}"));
        server.password = Some(password.unwrap_or_default().to_owned());
        server
    }

    /// The rows of a generated statement, which only reads.
    pub fn ask(&self, machine: &dyn Probe, statement: &str) -> Result<Vec<Map>, MysqlFailure> {
        let output = machine.query(&self.command(statement, None));
        self.reply(output, &[]).map(MysqlReply::rows)
    }

    /// Runs a generated statement; `secrets` are those that it contains.
    pub fn tell(&self, machine: &dyn System, statement: &str, secrets: &[&str]) -> Result<Vec<Map>, MysqlFailure> {
        let output = machine.run(&self.command(statement, None));
        self.reply(output, secrets).map(MysqlReply::rows)
    }

    /// Runs a user's statements in a database.
    pub fn run(&self, machine: &dyn System, database: &str, statements: &str) -> Result<MysqlReply, MysqlFailure> {
        self.reply(machine.run(&self.command(statements, Some(database))), &[])
    }

    fn command(&self, statement: &str, database: Option<&str>) -> Command {
        let mut command = Command::new(std::iter::once(&self.program).chain(&self.arguments).cloned());
        // Generated statements are quoted for UTF-8 and backslash escapes, independent of the server's settings: in
        // some other character sets the second byte of a character is a backslash or a quote.
        let (charset, first) = match database {
            None => ("utf8mb4", "SET SESSION sql_mode = REPLACE(@@SESSION.sql_mode, 'NO_BACKSLASH_ESCAPES', '');\n"),
            Some(_) => (self.charset.as_deref().unwrap_or("utf8mb4"), ""),
        };
        command.argv.push(format!("--default-character-set={charset}"));
        command.argv.extend(database.filter(|name| !name.is_empty()).map(|name| format!("--database={name}")));
        if let Some(password) = &self.password {
            command.env.push(("MYSQL_PWD".into(), Some(password.clone())));
        }
        command.stdin = Some(format!("{first}{statement}\n").into_bytes());
        command.timeout = Some(Duration::from_secs(3600));
        command
    }

    fn reply(&self, output: Result<Output>, secrets: &[&str]) -> Result<MysqlReply, MysqlFailure> {
        let output = output.map_err(MysqlFailure::Other)?;
        if output.timed_out {
            return Err(MysqlFailure::Other(Error::timed_out("the database did not answer within an hour")));
        }
        if output.success() {
            return Ok(MysqlReply::parse(&output.text()));
        }
        let printed = String::from_utf8_lossy(&output.stderr);
        let line = printed.lines().find(|line| line.starts_with("ERROR ")).unwrap_or(printed.trim());
        let (code, text) = split(line);
        let mut hidden = secrets.to_vec();
        hidden.extend(self.password.as_deref());
        Err(MysqlFailure::MysqlServer { code, text: sql::without(text, &hidden) })
    }
}

/// `ERROR 1049 (42000) at line 1: Unknown database 'x'`
fn split(line: &str) -> (u32, &str) {
    let rest = line.strip_prefix("ERROR ").unwrap_or(line);
    let code = rest.split(|letter: char| !letter.is_ascii_digit()).next().and_then(|code| code.parse().ok());
    match (code, rest.split_once(": ")) {
        (Some(code), Some((_, text))) => (code, text),
        _ => (0, rest),
    }
}

impl MysqlFailure {
    /// Whether the login was refused.
    pub fn is_denied(&self) -> bool {
        matches!(self, MysqlFailure::MysqlServer { code: 1045 | 1698, .. })
    }

    /// The server's message, or the error if the server was not reached.
    pub fn reason(self) -> Result<String> {
        match self {
            MysqlFailure::MysqlServer { .. } => Ok(self.text()),
            MysqlFailure::Other(error) => Err(error),
        }
    }

    fn text(&self) -> String {
        match self {
            MysqlFailure::MysqlServer { code: 0, text } => format!("MySQL Error: {text}"),
            MysqlFailure::MysqlServer { code, text } => format!("MySQL Error {code}: {text}"),
            MysqlFailure::Other(error) => error.to_string(),
        }
    }
}

impl From<MysqlFailure> for Error {
    fn from(failure: MysqlFailure) -> Error {
        match failure {
            MysqlFailure::Other(error) => error,
            server => Error::failed(server.text()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn neither_password_nor_statement_is_among_the_arguments() {
        let machine = Fake::new().file("/usr/bin/mysql", "").owned("/usr/bin/mysql", 0, 0, 0o755);
        let kwargs = Map::from_iter([
            ("connection_pass".into(), "hunter2".into()),
            ("connection_host".into(), "-db".into()),
            ("conection_user".into(), "x".into()),
        ]);
        let server = MysqlServer::of(&machine, &kwargs).expect("there is a client");
        let command = server.command("SELECT 'hunter2'", None);
        assert!(!command.argv.iter().any(|word| word.contains("hunter2")), "{:?}", command.argv);
        assert!(command.argv.contains(&"--host=-db".to_owned()));
        assert_eq!(command.env, [("MYSQL_PWD".to_owned(), Some("hunter2".to_owned()))]);
        assert_eq!(server.strange, ["no argument 'conection_user'; did you mean 'connection_user'?"]);
        assert!(MysqlServer::of(&Fake::new(), &kwargs).is_err());
    }

    #[test]
    fn errors_are_read_and_secrets_left_out() {
        let server = MysqlServer {
            program: "mysql".into(),
            arguments: Vec::new(),
            password: Some("hunter2".into()),
            charset: None,
            strange: Vec::new(),
        };
        let stderr = "--------------\nSELECT\n--------------\n\nERROR 1064 (42000) at line 1: near ''hunter2' and x'\n";
        let output = Output { code: 1, stderr: stderr.into(), ..Output::default() };
        let failure = server.reply(Ok(output), &["x"]).expect_err("it failed");
        assert_eq!(Error::from(failure).to_string(), "MySQL Error 1064: near ''***' and ***'");
        assert_eq!(split("ERROR 2002 (HY000): Can't connect: no"), (2002, "Can't connect: no"));
        assert_eq!(split("mysql: unknown option"), (0, "mysql: unknown option"));
    }
}
