//! `mysql_user`: accounts, and their authentication.

use rocksalt_macros::state;

use super::super::account::{self, AccountLogin, NATIVE, ServerVersion};
use super::super::client::{MysqlConnection, MysqlServer};
use super::super::quote;
use super::super::sql::{SqlPlan, or_bad, settled};
use super::{Decision, State, Step, Touches, Verdict, decided, touches};
use crate::Result;
use crate::catalog::file::Flag;
use crate::machine::Probe;

/// Makes sure that a user is there, and logs in as requested.
///
/// ```yaml
/// frank:
///   mysql_user.present:
///     - host: localhost
///     - password: {{ pillar.frank_password }}
/// ```
///
/// The password is compared with the hash that the server keeps. It never is among the arguments of a command,
/// nor in a comment.
#[state("mysql_user.present")]
pub struct Present {
    /// The user's name.
    name: String,
    /// The user's host.
    #[default("localhost")]
    host: String,
    /// The password.
    #[secret]
    password: Option<String>,
    /// Its hash, as `SELECT PASSWORD('…')` gives it; `password` goes first.
    password_hash: Option<String>,
    /// Without a password if none is given.
    allow_passwordless: Flag,
    /// Log in through the socket as the operating system's user of the same name.
    unix_socket: Flag,
    /// The column of the server's table that has the hash.
    password_column: Option<String>,
    /// The plugin that checks the password.
    #[default(native())]
    auth_plugin: String,
    #[flatten]
    connection: MysqlConnection,
}

pub fn native() -> String {
    NATIVE.into()
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        or_bad(self.look(machine, step))
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

impl Present {
    fn look(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let login = AccountLogin::wanted(self.password.as_deref(), self.password_hash.as_deref(), self.unix_socket.0);
        if login == AccountLogin::Nothing && !self.allow_passwordless {
            return settled(Verdict::bad(
                "Either password or password_hash must be specified, unless allow_passwordless is True",
            ));
        }
        let server = self.connection.server(machine)?;
        let (server, version) = match (ServerVersion::ask(machine, &server), &login) {
            // An earlier run or step may have set this password for the user that we log in as.
            (Err(failure), AccountLogin::Password(password)) if failure.is_denied() => {
                let server = server.with_password(password);
                let version = ServerVersion::ask(machine, &server)?;
                (server, version)
            }
            (version, _) => (server, version?),
        };
        let decision = self.decide(machine, step, &server, &version, &login)?;
        decided(&server, decision, &login.secrets())
    }

    fn decide(
        &self,
        machine: &dyn Probe,
        step: &Step<'_>,
        server: &MysqlServer,
        version: &ServerVersion,
        login: &AccountLogin<'_>,
    ) -> Result<Decision<SqlPlan>> {
        let (name, host) = (&self.name, &self.host);
        let passwordless = login.is_passwordless();
        let found = account::find(machine, server, name, host)?;
        let column = self.password_column.as_deref();
        let as_wished = found.as_ref().map(|row| account::logs_in(row, login, version, column));
        let present = format!("User {name}@{host} is already present");
        match as_wished {
            Some(None) => return settled(Verdict::good(format!("{present}. Unable to verify password."))),
            Some(Some(true)) => {
                let how = match login {
                    _ if passwordless && self.allow_passwordless.0 => " with passwordless login",
                    _ if passwordless => "",
                    _ if self.auth_plugin != NATIVE => ". Unable to verify password.",
                    AccountLogin::Hash(_) => " with the desired password hash",
                    _ => " with the desired password",
                };
                return settled(Verdict::good(present + how));
            }
            _ => {}
        }
        let exists = as_wished.is_some();
        let failed = match (exists, passwordless) {
            (false, _) => format!("Failed to create user {name}@{host}"),
            (true, true) => format!("Failed to clear password for user {name}@{host}"),
            (true, false) => format!("Failed to change password for user {name}@{host}"),
        };
        if *login == AccountLogin::Socket
            && let Some(reason) = account::no_socket(machine, server, version, host)?
        {
            return settled(Verdict::bad(format!("{failed} ({reason})")));
        }
        match exists {
            true => self.change(step, version, login, failed),
            false => self.create(version, login, failed),
        }
    }

    fn change(
        &self,
        step: &Step<'_>,
        version: &ServerVersion,
        login: &AccountLogin<'_>,
        failed: String,
    ) -> Result<Decision<SqlPlan>> {
        let (name, host) = (&self.name, &self.host);
        let set = format!("Password for user {name}@{host} is set to be");
        if login.is_passwordless() && !self.allow_passwordless {
            return settled(Verdict::bad(match step.test {
                true => format!("{set} cleared, but allow_passwordless != True"),
                false => format!("{failed}. Note: allow_passwordless must be True to permit passwordless login."),
            }));
        }
        let what = if login.is_passwordless() { "cleared" } else { "changed" };
        let account = quote::account(name, host);
        SqlPlan {
            statements: vec![account::change(&account, login, &self.auth_plugin, version)?],
            done: Verdict::good(format!("Password for user {name}@{host} has been {what}"))
                .change(name.as_str(), "Updated"),
            failed,
        }
        .decide(format!("{set} {what}"))
    }

    fn create(&self, version: &ServerVersion, login: &AccountLogin<'_>, failed: String) -> Result<Decision<SqlPlan>> {
        let (name, host) = (&self.name, &self.host);
        let account = quote::account(name, host);
        let mut how = String::new();
        if self.allow_passwordless.0 {
            how += " with passwordless login";
        }
        if self.unix_socket.0 {
            how += " using unix_socket";
        }
        SqlPlan {
            statements: vec![account::create(&account, login, &self.auth_plugin, version)?],
            done: Verdict::good(format!("The user {name}@{host} has been added{how}")).change(name.as_str(), "Present"),
            failed,
        }
        .decide(format!("User {name}@{host} is set to be added{how}"))
    }
}

/// Makes sure that a user is not there.
///
/// ```yaml
/// frank:
///   mysql_user.absent:
///     - host: '%'
/// ```
#[state("mysql_user.absent")]
pub struct Absent {
    /// The user's name.
    name: String,
    /// The user's host.
    #[default("localhost")]
    host: String,
    #[flatten]
    connection: MysqlConnection,
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        or_bad(self.look(machine))
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

impl Absent {
    fn look(&self, machine: &dyn Probe) -> Result<Decision> {
        let (name, host) = (&self.name, &self.host);
        let server = self.connection.server(machine)?;
        let decision = match account::find(machine, &server, name, host)? {
            None => settled(Verdict::good(format!("User {name}@{host} is not present, so it cannot be removed"))),
            Some(_) => SqlPlan {
                statements: vec![format!("DROP USER {}", quote::account(name, host))],
                done: Verdict::good(format!("User {name}@{host} has been removed")).change(name.as_str(), "Absent"),
                failed: format!("User {name}@{host} could not be removed"),
            }
            .decide(format!("User {name}@{host} is set to be removed")),
        };
        decided(&server, decision?, &[])
    }
}
