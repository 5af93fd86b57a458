//! Filters that convert data to text and back.

use std::collections::HashSet;

use rocksalt_core::yaml::written::{double_quoted, is_break};

use super::json_text::{DumpsOptions, dumps};
use super::{xml, yaml_emit};
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::{Dict, MAX_NESTING, MissingName, UndefinedKind, Value};

pub(super) fn yaml(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let flow = arguments.flag("flow_style", true)?;
    arguments.finish()?;
    if let Some(undefined) = undefined_inside(&value) {
        return Ok(undefined);
    }
    Ok(Value::safe(yaml_emit::emit(&value, flow, limit(scope))?))
}

/// Writes a state's parameters: a list of one-key dicts.
pub(super) fn dict_to_sls_yaml_params(
    scope: &Scope<'_>,
    value: Value,
    mut arguments: FunctionArguments,
) -> Result<Value> {
    let flow = arguments.flag("flow_style", false)?;
    arguments.finish()?;
    if let Some(undefined) = undefined_inside(&value) {
        return Ok(undefined);
    }
    let Value::Dict(dict) = &value else {
        let kind = value.type_name();
        return Err(Error::exception("AttributeError", format!("'{kind}' object has no attribute 'items'")));
    };
    let mut items = Vec::new();
    for (key, value) in dict.borrow().iter() {
        let mut single = Dict::new();
        single.insert(key.clone(), value.clone())?;
        items.push(Value::dict(single));
    }
    Ok(Value::safe(yaml_emit::emit(&Value::list(items), flow, limit(scope))?))
}

pub(super) fn json(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let sort_keys = arguments.flag("sort_keys", true)?;
    let indent = indent(arguments.optional("indent")?)?;
    arguments.finish()?;
    if let Some(undefined) = undefined_inside(&value) {
        return Ok(undefined);
    }
    let options = DumpsOptions { sort_keys, indent: indent.as_deref(), ascii: false, limit: limit(scope) };
    Ok(Value::safe(dumps(&value, options)?.trim()))
}

/// Salt's own `tojson`, which passes its options on to Python's `json.dumps`.
pub(super) fn tojson(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let indent = indent(arguments.optional("indent")?)?;
    let sort_keys = arguments.keyword("sort_keys").map_or(Ok(false), |flag| flag.truth())?;
    let ascii = arguments.keyword("ensure_ascii").map_or(Ok(true), |flag| flag.truth())?;
    arguments.finish()?;
    if let Some(undefined) = undefined_inside(&value) {
        return Ok(undefined);
    }
    let text = dumps(&value, DumpsOptions { sort_keys, indent: indent.as_deref(), ascii, limit: limit(scope) })?;
    let text = text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026").replace('\'', "\\u0027");
    Ok(text.into())
}

fn limit(scope: &Scope<'_>) -> usize {
    scope.environment().options().limits.output_bytes
}

fn indent(given: Option<Value>) -> Result<Option<String>> {
    Ok(match given {
        None | Some(Value::None) => None,
        Some(Value::String(text)) => Some(text.to_string()),
        Some(number) => {
            let width = usize::try_from(number.to_index()?).unwrap_or(0);
            if width > 1000 {
                return Err(Error::limit("an indent of more than 1000 is too wide"));
            }
            Some(" ".repeat(width))
        }
    })
}

pub(super) fn python(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    if let Some(undefined) = undefined_inside(&value) {
        return Ok(undefined);
    }
    let text = scope.filter("pprint", value, FunctionArguments::none())?.to_text()?;
    Ok(Value::safe(text.trim()))
}

pub(super) fn xml(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    if let Some(undefined) = undefined_inside(&value) {
        return Ok(undefined);
    }
    Ok(Value::safe(xml::document(scope, &value)?))
}

pub(super) fn load_yaml(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    if let Some(undefined) = undefined_inside(&value) {
        return Ok(undefined);
    }
    let text = document(&value).ok_or_else(|| Error::type_error("a string or stream input is required"))?;
    let loaded = rocksalt_core::yaml::parse(&text);
    loaded.map(Value::from).map_err(|error| {
        // Salt prints the context and the problem on two lines.
        let said = error.to_string();
        let lines = if said.starts_with("while ") { said.replacen(", ", "\n", 1) } else { said };
        Error::runtime(format!("Encountered error loading yaml: {lines}"))
    })
}

pub(super) fn load_json(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    if let Some(undefined) = undefined_inside(&value) {
        return Ok(undefined);
    }
    let bad = |shown: &str| Error::runtime(format!("Unable to load json from {shown}"));
    let Some(text) = document(&value) else { return Err(bad(&value.to_text()?)) };
    match text.trim() {
        "NaN" => return Ok(Value::Float(f64::NAN)),
        "Infinity" => return Ok(Value::Float(f64::INFINITY)),
        "-Infinity" => return Ok(Value::Float(f64::NEG_INFINITY)),
        _ => {}
    }
    rocksalt_core::json::parse(&text).map(Value::from).map_err(|error| bad(&text).with_hint(error.to_string()))
}

pub(super) fn load_text(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    if let Some(undefined) = undefined_inside(&value) {
        return Ok(undefined);
    }
    Ok(match &value {
        // An imported template is serialized as its output.
        Value::Object(object) if object.type_name().ends_with("TemplateModule") => object.text().into(),
        _ => value,
    })
}

/// The text to parse: a string, bytes, or the output of an imported template.
fn document(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.to_string()),
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Value::Object(object) if object.type_name().ends_with("TemplateModule") => Some(object.text()),
        _ => None,
    }
}

pub(super) fn yaml_dquote(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(double_quoted(&value.to_text()?, false).into())
}

pub(super) fn yaml_squote(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let text = value.to_text()?;
    let mut out = String::from("'");
    let mut breaks = false;
    for c in text.chars() {
        // In a quoted scalar, YAML folds a single line break into a space, so a run of breaks needs one more.
        if is_break(c) {
            if !breaks && c == '\n' {
                out.push('\n');
            }
            breaks = true;
        } else {
            breaks = false;
        }
        if c == '\'' {
            out.push('\'');
        }
        out.push(c);
    }
    out.push('\'');
    Ok(out.into())
}

pub(super) fn yaml_encode(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(match &value {
        Value::String(text) => double_quoted(text, false).into(),
        Value::None => "null".into(),
        Value::Bool(flag) => flag.to_string().into(),
        Value::Float(number) => yaml_emit::float(*number).into(),
        Value::Int(_) | Value::BigInt(_) => value.to_text()?.into(),
        other => {
            other.must_be_defined()?;
            let kind = other.type_name();
            return Err(Error::type_error(format!(
                "yaml_encode() only works with YAML scalar data; failed for <class '{kind}'>"
            )));
        }
    })
}

/// Like Salt, finds undefined values inside, and returns one undefined value that names them all.
fn undefined_inside(value: &Value) -> Option<Value> {
    let mut messages = Vec::new();
    collect(value, &mut messages, &mut HashSet::new(), 0);
    match messages.len() {
        0 => None,
        1 if value.is_undefined() => Some(value.clone()),
        _ => Some(Value::undefined(UndefinedKind::Strict, MissingName::Other(messages.join("\n")))),
    }
}

/// Collects the messages of undefined values; a container that occurs many times is visited once.
fn collect(value: &Value, messages: &mut Vec<String>, seen: &mut HashSet<*const ()>, depth: usize) {
    if depth > MAX_NESTING {
        return;
    }
    match value {
        Value::Undefined(undefined) if undefined.kind == UndefinedKind::Strict => messages.push(undefined.message()),
        Value::List(items) | Value::Tuple(items) if seen.insert(std::rc::Rc::as_ptr(items).cast()) => {
            items.borrow().iter().for_each(|item| collect(item, messages, seen, depth + 1));
        }
        Value::Dict(dict) if seen.insert(std::rc::Rc::as_ptr(dict).cast()) => {
            dict.borrow().values().for_each(|item| collect(item, messages, seen, depth + 1));
        }
        _ => {}
    }
}
