//! YAML is written exactly as PyYAML writes it: `tests/cases/dump.json`, recorded by `dump.py`.

use rocksalt_core::yaml::{DumpOptions, dump};
use rocksalt_core::{Map, Value, json, yaml};

#[test]
fn yaml_is_written_as_pyyaml_does() {
    let cases = json::parse(include_str!("../cases/dump.json")).expect("it is JSON");
    let cases = cases.as_list().expect("a list of cases");
    let mut wrong = Vec::new();
    for case in cases {
        let Some([value, Value::Map(options), Value::String(text)]) = case.as_list() else { panic!("{case:?}") };
        let found = dump(value, style(options));
        if found != *text {
            wrong.push(format!("{} {options:?}\n  expected {text:?}\n  got      {found:?}", json::compact(value)));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        cases.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
    assert_eq!(cases.len(), 759, "as many as were recorded");
}

#[test]
fn what_is_written_reads_the_same() {
    for text in ["a", "yes", "0755", "12:30", "a\nb\n", "é", "x: y", "2001-12-14"] {
        let value = Value::List(vec![text.into()]);
        assert_eq!(yaml::parse(&dump(&value, DumpOptions::default())).ok(), Some(value));
    }
}

fn style(options: &Map) -> DumpOptions {
    let number = |name: &str| options.get(name).and_then(Value::as_i64).map(|number| number as usize);
    let flag = |name: &str| options.get(name).and_then(Value::as_bool);
    let usual = DumpOptions::default();
    DumpOptions {
        flow: flag("default_flow_style"),
        sort_keys: flag("sort_keys").unwrap_or(true),
        width: number("width").unwrap_or(usual.width),
        indent: number("indent").unwrap_or(usual.indent),
        unicode: flag("allow_unicode").unwrap_or(false),
        explicit_start: flag("explicit_start").unwrap_or(false),
    }
}
