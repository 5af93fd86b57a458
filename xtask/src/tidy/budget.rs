//! The agents stay within their size budget: they run as root on every machine.

use crate::tree::Tree;

/// The number of crates linked into the agent, including itself. An increase needs a reason in the commit.
const AGENT_CRATES: usize = 55;

/// The size of one static agent, stripped: 7,886,856 bytes when this was set (decision 0023), plus three percent.
const AGENT_BYTES: u64 = 8_120_000;

/// The size of the small agent, which is sent first (decision 0018). Two thirds of it are the C library and std.
const SMALL_AGENT_BYTES: u64 = 1_700_000;

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
    for (name, bytes) in &tree.agents {
        let allowed = if name.starts_with("rocksalt-agent-small-") { SMALL_AGENT_BYTES } else { AGENT_BYTES };
        if *bytes > allowed {
            findings.push(format!("{name} has {bytes} bytes, {allowed} are allowed"));
        }
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
        let agents =
            |whole, small| vec![("rocksalt-agent-x86_64".into(), whole), ("rocksalt-agent-small-x86_64".into(), small)];
        tree.agents = agents(AGENT_BYTES, SMALL_AGENT_BYTES);
        assert_eq!(check(&tree), [""; 0]);
        tree.graphs.insert("rocksalt-agent".into(), crates(AGENT_CRATES + 1));
        tree.agents = agents(AGENT_BYTES + 1, SMALL_AGENT_BYTES + 1);
        assert_eq!(check(&tree).len(), 3);
    }
}
