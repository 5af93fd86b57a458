//! The agent doesn't depend on an async runtime: code that runs on targets uses threads.

use crate::tree::{GRAPHS, Tree};

const RUNTIMES: &[&str] = &["async-std", "futures-executor", "mio", "smol", "tokio"];

pub fn check(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for name in GRAPHS {
        let Some(graph) = tree.graphs.get(name) else { continue };
        for runtime in RUNTIMES.iter().filter(|runtime| graph.contains(**runtime)) {
            findings.push(format!("{name} has {runtime} in it; see `cargo tree -p {name} -i {runtime}`"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_is_found_however_deep() {
        let mut tree = Tree::default();
        let graph = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        tree.graphs.insert("rocksalt-agent".into(), graph(&["rocksalt-agent", "rustix"]));
        assert_eq!(check(&tree), [""; 0]);
        tree.graphs.insert("rocksalt-modules".into(), graph(&["rocksalt-modules", "tokio", "mio"]));
        assert_eq!(check(&tree).len(), 2);
    }
}
