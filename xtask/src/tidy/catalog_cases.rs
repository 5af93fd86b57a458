//! Every function and state of the catalog has a case or test, except for a list that may only get shorter.

use std::collections::BTreeSet;

use crate::tree::Tree;

const FUNCTIONS: &str = "docs/reference/functions.md";
const STATES: &str = "docs/reference/states.md";
const CASES: &str = "crates/modules/tests/cases/";

/// Functions without a case, by reason. An entry that has a case must be removed.
const FUNCTIONS_WITHOUT: &[(&str, &[&str])] = &[];

/// States without a case, by reason.
const STATES_WITHOUT: &[(&str, &[&str])] = &[];

pub fn check(tree: &Tree) -> Vec<String> {
    check_against(tree, FUNCTIONS_WITHOUT, STATES_WITHOUT)
}

type Exceptions = [(&'static str, &'static [&'static str])];

fn check_against(tree: &Tree, functions: &Exceptions, states: &Exceptions) -> Vec<String> {
    let mut findings = missing(tree, "function", FUNCTIONS, &named_functions(tree), functions);
    findings.extend(missing(tree, "state", STATES, &named_states(tree), states));
    findings
}

fn missing(tree: &Tree, kind: &str, page: &str, named: &BTreeSet<&str>, exceptions: &Exceptions) -> Vec<String> {
    let Some(page) = tree.files.get(page) else { return Vec::new() };
    let listed: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let excepted: Vec<&str> = exceptions.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let mut findings = Vec::new();
    for name in listed.iter().filter(|name| !named.contains(*name) && !excepted.contains(name)) {
        findings.push(format!("the {kind} {name} is named by no case and no test; write a case in {CASES}"));
    }
    for name in &excepted {
        if named.contains(name) {
            findings.push(format!("the {kind} {name} has a case now: take it from the list in catalog_cases.rs"));
        } else if !listed.contains(name) {
            findings.push(format!("there is no {kind} {name}: take it from the list in catalog_cases.rs"));
        }
    }
    findings
}

/// Functions that have a folder of cases, or whose name occurs in a test.
fn named_functions(tree: &Tree) -> BTreeSet<&str> {
    let folders = tree.files.keys().filter_map(|path| path.strip_prefix(CASES)?.split('/').next());
    let tests = tree.files.iter().filter_map(|(path, text)| tests_in(path, text));
    folders.chain(tests.flat_map(words)).collect()
}

/// Finds states in the same way. A state may have a function's name, so only tests that apply states count.
fn named_states(tree: &Tree) -> BTreeSet<&str> {
    let folders =
        tree.files.keys().filter_map(|path| path.strip_prefix(CASES)?.strip_prefix("state/")?.split('/').next());
    let applies = |path: &str| {
        ["e2e/", "crates/agent/", "crates/sls/"].iter().any(|folder| path.starts_with(folder)) || path.contains("state")
    };
    let tests = tree.files.iter().filter(|(path, _)| applies(path)).filter_map(|(path, text)| tests_in(path, text));
    folders.chain(tests.flat_map(words)).collect()
}

/// The test part of a file: all of it, the part after `#[cfg(test)]`, or nothing.
fn tests_in<'t>(path: &str, text: &'t str) -> Option<&'t str> {
    if path.starts_with("e2e/") || path.contains("/tests/") {
        return Some(text);
    }
    if !path.ends_with(".rs") {
        return None;
    }
    text.split_once("#[cfg(test)]").map(|(_, tests)| tests)
}

/// Finds words like `file.managed`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let part_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '.';
    let words = text.split(move |letter: char| !part_of_name(letter)).map(|word| word.trim_matches('.'));
    words.filter(|word| word.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;

    const PAGES: [(&str, &str); 2] = [
        (FUNCTIONS, "## a\n\n### a.cased\n\n### a.tested\n\n### a.bare\n"),
        (STATES, "## a\n\n### a.tested\n\n### a.cased\n"),
    ];

    fn checked(functions: &Exceptions, states: &Exceptions) -> Vec<String> {
        let mut files = PAGES.to_vec();
        files.push(("crates/modules/tests/cases/a.cased/values.yml", "- {result: true}\n"));
        files.push(("crates/modules/tests/cases/state/a.cased/fake.yml", "- {}\n"));
        files.push(("crates/modules/src/catalog/a.rs", "fn a.bare() {}\n#[cfg(test)]\ncall(\"a.tested\")\n"));
        check_against(&tree(&files), functions, states)
    }

    #[test]
    fn what_no_case_names_is_found() {
        let findings = checked(&[], &[]);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[0].contains("the function a.bare is named by no case"), "{findings:?}");
        // Here the function of that name is tested, but not the state.
        assert!(findings[1].contains("the state a.tested is named by no case"), "{findings:?}");
    }

    #[test]
    fn the_list_of_exceptions_can_only_get_shorter() {
        assert_eq!(checked(&[("why", &["a.bare"])], &[("why", &["a.tested"])]), [""; 0]);
        let findings = checked(&[("why", &["a.bare", "a.cased", "a.gone"])], &[("why", &["a.tested"])]);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[0].contains("a.cased has a case now"), "{findings:?}");
        assert!(findings[1].contains("there is no function a.gone"), "{findings:?}");
    }
}
