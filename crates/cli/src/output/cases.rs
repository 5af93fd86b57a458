//! Runs `tests/cases/output/*.json`: compares with Salt's output for the same data, byte for byte.

use std::path::Path;

use rocksalt_core::{Map, Value, json};

use super::{Style, open_with};

#[test]
fn results_print_as_salts() {
    let mut failures = Vec::new();
    let mut count = 0;
    for (file, group) in groups() {
        let Some(outputter) = group.walk("outputter", "/").and_then(Value::as_str) else { continue };
        for case in list(&group, "cases") {
            let name = format!("{file}: {}", text(case, "name"));
            let plain = list(case, "plain");
            let coloured = case.walk("coloured", "/").and_then(Value::as_list).unwrap_or(plain);
            for (colours, expected) in [(false, plain), (true, coloured)] {
                count += 1;
                check(&name, &printed(outputter, case, colours), &joined(expected), &mut failures);
            }
        }
    }
    assert_eq!(count, 446, "as many as were recorded, with and without colours");
    assert!(failures.is_empty(), "{} of {count} differ:\n{}", failures.len(), failures.join("\n"));
}

/// Where we differ from Salt on purpose (docs/output.md has the reasons), we print the documented text.
#[test]
fn differences_are_as_documented() {
    let mut failures = Vec::new();
    for (file, group) in groups().into_iter().filter(|(file, _)| file == "differences.json") {
        for case in list(&group, "cases") {
            let name = format!("{file}: {} {}", text(case, "outputter"), text(case, "name"));
            let ours = printed(&text(case, "outputter"), case, false);
            let expected = case.walk("ours", "/").and_then(Value::as_list).map(joined).unwrap_or_default();
            check(&name, &ours, &expected, &mut failures);
            if ours == joined(list(case, "salt")) {
                failures.push(format!("{name}: this is no difference any more"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn groups() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/output");
    let mut groups = Vec::new();
    for file in std::fs::read_dir(folder).expect("the cases are there") {
        let path = file.expect("the folder can be read").path();
        let content = std::fs::read_to_string(&path).expect("a case can be read");
        let group = json::parse(&content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        groups.push((path.file_name().expect("a name").to_string_lossy().into_owned(), group));
    }
    groups
}

fn printed(outputter: &str, case: &Value, colours: bool) -> String {
    let options = case.walk("options", "/").and_then(Value::as_map).cloned().unwrap_or_else(Map::new);
    let number = |name: &str| options.get(name).and_then(Value::as_i64);
    let indent = number("output_indent").map(|indent| i32::try_from(indent).expect("a small number"));
    let style = Style { colours, width: None, indent };
    let outputter = open_with(outputter, &options).expect("a known outputter");
    let data = case.walk("data", "/").and_then(Value::as_map).expect("data");
    let mut targets = data.iter();
    match (targets.next(), targets.next()) {
        (Some((id, value)), None) if number("retcode").is_some() => outputter.failed(&id.to_string(), value, &style),
        (Some((id, value)), None) => {
            let one = outputter.one(&id.to_string(), value, &style);
            assert_eq!(one, outputter.all(data, &style), "one target is all targets");
            one
        }
        _ => outputter.all(data, &style),
    }
}

fn check(name: &str, ours: &str, expected: &str, failures: &mut Vec<String>) {
    if ours != expected {
        failures.push(format!("--- {name}\nexpected:\n{expected}\nours:\n{ours}\n  {expected:?}\n  {ours:?}"));
    }
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.walk(name, "/").and_then(Value::as_list).unwrap_or_else(|| panic!("no list {name}"))
}

fn text(value: &Value, name: &str) -> String {
    value.walk(name, "/").map(Value::to_string).unwrap_or_default()
}

fn joined(lines: &[Value]) -> String {
    lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}
