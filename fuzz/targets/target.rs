//! Any text as any kind of target: never a panic, and what prints reads back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rocksalt_core::target::{DELIMITER, TargetExpression, TargetKind, Nodegroups, Subject};
use rocksalt_core::value::{Map, Value};

struct Machine(Map);

impl Subject for Machine {
    fn id(&self) -> &str {
        "web01.example.test"
    }

    fn grains(&self) -> &Map {
        &self.0
    }

    fn pillar(&self) -> &Map {
        &self.0
    }
}

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let nested: Map = [("b".into(), "c".into()), ("l".into(), vec![Value::Int(1), "x".into()].into())].into_iter().collect();
    let machine = Machine(
        [("os".into(), "Debian".into()), ("a".into(), nested.into()), ("ipv4".into(), vec!["10.0.0.1".into()].into())]
            .into_iter()
            .collect(),
    );
    // The first line is the target, the others are nodegroups.
    let mut lines = text.lines();
    let target = lines.next().unwrap_or_default();
    let mut nodegroups = Nodegroups::new();
    for (name, line) in ["a", "b", "c"].iter().zip(lines) {
        nodegroups.insert(*name, line);
    }
    for kind in TargetKind::ALL {
        let forgiving = TargetExpression::forgiving(kind, target, DELIMITER, &nodegroups);
        let Ok(strict) = TargetExpression::parse(kind, target, DELIMITER, &nodegroups) else { continue };
        assert_eq!(strict.matches(&machine), forgiving.matches(&machine), "{} {target}", kind.name());
        if kind == TargetKind::Compound {
            let printed = strict.to_string();
            let again = TargetExpression::parse(kind, &printed, DELIMITER, &Nodegroups::new()).expect("what prints reads back");
            assert_eq!(again.to_string(), printed);
            assert_eq!(again.matches(&machine), strict.matches(&machine), "{target} prints as {printed}");
        }
    }
});
