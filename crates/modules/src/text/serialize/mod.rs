//! Serializes and parses data in the formats for which Salt has serializers.

mod configparser;
mod json;
mod toml;

use rocksalt_core::{Map, Value, yaml};

/// The formats, by Salt's names.
pub const FORMATS: [&str; 4] = ["configparser", "json", "toml", "yaml"];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("Serializer '{0}' not found.")]
    UnknownFormat(String),
    #[error("toml is only written, not read")]
    OnlyWritten,
    #[error("{0}")]
    Misfit(String),
}

/// Serializes a value; the options have the names of Python's libraries.
pub fn serialize(format: &str, value: &Value, options: &Map) -> Result<String, Error> {
    match format {
        "yaml" => {
            let mut text = yaml::dump(value, style(options));
            // Salt omits the last newline.
            text.pop();
            Ok(text)
        }
        "json" => json::dump(value, options),
        "configparser" => configparser::dump(value),
        "toml" => toml::dump(value),
        other => Err(Error::UnknownFormat(other.to_owned())),
    }
}

/// Parses a value.
pub fn deserialize(format: &str, text: &str) -> Result<Value, Error> {
    let misfit = |error: &dyn std::fmt::Display| Error::Misfit(error.to_string());
    match format {
        "yaml" => yaml::parse(text).map_err(|error| misfit(&error)),
        "json" => rocksalt_core::json::parse(text).map_err(|error| misfit(&error)),
        "configparser" => configparser::load(text),
        // A parser would enlarge the agent more than it is worth to users.
        "toml" => Err(Error::OnlyWritten),
        other => Err(Error::UnknownFormat(other.to_owned())),
    }
}

/// PyYAML's options by their names.
pub fn style(options: &Map) -> yaml::DumpOptions {
    let usual = yaml::DumpOptions::default();
    let number = |name: &str| options.get(name).and_then(Value::as_i64).and_then(|number| usize::try_from(number).ok());
    let flag = |name: &str, usual: bool| options.get(name).map_or(usual, Value::truth);
    // libyaml accepts no other indentation, and no width below twice the indentation.
    let indent = number("indent").filter(|indent| (2..=9).contains(indent)).unwrap_or(usual.indent);
    yaml::DumpOptions {
        flow: options.get("default_flow_style").filter(|value| !value.is_null()).map(Value::truth),
        sort_keys: flag("sort_keys", true),
        width: number("width").filter(|width| *width > indent * 2).unwrap_or(usual.width),
        indent,
        unicode: flag("allow_unicode", false),
        explicit_start: flag("explicit_start", false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Format, value, options, and the results of Salt 3008.3's serializers.
    #[test]
    fn data_is_written_as_in_salt() {
        let cases = [
            ("yaml", "{b: [1, 2], a: {c: x}}", "{}", "a: {c: x}\nb: [1, 2]"),
            ("yaml", "{b: [1, 2], a: {c: x}}", "{default_flow_style: false}", "a:\n  c: x\nb:\n- 1\n- 2"),
            ("yaml", "x", "{}", "x"),
            ("yaml", "[]", "{}", "[]"),
            ("json", "{b: [1, 2.0, null], a: {c: 'é\"'}}", "{}", r#"{"b": [1, 2.0, null], "a": {"c": "é\""}}"#),
            (
                "json",
                "{b: é, a: \"\\U0001F600\"}",
                "{sort_keys: true, ensure_ascii: true}",
                r#"{"a": "\ud83d\ude00", "b": "\u00e9"}"#,
            ),
            ("json", "{a: [1, {}], b: []}", "{indent: 2}", "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}"),
            ("json", "{1: a, false: b, null: c}", "{separators: [',', ':']}", r#"{"1":"a","false":"b","null":"c"}"#),
            ("configparser", "{s: {A: 1, b: x}, t: {}}", "{}", "[s]\na = 1\nb = x\n\n[t]\n\n"),
        ];
        for (format, value, options, expected) in cases {
            let value = yaml::parse(value).expect("it is YAML");
            let options = yaml::parse(options).expect("it is YAML");
            let options = options.as_map().expect("a map");
            assert_eq!(serialize(format, &value, options).as_deref(), Ok(expected), "{format}");
        }
        assert!(serialize("nope", &Value::Null, &Map::new()).is_err());
        assert!(serialize("configparser", &Value::Null, &Map::new()).is_err());
    }

    #[test]
    fn what_is_written_reads_back() {
        let data =
            yaml::parse("one: {text: a b, number: '5', empty: '', odd: 'x: [y] #z', lines: \"a\\nb\"}\ntwo: {a: ä}\n")
                .expect("it is YAML");
        for format in FORMATS {
            let text = serialize(format, &data, &Map::new()).expect("it can be written");
            match deserialize(format, &text) {
                Err(Error::OnlyWritten) => assert_eq!(format, "toml"),
                read => assert_eq!(read.as_ref(), Ok(&data), "{format}: {text}"),
            }
        }
    }

    #[test]
    fn data_is_read() {
        let cases = [
            ("yaml", "{a: [1, yes]}", "{'a': [1, True]}"),
            ("json", r#"{"a": [1, true]}"#, "{'a': [1, True]}"),
            ("configparser", "; c\n[s]\nA=1\nb : x\n  y\n# d\n[t]\n", "{'s': {'a': '1', 'b': 'x\\ny'}, 't': {}}"),
        ];
        for (format, text, expected) in cases {
            assert_eq!(deserialize(format, text).expect("it fits").to_string(), expected);
        }
        for (format, text) in [("yaml", "a: [1"), ("json", "{"), ("configparser", "a=1"), ("nope", "")] {
            assert!(deserialize(format, text).is_err(), "{format}");
        }
    }
}
