//! A crate depends only on the crates that ARCHITECTURE.md's table allows.

use crate::tree::Tree;

/// For each crate, the workspace crates that it may use outside of tests. `*` is every crate of the controller's side.
const MAY_USE: &[(&str, &[&str])] = &[
    // The cases are YAML. Besides core's parser, only the binary of the product may be used.
    ("e2e", &["rocksalt-core", "rocksalt-testkit"]),
    ("rocksalt", &["*"]),
    ("rocksalt-agent", &["rocksalt-core", "rocksalt-modules", "rocksalt-sls"]),
    ("rocksalt-backends", &["rocksalt-core"]),
    ("rocksalt-bench", &["rocksalt-testkit"]),
    ("rocksalt-catalog", &["rocksalt-core"]),
    ("rocksalt-client", &["rocksalt-core"]),
    ("rocksalt-connect", &["rocksalt-core"]),
    (
        "rocksalt-controller",
        &["rocksalt-backends", "rocksalt-catalog", "rocksalt-connect", "rocksalt-core", "rocksalt-sls"],
    ),
    ("rocksalt-core", &[]),
    (
        "rocksalt-daemon",
        &["rocksalt-backends", "rocksalt-catalog", "rocksalt-connect", "rocksalt-controller", "rocksalt-core"],
    ),
    ("rocksalt-jinja", &["rocksalt-core"]),
    ("rocksalt-macros", &[]),
    ("rocksalt-modules", &["rocksalt-core", "rocksalt-macros"]),
    ("rocksalt-sls", &["rocksalt-core", "rocksalt-jinja"]),
    ("rocksalt-testkit", &[]),
    ("xtask", &[]),
];

/// The test tools, and crates that run only on targets: the command has descriptions of functions, not their code.
const NOT_IN_THE_COMMAND: &[&str] =
    &["e2e", "rocksalt-agent", "rocksalt-macros", "rocksalt-modules", "rocksalt-testkit", "xtask"];

pub fn check(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for package in &tree.packages {
        let name = &package.name;
        let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| known == name) else {
            findings.push(format!("{name} is a new crate: say in xtask/src/tidy/dependencies.rs what it may use"));
            continue;
        };
        let may =
            |used: &str| allowed.contains(&used) || (allowed.contains(&"*") && !NOT_IN_THE_COMMAND.contains(&used));
        for used in package.uses.iter().filter(|used| !may(used)) {
            findings.push(format!("{name} must not use {used} ({}/Cargo.toml)", package.directory));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::WorkspaceCrate;

    fn using(name: &str, uses: &[&str]) -> Vec<String> {
        let uses = uses.iter().map(|used| (*used).to_owned()).collect();
        let package =
            WorkspaceCrate { name: name.into(), directory: "crates/x".into(), uses, ..WorkspaceCrate::default() };
        check(&Tree { packages: vec![package], ..Tree::default() })
    }

    #[test]
    fn a_forbidden_crate_is_found() {
        assert_eq!(using("rocksalt-sls", &["rocksalt-core", "rocksalt-jinja"]), [""; 0]);
        assert_eq!(using("rocksalt-connect", &["rocksalt-modules"]).len(), 1);
        assert_eq!(using("rocksalt-core", &["rocksalt-jinja"]).len(), 1);
    }

    #[test]
    fn the_binary_may_use_all_but_the_test_tools() {
        assert_eq!(using("rocksalt", &["rocksalt-catalog", "rocksalt-controller"]), [""; 0]);
        assert_eq!(using("rocksalt", &["rocksalt-modules"]).len(), 1);
        assert_eq!(using("rocksalt", &["rocksalt-testkit"]).len(), 1);
    }

    #[test]
    fn a_crate_without_a_rule_is_found() {
        assert_eq!(using("rocksalt-common", &[]).len(), 1);
    }
}
