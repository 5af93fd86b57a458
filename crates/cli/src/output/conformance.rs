//! The requirements for every outputter, for any data.

use rocksalt_core::{Map, Value, json};

use super::{ALL, Error, Style, open};

const HOSTILE: &str = "a\x1b[31mb\x1b]0;title\x07\u{9b}2Jc\r\nd\re\x08\x7f\u{202e}f\0";

fn values() -> Vec<Value> {
    let map = |key: &str, value: Value| Value::Map(Map::from_iter([(key.into(), value)]));
    let entry = |key: &str, value: Value| {
        let mut entry = Map::from_iter([("result".into(), true.into()), ("comment".into(), HOSTILE.into())]);
        entry.insert(key, value);
        Value::Map(entry)
    };
    let mut deep = Value::Null;
    for _ in 0..20 {
        deep = Value::List(vec![map("k", deep)]);
    }
    vec![
        Value::Null,
        true.into(),
        0.into(),
        f64::NAN.into(),
        f64::INFINITY.into(),
        Value::BigInt("123456789012345678901234567890".into()),
        "".into(),
        "\n".into(),
        HOSTILE.into(),
        Value::Bytes(vec![0, 27, 255, b'a']),
        Value::List(vec![]),
        Value::Map(Map::new()),
        Value::List(vec![HOSTILE.into(), Value::Null, Value::List(vec![])]),
        Value::List(vec![Value::Map(Map::new()), Value::Map(Map::new())]),
        Value::List(vec![Value::List(vec![])]),
        Value::List(vec![map(HOSTILE, HOSTILE.into()), map("b", 1.into())]),
        Value::Map(Map::from_iter([(Value::Null, 1.into()), (1.into(), 2.into()), ("a".into(), 3.into())])),
        map(&format!("m_|-{HOSTILE}_|-n_|-f"), entry("changes", map(HOSTILE, HOSTILE.into()))),
        map("m_|-i_|-n_|-f", entry("duration", Value::Null)),
        map("m_|-i_|-n_|-f", entry("warnings", HOSTILE.into())),
        map("m_|-i_|-n_|-f", entry("changes", 5.into())),
        map("m_|-i_|-n_|-f", entry("name", "state.orch".into())),
        deep,
    ]
}

fn styles() -> Vec<Style> {
    let mut styles = Vec::new();
    for colours in [false, true] {
        for width in [None, Some(0), Some(20), Some(80)] {
            styles.extend([None, Some(-1), Some(0), Some(i32::MAX)].map(|indent| Style { colours, width, indent }));
        }
    }
    styles
}

#[test]
fn a_text_ends_with_a_newline_or_is_empty() {
    for entry in ALL {
        let outputter = open(entry.name).expect("it is listed");
        for style in styles() {
            for value in values() {
                let results = Map::from_iter([("web1".into(), value.clone()), ("web2".into(), value.clone())]);
                for text in [
                    outputter.one("web1", &value, &style),
                    outputter.failed("web1", &value, &style),
                    outputter.all(&results, &style),
                ] {
                    assert!(text.is_empty() || text.ends_with('\n'), "{}: {value:?} as {text:?}", entry.name);
                }
            }
        }
    }
}

#[test]
fn no_result_commands_a_terminal() {
    for entry in ALL {
        let outputter = open(entry.name).expect("it is listed");
        for style in styles().into_iter().filter(Style::is_terminal) {
            for value in values() {
                let mut text = outputter.one(HOSTILE, &value, &style);
                for code in ["0;0", "0;31", "0;32", "0;36", "0;37", "0;1;30", "0;1;31", "0;1;33", "0;1;37"] {
                    text = text.replace(&format!("\x1b[{code}m"), "");
                }
                let bad = text.chars().find(|c| (c.is_control() && !"\n\t".contains(*c)) || *c == '\u{202e}');
                assert_eq!(bad, None, "{}: {text:?}", entry.name);
            }
        }
    }
}

#[test]
fn a_pipe_gets_the_data_as_it_is() {
    let style = Style::default();
    for name in ["newline_values_only", "txt", "nested"] {
        let text = open(name).expect("it is listed").one("web1", &"\x1b[31mred".into(), &style);
        assert!(text.contains("\x1b[31mred"), "{name}: {text:?}");
    }
    for name in ["json", "jsonl"] {
        let text = open(name).expect("it is listed").one("web1", &HOSTILE.into(), &Style { colours: true, ..style });
        let value = json::parse(&text).expect("it is JSON on a terminal too");
        assert!([value.walk("web1", "/"), value.walk("value", "/")].contains(&Some(&HOSTILE.into())), "{text}");
    }
}

#[test]
fn tables_fit_their_terminal() {
    let words = "many words that can be broken where there is a blank between two of them, and so on";
    let row =
        |n: i64| Value::Map(Map::from_iter(["a", "b", "c"].map(|key| (key.into(), format!("{words} {n}").into()))));
    let style = Style { width: Some(80), ..Style::default() };
    let text = open("table").expect("it is listed").one("web1", &Value::List(vec![row(1), row(2)]), &style);
    assert!(text.contains("| "), "it is still a table: {text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // Too narrow for a table: printed as nested.
    let text = open("table").expect("it is listed").one(
        "web1",
        &Value::List(vec![row(1)]),
        &Style { width: Some(9), ..style },
    );
    assert!(!text.contains("| "), "{text}");
}

#[test]
fn values_only_are_lines() {
    let outputter = open("newline_values_only").expect("it is listed");
    let list = Value::List(vec!["a".into(), 1.into(), "b\n".into()]);
    assert_eq!(outputter.one("web1", &list, &Style::default()), "a\n1\nb\n");
    assert_eq!(outputter.one("web1", &true.into(), &Style::default()), "True\n");
}

#[test]
fn lines_of_json_are_for_programs() {
    let text = open("jsonl").expect("it is listed").one("web1", &Value::List(vec![1.into()]), &Style::default());
    assert_eq!(text, "{\"id\":\"web1\",\"value\":[1]}\n");
}

#[test]
fn quiet_is_quiet() {
    for name in ["quiet", "no_out"] {
        assert_eq!(open(name).expect("it is listed").one("web1", &"x".into(), &Style::default()), "");
    }
}

#[test]
fn names_are_in_order_and_a_wrong_one_is_told() {
    assert!(ALL.is_sorted_by(|a, b| a.name < b.name));
    assert!(open("text").is_ok());
    match open("jsn").map(|_| ()) {
        Err(Error::Unknown { hint, .. }) => assert_eq!(hint, "; did you mean 'json'?"),
        other => panic!("{other:?}"),
    }
}
