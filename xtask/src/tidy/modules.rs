//! Every Rust file is declared as a module by the file above it.

use crate::tidy::test_binaries;
use crate::tree::Tree;

pub fn check(tree: &Tree) -> Vec<String> {
    let forgotten = tree.rust().filter_map(|(path, _)| {
        let (parents, name) = parents(path)?;
        let declared = parents.iter().filter_map(|parent| tree.files.get(parent)).any(|text| declares(text, &name));
        (!declared).then(|| format!("{path} is in no build: no `mod {name};` in {}", parents.join(" or ")))
    });
    forgotten.collect()
}

/// The files that may declare the module, and its name; `None` for the root file of a crate.
fn parents(path: &str) -> Option<(Vec<String>, String)> {
    let (folder, inside) = ["src", "tests"].iter().find_map(|folder| {
        let (before, after) = path.split_once(&format!("/{folder}/"))?;
        Some((format!("{before}/{folder}"), after))
    })?;
    let mut parts: Vec<&str> = inside.trim_end_matches(".rs").split('/').collect();
    let in_tests = folder.ends_with("/tests");
    if matches!(parts[..], ["lib" | "main"] | ["bin", _]) || in_tests && test_binaries::starts_a_binary(inside) {
        return None;
    }
    if parts.last() == Some(&"mod") {
        parts.pop();
    }
    let name = parts.pop()?.to_owned();
    let above = parts.join("/");
    let mut candidates = Vec::new();
    if above.is_empty() {
        candidates.extend(["lib", "main"].map(|root| format!("{folder}/{root}.rs")));
    } else {
        candidates.extend([format!("{folder}/{above}/mod.rs"), format!("{folder}/{above}.rs")]);
    }
    if in_tests && parts.len() == 1 {
        candidates.push(format!("{folder}/{above}/main.rs"));
    }
    Some((candidates, name))
}

fn declares(text: &str, name: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim();
        let line = line.strip_prefix("pub").map_or(line, |rest| {
            // Skips the rest of `pub(crate)` or `pub(super)`; after a plain `pub` there is nothing to skip.
            rest.split_once(')').filter(|_| rest.starts_with('(')).map_or(rest, |(_, rest)| rest)
        });
        line.trim() == format!("mod {name};")
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;

    #[test]
    fn a_file_that_nobody_declares_is_found() {
        let tree = tree(&[
            ("crates/a/src/lib.rs", "//! A.\nmod one;\npub mod two;\npub(crate) mod three;\n// mod five;\n"),
            ("crates/a/src/one.rs", ""),
            ("crates/a/src/two/mod.rs", "pub(super) mod inner;\n"),
            ("crates/a/src/two/inner.rs", ""),
            ("crates/a/src/two/lost.rs", ""),
            ("crates/a/src/three.rs", ""),
            ("crates/a/src/five.rs", ""),
            ("crates/a/src/bin/tool.rs", ""),
            ("crates/a/tests/main.rs", "mod faults;"),
            ("crates/a/tests/faults/mod.rs", ""),
            ("crates/a/tests/lost/mod.rs", ""),
            ("crates/b/tests/suite/main.rs", "mod one;"),
            ("crates/b/tests/suite/one.rs", ""),
            ("crates/b/tests/suite/lost.rs", ""),
            ("crates/a/build.rs", ""),
        ]);
        let findings = check(&tree);
        let paths: Vec<&str> = findings.iter().filter_map(|finding| finding.split(' ').next()).collect();
        let lost = ["a/src/five", "a/src/two/lost", "a/tests/lost/mod", "b/tests/suite/lost"];
        assert_eq!(paths, lost.map(|path| format!("crates/{path}.rs")));
    }
}
