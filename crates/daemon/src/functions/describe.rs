//! A function's documentation, and its arguments in Salt's format.

use rocksalt_core::{Map, Value, json};
use serde_json::Value as Json;

use super::FunctionEntry;

/// The text of `doc.runner` and `doc.wheel`.
pub fn doc(entry: &FunctionEntry) -> String {
    let schema = (entry.schema)().to_value();
    let mut text = schema.get("description").and_then(Json::as_str).unwrap_or_default().to_owned();
    let arguments = (entry.arguments)();
    if !arguments.is_empty() {
        text.push_str("\n\nArguments:\n");
    }
    for name in arguments {
        let about = property(&schema, name, "description").and_then(Json::as_str).unwrap_or_default();
        text.push_str(&format!("\n{name}: {about}"));
    }
    text.push('\n');
    text
}

/// The argspec as `sys.argspec` returns it: names, the defaults of the last of them, and whether it accepts more.
pub fn argspec(entry: &FunctionEntry) -> Value {
    let schema = (entry.schema)().to_value();
    let required: Vec<&str> =
        schema.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect();
    let all = (entry.arguments)();
    let has = |name: &str| if all.contains(&name) { Value::Bool(true) } else { Value::Null };
    let plain: Vec<&str> = all.iter().copied().filter(|name| *name != "args" && *name != "kwargs").collect();
    let defaults: Vec<Value> = plain
        .iter()
        .filter(|name| !required.contains(name))
        .map(|name| property(&schema, name, "default").cloned().map_or(Value::Null, json::from_json))
        .collect();
    let or_null = |list: Vec<Value>| if list.is_empty() { Value::Null } else { Value::List(list) };
    let mut spec = Map::new();
    spec.insert("args", or_null(plain.into_iter().map(Value::from).collect()));
    spec.insert("defaults", or_null(defaults));
    spec.insert("varargs", has("args"));
    spec.insert("kwargs", has("kwargs"));
    spec.into()
}

fn property<'a>(schema: &'a Json, name: &str, what: &str) -> Option<&'a Json> {
    schema.get("properties")?.get(name)?.get(what)
}
