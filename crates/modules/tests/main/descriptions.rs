//! The descriptions in `rocksalt-catalog` equal those of the attributes.

use std::path::Path;

use rocksalt_core::description::Nature;
use rocksalt_core::{Map, Value, json};
use rocksalt_modules::catalog;
use rocksalt_modules::catalog::description::{ArgumentDescription, FunctionDescription};

#[test]
fn names_are_in_order_and_differ() {
    let mut seen = std::collections::BTreeSet::new();
    for entry in catalog::all() {
        for name in std::iter::once(&entry.name).chain(entry.aliases) {
            assert!(seen.insert(*name), "{name} is there twice");
        }
    }
    for noun in catalog::nouns() {
        let names: Vec<&str> = catalog::matching(noun).map(|entry| entry.name).collect();
        for pair in names.windows(2) {
            assert!(pair[0] < pair[1], "in the list of {noun}: {} must be listed before {}", pair[1], pair[0]);
        }
    }
    assert!(catalog::nouns().is_sorted());
}

/// `UPDATE=1 cargo test -p rocksalt-modules descriptions` rewrites them.
#[test]
fn descriptions_are_up_to_date() {
    up_to_date("functions.json", catalog::all().map(|entry| (entry.description)()).collect());
    up_to_date("states.json", catalog::states().map(|entry| (entry.description)()).collect());
}

fn up_to_date(file: &str, descriptions: Vec<FunctionDescription>) {
    let entries = descriptions.into_iter().map(described).collect();
    let wanted = json::pretty(&Value::List(entries)) + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../catalog/data").join(file);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &wanted).expect("the descriptions can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let stale = wanted.lines().zip(found.lines().chain(std::iter::repeat(""))).find(|(wanted, found)| wanted != found);
    assert!(
        found == wanted,
        "crates/catalog/data/{file} is stale, first at {stale:?}; UPDATE=1 in the environment of this test writes it"
    );
}

fn described(description: FunctionDescription) -> Value {
    let has_rest = description.arguments.iter().any(|argument| argument.name == description.rest);
    let mut entry = Map::from_iter([("name".into(), description.name.into())]);
    if !description.aliases.is_empty() {
        entry.insert("aliases", texts(description.aliases));
    }
    if let Some(nature) = description.nature {
        entry.insert("nature", texts(&words(nature)));
    }
    entry.insert("doc", description.doc);
    if has_rest {
        entry.insert("rest", description.rest);
    }
    entry.insert("arguments", description.arguments.into_iter().map(argument).collect::<Vec<_>>());
    entry.into()
}

fn argument(argument: ArgumentDescription) -> Value {
    let mut entry = Map::from_iter([
        ("name".into(), argument.name.into()),
        ("type".into(), argument.shape.to_string().into()),
        ("doc".into(), argument.doc.into()),
    ]);
    if let Some(default) = argument.default {
        entry.insert("default", default);
    }
    if argument.secret {
        entry.insert("secret", true);
    }
    entry.into()
}

fn words(nature: Nature) -> Vec<&'static str> {
    let all = [
        ("reads", nature.reads),
        ("small", nature.small),
        ("repeatable", nature.repeatable),
        ("runs_states", nature.runs_states),
        ("whole_machine", nature.whole_machine),
        ("about_jobs", nature.about_jobs),
    ];
    all.into_iter().filter(|(_, is)| *is).map(|(word, _)| word).collect()
}

fn texts(texts: &[&str]) -> Value {
    Value::List(texts.iter().map(|text| (*text).into()).collect())
}
