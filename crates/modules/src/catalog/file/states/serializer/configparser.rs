//! Sections of keys and values, as Python's `configparser` writes them.

use rocksalt_core::{Map, Value};

use super::Serializer;

pub struct Configparser;

impl Serializer for Configparser {
    fn write(&self, data: &Value, _: &Map) -> Result<String, String> {
        let sections = data.as_map().ok_or("configparser can only serialize dictionaries")?;
        let (mut first, mut rest) = (String::new(), String::new());
        for (name, keys) in sections.iter() {
            let name = name.to_string();
            let keys = keys.as_map().ok_or_else(|| format!("section '{name}' is no dictionary"))?;
            let out = if name == "DEFAULT" { &mut first } else { &mut rest };
            out.push_str(&format!("[{name}]\n"));
            for (key, value) in keys.iter() {
                let value = value.to_string().replace('\n', "\n\t");
                out.push_str(&format!("{} = {value}\n", key.to_string().to_lowercase()));
            }
            out.push('\n');
        }
        Ok(first + &rest)
    }

    fn read(&self, text: &str) -> Option<Result<Value, String>> {
        Some(read(text).map(Value::Map))
    }
}

fn read(text: &str) -> Result<Map, String> {
    let mut sections = Map::new();
    let mut section: Option<String> = None;
    let mut last: Option<String> = None;
    for (number, line) in text.lines().enumerate() {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = bare.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            sections.insert(name, Map::new());
            (section, last) = (Some(name.to_owned()), None);
            continue;
        }
        let Some(Value::Map(keys)) = section.as_deref().and_then(|name| sections.get_mut(name)) else {
            return Err(format!("File contains no section headers: line {}", number + 1));
        };
        if let (true, Some(key)) = (line.starts_with([' ', '\t']), &last) {
            let value = keys.get(key).map(ToString::to_string).unwrap_or_default();
            keys.insert(key.as_str(), format!("{value}\n{bare}"));
            continue;
        }
        let Some((key, value)) = bare.split_once(['=', ':']) else {
            return Err(format!("Source contains parsing errors: line {}", number + 1));
        };
        let key = key.trim().to_lowercase();
        keys.insert(key.as_str(), value.trim());
        last = Some(key);
    }
    Ok(sections)
}
