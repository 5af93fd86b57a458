//! Compares an answer with Salt's, ignoring irrelevant differences.

use rocksalt_core::{Map, Value, json};

/// Describes the difference; `None` if there is none.
pub fn differences(step: &str, case: &Map, expected: &Value, got: &Value) -> Option<String> {
    let any_cycle = case.get("cycles").is_some();
    let (expected, got) = (expected.as_map()?, got.as_map()?);
    let errors = |map: &Map| map.get("errors").and_then(Value::as_list).map(<[Value]>::to_vec);
    match (errors(expected), errors(got)) {
        (None, None) => {}
        (Some(expected), Some(got)) => {
            if let Some(difference) = texts(case.get("errors").unwrap_or(&Value::Null), any_cycle, &expected, &got) {
                return Some(difference);
            }
        }
        (expected, got) => return Some(format!("errors: expected {expected:?}, got {got:?}")),
    }
    let key = if step == "test" { "low" } else { step };
    let (expected, got) = (expected.get(key), got.get(key));
    match (key, expected, got) {
        (_, None, _) => None,
        ("low", Some(Value::List(expected)), Some(Value::List(got))) => low(expected, got),
        ("high", Some(expected), Some(got)) => unequal(&high(expected), &high(got)),
        (_, Some(expected), Some(got)) => unequal(&plain(expected), &plain(got)),
        (_, Some(expected), None) => Some(format!("expected {}, got nothing", json::compact(expected))),
    }
}

fn texts(how: &Value, any_cycle: bool, expected: &[Value], got: &[Value]) -> Option<String> {
    let joined = got.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    match how {
        Value::String(how) if how == "any" => None,
        Value::Map(map) => {
            let wanted = map.get("contains").and_then(Value::as_list).unwrap_or_default();
            let missing: Vec<_> = wanted.iter().filter(|text| !joined.contains(&text.to_string())).collect();
            (!missing.is_empty()).then(|| format!("{missing:?} is not in {joined}"))
        }
        how => {
            let exact = how.as_str() == Some("exact");
            let first = |texts: &[Value]| -> Vec<String> {
                let shown = |text: &Value| {
                    let text = text.to_string();
                    // If there are several cycles, Salt reports any of them.
                    if any_cycle && text.starts_with("Recursive requisites were found") {
                        return "a cycle".to_owned();
                    }
                    if exact { text } else { text.lines().next().unwrap_or_default().to_owned() }
                };
                texts.iter().map(shown).collect()
            };
            (first(expected) != first(got)).then(|| format!("expected {:#?}, got {:#?}", first(expected), first(got)))
        }
    }
}

fn low(expected: &[Value], got: &[Value]) -> Option<String> {
    let tags = |chunks: &[Value]| chunks.iter().map(tag).collect::<Vec<_>>();
    if tags(expected) != tags(got) {
        return Some(format!("order: expected {:#?}, got {:#?}", tags(expected), tags(got)));
    }
    expected.iter().zip(got).find_map(|(expected, got)| unequal(&chunk(expected), &chunk(got)))
}

fn tag(chunk: &Value) -> String {
    let part = |key: &str| chunk.as_map().and_then(|map| map.get(key)).map(Value::to_string).unwrap_or_default();
    format!("{}_|-{}_|-{}_|-{}", part("state"), part("__id__"), part("name"), part("fun"))
}

/// A chunk without its numbers, and with its requisites as sets.
fn chunk(value: &Value) -> Value {
    let Some(map) = value.as_map() else { return value.clone() };
    let internal = ["order", "__sls_included_from__", "__prereq__", "__prerequiring__", "name_order"];
    let mut out = Map::new();
    for (key, value) in map.iter() {
        let name = key.to_string();
        if internal.contains(&name.as_str()) || (name.ends_with("_in") && name != "listen_in") {
            continue;
        }
        let is_requisite = rocksalt_sls::low::requisite::is_keyword(&name);
        out.insert(name, if is_requisite { as_set(value) } else { plain(value) });
    }
    out.into()
}

fn as_set(value: &Value) -> Value {
    let Some(items) = value.as_list() else { return plain(value) };
    let mut items: Vec<String> = items.iter().map(json::compact).collect();
    items.sort();
    items.dedup();
    Value::List(items.into_iter().map(Value::from).collect())
}

fn high(value: &Value) -> Value {
    plain(value)
}

/// Converts a value to JSON and back, so that keys are texts.
fn plain(value: &Value) -> Value {
    json::from_json(json::to_json(value))
}

fn unequal(expected: &Value, got: &Value) -> Option<String> {
    (expected != got).then(|| format!("expected {}\n     got {}", json::compact(expected), json::compact(got)))
}
