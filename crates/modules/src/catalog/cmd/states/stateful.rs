//! Commands that report their changes themselves (`stateful`).

use rocksalt_core::{Map, Value, json};
use serde::{Deserialize, Serialize};

use super::Verdict;
use crate::text::words;
use crate::{Error, Result};

/// The argument `stateful`.
#[derive(Serialize, Deserialize)]
pub struct Stateful {
    pub on: bool,
    /// The command that a dry run runs instead.
    pub test_name: Option<String>,
}

impl Stateful {
    pub fn of(given: &Value) -> Stateful {
        let Value::List(entries) = given else {
            return Stateful { on: *given == Value::Bool(true), test_name: None };
        };
        let first = entries.first().and_then(Value::as_map);
        let test_name = first.and_then(|first| first.get("test_name")).map(ToString::to_string);
        Stateful { on: !entries.is_empty(), test_name }
    }
}

/// Parses the verdict from a command's output: JSON, or a last line of `name=value` pairs.
pub fn reinterpret(mut verdict: Verdict) -> Result<Verdict> {
    let command = std::mem::take(&mut verdict.changes);
    verdict.comment.clear();
    let text = |key: &str| command.get(key).map(ToString::to_string).unwrap_or_default();
    let out = text("stdout");
    if out.is_empty() {
        verdict.comment = text("stderr");
        return Ok(verdict);
    }
    let last_line = out.trim_end().rfind('\n');
    let (mut data, is_json) = match json::parse(&out) {
        Ok(Value::Map(data)) => (data, true),
        Ok(_) => return Ok(failed(verdict, "script JSON output must be a JSON object (e.g., {})!")),
        Err(_) => match pairs(last_line.map_or(out.as_str(), |at| &out[at + 1..])) {
            Some(data) => (data, false),
            None => {
                let text = "Failed parsing script output! Stdout must be JSON or a line of name=value pairs.";
                return Ok(failed(verdict, text).changes(command));
            }
        },
    };
    let changed = is_true(data.get("changed"))?;
    if let Some(comment) = data.remove("comment") {
        verdict.comment = comment.to_string();
    }
    if changed {
        for (key, value) in command {
            if data.get_value(&key).is_none() {
                data.insert(key, value);
            }
        }
        let shown = match is_json {
            true => String::new(),
            // Without the last line; from a single line Salt cuts off the last character.
            false => {
                let said = data.get("stdout").map(ToString::to_string).unwrap_or_default();
                let letters = said.chars().count();
                let keep = last_line.map_or(letters.saturating_sub(1), |at| out[..at].chars().count());
                said.chars().take(keep).collect()
            }
        };
        data.insert("stdout", shown);
        verdict.changes = data;
    }
    Ok(verdict)
}

fn failed(verdict: Verdict, comment: &str) -> Verdict {
    Verdict { result: Some(false), comment: comment.into(), ..verdict }
}

fn pairs(line: &str) -> Option<Map> {
    let mut data = Map::new();
    for word in words::split(line).ok()? {
        let (key, value) = word.split_once('=').filter(|(_, value)| !value.contains('='))?;
        data.insert(key, value);
    }
    Some(data)
}

fn is_true(value: Option<&Value>) -> Result<bool> {
    let text = value.map_or_else(|| "no".to_owned(), |value| value.to_string().to_lowercase());
    match text.as_str() {
        "true" | "yes" | "1" => Ok(true),
        "false" | "no" | "0" => Ok(false),
        _ => {
            let value = value.map(ToString::to_string).unwrap_or_default();
            Err(Error::failed(format!("Failed parsing boolean value: {value}")))
        }
    }
}
