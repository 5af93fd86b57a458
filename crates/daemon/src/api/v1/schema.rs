//! Validates JSON against a schema; errors name the field.
//!
//! Supports the part of JSON Schema that schemars generates for our types.

use rocksalt_core::nearest;
use rocksalt_core::pattern::{Flags, Pattern};
use serde_json::{Map, Number, Value as Json};

/// What is wrong, with the field's path: `kwargs.name must be text`.
pub type SchemaError = String;

/// Checks `data` against `schema`; `root` has the definitions. Whole numbers written as `1.0` become `1`.
pub fn check(root: &Json, schema: &Json, data: &mut Json, at: &str) -> Result<(), SchemaError> {
    let schema = resolved(root, schema);
    if let Some(options) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Json::as_array) {
        return any(root, options, data, at);
    }
    for part in schema.get("allOf").and_then(Json::as_array).into_iter().flatten() {
        check(root, part, data, at)?;
    }
    kind(schema, data, at)?;
    if let Some(allowed) = schema.get("enum").and_then(Json::as_array)
        && !allowed.contains(data)
    {
        let words: Vec<String> = allowed.iter().filter_map(Json::as_str).map(|word| format!("'{word}'")).collect();
        return Err(format!("{} must be one of {}", named(at), words.join(", ")));
    }
    match data {
        Json::Number(number) => range(schema, number, at),
        Json::String(text) => letters(schema, text, at),
        Json::Array(items) => list(root, schema, items, at),
        Json::Object(map) => object(root, schema, map, at),
        Json::Null | Json::Bool(_) => Ok(()),
    }
}

/// The definition that a schema refers to.
pub fn resolved<'a>(root: &'a Json, schema: &'a Json) -> &'a Json {
    let pointer = schema.get("$ref").and_then(Json::as_str).and_then(|path| path.strip_prefix('#'));
    pointer.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

fn any(root: &Json, options: &[Json], data: &mut Json, at: &str) -> Result<(), SchemaError> {
    let mut first = Ok(());
    for option in options {
        let mut copy = data.clone();
        match check(root, option, &mut copy, at) {
            Ok(()) => {
                *data = copy;
                return Ok(());
            }
            Err(misfit) if first.is_ok() => first = Err(misfit),
            Err(_) => {}
        }
    }
    first
}

fn kind(schema: &Json, data: &mut Json, at: &str) -> Result<(), SchemaError> {
    let kinds: Vec<&str> = match schema.get("type") {
        Some(Json::String(kind)) => vec![kind],
        Some(Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).collect(),
        _ => return Ok(()),
    };
    let fits = kinds.iter().any(|kind| match (*kind, &mut *data) {
        ("null", Json::Null)
        | ("boolean", Json::Bool(_))
        | ("number", Json::Number(_))
        | ("string", Json::String(_))
        | ("array", Json::Array(_))
        | ("object", Json::Object(_)) => true,
        ("integer", Json::Number(number)) => whole(number).is_some_and(|exact| {
            *number = exact;
            true
        }),
        _ => false,
    });
    if fits {
        return Ok(());
    }
    let words: Vec<&str> = kinds.iter().filter(|kind| **kind != "null").map(|kind| word(kind)).collect();
    Err(format!("{} must be {}", named(at), words.join(" or ")))
}

/// Integers unchanged, `1.0` as `1`; `None` for a number with a fraction.
fn whole(number: &Number) -> Option<Number> {
    let text = number.to_string();
    if text.strip_prefix('-').unwrap_or(&text).bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(number.clone());
    }
    let value: f64 = text.parse().ok()?;
    (value.fract() == 0.0 && value.abs() < 9e15).then(|| Number::from(value as i64))
}

fn range(schema: &Json, number: &Number, at: &str) -> Result<(), SchemaError> {
    // f64 keeps the order of larger numbers, though not their last digits.
    let value: f64 = number.to_string().parse().unwrap_or(f64::NAN);
    let limit = |key: &str| schema.get(key).and_then(|limit| limit.to_string().parse::<f64>().ok());
    if limit("minimum").is_some_and(|least| value < least) {
        return Err(format!("{} must be at least {}", named(at), schema["minimum"]));
    }
    if limit("maximum").is_some_and(|most| value > most) {
        return Err(format!("{} must be at most {}", named(at), schema["maximum"]));
    }
    if value.is_finite() { Ok(()) } else { Err(format!("{} is too large", named(at))) }
}

fn letters(schema: &Json, text: &str, at: &str) -> Result<(), SchemaError> {
    let length = text.chars().count() as u64;
    if schema.get("minLength").and_then(Json::as_u64).is_some_and(|least| length < least) {
        return Err(format!("{} must not be empty", named(at)));
    }
    if let Some(most) = schema.get("maxLength").and_then(Json::as_u64)
        && length > most
    {
        return Err(format!("{} must not be longer than {most} characters", named(at)));
    }
    let Some(pattern) = schema.get("pattern").and_then(Json::as_str) else { return Ok(()) };
    let fits = Pattern::new(pattern, Flags::default()).and_then(|pattern| pattern.matches(text));
    // Python's `$` would accept a trailing newline.
    if fits.unwrap_or(false) && !text.ends_with('\n') {
        return Ok(());
    }
    Err(format!("{} must be like {pattern}", named(at)))
}

fn list(root: &Json, schema: &Json, items: &mut [Json], at: &str) -> Result<(), SchemaError> {
    if let Some(most) = schema.get("maxItems").and_then(Json::as_u64)
        && items.len() as u64 > most
    {
        return Err(format!("{} must not have more than {most} entries", named(at)));
    }
    let Some(inner) = schema.get("items") else { return Ok(()) };
    items.iter_mut().enumerate().try_for_each(|(index, item)| check(root, inner, item, &format!("{at}[{index}]")))
}

fn object(root: &Json, schema: &Json, map: &mut Map<String, Json>, at: &str) -> Result<(), SchemaError> {
    let none = Map::new();
    let known = schema.get("properties").and_then(Json::as_object).unwrap_or(&none);
    let closed = schema.get("additionalProperties") == Some(&Json::Bool(false));
    let below = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    if closed && let Some(unknown) = map.keys().find(|key| !known.contains_key(*key)) {
        let hint = nearest::hint(unknown, known.keys().map(String::as_str));
        return Err(format!("there is no field {}{hint}", named(&below(unknown))));
    }
    for name in schema.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str) {
        if !map.contains_key(name) {
            return Err(format!("{} is missing", named(&below(name))));
        }
    }
    for (name, value) in map {
        if let Some(inner) = known.get(name) {
            check(root, inner, value, &below(name))?;
        }
    }
    Ok(())
}

fn named(at: &str) -> String {
    // Field names come from the client, so they are shortened.
    let shown: String = at.chars().take(80).collect();
    if at.is_empty() { "the body".into() } else { format!("'{shown}'") }
}

fn word(kind: &str) -> &'static str {
    match kind {
        "string" => "text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        _ => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn misfit(mut data: Json) -> String {
        let schema = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["function"],
            "properties": {
                "function": {"type": "string", "minLength": 1, "maxLength": 9},
                "limit": {"type": ["integer", "null"], "minimum": 1, "maximum": 5},
                "jid": {"$ref": "#/$defs/JobId"},
                "list": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
                "state": {"enum": ["done", "lost"]},
            },
            "$defs": {"JobId": {"type": "string", "pattern": "^[0-9]{3}$"}},
        });
        check(&schema, &schema, &mut data, "").err().unwrap_or_default()
    }

    #[test]
    fn errors_name_the_field() {
        for (data, expected) in [
            (json!({"function": "x", "limit": 1.0, "jid": "123", "list": ["a"], "state": "done"}), ""),
            (json!({"function": "x", "limit": null}), ""),
            (json!([]), "the body must be an object"),
            (json!({}), "'function' is missing"),
            (json!({"function": ""}), "'function' must not be empty"),
            (json!({"function": "1234567890"}), "'function' must not be longer than 9 characters"),
            (json!({"fucntion": "x"}), "there is no field 'fucntion'; did you mean 'function'?"),
            (json!({"function": 1}), "'function' must be text"),
            (json!({"function": "x", "limit": 1.5}), "'limit' must be a whole number"),
            (json!({"function": "x", "limit": 0}), "'limit' must be at least 1"),
            (json!({"function": "x", "limit": 1e300}), "'limit' must be a whole number"),
            (json!({"function": "x", "jid": "12"}), "'jid' must be like ^[0-9]{3}$"),
            (json!({"function": "x", "jid": "123\n"}), "'jid' must be like ^[0-9]{3}$"),
            (json!({"function": "x", "list": ["a", 1]}), "'list[1]' must be text"),
            (json!({"function": "x", "list": ["a", "b", "c"]}), "'list' must not have more than 2 entries"),
            (json!({"function": "x", "state": "doen"}), "'state' must be one of 'done', 'lost'"),
        ] {
            assert_eq!(misfit(data.clone()), expected, "{data}");
        }
    }
}
