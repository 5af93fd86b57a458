//! Each crate has one test binary: every further one would be linked anew with all dependencies.

use std::collections::BTreeMap;

use crate::tree::Tree;

pub fn check(tree: &Tree) -> Vec<String> {
    let mut binaries: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (path, _) in tree.rust() {
        if let Some((package, inside)) = path.split_once("/tests/").filter(|(package, _)| !package.contains("/src"))
            && starts_a_binary(inside)
        {
            binaries.entry(package).or_default().push(path);
        }
    }
    let several = binaries.values().filter(|paths| paths.len() > 1);
    several
        .map(|paths| format!("{} are test binaries of their own: make them modules of one", paths.join(", ")))
        .collect()
}

/// Matches the files that cargo takes for test binaries: `tests/x.rs` and `tests/x/main.rs`.
pub fn starts_a_binary(inside: &str) -> bool {
    matches!(inside.split('/').collect::<Vec<_>>()[..], [_] | [_, "main.rs"])
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;

    #[test]
    fn a_second_binary_is_found_in_either_form() {
        let one = [
            ("a/tests/main.rs", ""),
            ("a/tests/faults/mod.rs", ""),
            ("b/tests/suite/main.rs", ""),
            ("a/src/tests/x.rs", ""),
        ];
        assert_eq!(check(&tree(&one)), [""; 0]);
        let two = [
            ("a/tests/main.rs", ""),
            ("a/tests/extra.rs", ""),
            ("b/tests/suite/main.rs", ""),
            ("b/tests/x/main.rs", ""),
        ];
        assert_eq!(check(&tree(&two)).len(), 2);
    }
}
