//! Prints values as Python does, for Salt's error messages.

use rocksalt_core::Value;

/// Python's `repr()`; maps print as `OrderedDict`.
pub(crate) fn repr(value: &Value) -> String {
    match value {
        Value::Map(map) => {
            let pairs: Vec<String> =
                map.iter().map(|(key, value)| format!("({}, {})", repr(key), repr(value))).collect();
            format!("OrderedDict([{}])", pairs.join(", ")).replace("([])", "()")
        }
        Value::List(items) => format!("[{}]", items.iter().map(repr).collect::<Vec<_>>().join(", ")),
        // A list prints its items with `repr()`.
        scalar => {
            let listed = Value::List(vec![scalar.clone()]).to_string();
            listed[1..listed.len() - 1].to_owned()
        }
    }
}

/// Python's `str()`.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => repr(other),
    }
}

/// Python's name of a value's type.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::BigInt(_) => "int",
        Value::Float(_) => "float",
        Value::String(_) => "str",
        Value::Bytes(_) => "bytes",
        Value::List(_) => "list",
        Value::Map(_) => "OrderedDict",
    }
}
