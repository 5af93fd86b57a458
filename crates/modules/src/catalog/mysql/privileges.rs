//! Privileges: the requested ones, the output of `SHOW GRANTS`, and whether one covers the other.

use std::collections::BTreeSet;

use super::quote;
use crate::{Error, Result};

/// `SELECT`, or `SELECT` of one column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Privilege {
    pub name: String,
    pub column: Option<String>,
}

/// The object of privileges. The names are as in SQL, without quotes; `*` means all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MysqlObject {
    /// `PROCEDURE` or `FUNCTION`; empty for tables.
    pub kind: &'static str,
    /// With escaped wildcards if it is a whole database.
    pub database: String,
    pub table: String,
}

/// A line of `SHOW GRANTS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub privileges: BTreeSet<Privilege>,
    pub object: MysqlObject,
    pub user: String,
    pub host: String,
    pub grant_option: bool,
}

const ALL: &str = "ALL PRIVILEGES";

/// The privileges that MySQL 8 lists separately if all were granted on everything.
const STATIC: &str = "ALTER,ALTER ROUTINE,CREATE,CREATE ROLE,CREATE ROUTINE,CREATE TABLESPACE,CREATE TEMPORARY TABLES,\
CREATE USER,CREATE VIEW,DELETE,DROP,DROP ROLE,EVENT,EXECUTE,FILE,INDEX,INSERT,LOCK TABLES,PROCESS,REFERENCES,RELOAD,\
REPLICATION CLIENT,REPLICATION SLAVE,SELECT,SHOW DATABASES,SHOW VIEW,SHUTDOWN,SUPER,TRIGGER,UPDATE";

/// Parses privileges as users write them: `select, insert (a, b), all`.
pub fn wanted(text: &str) -> Result<BTreeSet<Privilege>> {
    let mut tokens = tokens(text).into_iter().peekable();
    let mut privileges = BTreeSet::new();
    while tokens.peek().is_some() {
        let mut words = Vec::new();
        while let Some(Token::Word(word)) = tokens.next_if(|token| matches!(token, Token::Word(_))) {
            words.push(word.to_uppercase());
        }
        let name = words.join(" ");
        let sound = |word: &String| {
            word.chars().all(|letter| letter.is_ascii_alphabetic() || letter == '_')
                && !["ON", "TO", "WITH", "IDENTIFIED", "REQUIRE", "FROM"].contains(&word.as_str())
        };
        if words.is_empty() || !words.iter().all(sound) {
            return Err(Error::arguments(format!("Invalid grant : '{text}'")));
        }
        let name = resolved(if name == "ALL" { ALL } else { &name });
        if tokens.next_if_eq(&Token::Sign('(')).is_none() {
            privileges.insert(Privilege { name: name.clone(), column: None });
        } else {
            loop {
                match (tokens.next(), tokens.next()) {
                    (Some(Token::Word(column) | Token::Quoted(column)), Some(Token::Sign(end @ (',' | ')')))) => {
                        privileges.insert(Privilege { name: name.clone(), column: Some(column) });
                        if end == ')' {
                            break;
                        }
                    }
                    _ => return Err(Error::arguments(format!("Invalid grant : '{text}'"))),
                }
            }
        }
        match tokens.next() {
            None | Some(Token::Sign(',')) => {}
            Some(_) => return Err(Error::arguments(format!("Invalid grant : '{text}'"))),
        }
    }
    match privileges.is_empty() {
        true => Err(Error::arguments("grant: which privileges?").hint("for example `grant: select, insert`")),
        false => Ok(privileges),
    }
}

/// Resolves alternative names of a privilege, as MariaDB prints them.
fn resolved(name: &str) -> String {
    match name {
        "REPLICATION REPLICA" => "REPLICATION SLAVE",
        "REPLICA MONITOR" => "SLAVE MONITOR",
        other => other,
    }
    .to_owned()
}

impl MysqlObject {
    /// Parses `db.*`, `*.*`, `db.table`. Without `escape`, the names may be quoted and contain wildcards, and
    /// `PROCEDURE` or `FUNCTION` may precede them.
    pub fn wanted(text: &str, escape: bool) -> Result<MysqlObject> {
        let odd = || {
            Error::arguments(format!("database: '{text}' is no level of privileges"))
                .hint("write `db.*`, `db.table` or `*.*`")
        };
        if escape {
            let (database, table) =
                text.rsplit_once('.').filter(|(database, _)| !database.is_empty()).ok_or_else(odd)?;
            let whole = table == "*" && database != "*";
            let database = if whole { unquoted(&quote::pattern(database)) } else { database.to_owned() };
            return Ok(MysqlObject { kind: "", database, table: table.to_owned() });
        }
        let found = tokens(text);
        let (kind, rest) = match found.as_slice() {
            [Token::Word(word), rest @ ..] if rest.len() == 3 => match word.to_uppercase().as_str() {
                "PROCEDURE" => ("PROCEDURE", rest),
                "FUNCTION" => ("FUNCTION", rest),
                "TABLE" => ("", rest),
                _ => return Err(odd()),
            },
            whole => ("", whole),
        };
        let name = |token: &Token| match token {
            Token::Word(name) | Token::Quoted(name) => Ok(name.clone()),
            Token::Sign('*') => Ok("*".to_owned()),
            Token::Sign(_) => Err(odd()),
        };
        match rest {
            [database, Token::Sign('.'), table] => {
                Ok(MysqlObject { kind, database: name(database)?, table: name(table)? })
            }
            _ => Err(odd()),
        }
    }

    /// The object in SQL.
    pub fn sql(&self) -> String {
        let name = |name: &str| if name == "*" { "*".to_owned() } else { quote::identifier(name) };
        let kind = if self.kind.is_empty() { String::new() } else { format!("{} ", self.kind) };
        format!("{kind}{}.{}", name(&self.database), name(&self.table))
    }

    fn is(&self, other: &MysqlObject) -> bool {
        let plain = |name: &str| name.replace('\\', "");
        self.kind == other.kind && self.table == other.table && plain(&self.database) == plain(&other.database)
    }
}

/// The privileges in SQL: `SELECT, INSERT (`a`, `b`)`.
pub fn sql<'a>(privileges: impl IntoIterator<Item = &'a Privilege>) -> String {
    let one = |privilege: &Privilege| match &privilege.column {
        Some(column) => format!("{} ({})", privilege.name, quote::identifier(column)),
        None => privilege.name.clone(),
    };
    privileges.into_iter().map(one).collect::<Vec<_>>().join(", ")
}

impl Grant {
    /// Parses a line; `None` if it doesn't grant privileges: a role, a proxy.
    pub fn parse(line: &str) -> Option<Grant> {
        let rest = line.strip_prefix("GRANT ")?;
        let found = tokens(rest);
        let on = found.iter().position(|token| matches!(token, Token::Word(word) if word == "ON"))?;
        let to = on + found[on..].iter().position(|token| matches!(token, Token::Word(word) if word == "TO"))?;
        let privileges = wanted(&rejoined(&found[..on])).ok()?;
        let object = MysqlObject::wanted(&rejoined(&found[on + 1..to]), false).ok()?;
        let name = |token: &Token| match token {
            Token::Word(name) | Token::Quoted(name) => Some(name.clone()),
            Token::Sign(_) => None,
        };
        let [user, Token::Sign('@'), host, rest @ ..] = &found[to + 1..] else { return None };
        let words: Vec<&str> = rest
            .iter()
            .filter_map(|token| if let Token::Word(word) = token { Some(word.as_str()) } else { None })
            .collect();
        let grant_option = words.windows(3).any(|words| words == ["WITH", "GRANT", "OPTION"]);
        let mut privileges = privileges;
        privileges.remove(&Privilege { name: "USAGE".into(), column: None });
        Some(Grant { privileges, object, user: name(user)?, host: name(host)?, grant_option })
    }
}

/// The privileges of a user on an object.
pub struct HeldPrivileges {
    privileges: BTreeSet<Privilege>,
    pub grant_option: bool,
}

impl HeldPrivileges {
    pub fn on(object: &MysqlObject, grants: &[Grant]) -> HeldPrivileges {
        let mut held = HeldPrivileges { privileges: BTreeSet::new(), grant_option: false };
        for grant in grants.iter().filter(|grant| grant.object.is(object)) {
            held.privileges.extend(grant.privileges.iter().cloned());
            held.grant_option |= grant.grant_option;
        }
        let names: BTreeSet<&str> = held.privileges.iter().map(|privilege| privilege.name.as_str()).collect();
        if STATIC.split(',').all(|name| names.contains(name)) {
            held.privileges.insert(Privilege { name: ALL.into(), column: None });
        }
        held
    }

    /// MariaDB since 10.5.2 lists `REPLICATION CLIENT` as `BINLOG MONITOR`.
    fn has(&self, wanted: &Privilege) -> bool {
        let named =
            |name: &str, column: Option<String>| self.privileges.contains(&Privilege { name: name.into(), column });
        wanted.name == "USAGE"
            || (wanted.name == "GRANT OPTION" && self.grant_option)
            || (wanted.name != "GRANT OPTION" && named(ALL, None))
            || named(&wanted.name, None)
            || (wanted.column.is_some() && named(&wanted.name, wanted.column.clone()))
            || (wanted.name == "REPLICATION CLIENT" && named("BINLOG MONITOR", None))
    }

    pub fn covers(&self, wanted: &BTreeSet<Privilege>) -> bool {
        wanted.iter().all(|privilege| self.has(privilege))
    }

    /// Whether the user has exactly these privileges.
    pub fn are(&self, wanted: &BTreeSet<Privilege>) -> bool {
        let held = HeldPrivileges { privileges: wanted.clone(), grant_option: self.grant_option };
        self.covers(wanted) && held.covers(&self.privileges)
    }

    /// The requested privileges that the user has; all of them if all are requested.
    pub fn of(&self, wanted: &BTreeSet<Privilege>) -> BTreeSet<Privilege> {
        if wanted.iter().any(|privilege| privilege.name == ALL) {
            return match self.privileges.is_empty() {
                true => BTreeSet::new(),
                false => wanted.clone(),
            };
        }
        wanted.iter().filter(|privilege| privilege.name != "USAGE" && self.has(privilege)).cloned().collect()
    }

    pub fn all(&self) -> &BTreeSet<Privilege> {
        &self.privileges
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    Word(String),
    /// A text in backticks or quotes, without those.
    Quoted(String),
    Sign(char),
}

/// Splits a statement into tokens as the server does.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            letter if letter.is_whitespace() => {}
            '`' | '\'' | '"' => {
                let mut quoted = String::new();
                while let Some(next) = letters.next() {
                    match next {
                        // A doubled quote is part of the text.
                        next if next == letter && letters.next_if_eq(&letter).is_none() => break,
                        '\\' if letter != '`' => quoted.extend(letters.next()),
                        next => quoted.push(next),
                    }
                }
                tokens.push(Token::Quoted(quoted));
            }
            ',' | '(' | ')' | '.' | '@' | '*' | ';' => tokens.push(Token::Sign(letter)),
            letter => {
                let mut word = String::from(letter);
                while let Some(next) = letters.next_if(|next| !next.is_whitespace() && !"`'\",().@*;".contains(*next)) {
                    word.push(next);
                }
                tokens.push(Token::Word(word));
            }
        }
    }
    tokens
}

fn rejoined(tokens: &[Token]) -> String {
    let mut text = String::new();
    for token in tokens {
        match token {
            Token::Word(word) => text += &format!(" {word}"),
            Token::Quoted(name) => text += &quote::identifier(name),
            Token::Sign(sign) => text.push(*sign),
        }
    }
    text
}

fn unquoted(identifier: &str) -> String {
    match tokens(identifier).into_iter().next() {
        Some(Token::Quoted(name)) => name,
        _ => identifier.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(lines: &[&str]) -> Vec<Grant> {
        lines.iter().filter_map(|line| Grant::parse(line)).collect()
    }

    #[test]
    fn wishes_are_checked_before_they_become_sql() {
        let told = |text: &str| wanted(text).map(|wanted| sql(&wanted)).map_err(|error| error.to_string());
        assert_eq!(told("all").as_deref(), Ok("ALL PRIVILEGES"));
        assert_eq!(told("select,Insert , lock tables").as_deref(), Ok("INSERT, LOCK TABLES, SELECT"));
        assert_eq!(told("SELECT (a, `b``c`), UPDATE").as_deref(), Ok("SELECT (`a`), SELECT (`b``c`), UPDATE"));
        for hostile in ["", "SELECT ON mysql.* TO x", "SELECT; DROP", "SELECT (a", "SELECT 'x'", "SELECT(a,)", "all on"]
        {
            assert!(wanted(hostile).is_err(), "{hostile}");
        }
    }

    #[test]
    fn objects_keep_their_wildcards_escaped() {
        let told = |text: &str, escape| MysqlObject::wanted(text, escape).map(|object| object.sql()).ok();
        assert_eq!(told("my_db.*", true).as_deref(), Some(r"`my\_db`.*"));
        assert_eq!(told("my_db.my_table", true).as_deref(), Some("`my_db`.`my_table`"));
        assert_eq!(told("*.*", true).as_deref(), Some("*.*"));
        assert_eq!(told("a`.b.*", true).as_deref(), Some("`a``.b`.*"));
        assert_eq!(told("`my_%`.*", false).as_deref(), Some("`my_%`.*"));
        assert_eq!(told("PROCEDURE `db`.`run`", false).as_deref(), Some("PROCEDURE `db`.`run`"));
        assert_eq!(told("db", true), None);
        assert_eq!(told("x.* TO y; --", false), None);
    }

    #[test]
    fn what_is_held_covers_what_is_wished() {
        let held = grants(&[
            "GRANT USAGE ON *.* TO `al`@`localhost` IDENTIFIED BY PASSWORD '*ON TO'",
            r"GRANT SELECT, INSERT (a, b) ON `my\_db`.* TO `al`@`localhost` WITH GRANT OPTION",
            "GRANT ALL PRIVILEGES ON `other`.* TO `al`@`localhost`",
            "GRANT EXECUTE ON PROCEDURE `other`.`run` TO `al`@`localhost`",
            "GRANT `role` TO `al`@`localhost`",
            "GRANT PROXY ON ''@'%' TO 'root'@'localhost' WITH GRANT OPTION",
        ]);
        assert_eq!(held.len(), 4);
        let on =
            |database: &str| HeldPrivileges::on(&MysqlObject::wanted(database, true).expect("it is an object"), &held);
        let covers = |database: &str, text: &str| on(database).covers(&wanted(text).expect("it is a request"));
        assert!(covers("my_db.*", "select") && on("my_db.*").grant_option);
        assert!(covers("my_db.*", "insert (a)") && !covers("my_db.*", "insert") && !covers("my_db.*", "insert (c)"));
        assert!(covers("other.*", "select, drop") && covers("other.*", "all") && !on("other.*").grant_option);
        assert!(!covers("third.*", "select") && covers("third.*", "usage"));
        assert!(
            on("other.*").are(&wanted("ALL").expect("a request"))
                && !on("other.*").are(&wanted("SELECT").expect("a request"))
        );
        assert_eq!(sql(&on("my_db.*").of(&wanted("select, drop").expect("a request"))), "SELECT");
    }

    #[test]
    fn all_is_seen_where_mysql_8_lists_each() {
        let line = format!("GRANT {} ON *.* TO `root`@`localhost` WITH GRANT OPTION", STATIC.replace(',', ", "));
        let everything = MysqlObject::wanted("*.*", true).expect("it is an object");
        assert!(
            HeldPrivileges::on(&everything, &grants(&[&line])).covers(&wanted("all privileges").expect("a request"))
        );
    }
}
