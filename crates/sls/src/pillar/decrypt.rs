//! `decrypt_pillar`: decrypts parts of the pillar, from whichever file they are.

use rocksalt_core::{Map, Value};

use crate::fault::SlsFault;
use crate::inputs::CompileInputs;
use crate::options::text;
use crate::python;
use crate::render::decrypt_value;

pub(super) fn decrypt(pillar: &mut Map, inputs: &CompileInputs<'_>) -> Vec<SlsFault> {
    let mut faults = Vec::new();
    let keys: Vec<(String, Option<String>)> = match inputs.options.get("decrypt_pillar") {
        None | Some(Value::Null) => return faults,
        Some(Value::List(entries)) => entries.iter().flat_map(pairs).collect(),
        Some(other) => pairs(other),
    };
    let delimiter = text(inputs.options, "decrypt_pillar_delimiter").unwrap_or(":");
    let default = text(inputs.options, "decrypt_pillar_default").unwrap_or("gpg");
    for (key, renderer) in keys {
        let Some(value) = find(pillar, &key, delimiter) else { continue };
        let renderer = renderer.as_deref().unwrap_or(default);
        if let Err(reason) = decrypt_value(value, renderer, inputs.decrypt) {
            faults.push(SlsFault::new(format!("Failed to decrypt pillar key '{key}': {reason}")));
        }
    }
    faults
}

/// Reads an entry: a bare key, or `key: renderer`.
fn pairs(entry: &Value) -> Vec<(String, Option<String>)> {
    match entry {
        Value::Map(map) => {
            map.iter().map(|(key, renderer)| (python::text(key), renderer.as_str().map(str::to_owned))).collect()
        }
        other => vec![(python::text(other), None)],
    }
}

fn find<'a>(pillar: &'a mut Map, path: &str, delimiter: &str) -> Option<&'a mut Value> {
    let mut steps = path.split(delimiter);
    let mut value = pillar.get_mut(steps.next()?)?;
    for step in steps {
        value = match value {
            Value::Map(map) => map.get_mut(step)?,
            Value::List(items) => items.get_mut(step.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(value)
}
