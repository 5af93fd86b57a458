//! [`LowChunk`]: one item of low data, converted to a request.

use rocksalt_core::job_options::{Batch, JobOptions};
use rocksalt_core::request::{ControllerCall, RunRequest};
use rocksalt_core::{JobId, Map, Value, yaml};

use super::reply::ErrorResponse;

/// Keys of low data that are not arguments of a runner function.
const RESERVED: [&str; 14] = [
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

pub struct LowChunk {
    pub client: String,
    pub full_return: bool,
    /// Seconds.
    pub timeout: Option<f64>,
    fields: Map,
}

impl LowChunk {
    pub fn read(fields: Map) -> Result<LowChunk, ErrorResponse> {
        let client = match fields.get("client") {
            Some(Value::String(client)) => client.clone(),
            _ => return Err(ErrorResponse::bad_request("No client specified")),
        };
        let timeout = match fields.get("timeout") {
            None | Some(Value::Null) => None,
            Some(value) => match value.to_string().parse::<f64>() {
                Ok(seconds) if seconds >= 0.0 && seconds.is_finite() => Some(seconds),
                _ => return Err(ErrorResponse::bad_request("timeout must be a number of seconds")),
            },
        };
        let full_return = fields.get("full_return").is_some_and(truth);
        Ok(LowChunk { client, full_return, timeout, fields })
    }

    /// The functions; more than one only if `fun` is a list.
    pub fn functions(&self) -> Result<Vec<String>, ErrorResponse> {
        let one = |value: &Value| match value {
            Value::String(name) if !name.is_empty() => Ok(name.clone()),
            _ => Err(ErrorResponse::bad_request("fun must be the name of a function")),
        };
        match self.fields.get("fun") {
            None => Err(ErrorResponse::bad_request("fun is missing")),
            Some(Value::List(names)) if !names.is_empty() => names.iter().map(one).collect(),
            Some(value) => Ok(vec![one(value)?]),
        }
    }

    /// Converts to a job on targets; `number` is the index in a list of functions.
    pub fn run(&self, function: String, number: Option<usize>) -> Result<RunRequest, ErrorResponse> {
        let (args, kwargs) = self.arguments(number)?;
        let text = |key: &str| match self.fields.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::List(items)) => Some(items.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")),
            Some(other) => Some(other.to_string()),
        };
        let target = text("tgt").ok_or_else(|| ErrorResponse::bad_request("tgt is missing"))?;
        // pepper's library and Halite still send the old name.
        let kind = text("tgt_type").or_else(|| text("expr_form")).filter(|kind| !kind.is_empty());
        let kind = match (&kind, self.fields.get("tgt")) {
            (None, Some(Value::List(_))) => "list".into(),
            _ => kind.unwrap_or_else(|| "glob".into()),
        };
        let job = match text("jid").filter(|jid| !jid.is_empty()) {
            None => None,
            Some(jid) => Some(jid.parse::<JobId>().map_err(|error| ErrorResponse::bad_request(error.to_string()))?),
        };
        let batch = (self.client == "local_batch").then(|| text("batch").unwrap_or_else(|| "10%".into()));
        let batch = batch.map(|text| text.parse::<Batch>()).transpose();
        let options = JobOptions {
            batch: batch.map_err(|error| ErrorResponse::bad_request(error.to_string()))?,
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
        })
    }

    /// Converts to a function of the controller; keys that are not reserved are named arguments.
    pub fn local(&self, background: bool) -> Result<ControllerCall, ErrorResponse> {
        let mut functions = self.functions()?;
        if functions.len() > 1 {
            return Err(ErrorResponse::bad_request("only functions on targets can be a list"));
        }
        let (args, mut kwargs) = self.arguments(None)?;
        for (key, value) in self.fields.iter() {
            match key.as_str() {
                Some(key) if RESERVED.contains(&key) || key.starts_with("__") => {}
                _ => {
                    kwargs.insert(key.clone(), plain(value.clone()));
                }
            }
        }
        Ok(ControllerCall { function: functions.remove(0), args, kwargs, background })
    }

    fn subset(&self) -> Result<usize, ErrorResponse> {
        match self.fields.get("subset").or_else(|| self.fields.get("sub")) {
            None | Some(Value::Null) => Ok(3),
            Some(value) => value.to_string().parse().map_err(|_| ErrorResponse::bad_request("subset must be a number")),
        }
    }

    /// Positional and named arguments. Strings `name=value` are named.
    fn arguments(&self, number: Option<usize>) -> Result<(Vec<Value>, Map), ErrorResponse> {
        let given = match (self.fields.get("arg"), number) {
            (None | Some(Value::Null), _) => Vec::new(),
            // One list of arguments for each function.
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
            Some(_) => return Err(ErrorResponse::bad_request("kwarg must be a map")),
        }
        for key in kwargs.keys() {
            if key.as_str().is_none_or(|key| key.starts_with("__pub_")) {
                return Err(ErrorResponse::bad_request(format!("'{key}' is not a valid argument name")));
            }
        }
        Ok((args, kwargs))
    }
}

/// Parses `name=value`, with the value as YAML. The name is a plain word, and `==` is no assignment.
fn named(text: &str) -> Option<(&str, Value)> {
    let (name, value) = text.split_once('=')?;
    let mut letters = name.chars();
    let starts = letters.next().is_some_and(|c| c == '_' || c.is_alphabetic());
    let goes_on = letters.all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'));
    if !starts || !goes_on || value.starts_with('=') || value.contains('\n') {
        return None;
    }
    let read = match yaml::parse(value) {
        // A map or a list must be written with brackets.
        Ok(Value::Map(_)) if !value.trim_start().starts_with('{') => Value::String(value.to_owned()),
        Ok(Value::List(_)) if !value.trim_start().starts_with('[') => Value::String(value.to_owned()),
        Ok(Value::Null) if value.is_empty() => Value::String(String::new()),
        Ok(other) => plain(other),
        Err(_) => Value::String(value.to_owned()),
    };
    Some((name, read))
}

/// pepper sends job ids as numbers; they are strings here.
fn plain(value: Value) -> Value {
    match value {
        Value::BigInt(digits) if digits.len() == 20 => Value::String(digits.into()),
        other => other,
    }
}

/// Truth of values in forms and YAML.
pub fn truth(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            !matches!(text.to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off" | "none")
        }
        other => other.truth(),
    }
}
