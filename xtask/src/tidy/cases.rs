//! No folder of test cases is empty: its runner would pass without having run anything.

use crate::tree::Tree;

pub fn check(tree: &Tree) -> Vec<String> {
    let is_cases = |path: &&String| path.split('/').any(|part| part == "cases");
    let empty = |path: &&String| {
        let below = format!("{path}/");
        !tree.files.keys().any(|file| file.starts_with(&below))
    };
    let folders = tree.directories.iter().filter(is_cases).filter(empty);
    folders.map(|path| format!("{path} has no case in it")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;

    #[test]
    fn an_empty_folder_is_found() {
        let mut tree = tree(&[("crates/core/tests/cases/target/glob.yaml", "x")]);
        let directories =
            ["crates/core/tests/cases", "crates/core/tests/cases/target", "crates/core/tests/cases/empty"];
        tree.directories = directories.iter().map(|path| (*path).to_owned()).collect();
        assert_eq!(check(&tree), ["crates/core/tests/cases/empty has no case in it"]);
    }
}
