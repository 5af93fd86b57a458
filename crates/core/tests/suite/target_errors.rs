//! Runs `cases/target-errors.txt`: the messages for users.

use std::error::Error;

use rocksalt_core::target::{DELIMITER, Nodegroups, TargetExpression, TargetKind};

#[test]
fn errors_say_what_is_wrong() {
    let mut nodegroups = Nodegroups::new();
    for (name, text) in [("webs", "web*"), ("loop", "N@pool"), ("pool", "x or N@loop"), ("broken", "web* and")] {
        nodegroups.insert(name, text);
    }
    let cases = include_str!("../cases/target-errors.txt");
    for case in cases.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut fields = case.split(" => ");
        let (kind, text) = fields.next().and_then(|target| target.split_once(' ')).expect("a kind and a target");
        let expected = fields.next().expect("a message");
        let kind = TargetKind::from_name(kind).expect("a kind");
        let error = TargetExpression::parse(kind, text, DELIMITER, &nodegroups).expect_err(text);
        let mut chain = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            chain += &format!(": {error}");
            cause = error.source();
        }
        assert!(chain.contains(expected), "{text}\n  gives    {chain}\n  expected {expected}");
    }
    assert_eq!(cases.lines().count(), 36, "none is lost; a new one changes the number");
}

#[test]
fn a_kind_has_its_nearest_name() {
    let message = TargetKind::from_name("gran").expect_err("it is no kind").to_string();
    assert_eq!(message, "'gran' is not a way to target; did you mean 'grain'?");
    for kind in TargetKind::ALL {
        assert_eq!(TargetKind::from_name(kind.name()), Ok(kind));
    }
}

#[test]
fn what_is_needed_is_known() {
    let mut nodegroups = Nodegroups::new();
    nodegroups.insert("debian", "G@os:Debian");
    let needs = |text: &str| {
        let expression =
            TargetExpression::parse(TargetKind::Compound, text, DELIMITER, &nodegroups).expect("it is a target");
        (expression.needs_grains(), expression.needs_pillar())
    };
    assert_eq!(needs("web* and not L@a,b and E@x"), (false, false));
    assert_eq!(needs("web* or ( not G@a:b )"), (true, false));
    assert_eq!(needs("J@a:b"), (false, true));
    assert_eq!(needs("N@debian and I@a:b"), (true, true));
    assert_eq!(needs("S@10.0.0.0/8"), (true, false));
}
