//! TOML: plain values first, then a table for each map.

use rocksalt_core::{Map, Value, json};

use super::Error;

pub fn dump(value: &Value) -> Result<String, Error> {
    let Value::Map(map) = value else {
        return Err(Error::Misfit(format!("toml can only serialize dictionaries, not {}", value.kind())));
    };
    let mut out = String::new();
    table(map, &mut Vec::new(), &mut out)?;
    Ok(out)
}

fn table(map: &Map, path: &mut Vec<String>, out: &mut String) -> Result<(), Error> {
    for (key, value) in map.iter().filter(|(_, value)| !is_table(value) && !value.is_null()) {
        out.push_str(&format!("{} = {}\n", name(key), inline(value)?));
    }
    for (key, value) in map.iter().filter(|(_, value)| is_table(value)) {
        path.push(name(key));
        let tables: Vec<(&Map, &str, &str)> = match value {
            Value::Map(map) => vec![(map, "[", "]")],
            Value::List(items) => items.iter().filter_map(|item| Some((item.as_map()?, "[[", "]]"))).collect(),
            _ => Vec::new(),
        };
        for (map, open, close) in tables {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(&format!("{open}{}{close}\n", path.join(".")));
            table(map, path, out)?;
        }
        path.pop();
    }
    Ok(())
}

/// A map, or a list of only maps.
fn is_table(value: &Value) -> bool {
    match value {
        Value::Map(_) => true,
        Value::List(items) => !items.is_empty() && items.iter().all(|item| item.as_map().is_some()),
        _ => false,
    }
}

fn name(key: &Value) -> String {
    let text = key.to_string();
    let bare = !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
    if bare { text } else { json::compact(&Value::from(text)) }
}

fn inline(value: &Value) -> Result<String, Error> {
    match value {
        Value::List(items) => {
            let items: Result<Vec<String>, Error> = items.iter().map(inline).collect();
            Ok(format!("[ {},]", items?.join(", ")))
        }
        Value::Map(map) => {
            let pairs: Result<Vec<String>, Error> =
                map.iter().map(|(key, value)| Ok(format!("{} = {}", name(key), inline(value)?))).collect();
            Ok(format!("{{ {} }}", pairs?.join(", ")))
        }
        Value::Null => Err(Error::Misfit("toml has no null".into())),
        other => Ok(json::compact(other)),
    }
}
