//! The agent's builds that can be sent to targets.

use std::io::Write;
use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};

/// One build, for one kind of machine.
pub struct Agent {
    /// As `uname -m` says it.
    pub machine: String,
    /// Its sha256 in hexadecimal.
    pub hash: String,
    binary: Arc<[u8]>,
    compressed: OnceLock<Vec<u8>>,
}

impl Agent {
    pub fn new(machine: &str, binary: impl Into<Arc<[u8]>>) -> Agent {
        let binary = binary.into();
        let hash = Sha256::digest(&binary).iter().map(|byte| format!("{byte:02x}")).collect();
        Agent { machine: machine.to_owned(), hash, binary, compressed: OnceLock::new() }
    }

    /// As it was built.
    pub fn binary(&self) -> &[u8] {
        &self.binary
    }

    /// Packed with gzip, which every system can unpack; packed once, at the first need.
    pub fn compressed(&self) -> &[u8] {
        self.compressed.get_or_init(|| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            // Writing into memory can't fail.
            let _ = encoder.write_all(&self.binary);
            encoder.finish().unwrap_or_default()
        })
    }
}

/// All builds there are.
#[derive(Default)]
pub struct Agents(pub Vec<Agent>);

impl Agents {
    pub fn get(&self, machine: &str) -> Option<&Agent> {
        // Debian calls a 32-bit kernel's machine i686, and some systems say amd64.
        let machine = if machine == "amd64" { "x86_64" } else { machine };
        self.0.iter().find(|agent| agent.machine == machine)
    }

    pub fn machines(&self) -> String {
        self.0.iter().map(|agent| agent.machine.as_str()).collect::<Vec<_>>().join(", ")
    }
}
