//! Privileges on objects: the server's access lists, and the statements that change them.

use std::collections::{BTreeMap, BTreeSet};

use rocksalt_core::{Map, Value};

use super::client::PostgresServer;
use super::quote::{identifier, literal};
use super::sql::text;
use crate::machine::Probe;
use crate::{Error, Result};

/// The object of privileges.
pub struct PostgresObject {
    pub kind: PostgresObjectKind,
    name: String,
    schema: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostgresObjectKind {
    Database,
    Function,
    Group,
    Language,
    Schema,
    Sequence,
    Table,
    Tablespace,
}

/// Name, kind, the letter for `acldefault`, and the possible privileges.
const KINDS: &[(&str, PostgresObjectKind, &str, &[&str])] = &[
    ("database", PostgresObjectKind::Database, "d", &["CREATE", "TEMPORARY", "CONNECT"]),
    ("function", PostgresObjectKind::Function, "f", &["EXECUTE"]),
    ("group", PostgresObjectKind::Group, "", &[]),
    ("language", PostgresObjectKind::Language, "l", &["USAGE"]),
    ("schema", PostgresObjectKind::Schema, "n", &["USAGE", "CREATE"]),
    ("sequence", PostgresObjectKind::Sequence, "s", &["SELECT", "UPDATE", "USAGE"]),
    (
        "table",
        PostgresObjectKind::Table,
        "r",
        &["INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER", "MAINTAIN"],
    ),
    ("tablespace", PostgresObjectKind::Tablespace, "t", &["CREATE"]),
];

/// The access list of one object.
#[derive(Default)]
pub struct AccessList {
    pub owner: String,
    /// By role, `public` for all: the privileges, and whether they may be granted to others.
    pub held: BTreeMap<String, BTreeMap<String, bool>>,
}

/// Parses and checks the privileges of a call: `select, insert` or a list.
pub fn wanted(privileges: &Value, kind: PostgresObjectKind) -> Result<BTreeSet<String>> {
    let texts: Vec<String> = match privileges {
        Value::Null => Vec::new(),
        Value::List(items) => items.iter().map(ToString::to_string).collect(),
        other => vec![other.to_string()],
    };
    let names: BTreeSet<String> = texts
        .iter()
        .flat_map(|text| text.split(','))
        .map(|name| name.trim().to_uppercase())
        .filter(|name| !name.is_empty())
        .collect();
    let (kind_name, _, _, known) = row(kind);
    if kind == PostgresObjectKind::Group {
        return match names.is_empty() {
            true => Ok(names),
            false => Err(Error::arguments("The privileges option should not be set for object_type group")),
        };
    }
    if names.is_empty() || names.iter().any(|name| name != "ALL" && !known.contains(&name.as_str())) {
        let told = texts.join(",");
        return Err(Error::arguments(format!("Invalid privilege(s): {told} provided for object {kind_name}"))
            .hint(format!("there are ALL, {}", known.join(", "))));
    }
    Ok(names)
}

fn row(kind: PostgresObjectKind) -> &'static (&'static str, PostgresObjectKind, &'static str, &'static [&'static str]) {
    KINDS.iter().find(|(_, known, ..)| *known == kind).unwrap_or(&KINDS[0])
}

impl PostgresObject {
    pub fn new(name: &str, kind: &str, schema: &str) -> Result<PostgresObject> {
        let kind = kind.to_lowercase();
        let found = KINDS.iter().find(|(known, ..)| *known == kind);
        let (_, kind, ..) = found.ok_or_else(|| {
            let known: Vec<&str> = KINDS.iter().map(|(name, ..)| *name).collect();
            Error::arguments(format!("Invalid object_type: {kind} provided"))
                .hint(format!("there are {}", known.join(", ")))
        })?;
        Ok(PostgresObject { kind: *kind, name: name.to_owned(), schema: schema.to_owned() })
    }

    /// Whether all tables, sequences or functions of a schema are requested.
    pub fn is_all(&self) -> bool {
        matches!(self.kind, PostgresObjectKind::Table | PostgresObjectKind::Sequence | PostgresObjectKind::Function)
            && self.name.eq_ignore_ascii_case("all")
    }

    /// A subquery with the columns `name`, `owner` and `acl`.
    fn source(&self) -> String {
        let (name, schema) = (literal(&self.name), literal(&self.schema));
        let letter = row(self.kind).2;
        let acl = |acl: &str, owner: &str| format!("COALESCE({acl}, pg_catalog.acldefault('{letter}', {owner}))");
        let relation = |kinds: &str| {
            let only = if self.is_all() { String::new() } else { format!(" AND c.relname = {name}") };
            format!(
                "SELECT c.oid::text AS name, c.relowner AS owner, {} AS acl FROM pg_catalog.pg_class c \
                 JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                 WHERE n.nspname = {schema} AND c.relkind IN ({kinds}){only}",
                acl("c.relacl", "c.relowner")
            )
        };
        let plain = |table: &str, prefix: &str, owner: &str| {
            format!(
                "SELECT t.oid::text AS name, t.{owner} AS owner, {} AS acl FROM pg_catalog.{table} t \
                 WHERE t.{prefix}name = {name}",
                acl(&format!("t.{prefix}acl"), &format!("t.{owner}"))
            )
        };
        match self.kind {
            PostgresObjectKind::Table => relation("'r', 'v', 'm', 'f', 'p'"),
            PostgresObjectKind::Sequence => relation("'S'"),
            PostgresObjectKind::Function => {
                let signature = "p.oid::pg_catalog.regprocedure::text";
                let whole = literal(&format!("{}.{}", self.schema, self.name));
                let only = match self.is_all() {
                    true => String::new(),
                    false => format!(" AND {signature} IN ({name}, {whole})"),
                };
                format!(
                    "SELECT {signature} AS name, p.proowner AS owner, {} AS acl FROM pg_catalog.pg_proc p \
                     JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = {schema}{only}",
                    acl("p.proacl", "p.proowner")
                )
            }
            PostgresObjectKind::Database => plain("pg_database", "dat", "datdba"),
            PostgresObjectKind::Language => plain("pg_language", "lan", "lanowner"),
            PostgresObjectKind::Schema => plain("pg_namespace", "nsp", "nspowner"),
            PostgresObjectKind::Tablespace => plain("pg_tablespace", "spc", "spcowner"),
            PostgresObjectKind::Group => String::new(),
        }
    }

    /// The access lists of the requested objects; empty if none exists.
    pub fn access(&self, machine: &dyn Probe, server: &PostgresServer) -> Result<Vec<AccessList>> {
        let query = format!(
            "SELECT o.name, w.rolname AS owner, x.grantee = 0 AS everybody, g.rolname AS grantee, \
             x.privilege_type AS privilege, x.is_grantable AS passed FROM ({}) o \
             JOIN pg_catalog.pg_roles w ON w.oid = o.owner \
             LEFT JOIN LATERAL pg_catalog.aclexplode(o.acl) x ON true \
             LEFT JOIN pg_catalog.pg_roles g ON g.oid = x.grantee",
            self.source()
        );
        let mut found: BTreeMap<String, AccessList> = BTreeMap::new();
        for row in server.ask(machine, &query)? {
            let access = found.entry(text(&row, "name").to_owned()).or_default();
            access.owner = text(&row, "owner").to_owned();
            let grantee = if text(&row, "everybody") == "t" { "public" } else { text(&row, "grantee") };
            if !text(&row, "privilege").is_empty() {
                let held = access.held.entry(grantee.to_owned()).or_default();
                *held.entry(text(&row, "privilege").to_owned()).or_default() |= text(&row, "passed") == "t";
            }
        }
        Ok(found.into_values().collect())
    }

    /// The members of a group, and whether they may add others.
    pub fn members(&self, machine: &dyn Probe, server: &PostgresServer) -> Result<BTreeMap<String, bool>> {
        let rows = server.ask(
            machine,
            &format!(
                "SELECT r.rolname AS name, m.admin_option AS admin FROM pg_catalog.pg_auth_members m \
                 JOIN pg_catalog.pg_roles r ON m.member = r.oid \
                 JOIN pg_catalog.pg_roles g ON m.roleid = g.oid WHERE g.rolname = {}",
                literal(&self.name)
            ),
        )?;
        Ok(rows.iter().map(|row| (text(row, "name").to_owned(), text(row, "admin") == "t")).collect())
    }

    /// The meaning of `ALL` on this server.
    fn all(&self, machine: &dyn Probe, server: &PostgresServer) -> Result<BTreeSet<String>> {
        let rows = server.ask(
            machine,
            &format!(
                "SELECT DISTINCT x.privilege_type AS privilege \
                 FROM pg_catalog.aclexplode(pg_catalog.acldefault('{}', 10)) x WHERE x.grantee = 10",
                row(self.kind).2
            ),
        )?;
        Ok(rows.iter().map(|row| text(row, "privilege").to_owned()).collect())
    }

    /// Whether a role has privileges on every requested object. The owner has all.
    pub fn allows(
        &self,
        machine: &dyn Probe,
        server: &PostgresServer,
        role: &str,
        wanted: &BTreeSet<String>,
        passed: bool,
    ) -> Result<bool> {
        if self.kind == PostgresObjectKind::Group {
            let members = self.members(machine, server)?;
            return Ok(members.get(role).is_some_and(|admin| *admin || !passed));
        }
        let wanted = match wanted.contains("ALL") {
            true => self.all(machine, server)?,
            false => wanted.clone(),
        };
        let role = if is_public(role) { "public" } else { role };
        let access = self.access(machine, server)?;
        let one = |access: &AccessList| {
            access.owner == role
                || access.held.get(role).is_some_and(|held| {
                    wanted.iter().all(|name| held.get(name).is_some_and(|grantable| *grantable || !passed))
                })
        };
        Ok((self.is_all() || !access.is_empty()) && access.iter().all(one))
    }

    /// Whether a role other than the owner has any of the privileges on any of the objects.
    pub fn allows_some(
        &self,
        machine: &dyn Probe,
        server: &PostgresServer,
        role: &str,
        wanted: &BTreeSet<String>,
    ) -> Result<bool> {
        if self.kind == PostgresObjectKind::Group {
            return Ok(self.members(machine, server)?.contains_key(role));
        }
        let role = if is_public(role) { "public" } else { role };
        let some = |access: &AccessList| {
            access.held.get(role).is_some_and(|held| {
                access.owner != role && held.keys().any(|name| wanted.contains("ALL") || wanted.contains(name))
            })
        };
        Ok(self.access(machine, server)?.iter().any(some))
    }

    fn sql(&self) -> String {
        let kind = row(self.kind).0.to_uppercase();
        if self.is_all() {
            return format!("ALL {kind}S IN SCHEMA {}", identifier(&self.schema));
        }
        match self.kind {
            // A signature contains types, which are not part of the name.
            PostgresObjectKind::Function => {
                let bare = self.name.strip_prefix(&format!("{}.", self.schema)).unwrap_or(&self.name);
                let (name, types) = bare.split_once('(').unwrap_or((bare, ")"));
                format!("{kind} {}.{}({types}", identifier(&self.schema), identifier(name.trim_matches('"')))
            }
            PostgresObjectKind::Table | PostgresObjectKind::Sequence => {
                format!("{kind} {}.{}", identifier(&self.schema), identifier(&self.name))
            }
            _ => format!("{kind} {}", identifier(&self.name)),
        }
    }

    pub fn grant(&self, role: &str, privileges: &BTreeSet<String>, passed: bool) -> Result<String> {
        self.sound()?;
        let role = grantee(role);
        if self.kind == PostgresObjectKind::Group {
            let option = if passed { " WITH ADMIN OPTION" } else { "" };
            return Ok(format!("GRANT {} TO {role}{option}", identifier(&self.name)));
        }
        let option = if passed { " WITH GRANT OPTION" } else { "" };
        Ok(format!("GRANT {} ON {} TO {role}{option}", listed(privileges), self.sql()))
    }

    pub fn revoke(&self, role: &str, privileges: &BTreeSet<String>) -> Result<String> {
        self.sound()?;
        let role = grantee(role);
        Ok(match self.kind {
            PostgresObjectKind::Group => format!("REVOKE {} FROM {role}", identifier(&self.name)),
            _ => format!("REVOKE {} ON {} FROM {role}", listed(privileges), self.sql()),
        })
    }

    /// Checks the types of a function, which are used in SQL unquoted.
    fn sound(&self) -> Result<()> {
        let types = self.name.split_once('(').map_or("", |(_, types)| types);
        let fine = |letter: char| letter.is_alphanumeric() || " _,[].\")".contains(letter);
        match self.kind != PostgresObjectKind::Function || (types.chars().all(fine) && types.matches(')').count() <= 1)
        {
            true => Ok(()),
            false => Err(Error::arguments(format!("'{}' is no signature of a function", self.name))),
        }
    }
}

fn listed(privileges: &BTreeSet<String>) -> String {
    privileges.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn is_public(role: &str) -> bool {
    role.eq_ignore_ascii_case("public")
}

fn grantee(role: &str) -> String {
    if is_public(role) { "PUBLIC".to_owned() } else { identifier(role) }
}

/// The access in Salt's form: role, privilege, whether it may be granted to others.
pub fn told(access: &[AccessList]) -> Map {
    let mut told = Map::new();
    for (role, held) in access.iter().flat_map(|access| &access.held) {
        let held: Map = held.iter().map(|(name, passed)| (name.as_str().into(), Value::Bool(*passed))).collect();
        told.insert(role.as_str(), held);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_checked_and_quoted() {
        let object = |name: &str, kind: &str| PostgresObject::new(name, kind, "pub\"lic").expect("it is an object");
        let some = BTreeSet::from(["SELECT".to_owned(), "INSERT".to_owned()]);
        let table = object("or\"ders", "Table").grant("anna", &some, true).expect("it can be said");
        assert_eq!(table, r#"GRANT INSERT, SELECT ON TABLE "pub""lic"."or""ders" TO "anna" WITH GRANT OPTION"#);
        let all = object("ALL", "sequence").revoke("public", &some).expect("it can be said");
        assert_eq!(all, r#"REVOKE INSERT, SELECT ON ALL SEQUENCES IN SCHEMA "pub""lic" FROM PUBLIC"#);
        let function = object("add(integer, text[])", "function").grant("a", &some, false).expect("it can be said");
        assert_eq!(function, r#"GRANT INSERT, SELECT ON FUNCTION "pub""lic"."add"(integer, text[]) TO "a""#);
        assert!(object("add(int) TO b; --", "function").grant("a", &some, false).is_err());
        assert_eq!(
            object("team", "group").grant("a", &some, true).ok().as_deref(),
            Some(r#"GRANT "team" TO "a" WITH ADMIN OPTION"#)
        );
        assert!(PostgresObject::new("x", "column", "public").is_err());
    }

    #[test]
    fn wishes_fit_their_object() {
        let told = |text: &str, kind| wanted(&Value::from(text), kind).map_err(|error| error.to_string());
        assert_eq!(
            told("select , Insert", PostgresObjectKind::Table).map(|names| listed(&names)).as_deref(),
            Ok("INSERT, SELECT")
        );
        assert!(told("ALL", PostgresObjectKind::Schema).is_ok());
        let odd = told("SELECT; DROP", PostgresObjectKind::Table).expect_err("it is odd");
        assert_eq!(odd, "Invalid privilege(s): SELECT; DROP provided for object table");
        assert!(told("CONNECT", PostgresObjectKind::Table).is_err() && told("", PostgresObjectKind::Table).is_err());
        assert!(
            wanted(&Value::Null, PostgresObjectKind::Group).is_ok() && told("ALL", PostgresObjectKind::Group).is_err()
        );
    }
}
