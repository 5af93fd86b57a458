//! Files, types and tests that a page names exist: a rule without its test is only a sentence.

use crate::tree::Tree;

const PAGES: [&str; 3] = ["ARCHITECTURE.md", "docs/faults.md", "docs/security-rules.md"];

/// The folders whose files a page may name.
const FOLDERS: [&str; 5] = ["crates/", "e2e/", "fuzz/", "packaging/", "xtask/"];

pub fn check(tree: &Tree) -> Vec<String> {
    let pages = PAGES.iter().filter_map(|page| tree.files.get_key_value(*page));
    let lines = pages.flat_map(|(page, text)| text.lines().map(move |line| (page, line)));
    lines.flat_map(|(page, line)| faults(tree, line).into_iter().map(move |fault| format!("{page}: {fault}"))).collect()
}

fn faults(tree: &Tree, line: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let quoted: Vec<&str> = line.split('`').collect();
    for (index, text) in quoted.iter().enumerate().skip(1).step_by(2) {
        if is_path(text) {
            if !exists(tree, text) {
                faults.push(format!("there is no {text}"));
            } else if let Some(name) = index.checked_sub(2).map(|before| quoted[before])
                && quoted[index - 1] == " in "
                && tree.files.get(*text).is_some_and(|file| !defines(file, name))
            {
                faults.push(format!("{text} has no {name}"));
            }
        } else if line.starts_with("- Tests:") && text.contains('_') && !is_test(tree, text) {
            // A name of several words is a test's; shorter ones are Salt functions and the like.
            faults.push(format!("there is no test {text}"));
        }
    }
    faults
}

fn is_path(text: &str) -> bool {
    FOLDERS.iter().any(|folder| text.starts_with(folder)) && !text.contains(['<', '{', '*', ' '])
}

fn exists(tree: &Tree, path: &str) -> bool {
    let folder = format!("{}/", path.trim_end_matches('/'));
    tree.files.contains_key(path) || tree.files.keys().any(|file| file.starts_with(&folder))
}

fn defines(file: &str, name: &str) -> bool {
    let starts = ["struct", "enum", "trait", "type", "fn", "const"];
    let ends = [' ', '(', '<', ';', ':', '{'];
    starts.iter().any(|start| ends.iter().any(|end| file.contains(&format!("{start} {name}{end}"))))
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
        let page = "- Code: `crates/a.rs`, `crates/b`, `crates/gone.rs`, `e2e/<noun>/x`\n\
                    - Tests: `it_holds` and `it_went` in `crates/b/c.rs`; `cmd.run`\n\
                    | job | `Job` in `crates/a.rs`, `Run` in `crates/a.rs` |\n";
        let tree =
            tree(&[("docs/faults.md", page), ("crates/a.rs", "struct Job {"), ("crates/b/c.rs", "fn it_holds() {}")]);
        let faults = ["there is no crates/gone.rs", "there is no test it_went", "crates/b/c.rs has no it_went"];
        let expected: Vec<String> =
            faults.iter().chain(&["crates/a.rs has no Run"]).map(|fault| format!("docs/faults.md: {fault}")).collect();
        assert_eq!(check(&tree), expected);
    }
}
