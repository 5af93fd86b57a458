//! What the states of databases have in common: statements in their order, and the verdict if all succeed.

use rocksalt_core::{Map, Value, call::ProblemKind};
use serde::{Deserialize, Serialize};

use super::mysql::MysqlServer;
use super::postgres::PostgresServer;
use super::{Action, Decision, Plan, Verdict};
use crate::Result;
use crate::machine::System;

/// A server of either kind, and how to reach it.
#[derive(Clone, Serialize, Deserialize)]
pub enum SqlServer {
    Mysql(MysqlServer),
    Postgres(PostgresServer),
}

/// A statement for a server.
#[derive(Clone, Serialize, Deserialize)]
pub struct SqlStatement {
    server: SqlServer,
    statement: String,
    /// Parts of the statement that no message may show.
    secrets: Vec<String>,
}

impl SqlStatement {
    /// The inner error is the server's reason.
    pub fn run(&self, machine: &dyn System) -> Result<std::result::Result<(), String>> {
        let secrets: Vec<&str> = self.secrets.iter().map(String::as_str).collect();
        match &self.server {
            SqlServer::Mysql(server) => match server.tell(machine, &self.statement, &secrets) {
                Ok(_) => Ok(Ok(())),
                Err(failure) => Ok(Err(failure.reason()?)),
            },
            SqlServer::Postgres(server) => server.tell(machine, &format!("{};", self.statement), &secrets),
        }
    }
}

/// What a state does on a server.
pub struct SqlPlan {
    pub statements: Vec<String>,
    /// The verdict if every statement succeeds.
    pub done: Verdict,
    /// The comment if one fails; the server's reason is appended.
    pub failed: String,
}

impl SqlPlan {
    /// The decision for it; a dry run gives the changes of the real one.
    pub fn decide(self, would: impl Into<String>) -> Result<Decision<SqlPlan>> {
        let verdict = Verdict { comment: would.into(), result: None, ..self.done.clone() };
        Ok(Decision::Change(self, verdict))
    }

    pub fn on(self, server: &SqlServer, secrets: &[String]) -> Plan {
        let statement =
            |statement| Action::Sql(SqlStatement { server: server.clone(), statement, secrets: secrets.to_vec() });
        Plan::statements(self.done, self.failed).all(self.statements.into_iter().map(statement))
    }
}

/// Nothing is to be done.
pub fn settled<P>(verdict: Verdict) -> Result<Decision<P>> {
    Ok(Decision::Settled(verdict))
}

/// What could not even be looked at is the step's verdict: the server's own words, and nothing before them.
pub fn or_bad<P>(looked: Result<Decision<P>>) -> Result<Decision<P>> {
    match looked.map_err(crate::Error::problem) {
        Ok(decision) => Ok(decision),
        Err(problem) if matches!(problem.kind, ProblemKind::Failed | ProblemKind::Arguments) => {
            let hints: String = problem.hint.iter().map(|hint| format!("\nhint: {hint}")).collect();
            settled(Verdict::bad(problem.text + &hints))
        }
        Err(problem) => Err(problem.into()),
    }
}

/// A column of a row as text; empty for NULL.
pub fn text<'a>(row: &'a Map, column: &str) -> &'a str {
    row.get(column).and_then(Value::as_str).unwrap_or_default()
}

/// A text without the secrets in it: servers quote what they don't understand.
pub fn without(text: &str, secrets: &[&str]) -> String {
    let mut text = text.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        text = text.replace(secret, "***");
    }
    text
}
