//! [`PostgresServer`]: a PostgreSQL server, accessed through `psql`.
//!
//! Statements are passed on standard input and the password in the environment: neither is ever among the arguments,
//! which every user of the machine can read.

use std::time::Duration;

use rocksalt_core::{Map, Value, nearest};
use rocksalt_macros::arguments;
use serde::{Deserialize, Serialize};

use super::super::{cmd, config, sql};
use super::csv;
use crate::machine::{Command, Output, Probe, System};
use crate::{Error, Result};

/// The connection parameters of a server.
#[derive(Clone, Serialize, Deserialize)]
pub struct PostgresServer {
    argv: Vec<String>,
    database: String,
    password: Option<String>,
    /// The user of the operating system that runs `psql`.
    runas: Option<String>,
}

/// The names of the connection arguments: in states `db_user`, in functions `user`.
#[derive(Clone, Copy)]
pub enum Names {
    State,
    Function,
}

/// How a function's caller says which server is meant.
#[arguments]
pub struct FunctionConnection {
    /// How to reach the server: `user`, `host`, `port`, `maintenance_db`, `password`, `runas`.
    kwargs: Map,
}

impl FunctionConnection {
    pub fn server(&self, machine: &dyn Probe) -> Result<PostgresServer> {
        PostgresServer::of(machine, &self.kwargs, Names::Function)
    }
}

/// How a state says which server is meant.
#[arguments]
pub struct StateConnection {
    /// How to reach the server: `user` (of the operating system), `maintenance_db`, `db_user`, `db_password`, `db_host`,
    /// `db_port`.
    kwargs: Map,
}

impl StateConnection {
    pub fn server(&self, machine: &dyn Probe) -> Result<PostgresServer> {
        PostgresServer::of(machine, &self.kwargs, Names::State)
    }
}

impl PostgresServer {
    /// From the arguments, otherwise from `postgres.*` in the options and the pillar.
    pub fn of(machine: &dyn Probe, kwargs: &Map, names: Names) -> Result<PostgresServer> {
        let known = match names {
            Names::State => ["db_user", "db_host", "db_port", "maintenance_db", "db_password", "user"],
            Names::Function => ["user", "host", "port", "maintenance_db", "password", "runas"],
        };
        if let Some(name) = kwargs.keys().filter_map(Value::as_str).find(|name| !known.contains(name)) {
            let hint = nearest::hint(name, known.iter().copied());
            return Err(Error::arguments(format!("there is no argument '{name}'{hint}")));
        }
        let value = |place: usize, option: &str| -> Result<Option<String>> {
            let given = match kwargs.get(known[place]) {
                Some(given) if !given.is_null() => Some(given.clone()),
                _ if option.is_empty() => None,
                _ => config::option(machine, option)?,
            };
            Ok(given.filter(Value::truth).map(|value| value.to_string()))
        };
        let folder = config::option(machine, "postgres.bins_dir")?.filter(Value::truth);
        let own = folder.and_then(|folder| cmd::which(machine, &format!("{folder}/psql")));
        let program = own.or_else(|| cmd::which(machine, "psql")).ok_or_else(|| {
            Error::failed("`psql` is not on this machine")
                .hint("install the client, for example Debian's postgresql-client, in a step before this one, or set postgres.bins_dir")
        })?;
        let mut argv = vec![program.to_string_lossy().into_owned()];
        argv.extend(["--no-psqlrc", "--no-password", "--quiet", "--set=ON_ERROR_STOP=1"].map(Into::into));
        let host = value(1, "postgres.host")?;
        let options =
            [("username", value(0, "postgres.user")?), ("host", host.clone()), ("port", value(2, "postgres.port")?)];
        argv.extend(options.into_iter().filter_map(|(name, value)| value.map(|value| format!("--{name}={value}"))));
        // Through the socket the server's own user needs no password.
        let local = host.is_none_or(|host| host.starts_with('/'));
        Ok(PostgresServer {
            argv,
            database: value(3, "postgres.maintenance_db")?.unwrap_or_else(|| "postgres".into()),
            password: value(4, "postgres.pass")?,
            runas: value(5, "")?.or_else(|| local.then(|| "postgres".into())),
        })
    }

    /// The same server with another database.
    #[must_use]
    pub fn on(&self, database: &str) -> PostgresServer {
        PostgresServer { database: database.to_owned(), ..self.clone() }
    }

    /// The rows of a query, which only reads.
    pub fn ask(&self, machine: &dyn Probe, query: &str) -> Result<Vec<Map>> {
        let copy = format!("COPY ({query}) TO STDOUT WITH CSV HEADER;");
        let output = machine.query(&self.command(&format!("START TRANSACTION READ ONLY; {copy} COMMIT;")))?;
        let text = self.answer(&output, &[])?.map_err(Error::failed)?;
        Ok(csv::rows(&text))
    }

    /// As [`PostgresServer::ask`], for a query that may write.
    pub fn run(&self, machine: &dyn System, query: &str) -> Result<Vec<Map>> {
        let output = machine.run(&self.command(&format!("COPY ({query}) TO STDOUT WITH CSV HEADER;")))?;
        let text = self.answer(&output, &[])?.map_err(Error::failed)?;
        Ok(csv::rows(&text))
    }

    /// Runs statements; the inner error is the server's reason. `secrets` are those that the statements contain.
    pub fn tell(&self, machine: &dyn System, statements: &str, secrets: &[&str]) -> Result<Result<(), String>> {
        let output = machine.run(&self.command(statements))?;
        Ok(self.answer(&output, secrets)?.map(drop))
    }

    /// As [`PostgresServer::tell`], but a refusal is an error, for functions.
    pub fn must(&self, machine: &dyn System, statements: &str, secrets: &[&str]) -> Result<()> {
        self.tell(machine, statements, secrets)?.map_err(Error::failed)
    }

    fn command(&self, statements: &str) -> Command {
        let mut command = Command::new(self.argv.iter().cloned());
        // A name that contains an equals sign would be parsed as a connection string.
        let quoted = self.database.replace('\\', "\\\\").replace('\'', "\\'");
        command.argv.push(format!("--dbname=dbname='{quoted}'"));
        command.env.push(("PGCLIENTENCODING".into(), Some("UTF8".into())));
        command.env.push(("PGOPTIONS".into(), Some("-c datestyle=ISO,MDY -c client_min_messages=warning".into())));
        // English messages, like Salt's own texts.
        command.env.push(("LC_MESSAGES".into(), Some("C".into())));
        command.env.push(("PGPASSWORD".into(), self.password.clone()));
        command.cwd = Some("/".into());
        command.user = self.runas.clone();
        command.stdin = Some(format!("{statements}\n").into_bytes());
        command.timeout = Some(Duration::from_secs(3600));
        command
    }

    fn answer(&self, output: &Output, secrets: &[&str]) -> Result<Result<String, String>> {
        if output.timed_out {
            return Err(Error::timed_out("the database did not answer within an hour"));
        }
        if output.success() {
            return Ok(Ok(output.text()));
        }
        let mut hidden = secrets.to_vec();
        hidden.extend(self.password.as_deref());
        Ok(Err(sql::without(&plain(&String::from_utf8_lossy(&output.stderr)), &hidden)))
    }
}

/// The message of `psql` without positions in the text: `psql:<stdin>:1: ERROR:  …`.
fn plain(printed: &str) -> String {
    let line = |line: &str| match line.split_once(": ") {
        Some((place, rest)) if place.starts_with("psql:<stdin>:") => rest.to_owned(),
        _ => line.to_owned(),
    };
    printed.trim().lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    fn machine() -> Fake {
        Fake::new().file("/usr/bin/psql", "").owned("/usr/bin/psql", 0, 0, 0o755)
    }

    #[test]
    fn neither_password_nor_statement_is_among_the_arguments() {
        let kwargs = Map::from_iter([
            ("db_password".into(), "hunter2".into()),
            ("db_host".into(), "db.example.com".into()),
            ("maintenance_db".into(), "a=b 'c".into()),
        ]);
        let server = PostgresServer::of(&machine(), &kwargs, Names::State).expect("there is a client");
        let command = server.command("SELECT 'hunter2'");
        assert!(!command.argv.iter().any(|word| word.contains("hunter2")), "{:?}", command.argv);
        assert_eq!(command.argv.last().map(String::as_str), Some(r"--dbname=dbname='a=b \'c'"));
        assert!(command.env.contains(&("PGPASSWORD".to_owned(), Some("hunter2".to_owned()))));
        assert_eq!(command.user, None);
        let local = PostgresServer::of(&machine(), &Map::new(), Names::State).expect("there is a client");
        assert_eq!(local.runas.as_deref(), Some("postgres"));
        let odd = Map::from_iter([("db_pasword".into(), "x".into())]);
        let error = PostgresServer::of(&machine(), &odd, Names::State).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("there is no argument 'db_pasword'; did you mean 'db_password'?"));
    }

    #[test]
    fn errors_are_shown_whole_but_for_secrets() {
        let printed = "psql:<stdin>:2: ERROR:  syntax error at or near \"x\"\nLINE 1: PASSWORD 'hunter2'\n        ^\n";
        let server = PostgresServer::of(&machine(), &Map::new(), Names::Function).expect("there is a client");
        let output = Output { code: 3, stderr: printed.into(), ..Output::default() };
        let said = server.answer(&output, &["hunter2"]).expect("it answered").expect_err("it refused");
        assert_eq!(said, "ERROR:  syntax error at or near \"x\"\nLINE 1: PASSWORD '***'\n        ^");
    }
}
