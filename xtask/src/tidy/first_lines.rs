//! Every file starts with a line that says what it is; in a crate's lib.rs it is the description from Cargo.toml.

use crate::tree::Tree;

pub fn check(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, text) in tree.rust() {
        let first = text.lines().next().unwrap_or_default();
        let is_build_script = path.ends_with("/build.rs");
        if !(first.starts_with("//! ") || is_build_script && first.starts_with("// ")) {
            findings.push(format!("{path}:1 is no doc line (`//! What this file is.`)"));
        }
    }
    for package in &tree.packages {
        let path = format!("{}/src/lib.rs", package.directory);
        let Some(text) = tree.files.get(&path) else { continue };
        let wanted = format!("//! {}.", package.description);
        if package.description.is_empty() {
            findings.push(format!("{}/Cargo.toml has no description", package.directory));
        } else if text.lines().next() != Some(&*wanted) {
            findings.push(format!("{path}:1 isn't the description in Cargo.toml: {wanted}"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;
    use crate::tree::WorkspaceCrate;

    #[test]
    fn a_missing_doc_line_is_found() {
        let good = [("a/src/x.rs", "//! What it is.\n"), ("a/build.rs", "// Embeds it.\n")];
        assert_eq!(check(&tree(&good)), [""; 0]);
        let bad = [("a/src/x.rs", "use std::fs;\n"), ("a/src/y.rs", "// Not a doc.\n"), ("a/src/z.rs", "")];
        assert_eq!(check(&tree(&bad)).len(), 3);
    }

    #[test]
    fn a_crate_that_describes_itself_in_two_ways_is_found() {
        let package = |description: &str| WorkspaceCrate {
            description: description.into(),
            directory: "a".into(),
            ..WorkspaceCrate::default()
        };
        let mut tree = tree(&[("a/src/lib.rs", "//! The nouns.\n//!\n")]);
        tree.packages = vec![package("The nouns")];
        assert_eq!(check(&tree), [""; 0]);
        tree.packages = vec![package("Other nouns"), package("")];
        assert_eq!(check(&tree).len(), 2);
    }
}
