//! [`Chunk`]: low data, one thing that is asked, as a request to the request service.

use rocksalt_core::job_options::{Batch, JobOptions};
use rocksalt_core::request::{ControllerCall, RunRequest};
use rocksalt_core::{JobId, Map, Value, yaml};

use super::reply::Refused;

/// What is meant for us and not for the function of a runner.
const OURS: [&str; 14] = [
    "arg",
    "client",
    "eauth",
    "full_return",
    "fun",
    "key",
    "kwarg",
    "mode",
    "password",
    "print_event",
    "timeout",
    "token",
    "user",
    "username",
];

pub struct Chunk {
    pub client: String,
    pub full_return: bool,
    /// Seconds.
    pub timeout: Option<f64>,
    fields: Map,
}

impl Chunk {
    pub fn read(fields: Map) -> Result<Chunk, Refused> {
        let client = match fields.get("client") {
            Some(Value::String(client)) => client.clone(),
            _ => return Err(Refused::bad("No client specified")),
        };
        let timeout = match fields.get("timeout") {
            None | Some(Value::Null) => None,
            Some(value) => match value.to_string().parse::<f64>() {
                Ok(seconds) if seconds >= 0.0 && seconds.is_finite() => Some(seconds),
                _ => return Err(Refused::bad("timeout must be a number of seconds")),
            },
        };
        let full_return = fields.get("full_return").is_some_and(truth);
        Ok(Chunk { client, full_return, timeout, fields })
    }

    /// The functions: more than one only where a list is given.
    pub fn functions(&self) -> Result<Vec<String>, Refused> {
        let one = |value: &Value| match value {
            Value::String(name) if !name.is_empty() => Ok(name.clone()),
            _ => Err(Refused::bad("fun must be the name of a function")),
        };
        match self.fields.get("fun") {
            None => Err(Refused::bad("fun is missing")),
            Some(Value::List(names)) if !names.is_empty() => names.iter().map(one).collect(),
            Some(value) => Ok(vec![one(value)?]),
        }
    }

    /// As a function on targets; the `number`th, if there is a list of them.
    pub fn run(&self, function: String, number: Option<usize>) -> Result<RunRequest, Refused> {
        let (args, kwargs) = self.arguments(number)?;
        let text = |key: &str| match self.fields.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::List(items)) => Some(items.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")),
            Some(other) => Some(other.to_string()),
        };
        let target = text("tgt").ok_or_else(|| Refused::bad("tgt is missing"))?;
        // The old name is still sent by pepper's library and by Halite.
        let kind = text("tgt_type").or_else(|| text("expr_form")).filter(|kind| !kind.is_empty());
        let kind = match (&kind, self.fields.get("tgt")) {
            (None, Some(Value::List(_))) => "list".into(),
            _ => kind.unwrap_or_else(|| "glob".into()),
        };
        let job = match text("jid").filter(|jid| !jid.is_empty()) {
            None => None,
            Some(jid) => Some(jid.parse::<JobId>().map_err(|error| Refused::bad(error.to_string()))?),
        };
        let batch = (self.client == "local_batch").then(|| text("batch").unwrap_or_else(|| "10%".into()));
        let batch = batch.map(|text| text.parse::<Batch>()).transpose();
        let options = JobOptions {
            batch: batch.map_err(|error| Refused::bad(error.to_string()))?,
            subset: (self.client == "local_subset").then(|| self.subset()).transpose()?,
            queue: kwargs.get("queue").is_some_and(truth),
            ..JobOptions::default()
        };
        let returners = text("ret").unwrap_or_default();
        Ok(RunRequest {
            function,
            args,
            kwargs,
            target,
            target_kind: kind,
            delimiter: text("delimiter").filter(|delimiter| !delimiter.is_empty()),
            options,
            metadata: self.fields.get("metadata").cloned().unwrap_or_default(),
            job,
            returners: returners.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            ..RunRequest::default()
        })
    }

    /// As a function of the controller: what isn't ours is a named argument.
    pub fn local(&self, background: bool) -> Result<ControllerCall, Refused> {
        let mut functions = self.functions()?;
        if functions.len() > 1 {
            return Err(Refused::bad("only functions of targets can be given as a list"));
        }
        let (args, mut kwargs) = self.arguments(None)?;
        for (key, value) in self.fields.iter() {
            match key.as_str() {
                Some(key) if OURS.contains(&key) || key.starts_with("__") => {}
                _ => {
                    kwargs.insert(key.clone(), plain(value.clone()));
                }
            }
        }
        Ok(ControllerCall { function: functions.remove(0), args, kwargs, background })
    }

    fn subset(&self) -> Result<usize, Refused> {
        match self.fields.get("subset").or_else(|| self.fields.get("sub")) {
            None | Some(Value::Null) => Ok(3),
            Some(value) => value.to_string().parse().map_err(|_| Refused::bad("subset must be a number")),
        }
    }

    /// By position and by name. Texts of the form `name=value` are named ones.
    fn arguments(&self, number: Option<usize>) -> Result<(Vec<Value>, Map), Refused> {
        let given = match (self.fields.get("arg"), number) {
            (None | Some(Value::Null), _) => Vec::new(),
            // For each function of a list its own.
            (Some(Value::List(lists)), Some(number)) => match lists.get(number) {
                Some(Value::List(items)) => items.clone(),
                None | Some(Value::Null) => Vec::new(),
                Some(other) => vec![other.clone()],
            },
            (Some(Value::List(items)), None) => items.clone(),
            (Some(other), _) => vec![other.clone()],
        };
        let (mut args, mut kwargs) = (Vec::new(), Map::new());
        for value in given {
            match value {
                Value::Map(map) if map.get("__kwarg__").is_some_and(truth) => {
                    kwargs.extend(map.into_iter().filter(|(key, _)| key.as_str() != Some("__kwarg__")));
                }
                Value::String(text) => match named(&text) {
                    Some((name, value)) => {
                        kwargs.insert(name, value);
                    }
                    None => args.push(Value::String(text)),
                },
                other => args.push(plain(other)),
            }
        }
        match self.fields.get("kwarg") {
            None | Some(Value::Null) => {}
            Some(Value::Map(map)) => kwargs.extend(map.iter().map(|(key, value)| (key.clone(), plain(value.clone())))),
            Some(Value::String(text)) if text.is_empty() => {}
            Some(_) => return Err(Refused::bad("kwarg must be a map")),
        }
        for key in kwargs.keys() {
            if key.as_str().is_none_or(|key| key.starts_with("__pub_")) {
                return Err(Refused::bad(format!("'{key}' is no name for an argument")));
            }
        }
        Ok((args, kwargs))
    }
}

/// `name=value`, the value as YAML. The name is a plain word, and `==` is a comparison.
fn named(text: &str) -> Option<(&str, Value)> {
    let (name, value) = text.split_once('=')?;
    let mut letters = name.chars();
    let starts = letters.next().is_some_and(|c| c == '_' || c.is_alphabetic());
    let goes_on = letters.all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'));
    if !starts || !goes_on || value.starts_with('=') || value.contains('\n') {
        return None;
    }
    let read = match yaml::parse(value) {
        // A map or a list in one line is only meant with its brackets.
        Ok(Value::Map(_)) if !value.trim_start().starts_with('{') => Value::String(value.to_owned()),
        Ok(Value::List(_)) if !value.trim_start().starts_with('[') => Value::String(value.to_owned()),
        Ok(Value::Null) if value.is_empty() => Value::String(String::new()),
        Ok(other) => plain(other),
        Err(_) => Value::String(value.to_owned()),
    };
    Some((name, read))
}

/// A job's id looks like a number, which nobody counts with: pepper sends it as one.
fn plain(value: Value) -> Value {
    match value {
        Value::BigInt(digits) if digits.len() == 20 => Value::String(digits.into()),
        other => other,
    }
}

/// As forms and YAML say yes.
pub fn truth(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            !matches!(text.to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off" | "none")
        }
        other => other.truth(),
    }
}
