//! `mysql_grants`: privileges of users.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::account;
use super::super::client::{MysqlConnection, MysqlFailure, MysqlServer};
use super::super::privileges::{self, Grant, HeldPrivileges, MysqlObject, Privilege};
use super::super::quote;
use super::super::sql::{SqlPlan, or_bad};
use super::{Decision, State, Step, Touches, Verdict, decided, touches};
use crate::catalog::file::Flag;
use crate::machine::Probe;
use crate::{Error, Result};

/// Makes sure that a user has privileges.
///
/// ```yaml
/// frank_shop:
///   mysql_grants.present:
///     - grant: select, insert, update
///     - database: shop.*
///     - user: frank
///     - host: localhost
/// ```
///
/// Other privileges of the user stay, unless `revoke_first` is set.
#[state("mysql_grants.present", required("grant", "database", "user"))]
pub struct Present {
    /// A name for the grant.
    name: String,
    /// The privileges separated by commas; `all privileges` are all.
    #[default]
    grant: String,
    /// What they are on: `db.*`, `db.table`, `*.*`.
    #[default]
    database: String,
    /// The user's name.
    #[default]
    user: String,
    /// The user's host.
    #[default("localhost")]
    host: String,
    /// The user may pass them on.
    grant_option: Flag,
    /// An underscore in the database's name is one; else it stands for any letter.
    #[default(true)]
    escape: Flag,
    /// Take away what the user has on the same database or table besides.
    revoke_first: Flag,
    /// How the user must connect: a list of `SSL: true`, `X509: true`, `SUBJECT: …`, `ISSUER: …`, `CIPHER: …`.
    ssl_option: Value,
    #[flatten]
    connection: MysqlConnection,
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        or_bad(self.look(machine))
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

impl Present {
    fn look(&self, machine: &dyn Probe) -> Result<Decision> {
        let Present { name, grant, database, user, host, .. } = self;
        let wanted = privileges::wanted(grant)?;
        let object = MysqlObject::wanted(database, self.escape.0)?;
        let require = required(&self.ssl_option)?;
        let server = self.connection.server(machine)?;
        let held = HeldPrivileges::on(&object, &list(machine, &server, user, host)?.unwrap_or_default());
        let present = match self.revoke_first.0 {
            true => held.are(&wanted),
            false => held.covers(&wanted),
        };
        if present && (held.grant_option || !self.grant_option) {
            let verdict = Verdict::good(format!("Grant {grant} on {database} to {user}@{host} is already present"));
            return decided(&server, Decision::Settled(verdict), &[]);
        }
        let (object, account) = (object.sql(), quote::account(user, host));
        let mut statements = Vec::new();
        if self.revoke_first.0 {
            statements.extend(revokes(&privileges::sql(held.all()), held.grant_option, &object, &account));
        }
        let option = if self.grant_option.0 { " WITH GRANT OPTION" } else { "" };
        statements.push(format!("GRANT {} ON {object} TO {account}{require}{option}", privileges::sql(&wanted)));
        let decision = SqlPlan {
            statements,
            done: Verdict::good(format!("Grant {grant} on {database} to {user}@{host} has been added"))
                .change(name.as_str(), "Present"),
            failed: format!("Failed to execute: \"GRANT {grant} ON {database} TO {user}@{host}\""),
        }
        .decide(format!("MySQL grant {name} is set to be created"))?;
        decided(&server, decision, &[])
    }
}

/// The statements that revoke privileges, and the grant option separately: `ALL` can't be combined with it.
pub fn revokes(privileges: &str, pass_on: bool, object: &str, account: &str) -> Vec<String> {
    let taken = [privileges, if pass_on { "GRANT OPTION" } else { "" }].into_iter().filter(|taken| !taken.is_empty());
    taken.map(|taken| format!("REVOKE {taken} ON {object} FROM {account}")).collect()
}

/// The grants of a user; `None` if the user doesn't exist.
pub fn list(
    machine: &dyn Probe,
    server: &MysqlServer,
    user: &str,
    host: &str,
) -> Result<Option<Vec<Grant>>, MysqlFailure> {
    let lines = lines(machine, server, user, host)?;
    Ok(lines.map(|lines| lines.iter().filter_map(|line| Grant::parse(line)).collect()))
}

/// The grants as the server prints them.
pub fn lines(
    machine: &dyn Probe,
    server: &MysqlServer,
    user: &str,
    host: &str,
) -> Result<Option<Vec<String>>, MysqlFailure> {
    if account::find(machine, server, user, host)?.is_none() {
        return Ok(None);
    }
    let rows = server.ask(machine, &format!("SHOW GRANTS FOR {}", quote::account(user, host)))?;
    let line = |row: &Map| row.values().next().map(ToString::to_string).unwrap_or_default();
    Ok(Some(rows.iter().map(line).collect()))
}

/// ` REQUIRE SSL AND SUBJECT '…'`
pub fn required(options: &Value) -> Result<String> {
    let odd = || {
        Error::arguments("ssl_option: a list of single options is needed")
            .hint("for example `- ssl_option: [{SSL: true}, {SUBJECT: '/CN=x'}]`")
    };
    let options = match options {
        options if !options.truth() => return Ok(String::new()),
        Value::List(options) => options,
        _ => return Err(odd()),
    };
    let mut parts = Vec::new();
    for option in options {
        let (key, value) = option.as_map().and_then(|option| option.iter().next()).ok_or_else(odd)?;
        match key.to_string().trim().to_uppercase().as_str() {
            key @ ("CIPHER" | "ISSUER" | "SUBJECT") => {
                parts.push(format!("{key} {}", quote::literal(&value.to_string())))
            }
            key @ ("SSL" | "X509") => parts.extend(value.truth().then(|| key.to_owned())),
            _ => return Err(Error::arguments(format!("Invalid SSL option : '{key}'"))),
        }
    }
    Ok(if parts.is_empty() { String::new() } else { format!(" REQUIRE {}", parts.join(" AND ")) })
}

/// Makes sure that a user does not have privileges.
///
/// ```yaml
/// frank_shop:
///   mysql_grants.absent:
///     - grant: insert, update
///     - database: shop.*
///     - user: frank
/// ```
///
/// Those of the privileges that are there are taken away, even if others of them are not.
#[state("mysql_grants.absent", required("grant", "database", "user"))]
pub struct Absent {
    /// A name for the grant.
    name: String,
    /// The privileges separated by commas.
    #[default]
    grant: String,
    /// What they are on: `db.*`, `db.table`, `*.*`.
    #[default]
    database: String,
    /// The user's name.
    #[default]
    user: String,
    /// The user's host.
    #[default("localhost")]
    host: String,
    /// Take the right to pass them on, too.
    grant_option: Flag,
    /// An underscore in the database's name is one; else it stands for any letter.
    #[default(true)]
    escape: Flag,
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
        let Absent { name, grant, database, user, host, .. } = self;
        let wanted = privileges::wanted(grant)?;
        let object = MysqlObject::wanted(database, self.escape.0)?;
        let server = self.connection.server(machine)?;
        let held = HeldPrivileges::on(&object, &list(machine, &server, user, host)?.unwrap_or_default());
        let mut taken = held.of(&wanted);
        let option = |privilege: &Privilege| privilege.name == "GRANT OPTION";
        let pass_on = held.grant_option && (self.grant_option.0 || taken.iter().any(option));
        taken.retain(|privilege| !option(privilege));
        if taken.is_empty() && !pass_on {
            let verdict = Verdict::good(format!(
                "Grant {grant} on {database} to {user}@{host} is not present, so it cannot be revoked"
            ));
            return decided(&server, Decision::Settled(verdict), &[]);
        }
        let decision = SqlPlan {
            statements: revokes(&privileges::sql(&taken), pass_on, &object.sql(), &quote::account(user, host)),
            done: Verdict::good(format!("Grant {grant} on {database} for {user}@{host} has been revoked"))
                .change(name.as_str(), "Absent"),
            failed: format!("Unable to revoke grant {grant} on {database} for {user}@{host}"),
        }
        .decide(format!("MySQL grant {name} is set to be revoked"))?;
        decided(&server, decision, &[])
    }
}
