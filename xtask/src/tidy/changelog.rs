//! CHANGELOG.md has an Unreleased section, for the next change to go into.

use crate::tree::Tree;

pub fn check(tree: &Tree) -> Vec<String> {
    let Some(text) = tree.files.get("CHANGELOG.md") else { return vec!["there is no CHANGELOG.md".into()] };
    let unreleased = |line: &str| {
        let title = line.strip_prefix("## ").unwrap_or_default().trim();
        title.trim_matches(['[', ']']) == "Unreleased"
    };
    if text.lines().any(unreleased) { Vec::new() } else { vec!["CHANGELOG.md has no `## Unreleased` section".into()] }
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;

    #[test]
    fn a_missing_file_and_a_missing_section_are_found() {
        assert_eq!(check(&tree(&[("CHANGELOG.md", "# Changes\n\n## Unreleased\n")])), [""; 0]);
        assert_eq!(check(&tree(&[("CHANGELOG.md", "# Changes\n\n## 0.1.0\nUnreleased\n")])).len(), 1);
        assert_eq!(check(&tree(&[])).len(), 1);
    }
}
