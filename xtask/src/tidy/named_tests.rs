//! The pages of rules and faults name files and tests that exist: a rule without its test is only a sentence.

use crate::tree::Tree;

const PAGES: [&str; 2] = ["docs/faults.md", "docs/security-rules.md"];

/// Where files begin that a page can name.
const FOLDERS: [&str; 5] = ["crates/", "e2e/", "fuzz/", "packaging/", "xtask/"];

pub fn check(tree: &Tree) -> Vec<String> {
    let pages = PAGES.iter().filter_map(|page| tree.files.get_key_value(*page));
    let lines = pages.flat_map(|(page, text)| text.lines().map(move |line| (page, line)));
    let faults = lines.flat_map(|(page, line)| {
        let (paths, names): (Vec<_>, Vec<_>) =
            quoted(line).partition(|text| FOLDERS.iter().any(|folder| text.starts_with(folder)));
        let missing = paths.into_iter().filter(|path| !exists(tree, path)).map(|path| format!("has no {path}"));
        // A name of several words is a test's; the shorter ones are functions of Salt and the like.
        let tests = names.into_iter().filter(|name| line.starts_with("- Tests:") && name.contains('_'));
        let gone = tests.filter(|name| !is_test(tree, name)).map(|name| format!("has no test {name}"));
        missing.chain(gone).map(|fault| format!("{page}: the tree {fault}")).collect::<Vec<_>>()
    });
    faults.collect()
}

/// What stands between backticks.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn exists(tree: &Tree, path: &str) -> bool {
    let folder = format!("{path}/");
    tree.files.contains_key(path) || tree.files.keys().any(|file| file.starts_with(&folder))
}

fn is_test(tree: &Tree, name: &str) -> bool {
    let function = format!("fn {name}(");
    tree.rust().any(|(_, text)| text.contains(&function))
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;

    #[test]
    fn what_is_gone_is_found() {
        let page = "- Code: `crates/a.rs`, `crates/b`, `crates/gone.rs`\n\
                    - Tests: `it_holds` and `it_went` in `crates/b/c.rs`; `cmd.run`\n";
        let tree = tree(&[("docs/faults.md", page), ("crates/a.rs", ""), ("crates/b/c.rs", "fn it_holds() {}")]);
        assert_eq!(
            check(&tree),
            ["docs/faults.md: the tree has no crates/gone.rs", "docs/faults.md: the tree has no test it_went"]
        );
    }
}
