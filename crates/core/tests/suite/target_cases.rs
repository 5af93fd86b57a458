//! Runs `cases/target/*.json`: matches recorded from Salt.

use std::path::Path;

use rocksalt_core::target::{DELIMITER, Nodegroups, Subject, TargetExpression, TargetKind};
use rocksalt_core::value::{Map, Value};
use rocksalt_core::{json, target};

#[derive(Default)]
pub struct Machine {
    pub id: String,
    pub grains: Map,
    pub pillar: Map,
}

impl Subject for Machine {
    fn id(&self) -> &str {
        &self.id
    }

    fn grains(&self) -> &Map {
        &self.grains
    }

    fn pillar(&self) -> &Map {
        &self.pillar
    }
}

#[test]
fn targets_match_as_salts_do() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/target");
    let mut failures = Vec::new();
    let mut count = 0;
    for file in std::fs::read_dir(folder).expect("the cases are there") {
        let path = file.expect("the folder can be read").path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a case can be read");
        let group = json::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let field = |name: &str| group.walk(name, "/").unwrap_or_else(|| panic!("{}: no {name}", path.display()));
        let map = |name: &str| field(name).as_map().expect("a map").clone();
        let machine = Machine { id: field("id").to_string(), grains: map("grains"), pillar: map("pillar") };
        let nodegroups = forgiving_nodegroups(field("nodegroups"));
        for case in field("cases").as_list().expect("a list") {
            let text = |name: &str| case.walk(name, "/").and_then(Value::as_str);
            let kind = TargetKind::from_name(text("kind").expect("a kind")).expect("a known kind");
            let target = text("text").expect("a text");
            let delimiter = text("delimiter").unwrap_or(DELIMITER);
            let expected = case.walk("matches", "/").and_then(Value::as_bool).expect("an answer");
            let forgiving = TargetExpression::forgiving(kind, target, delimiter, &nodegroups);
            if forgiving.matches(&machine) != expected {
                failures.push(format!("{}: {} '{target}' should give {expected}", path.display(), kind.name()));
            }
            // A parse that reports errors must have the same result.
            if let Ok(strict) = TargetExpression::parse(kind, target, delimiter, &nodegroups)
                && strict.matches(&machine) != expected
            {
                failures.push(format!(
                    "{}: {} '{target}', strictly, should give {expected}",
                    path.display(),
                    kind.name()
                ));
            }
            count += 1;
        }
    }
    assert_eq!(count, 486, "as many as were recorded");
    assert!(failures.is_empty(), "{} of {count} fail:\n{}", failures.len(), failures.join("\n"));
}

/// Salt skips an entry that isn't a text or a list.
fn forgiving_nodegroups(value: &Value) -> Nodegroups {
    let map = value.as_map().expect("a map");
    let usable = map.iter().filter(|(_, group)| matches!(group, Value::String(_) | Value::List(_)));
    let usable: Map = usable.map(|(name, group)| (name.clone(), group.clone())).collect();
    assert!(
        usable.len() == map.len() || matches!(Nodegroups::from_value(value), Err(target::Error::BadNodegroup { .. }))
    );
    Nodegroups::from_value(&usable.into()).expect("only texts and lists")
}
