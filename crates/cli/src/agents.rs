//! The agents that this binary can send: those inside it, or those found beside it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use rocksalt_connect::agents::{Agent, Agents};

/// Put in when the binary was built.
const EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/agents.rs"));

const PREFIX: &str = "rocksalt-agent-";

/// `ROCKSALT_AGENTS` goes first, so that an agent for a further kind of machine can be added.
pub fn load() -> Agents {
    let mut agents: Vec<Agent> = Vec::new();
    // By what follows the prefix in their names: the kind of machine, and before it `small-` for the small one.
    let mut known: Vec<String> = Vec::new();
    let mut add = |name: &str, binary: Cow<'static, [u8]>| {
        if !known.iter().any(|known| known == name) {
            known.push(name.to_owned());
            agents.push(Agent::new(name, binary));
        }
    };
    for (name, path) in named().into_iter().chain(if EMBEDDED.is_empty() { beside() } else { Vec::new() }) {
        if let Ok(binary) = std::fs::read(path) {
            add(&name, binary.into());
        }
    }
    for (name, binary) in EMBEDDED {
        add(name, (*binary).into());
    }
    Agents(agents)
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
