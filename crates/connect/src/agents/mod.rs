//! The builds of the agent that can be uploaded to targets.

pub mod stored_agent;

use std::borrow::Cow;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use blake2::Blake2b512;
use rocksalt_core::hex;
use rocksalt_core::link::AgentKind;
use sha2::{Digest, Sha256};

/// The tool with which a target verifies an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// `b2sum`: as strong as SHA-256, and twice as fast on processors without SHA instructions.
    Blake2b,
    /// `sha256sum`, which busybox has too.
    Sha256,
}

/// One build, for one architecture.
pub struct Agent {
    /// The architecture, as `uname -m` prints it.
    pub machine: String,
    pub kind: AgentKind,
    /// Its SHA-256 in hexadecimal, which is part of its file name on targets.
    pub hash: String,
    binary: Cow<'static, [u8]>,
    compressed: OnceLock<Vec<u8>>,
    blake2b: OnceLock<String>,
    in_memory: OnceLock<Option<OwnedFd>>,
}

impl Agent {
    /// `name` is the part of its file name after `rocksalt-agent-`: `x86_64`, `small-x86_64`.
    pub fn new(name: &str, binary: impl Into<Cow<'static, [u8]>>) -> Agent {
        let binary = binary.into();
        let hash = hex(&Sha256::digest(&binary));
        Agent::hashed(name, hash, binary)
    }

    /// As [`Agent::new`] with a known hash: computing it reads the whole agent into memory, even if it is never sent.
    pub fn hashed(name: &str, hash: impl Into<String>, binary: impl Into<Cow<'static, [u8]>>) -> Agent {
        let (kind, machine) = match name.strip_prefix("small-") {
            Some(machine) => (AgentKind::Small, machine.to_owned()),
            None => (AgentKind::Whole, name.to_owned()),
        };
        let (hash, binary) = (hash.into(), binary.into());
        let (compressed, blake2b, in_memory) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Agent { machine, kind, hash, binary, compressed, blake2b, in_memory }
    }

    /// The checksum that the target's tool must print.
    pub fn sum(&self, check: Check) -> &str {
        match check {
            Check::Sha256 => &self.hash,
            Check::Blake2b => self.blake2b.get_or_init(|| hex(&Blake2b512::digest(&self.binary))),
        }
    }

    /// The program itself.
    pub fn binary(&self) -> &[u8] {
        &self.binary
    }

    /// An anonymous file in memory from which the agent starts on this machine, made at the first use.
    ///
    /// It is sealed, so nobody can change the program. `None` if the kernel refuses such files.
    pub fn in_memory(&self) -> Option<&OwnedFd> {
        use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
        let file = self.in_memory.get_or_init(|| {
            let file = memfd_create("rocksalt-agent", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).ok()?;
            let mut file = std::fs::File::from(file);
            file.write_all(&self.binary).ok()?;
            let file = OwnedFd::from(file);
            fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL).ok()?;
            Some(file)
        });
        file.as_ref()
    }

    /// The binary compressed with gzip, which every system has; compressed at the first use.
    pub fn compressed(&self) -> &[u8] {
        self.compressed.get_or_init(|| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            // Writing to memory can't fail.
            let _ = encoder.write_all(&self.binary);
            encoder.finish().unwrap_or_default()
        })
    }
}

/// All builds.
#[derive(Default)]
pub struct Agents(pub Vec<Agent>);

impl Agents {
    /// The smallest agent of at least this kind for an architecture.
    pub fn get(&self, machine: &str, kind: AgentKind) -> Option<&Agent> {
        // Some systems call x86_64 amd64.
        let machine = if machine == "amd64" { "x86_64" } else { machine };
        let able = self.0.iter().filter(|agent| agent.machine == machine && agent.kind >= kind);
        able.min_by_key(|agent| agent.kind)
    }

    /// The hashes of all agents of at least this kind, whole agents first: a whole agent can run any later call.
    pub fn hashes(&self, kind: AgentKind) -> Vec<&str> {
        let mut able: Vec<&Agent> = self.0.iter().filter(|agent| agent.kind >= kind).collect();
        able.sort_by_key(|agent| std::cmp::Reverse(agent.kind));
        able.into_iter().map(|agent| agent.hash.as_str()).collect()
    }

    pub fn machines(&self) -> String {
        let mut all: Vec<&str> = self.0.iter().map(|agent| agent.machine.as_str()).collect();
        all.sort_unstable();
        all.dedup();
        all.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_what_the_tools_print() {
        let agent = Agent::new("x86_64", b"abc".as_slice());
        assert_eq!(agent.sum(Check::Sha256), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(
            agent.sum(Check::Blake2b),
            "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1\
             7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923"
        );
    }

    #[test]
    fn the_smallest_sufficient_agent_is_sent_and_the_largest_present_is_started() {
        let agents = Agents(vec![
            Agent::new("small-x86_64", b"small".as_slice()),
            Agent::new("x86_64", b"whole".as_slice()),
            Agent::new("aarch64", b"other".as_slice()),
        ]);
        let sent = |machine, kind| agents.get(machine, kind).map(Agent::binary);
        assert_eq!(sent("x86_64", AgentKind::Small), Some(b"small".as_slice()));
        assert_eq!(sent("amd64", AgentKind::Whole), Some(b"whole".as_slice()));
        assert_eq!(sent("aarch64", AgentKind::Small), Some(b"other".as_slice()), "there is no small one for it");
        assert_eq!(sent("riscv64", AgentKind::Small), None);
        let [small, whole, other] = [0, 1, 2].map(|place| agents.0[place].hash.as_str());
        assert_eq!(agents.hashes(AgentKind::Small), [whole, other, small]);
        assert_eq!(agents.hashes(AgentKind::Whole), [whole, other]);
        assert_eq!(agents.machines(), "aarch64, x86_64");
    }
}
