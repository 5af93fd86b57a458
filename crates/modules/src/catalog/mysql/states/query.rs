//! `mysql_query`: statements that run in each run.

use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::super::client::{MysqlConnection, MysqlFailure, MysqlServer};
use super::super::reply::MysqlReply;
use super::super::{answer, sql};
use super::{Decision, State, Step, Verdict, database};
use crate::catalog::Plan;
use crate::catalog::cp::source::{self, ContentSource};
use crate::catalog::file::Flag;
use crate::grains::own;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// Runs statements in a database, each time.
///
/// ```yaml
/// count_orders:
///   mysql_query.run:
///     - database: shop
///     - query: SELECT count(*) AS orders FROM orders
///     - output: /var/tmp/orders
/// ```
#[state("mysql_query.run", required("database", "query"))]
pub struct Run {
    /// A name for the query.
    name: String,
    /// The database.
    #[default]
    database: String,
    /// The statements.
    #[default]
    query: String,
    /// Where the result goes: `grain`, or a file; the comment unless given.
    output: Option<String>,
    /// The grain that gets the result, with `output: grain`.
    grain: Option<String>,
    /// The key of that grain.
    key: Option<String>,
    /// Run even if the grain or the file is there.
    #[default(true)]
    overwrite: Flag,
    /// Look first whether there is such a database.
    #[default(true)]
    check_db_exists: Flag,
    /// Accepted for compatibility with Salt: the client takes several statements anyway.
    client_flags: Value,
    #[flatten]
    connection: MysqlConnection,
}

impl State for Run {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        sql::or_bad(self.look(machine))?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: QueryPlan = plan.into_own()?;
        plan.carry_out(machine, &self.database)
    }
}

impl Run {
    fn look(&self, machine: &dyn Probe) -> Result<Decision<QueryPlan>> {
        let server = self.connection.server(machine)?;
        let place = ResultPlace::of(&self.output, &self.grain, &self.key);
        let asked = Asked {
            missing: &self.name,
            database: &self.database,
            check: self.check_db_exists.0,
            overwrite: self.overwrite.0,
            client_flags: &self.client_flags,
        };
        asked.decide(machine, server, place, Statements::Text(self.query.clone()))
    }
}

/// Runs the statements of a file in a database, each time.
///
/// ```yaml
/// schema:
///   mysql_query.run_file:
///     - database: shop
///     - query_file: salt://shop/schema.sql
/// ```
#[state("mysql_query.run_file", required("database", "query_file"))]
pub struct RunFile {
    /// A name for the query.
    #[allow(dead_code, reason = "every state has one")]
    name: String,
    /// The database.
    #[default]
    database: String,
    /// The file: `salt://…`, `http(s)://…` or a path on the target.
    #[default]
    query_file: String,
    /// Where the result goes: `grain`, or a file; the comment unless given.
    output: Option<String>,
    /// The grain that gets the result, with `output: grain`.
    grain: Option<String>,
    /// The key of that grain.
    key: Option<String>,
    /// Run even if the grain or the file is there.
    #[default(true)]
    overwrite: Flag,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
    /// Look first whether there is such a database.
    #[default(true)]
    check_db_exists: Flag,
    /// Accepted for compatibility with Salt: the client takes several statements anyway.
    client_flags: Value,
    #[flatten]
    connection: MysqlConnection,
}

impl State for RunFile {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        sql::or_bad(self.look(machine, step))?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: QueryPlan = plan.into_own()?;
        plan.carry_out(machine, &self.database)
    }
}

impl RunFile {
    fn look(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision<QueryPlan>> {
        let saltenv = self.saltenv.as_deref().unwrap_or(step.saltenv);
        let there = match ContentSource::parse(machine, &self.query_file, Some(saltenv))? {
            ContentSource::Local(path) => {
                machine.stat(&path, true).map_err(|error| Error::io("look at", &path, &error))?.is_some()
            }
            ContentSource::Tree { path, saltenv } => machine.tree().hash(&saltenv, &path)?.is_some(),
            ContentSource::Url(_) | ContentSource::Given(_) => true,
        };
        if !there {
            return sql::settled(Verdict::bad(format!("File {} does not exist", self.query_file)));
        }
        let server = self.connection.server(machine)?;
        let place = ResultPlace::of(&self.output, &self.grain, &self.key);
        let asked = Asked {
            missing: &self.database,
            database: &self.database,
            check: self.check_db_exists.0,
            overwrite: self.overwrite.0,
            client_flags: &self.client_flags,
        };
        let file = Statements::File { source: self.query_file.clone(), saltenv: saltenv.to_owned() };
        asked.decide(machine, server, place, file)
    }
}

/// The destination of the result.
#[derive(Serialize, Deserialize)]
enum ResultPlace {
    Comment,
    Grain {
        name: String,
        key: Option<String>,
    },
    File(String),
    /// `output: grain` without the name of a grain.
    Nowhere,
}

impl ResultPlace {
    fn of(output: &Option<String>, grain: &Option<String>, key: &Option<String>) -> ResultPlace {
        match (output.as_deref(), grain) {
            (None, _) => ResultPlace::Comment,
            (Some("grain"), Some(name)) => ResultPlace::Grain { name: name.clone(), key: key.clone() },
            (Some("grain"), None) => ResultPlace::Nowhere,
            (Some(path), _) => ResultPlace::File(path.to_owned()),
        }
    }

    /// The destination's name in comments, with and without its kind.
    fn told(&self) -> Option<(String, String)> {
        match self {
            ResultPlace::Grain { name, key: None } => Some(("grain: ".into(), name.clone())),
            ResultPlace::Grain { name, key: Some(key) } => Some(("grain: ".into(), format!("{name}:{key}"))),
            ResultPlace::File(path) => Some(("file: ".into(), path.clone())),
            ResultPlace::Comment | ResultPlace::Nowhere => None,
        }
    }

    fn is_set(&self, machine: &dyn Probe) -> bool {
        match self {
            ResultPlace::Grain { name, key } => {
                let grains = machine.grains();
                match (grains.get(name), key) {
                    (Some(_), None) => true,
                    (Some(Value::Map(map)), Some(key)) => map.contains_key(key),
                    _ => false,
                }
            }
            ResultPlace::File(path) => matches!(machine.stat(Path::new(path), true), Ok(Some(_))),
            ResultPlace::Comment | ResultPlace::Nowhere => false,
        }
    }
}

#[derive(Serialize, Deserialize)]
enum Statements {
    Text(String),
    File { source: String, saltenv: String },
}

#[derive(Serialize, Deserialize)]
pub struct QueryPlan {
    server: MysqlServer,
    statements: Statements,
    place: ResultPlace,
}

/// The arguments that both states share.
struct Asked<'a> {
    /// The comment's word for a missing database.
    missing: &'a str,
    database: &'a str,
    check: bool,
    overwrite: bool,
    client_flags: &'a Value,
}

impl Asked<'_> {
    fn decide(
        self,
        machine: &dyn Probe,
        server: MysqlServer,
        place: ResultPlace,
        statements: Statements,
    ) -> Result<Decision<QueryPlan>> {
        if !matches!(self.client_flags, Value::Null | Value::List(_)) {
            return sql::settled(Verdict::bad("Error: client_flags must be a list."));
        }
        if self.check && database::find(machine, &server, self.database)?.is_none() {
            return sql::settled(Verdict::would(format!("Database {} is not present", self.missing)));
        }
        if matches!(place, ResultPlace::Nowhere) {
            return sql::settled(Verdict::bad("Error: output type 'grain' needs the grain parameter\n"));
        }
        if !self.overwrite && place.is_set(machine) {
            let (kind, name) = place.told().unwrap_or_default();
            let kind = if kind.starts_with("grain") { "Grain" } else { "File" };
            return sql::settled(Verdict::good(format!("No execution needed. {kind} {name} already set")));
        }
        let comment = match place.told() {
            None => "Query would execute, not storing result".to_owned(),
            Some((kind, name)) => format!("Query would execute, storing result in {kind}{name}"),
        };
        let mut would = Verdict::would(comment).changes(changes(&place));
        would.warnings.extend(server.strange.iter().cloned());
        Ok(Decision::Change(QueryPlan { server, statements, place }, would))
    }
}

fn changes(place: &ResultPlace) -> Map {
    let told = match place.told() {
        None => "Executed".to_owned(),
        Some((kind, name)) if kind == "file: " => format!("Executed. Output into {name}"),
        Some((kind, name)) => format!("Executed. Output into {kind}{name}"),
    };
    Map::from_iter([("query".into(), told.into())])
}

impl QueryPlan {
    fn carry_out(self, machine: &dyn System, database: &str) -> Result<Verdict> {
        let start = machine.now();
        let answer = match &self.statements {
            Statements::Text(query) => self
                .server
                .run(machine, database, query)
                .map(|reply| named(&reply, answer::of_query(&reply, machine.now() - start))),
            Statements::File { source, saltenv } => {
                let content = source::content(machine, source, Some(saltenv))?
                    .ok_or_else(|| Error::failed(format!("File {source} does not exist")))?;
                let reply = self.server.run(machine, database, &String::from_utf8_lossy(&content));
                reply.map(|reply| named(&reply, answer::of_file(&reply, machine.now() - start)))
            }
        };
        let answer = match answer.map_err(MysqlFailure::reason) {
            Ok(answer) => answer,
            Err(reason) => return Ok(Verdict::bad(reason?)),
        };
        match &self.place {
            ResultPlace::Comment | ResultPlace::Nowhere => {}
            ResultPlace::File(path) => machine
                .write(Path::new(path), lines(&answer).as_bytes(), None)
                .map_err(|error| Error::io("write", path, &error))?,
            ResultPlace::Grain { name, key } => own::change(machine, |grains| match key {
                None => drop(grains.insert(name.as_str(), answer.clone())),
                Some(key) => {
                    let mut map = grains.get(name).and_then(Value::as_map).cloned().unwrap_or_default();
                    map.insert(key.as_str(), answer.clone());
                    grains.insert(name.as_str(), map);
                }
            })?,
        }
        let mut verdict = Verdict::good(Value::Map(answer.clone()).to_string()).changes(changes(&self.place));
        verdict.warnings.extend(self.server.strange.iter().cloned());
        Ok(verdict.output("answer", answer))
    }
}

/// The rows as maps by column.
fn named(reply: &MysqlReply, mut answer: Map) -> Map {
    if answer.contains_key("results") {
        let rows = reply.sets.iter().flatten().map(|row| Value::Map(row.clone())).collect();
        answer.insert("results", Value::List(rows));
    }
    answer
}

/// Formats `column:value`, one per line.
fn lines(answer: &Map) -> String {
    let line = |(key, value): (&Value, &Value)| format!("{key}:{value}\n");
    match answer.get("results").and_then(Value::as_list) {
        Some(rows) => rows.iter().filter_map(Value::as_map).flat_map(|row| row.iter().map(line)).collect(),
        None => answer.iter().map(line).collect(),
    }
}
