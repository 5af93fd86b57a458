//! No file names the machine on which it was written, nor a package registry's host.

use crate::tree::Tree;

/// Paths that belong to a developer's machine. Root's home alone doesn't count: targets have it too, and tests mention
/// it. Each is written in two halves, so that this file doesn't match.
const PATHS: &[&str] = &[
    concat!("/ro", "ot/.cache"),
    concat!("/ro", "ot/.cargo"),
    concat!("/ro", "ot/.pyenv"),
    concat!("/ro", "ot/.rustup"),
    concat!("/wo", "rk/"),
];
const HOSTS: &[&str] = &[
    concat!("deb.deb", "ian.org"),
    concat!("files.python", "hosted.org"),
    concat!("index.cra", "tes.io"),
    concat!("pk", "g.dev"),
    concat!("py", "pi.org"),
    concat!("registry.np", "mjs.org"),
    concat!("static.cra", "tes.io"),
];

/// Lock files necessarily name registries.
const LOCK_FILES: &[&str] = &["Cargo.lock", "package-lock.json"];

pub fn check(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, text) in &tree.files {
        if LOCK_FILES.iter().any(|lock| path.ends_with(lock)) {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let found = PATHS
                .iter()
                .find(|start| begins_a_path(line, start))
                .or(HOSTS.iter().find(|host| line.contains(**host)));
            if let Some(found) = found {
                findings.push(format!("{path}:{} has {found}", number + 1));
            }
        }
    }
    findings
}

/// Whether a path in the line starts with `start`; the same words later in a path are fine.
fn begins_a_path(line: &str, start: &str) -> bool {
    line.match_indices(start).any(|(position, _)| {
        let before = line[..position].chars().next_back();
        before.is_none_or(|before| !(before.is_alphanumeric() || "._-/}$".contains(before)))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;

    #[test]
    fn paths_and_hosts_are_found_with_their_lines() {
        let text = format!("fine\nsee {}main\nhttps://{}/simple\n", PATHS[4], HOSTS[4]);
        let findings = check(&tree(&[("docs/x.md", &text), ("Cargo.lock", &text)]));
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[0].starts_with("docs/x.md:2") && findings[1].starts_with("docs/x.md:3"));
    }

    #[test]
    fn the_same_word_inside_a_path_is_fine() {
        let text = format!("cp x $directory{}y\n/ro{}ot/.ssh", PATHS[4], "");
        assert_eq!(check(&tree(&[("a.sh", &text)])), [""; 0]);
    }
}
