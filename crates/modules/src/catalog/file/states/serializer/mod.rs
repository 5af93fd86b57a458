//! Data as text and back, for `file.serialize`.
//!
//! To add one: write a file, and put one line here in each place.

mod configparser;
mod json;
mod toml;
mod yaml;

use rocksalt_core::sort::{sort_by, sort_by_key};
use rocksalt_core::{Map, Value};

/// A way to write data down.
pub trait Serializer: Sync {
    /// The text, without a newline at its end unless that is part of it.
    fn write(&self, data: &Value, options: &Map) -> Result<String, String>;

    /// The data of a text; none if this can't read.
    fn read(&self, text: &str) -> Option<Result<Value, String>>;
}

const ALL: &[(&str, &dyn Serializer)] = &[
    ("configparser", &configparser::Configparser),
    ("json", &json::Json),
    ("toml", &toml::Toml),
    ("yaml", &yaml::Yaml),
];

pub fn open(name: &str) -> Option<&'static dyn Serializer> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, serializer)| *serializer)
}

/// The pairs of a map in the order of their keys, if they can be compared and that is wished.
fn pairs(map: &Map, sorted: bool) -> Vec<(&Value, &Value)> {
    let mut pairs: Vec<(&Value, &Value)> = map.iter().collect();
    let texts = pairs.iter().all(|(key, _)| matches!(key, Value::String(_)));
    let numbers = pairs.iter().all(|(key, _)| matches!(key, Value::Int(_)));
    match () {
        () if !sorted => {}
        () if texts => sort_by(&mut pairs, |(a, _), (b, _)| a.as_str().cmp(&b.as_str())),
        () if numbers => sort_by_key(&mut pairs, |(key, _)| key.as_i64()),
        () => {}
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let data = rocksalt_core::yaml::parse(
            "one: {text: a b, number: '5', empty: '', odd: 'x: [y] #z', lines: \"a\\nb\"}\ntwo: {a: ä}\n",
        )
        .expect("it is YAML");
        for (name, serializer) in ALL {
            let text = serializer.write(&data, &Map::new()).expect("it can be written");
            let Some(read) = serializer.read(&text) else { continue };
            assert_eq!(read.as_ref(), Ok(&data), "{name}: {text}");
        }
    }
}
