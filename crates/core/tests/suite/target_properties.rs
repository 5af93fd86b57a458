//! Properties of target expressions that hold for any text.

use proptest::prelude::*;
use rocksalt_core::pattern::glob;
use rocksalt_core::target::{DELIMITER, Nodegroups, TargetExpression, TargetKind};
use rocksalt_core::value::{Map, Value};

use super::target_cases::Machine;

fn machine(id: &str) -> Machine {
    let nested: Map =
        [("b".into(), "c".into()), ("l".into(), vec![Value::Int(1), "x".into()].into())].into_iter().collect();
    let grains: Map = [
        ("os".into(), "Debian".into()),
        ("a".into(), nested.into()),
        ("ipv4".into(), vec![Value::from("10.0.0.1")].into()),
    ]
    .into_iter()
    .collect();
    Machine { id: id.into(), pillar: grains.clone(), grains }
}

fn compound(text: &str) -> TargetExpression {
    TargetExpression::parse(TargetKind::Compound, text, DELIMITER, &Nodegroups::new())
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn condition() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab*?]{1,4}",
        "E@[ab.]{1,4}\\$?",
        "L@[ab]{1,3}(,[ab]{1,3}){0,3}",
        "G@os:(Deb\\*|Red\\*|debian)",
        "P@os:(deb|red)",
        "I@a:(b:c|l:x|\\*|z)",
        "J\\|@a\\|b\\|[a-d]",
        "S@10\\.0\\.0\\.(0/24|1|2)",
        "R@a\\[1-3\\],-a[123]",
    ]
}

fn expression() -> impl Strategy<Value = String> {
    condition().prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|x| format!("not ( {x} )")),
            (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("( {x} ) and ( {y} )")),
            (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("{x} or {y}")),
            (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("{x} not ( {y} )")),
            inner.prop_map(|x| format!("( {x} )")),
        ]
    })
}

proptest! {
    #[test]
    fn no_text_panics(text in ".{0,60}", id in ".{0,10}", delimiter in ".{0,2}") {
        let mut nodegroups = Nodegroups::new();
        nodegroups.insert("g", &text);
        for kind in TargetKind::ALL {
            let _ = TargetExpression::parse(kind, &text, &delimiter, &nodegroups).map(|it| it.matches(&machine(&id)));
            TargetExpression::forgiving(kind, &text, &delimiter, &nodegroups).matches(&machine(&id));
        }
        let _ = TargetExpression::parse(TargetKind::Nodegroup, "g", ":", &nodegroups);
    }

    #[test]
    fn no_likely_text_panics(text in r"([GPIJLNSERX]?[|:]?@?|and |or |not |\( |\) |[\[\](){}*?\\^$.,&%:/-]|[a1ü ]){0,30}") {
        for kind in TargetKind::ALL {
            let _ = TargetExpression::parse(kind, &text, DELIMITER, &Nodegroups::new()).map(|it| it.matches(&machine("a1")));
        }
    }

    #[test]
    fn a_target_survives_printing(text in expression(), id in "[ab1]{1,4}") {
        let first = compound(&text);
        let second = compound(&first.to_string());
        prop_assert_eq!(first.to_string(), second.to_string());
        prop_assert_eq!(first.matches(&machine(&id)), second.matches(&machine(&id)));
    }

    #[test]
    fn negation_and_de_morgan_hold(x in expression(), y in expression(), id in "[ab1]{1,4}") {
        let is = |text: String| compound(&text).matches(&machine(&id));
        prop_assert_eq!(is(format!("not not ( {x} )")), is(x.clone()));
        prop_assert_eq!(is(format!("not ( {x} )")), !is(x.clone()));
        prop_assert_eq!(is(format!("not ( ( {x} ) and ( {y} ) )")), is(format!("not ( {x} ) or not ( {y} )")));
        prop_assert_eq!(is(format!("not ( ( {x} ) or ( {y} ) )")), is(format!("not ( {x} ) and not ( {y} )")));
    }

    #[test]
    fn a_nodegroup_is_its_expression_in_parentheses(x in expression(), y in condition(), id in "[ab1]{1,4}") {
        // In a nodegroup, words without operators are ids; parentheses make it an expression.
        let mut nodegroups = Nodegroups::new();
        nodegroups.insert("g", &format!("( {x} )"));
        for (with, without) in [("not N@g".to_owned(), format!("not ( {x} )")), (format!("{y} and N@g"), format!("{y} and ( {x} )"))] {
            let group = TargetExpression::parse(TargetKind::Compound, &with, DELIMITER, &nodegroups).expect("it is a target");
            prop_assert_eq!(group.matches(&machine(&id)), compound(&without).matches(&machine(&id)));
        }
    }

    #[test]
    fn a_list_is_any_of_its_ids(ids in prop::collection::vec("[ab1.-]{1,3}", 1..5), id in "[ab1.-]{1,3}") {
        let list = TargetExpression::parse(TargetKind::List, &ids.join(","), DELIMITER, &Nodegroups::new()).expect("it is a list");
        prop_assert_eq!(list.matches(&machine(&id)), compound(&ids.join(" or ")).matches(&machine(&id)));
        prop_assert_eq!(list.matches(&machine(&id)), ids.contains(&id));
    }

    #[test]
    fn a_glob_is_its_simple_self(pattern in "[ab*?]{0,8}", text in "[ab]{0,8}") {
        fn slow(pattern: &[u8], text: &[u8]) -> bool {
            match (pattern.split_first(), text.split_first()) {
                (None, None) => true,
                (Some((b'*', rest)), _) if slow(rest, text) => true,
                (Some((b'*', _)), Some((_, behind))) => slow(pattern, behind),
                (Some((b'?', rest)), Some((_, behind))) => slow(rest, behind),
                (Some((c, rest)), Some((d, behind))) => c == d && slow(rest, behind),
                _ => false,
            }
        }
        prop_assert_eq!(glob::matches(&pattern, &text), slow(pattern.as_bytes(), text.as_bytes()));
    }
}

#[test]
fn hostile_sizes_are_refused() {
    let parse = |text: &str| TargetExpression::parse(TargetKind::Compound, text, DELIMITER, &Nodegroups::new());
    assert!(parse(&"( ".repeat(100_000)).is_err());
    assert!(parse(&format!("{} a", "not ".repeat(100_000))).is_err());
    assert!(parse(&vec!["a"; 9_000].join(" or ")).is_ok());
    assert!(parse(&vec!["a"; 11_000].join(" or ")).is_err());
    assert!(parse(&format!("G@{}", ":".repeat(100_000))).is_err());
    let mut nodegroups = Nodegroups::new();
    nodegroups.insert("g0", "a or b");
    for level in 1..50 {
        nodegroups.insert(format!("g{level}"), &format!("N@g{0} or N@g{0}", level - 1));
    }
    assert!(TargetExpression::parse(TargetKind::Nodegroup, "g49", DELIMITER, &nodegroups).is_err());
}
