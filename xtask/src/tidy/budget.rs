//! The agent stays small: it runs as root on every machine.

use crate::tree::Tree;

/// Crates linked into the agent, itself included. Raising it wants a reason in the commit.
const AGENT_CRATES: usize = 55;

/// Bytes of one static agent, stripped: what it has, and a tenth more.
const AGENT_BYTES: u64 = 5_200_000;

pub fn check(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    if let Some(graph) = tree.graphs.get("rocksalt-agent")
        && graph.len() > AGENT_CRATES
    {
        findings.push(format!(
            "rocksalt-agent has {} crates in it, {AGENT_CRATES} are allowed; see `cargo tree -p rocksalt-agent -e normal`",
            graph.len()
        ));
    }
    for (name, bytes) in tree.agents.iter().filter(|(_, bytes)| *bytes > AGENT_BYTES) {
        findings.push(format!("{name} has {bytes} bytes, {AGENT_BYTES} are allowed"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_crates_and_too_many_bytes_are_found() {
        let mut tree = Tree::default();
        let crates = |count: usize| (0..count).map(|number| format!("crate{number}")).collect();
        tree.graphs.insert("rocksalt-agent".into(), crates(AGENT_CRATES));
        tree.agents = vec![("rocksalt-agent-x86_64".into(), AGENT_BYTES)];
        assert_eq!(check(&tree), [""; 0]);
        tree.graphs.insert("rocksalt-agent".into(), crates(AGENT_CRATES + 1));
        tree.agents = vec![("rocksalt-agent-x86_64".into(), AGENT_BYTES + 1)];
        assert_eq!(check(&tree).len(), 2);
    }
}
