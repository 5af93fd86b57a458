//! Roles: the existing one, the requested one, and the statements that change one into the other.

use std::path::Path;

use rocksalt_core::{Map, Value};

use super::client::PostgresServer;
use super::csv;
use super::password::{self, PasswordEncryption};
use super::quote::{identifier, literal};
use super::sql::text;
use crate::machine::Probe;
use crate::{Error, Result};

/// The requested attributes of a role; `None` leaves one unchanged.
#[derive(Default)]
pub struct RoleSpec<'a> {
    pub createdb: Option<bool>,
    pub createroles: Option<bool>,
    pub superuser: Option<bool>,
    pub replication: Option<bool>,
    pub inherit: Option<bool>,
    pub login: Option<bool>,
    pub password: Option<&'a str>,
    /// `md5`, `scram-sha-256`, true or false.
    pub encrypted: Value,
    /// Set the password even if it is unchanged.
    pub refresh_password: bool,
    pub valid_until: Option<&'a str>,
    /// A list, or a comma-separated text.
    pub groups: Value,
}

/// The flags of a role: by users' names, the server's names, and the names in our results.
const FLAGS: [(&str, &str, &str); 6] = [
    ("createdb", "CREATEDB", "can create databases"),
    ("inherit", "INHERIT", "inherits privileges"),
    ("login", "LOGIN", "can login"),
    ("createroles", "CREATEROLE", "can create roles"),
    ("replication", "REPLICATION", "replication"),
    ("superuser", "SUPERUSER", "superuser"),
];

/// The required changes of a role.
pub struct RoleDifference {
    /// The changes in Salt's form.
    pub update: Map,
    pub statements: String,
    /// Secrets, which must not be shown.
    pub secrets: Vec<String>,
}

impl RoleSpec<'_> {
    fn flag(&self, name: &str) -> Option<bool> {
        match name {
            "createdb" => self.createdb,
            "inherit" => self.inherit,
            "login" => self.login,
            "createroles" => self.createroles,
            "replication" => self.replication,
            _ => self.superuser,
        }
    }

    pub fn group_names(&self) -> Result<Vec<String>> {
        match &self.groups {
            Value::Null => Ok(Vec::new()),
            Value::String(names) => {
                Ok(names.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect())
            }
            Value::List(names) => Ok(names.iter().map(ToString::to_string).collect()),
            _ => Err(Error::arguments("groups: a list of names is needed, or a text with commas between them")),
        }
    }

    fn method(&self) -> Result<Option<PasswordEncryption>> {
        match &self.encrypted {
            Value::Null => Ok(None),
            Value::Bool(true) => Ok(Some(PasswordEncryption::Md5)),
            Value::Bool(false) => Ok(Some(PasswordEncryption::Plain)),
            Value::String(name) if name == "md5" => Ok(Some(PasswordEncryption::Md5)),
            Value::String(name) if name == "scram-sha-256" => Ok(Some(PasswordEncryption::Scram)),
            other => Err(Error::arguments(format!("Unknown password algorithm: {other}"))),
        }
    }

    /// ` PASSWORD '…'`, and the secrets in it.
    fn password_clause(
        &self,
        machine: &dyn Probe,
        server: &PostgresServer,
        role: &str,
    ) -> Result<(String, Vec<String>)> {
        let Some(password) = self.password.filter(|password| !password.is_empty()) else {
            return Ok((String::new(), Vec::new()));
        };
        let method = match self.method()? {
            Some(method) => method,
            // With a verifier of another kind than the server's own, logins would often fail.
            None => {
                let rows = server.ask(machine, "SELECT pg_catalog.current_setting('password_encryption') AS method")?;
                match rows.first().map(|row| text(row, "method")) {
                    Some("scram-sha-256") => PasswordEncryption::Scram,
                    _ => PasswordEncryption::Md5,
                }
            }
        };
        let salt = machine.read_at(Path::new("/dev/urandom"), 0, 16).unwrap_or_default();
        let stored = password::stored(role, password, method, &salt)?;
        Ok((format!(" PASSWORD {}", literal(&stored)), vec![password.to_owned(), stored]))
    }

    fn grants(role: &str, groups: &[String]) -> String {
        groups.iter().map(|group| format!("GRANT {} TO {};\n", identifier(group), identifier(role))).collect()
    }

    /// The statements that create the role; `login` is the default.
    pub fn create(
        &self,
        machine: &dyn Probe,
        server: &PostgresServer,
        role: &str,
        login: bool,
    ) -> Result<RoleDifference> {
        let groups = self.group_names()?;
        let (password, secrets) = self.password_clause(machine, server, role)?;
        let mut clauses = String::new();
        for (name, keyword, _) in FLAGS {
            let default = match name {
                "inherit" => Some(true),
                "login" => Some(login),
                _ => None,
            };
            clauses += &clause(keyword, self.flag(name).or(default));
        }
        clauses += &password;
        clauses += &self.valid_until.map(|until| format!(" VALID UNTIL {}", literal(until))).unwrap_or_default();
        let grants = RoleSpec::grants(role, &groups);
        let statements = format!("BEGIN;\nCREATE ROLE {} WITH{clauses};\n{grants}COMMIT;", identifier(role));
        let with = if clauses.is_empty() { statements.replacen(" WITH;", ";", 1) } else { statements };
        Ok(RoleDifference { update: Map::new(), statements: with, secrets })
    }

    /// The required changes of an existing role; none if `update` is empty.
    pub fn update(
        &self,
        machine: &dyn Probe,
        server: &PostgresServer,
        name: &str,
        role: &Map,
    ) -> Result<RoleDifference> {
        let mut update = Map::new();
        let mut clauses = String::new();
        for (flag, keyword, told) in FLAGS {
            let Some(wanted) = self.flag(flag) else { continue };
            if role.get(told) != Some(&Value::Bool(wanted)) {
                update.insert(flag, wanted);
                clauses += &clause(keyword, Some(wanted));
            }
        }
        let mut secrets = Vec::new();
        if let Some(password) = self.password.filter(|password| !password.is_empty()) {
            let fits = password::fits(name, password, text(role, "password"), self.method()?);
            if self.refresh_password || !fits {
                let (clause, hidden) = self.password_clause(machine, server, name)?;
                clauses += &clause;
                secrets = hidden;
                update.insert("password", true);
            }
        }
        if let Some(until) = self.valid_until {
            let now = match role.get("expiry time") {
                Some(Value::String(time)) => format!("{}::timestamp(0)", literal(time)),
                _ => "NULL".to_owned(),
            };
            let rows = server
                .ask(machine, &format!("SELECT {}::timestamp(0) IS DISTINCT FROM {now} AS other", literal(until)))?;
            if rows.first().is_some_and(|row| text(row, "other") == "t") {
                clauses += &format!(" VALID UNTIL {}", literal(until));
                update.insert("valid_until", until);
            }
        }
        let has = role.get("groups").and_then(Value::as_list).unwrap_or_default();
        let missing: Vec<String> =
            self.group_names()?.into_iter().filter(|group| !has.contains(&Value::from(group.as_str()))).collect();
        if !missing.is_empty() {
            update.insert("groups", Value::List(missing.iter().map(|group| group.as_str().into()).collect()));
        }
        let alter = match clauses.is_empty() {
            true => String::new(),
            false => format!("ALTER ROLE {} WITH{clauses};\n", identifier(name)),
        };
        let statements = format!("BEGIN;\n{alter}{}COMMIT;", RoleSpec::grants(name, &missing));
        Ok(RoleDifference { update, statements, secrets })
    }
}

fn clause(keyword: &str, wanted: Option<bool>) -> String {
    match wanted {
        None => String::new(),
        Some(true) => format!(" {keyword}"),
        Some(false) => format!(" NO{keyword}"),
    }
}

/// All roles by name, or one, in Salt's form; includes the password's verifier only if requested.
pub fn list(machine: &dyn Probe, server: &PostgresServer, name: Option<&str>, password: bool) -> Result<Map> {
    let (verifier, join) = match password {
        true => (", a.rolpassword AS \"password\"", " LEFT JOIN pg_catalog.pg_authid a ON a.oid = r.oid"),
        false => ("", ""),
    };
    let only = name.map(|name| format!(" WHERE r.rolname = {}", literal(name))).unwrap_or_default();
    let query = format!(
        "SELECT r.rolname AS \"name\", r.rolsuper AS \"superuser\", r.rolinherit AS \"inherits privileges\", \
         r.rolcreaterole AS \"can create roles\", r.rolcreatedb AS \"can create databases\", \
         r.rolcanlogin AS \"can login\", r.rolreplication AS \"replication\", \
         (SELECT pg_catalog.array_agg(g.rolname) FROM pg_catalog.pg_auth_members m \
         JOIN pg_catalog.pg_roles g ON m.roleid = g.oid WHERE m.member = r.oid) AS \"groups\", \
         r.rolvaliduntil::timestamp(0) AS \"expiry time\", r.rolconfig AS \"defaults variables\"{verifier} \
         FROM pg_catalog.pg_roles r{join}{only}"
    );
    let mut roles = Map::new();
    for row in server.ask(machine, &query)? {
        let flag = |key: &str| match text(&row, key) {
            "t" => Value::Bool(true),
            "f" => Value::Bool(false),
            _ => Value::Null,
        };
        let mut role = Map::new();
        for key in ["superuser", "inherits privileges", "can create roles", "can create databases"] {
            role.insert(key, flag(key));
        }
        role.insert("can update system catalogs", Value::Null);
        role.insert("can login", flag("can login"));
        role.insert("replication", flag("replication"));
        // Salt parses the number as a boolean, with null as the result.
        role.insert("connections", Value::Null);
        let expiry = Some(text(&row, "expiry time")).filter(|time| !time.is_empty());
        role.insert("expiry time", expiry);
        role.insert("defaults variables", text(&row, "defaults variables"));
        if password {
            role.insert("password", text(&row, "password"));
        }
        let groups = csv::array(text(&row, "groups")).into_iter().map(Value::from).collect();
        role.insert("groups", Value::List(groups));
        roles.insert(text(&row, "name"), role);
    }
    Ok(roles)
}

/// One role, if it exists.
pub fn find(machine: &dyn Probe, server: &PostgresServer, name: &str, password: bool) -> Result<Option<Map>> {
    Ok(list(machine, server, Some(name), password)?.get(name).and_then(Value::as_map).cloned())
}
