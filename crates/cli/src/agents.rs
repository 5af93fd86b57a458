//! The agents that this binary can send: those inside it, or those found beside it.

use std::path::{Path, PathBuf};

use rocksalt_connect::agents::{Agent, Agents};

/// Put in when the binary was built: name, hash, content.
const EMBEDDED: &[(&str, &str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/agents.rs"));

const PREFIX: &str = "rocksalt-agent-";

/// `ROCKSALT_AGENTS` goes first, so that an agent for a further kind of machine can be added.
pub fn load() -> Agents {
    let mut agents = read(named());
    if EMBEDDED.is_empty() {
        add(&mut agents, read(beside()));
    } else {
        add(&mut agents, EMBEDDED.iter().map(|(name, hash, binary)| Agent::hashed(name, *hash, *binary)).collect());
    }
    Agents(agents)
}

/// Both agents of a machine come from the same place, since one may replace the other.
fn add(agents: &mut Vec<Agent>, mut more: Vec<Agent>) {
    more.retain(|agent| !agents.iter().any(|known| known.machine == agent.machine));
    agents.append(&mut more);
}

fn read(files: Vec<(String, PathBuf)>) -> Vec<Agent> {
    let mut agents: Vec<Agent> = Vec::new();
    for (name, path) in files {
        if let Ok(binary) = std::fs::read(path) {
            let agent = Agent::new(&name, binary);
            // The first of a kind counts.
            if !agents.iter().any(|known| known.machine == agent.machine && known.kind == agent.kind) {
                agents.push(agent);
            }
        }
    }
    agents
}

fn named() -> Vec<(String, PathBuf)> {
    std::env::var_os("ROCKSALT_AGENTS").map(|directory| in_directory(Path::new(&directory))).unwrap_or_default()
}

/// While developing: where cargo and make put them.
fn beside() -> Vec<(String, PathBuf)> {
    let Ok(program) = std::env::current_exe() else { return Vec::new() };
    let mut found = Vec::new();
    for directory in program.ancestors().skip(1).take(3) {
        found.extend(in_directory(&directory.join("agents")));
    }
    let single = program.with_file_name("rocksalt-agent");
    if single.is_file() {
        found.push((std::env::consts::ARCH.to_owned(), single));
    }
    found
}

fn in_directory(directory: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        Some((name.strip_prefix(PREFIX)?.to_owned(), entry.path()))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_agents_of_a_machine_come_from_one_place() {
        let mut agents = vec![Agent::new("x86_64", b"newer".as_slice())];
        let embedded = ["aarch64", "small-aarch64", "small-x86_64", "x86_64"];
        add(&mut agents, embedded.map(|name| Agent::new(name, name.as_bytes())).into());
        let names: Vec<&[u8]> = agents.iter().map(Agent::binary).collect();
        assert_eq!(names, [b"newer".as_slice(), b"aarch64", b"small-aarch64"]);
    }
}
