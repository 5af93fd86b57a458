//! Runs `cases/patterns.json`: globs and regular expressions with Python's results.

use rocksalt_core::json;
use rocksalt_core::pattern::glob;
use rocksalt_core::target::Pcre;
use rocksalt_core::value::Value;

#[test]
fn patterns_match_as_pythons_do() {
    let cases = json::parse(include_str!("../cases/patterns.json")).expect("it is JSON");
    let mut failures = Vec::new();
    let mut count = 0;
    for kind in ["regex", "glob"] {
        for case in cases.walk(kind, ":").and_then(Value::as_list).expect("a list") {
            let [pattern, text, expected] = case.as_list().expect("three values") else { panic!("{case}") };
            let (pattern, text) = (pattern.as_str().expect("a pattern"), text.as_str().expect("a text"));
            let got = match kind {
                "glob" => Some(glob::matches(pattern, text)),
                _ => Pcre::new(pattern).ok().map(|regex| regex.matches(text)),
            };
            count += 1;
            if got != expected.as_bool() {
                let why = Pcre::new(pattern).err().map(|error| error.to_string());
                failures.push(format!("{kind} {pattern:?} on {text:?}: {got:?}, not {expected}: {why:?}"));
            }
        }
    }
    assert_eq!(count, 1300, "as many as were recorded");
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
}
