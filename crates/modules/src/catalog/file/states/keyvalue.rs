//! `file.keyvalue`: sets values in a file of `key=value` lines.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::edit::FileText;
use super::{Action, Decision, Flag, Plan, State, Step, Touches, Verdict, look, writes};
use crate::Result;
use crate::machine::Probe;

/// Makes sure that keys have values, in a file with one of them on each line.
///
/// ```yaml
/// sshd only with keys:
///   file.keyvalue:
///     - name: /etc/ssh/sshd_config
///     - key_values:
///         PermitRootLogin: 'no'
///         PasswordAuthentication: 'no'
///     - separator: ' '
///     - uncomment: '# '
///     - append_if_not_found: True
/// ```
#[state("file.keyvalue", strict)]
pub struct Keyvalue {
    /// The file's path.
    name: String,
    /// The key, if it is one.
    key: Value,
    /// Its value.
    value: Value,
    /// Keys and their values, if they are several.
    key_values: Value,
    /// What stands between key and value.
    #[default("=")]
    separator: String,
    /// Add what isn't there at the end.
    append_if_not_found: Flag,
    /// Add what isn't there at the start.
    prepend_if_not_found: Flag,
    /// Accepted for compatibility with Salt, which doesn't use it either.
    #[allow(dead_code, reason = "Salt doesn't use it either")]
    search_only: Flag,
    /// Show what differs; switch it off for secrets.
    #[default(true)]
    show_changes: Flag,
    /// No file is no failure.
    ignore_if_missing: Flag,
    /// Change at most so many lines of a key; -1 for all.
    #[default(1)]
    count: i64,
    /// The signs before a line that is commented out; such lines count, and lose them.
    uncomment: Option<String>,
    /// Keys in capitals are the same.
    key_ignore_case: Flag,
    /// Values in capitals are the same.
    value_ignore_case: Flag,
    /// Create the file if it doesn't exist.
    create_if_missing: Flag,
    /// Remove lines with other keys.
    prune: Flag,
}

impl State for Keyvalue {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(self.decide(machine).unwrap_or_else(Decision::Settled))
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}

/// The edited file.
#[derive(Default)]
struct Edited {
    lines: Vec<String>,
    /// The diff, line by line.
    diff: Vec<String>,
    changed: usize,
    pruned: Vec<String>,
}

impl Keyvalue {
    fn decide(&self, machine: &dyn Probe) -> Result<Decision, Verdict> {
        let name = look::name(machine, &self.name);
        if name.is_empty() {
            return Err(Verdict::bad("Must provide name to file.keyvalue"));
        }
        let wanted = self.wanted()?;
        let there = look::exists(machine, &name);
        let unreadable =
            Verdict { result: Some(self.ignore_if_missing.0), ..Verdict::good(format!("unable to open {name}")) };
        if !there && !self.create_if_missing {
            return Err(unreadable);
        }
        let text = match there {
            true => FileText::read(machine, &name).map_err(|_| unreadable)?,
            false => FileText::empty(&name),
        };
        let edited = self.edit(&text.old, &wanted, self.append_if_not_found.0 || !there);
        let (changed, deleted) = (edited.changed, edited.pruned.len());
        if changed == 0 && deleted == 0 {
            return Err(Verdict::good("").output("path", name));
        }
        let mut done = Verdict::good(format!("Changed {changed}, deleted {deleted} lines"));
        let mut would =
            Verdict::would(format!("File {name} is set to be changed ({changed} lines modified, {deleted} deleted)"));
        if self.show_changes.0 {
            done.changes.insert("diff", edited.diff.concat());
            would.changes.insert("diff", edited.diff.concat());
            would.comment.push_str(&format!("\nPredicted diff:\n\r\t\t{}", edited.diff.join("\r\t\t")));
        }
        let write = Action::Write {
            path: text.path.clone(),
            content: text.bytes(&edited.lines.concat()),
            mode: None,
            parents: false,
        };
        Ok(Decision::Change(Plan::brief(done.output("path", name)).then(write), would))
    }

    fn wanted(&self) -> Result<Map, Verdict> {
        if !self.key.is_null() && !self.value.is_null() {
            if self.key_values.as_map().is_some() {
                return Err(Verdict::bad("file.keyvalue can not combine key_values with key and value"));
            }
            return Ok(Map::from_iter([(self.key.to_string().into(), self.value.clone())]));
        }
        match self.key_values.as_map() {
            Some(map) if !map.is_empty() => Ok(map.clone()),
            _ => {
                let what = if self.key_values.truth() { "is not a dictionary" } else { "is empty" };
                Err(Verdict::bad(format!("file.keyvalue key and value not supplied and key_values {what}")))
            }
        }
    }

    fn edit(&self, old: &str, wanted: &Map, append: bool) -> Edited {
        let mut edited = Edited::default();
        let mut left: Vec<i64> = vec![self.count; wanted.len()];
        for line in old.split_inclusive('\n') {
            let bare = match &self.uncomment {
                Some(signs) => line.trim_start_matches(|letter| signs.contains(letter)),
                None => line.trim_start(),
            };
            let tested = if self.key_ignore_case.0 { bare.to_lowercase() } else { bare.to_owned() };
            let begins = |key: &Value| tested.starts_with(&self.cased_key(key));
            if self.prune.0 && !wanted.keys().any(begins) {
                edited.pruned.push(line.to_owned());
                continue;
            }
            let new = self.line(line, bare, wanted, &mut left, &mut edited);
            edited.lines.push(new);
        }
        self.add_missing(wanted, &left, append, &mut edited);
        if self.prune.0 {
            for line in edited.pruned.clone() {
                let place = edited.diff.len().min(1);
                edited.diff.insert(place, format!("- {line}"));
            }
        }
        edited
    }

    fn cased_key(&self, key: &Value) -> String {
        if self.key_ignore_case.0 { key.to_string().to_lowercase() } else { key.to_string() }
    }

    /// The requested form of a line.
    fn line(&self, line: &str, bare: &str, wanted: &Map, left: &mut [i64], edited: &mut Edited) -> String {
        let uncommented = bare.len() < line.len();
        let mut line = line.to_owned();
        let Some((key, found)) = bare.split_once(&self.separator) else { return line };
        for ((name, value), left) in wanted.iter().zip(left) {
            let same = if self.key_ignore_case.0 {
                key.to_lowercase() == self.cased_key(name)
            } else {
                key == name.to_string()
            };
            if !same {
                continue;
            }
            let (mut found, mut desired) = (found.trim().to_owned(), value.to_string().trim().to_owned());
            if self.value_ignore_case.0 {
                (found, desired) = (found.to_lowercase(), desired.to_lowercase());
            }
            let mut right = found == desired;
            let mut needs = false;
            if uncommented {
                needs = *left > 0;
                right |= *left <= 0;
            } else if *left == 0 {
                needs = true;
            }
            if !right || needs {
                edited.diff.push(format!("- {line}"));
                line = String::new();
                if *left != 0 {
                    line = format!("{key}{}{value}\n", self.separator);
                    edited.diff.push(match value {
                        Value::String(_) => format!("+ {line}"),
                        other => format!("+ {} (from {} type)\n", line.trim_end(), python_type(other)),
                    });
                }
                edited.changed += 1;
            }
            if *left > 0 {
                *left -= 1;
            }
        }
        line
    }

    fn add_missing(&self, wanted: &Map, left: &[i64], append: bool, edited: &mut Edited) {
        let missing = wanted.iter().zip(left).filter(|(_, left)| **left > 0).map(|(pair, _)| pair);
        let lines: Vec<String> = missing.map(|(key, value)| format!("{key}{}{value}\n", self.separator)).collect();
        if lines.is_empty() {
            return;
        }
        if append {
            edited.changed += lines.len();
            edited.diff.push("- <EOF>\n".into());
            edited.diff.extend(lines.iter().map(|line| format!("+ {line}")));
            edited.diff.push("+ <EOF>\n".into());
            edited.lines.extend(lines);
        } else if self.prepend_if_not_found.0 {
            edited.changed += lines.len();
            edited.diff.insert(0, "  <SOF>\n".into());
            for line in lines {
                edited.diff.insert(1, format!("+ {line}"));
                edited.lines.insert(0, line);
            }
        }
    }
}

fn python_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::BigInt(_) => "int",
        Value::Float(_) => "float",
        Value::String(_) => "str",
        Value::Bytes(_) => "bytes",
        Value::List(_) => "list",
        Value::Map(_) => "dict",
    }
}
