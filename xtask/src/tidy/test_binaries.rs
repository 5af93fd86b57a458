//! One test binary a crate, `tests/main.rs`: each one more is linked anew with everything in it.

use crate::tree::Tree;

pub fn check(tree: &Tree) -> Vec<String> {
    let own_binary = |path: &&str| {
        let mut parts = path.rsplit('/');
        let file = parts.next().unwrap_or_default();
        parts.next() == Some("tests") && file != "main.rs" && !path.contains("/src/")
    };
    let files = tree.rust().map(|(path, _)| path).filter(own_binary);
    files
        .map(|path| format!("{path} would be a test binary of its own: make it a folder's mod.rs, declared in main.rs"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;

    #[test]
    fn a_second_binary_is_found() {
        let tree = tree(&[
            ("a/tests/main.rs", ""),
            ("a/tests/faults/mod.rs", ""),
            ("a/tests/extra.rs", ""),
            ("a/src/tests/x.rs", ""),
        ]);
        assert_eq!(check(&tree).len(), 1);
        assert!(check(&tree)[0].starts_with("a/tests/extra.rs"));
    }
}
