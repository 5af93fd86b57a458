//! The agent's builds that can be sent to targets.

use std::borrow::Cow;
use std::io::Write;
use std::sync::OnceLock;

use blake2::Blake2b512;
use rocksalt_core::hex;
use rocksalt_core::link::Extent;
use sha2::{Digest, Sha256};

/// What a target checks an upload with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// `b2sum`: as strong as the other and twice as fast where the processor has no instructions for it.
    Blake2b,
    /// `sha256sum`, which busybox has too.
    Sha256,
}

/// One build, for one kind of machine.
pub struct Agent {
    /// As `uname -m` says it.
    pub machine: String,
    pub extent: Extent,
    /// Its sha256 in hexadecimal; what it is called by.
    pub hash: String,
    binary: Cow<'static, [u8]>,
    compressed: OnceLock<Vec<u8>>,
    blake2b: OnceLock<String>,
}

impl Agent {
    /// `name` is what follows `rocksalt-agent-` in its file's name: `x86_64`, `small-x86_64`.
    pub fn new(name: &str, binary: impl Into<Cow<'static, [u8]>>) -> Agent {
        let binary = binary.into();
        let hash = hex(&Sha256::digest(&binary));
        Agent::hashed(name, hash, binary)
    }

    /// The same where the hash is known: to look at an agent that is never sent costs its size in memory.
    pub fn hashed(name: &str, hash: impl Into<String>, binary: impl Into<Cow<'static, [u8]>>) -> Agent {
        let (extent, machine) = match name.strip_prefix("small-") {
            Some(machine) => (Extent::Small, machine.to_owned()),
            None => (Extent::Whole, name.to_owned()),
        };
        let (hash, binary) = (hash.into(), binary.into());
        Agent { machine, extent, hash, binary, compressed: OnceLock::new(), blake2b: OnceLock::new() }
    }

    /// What the target's tool must say about it.
    pub fn sum(&self, check: Check) -> &str {
        match check {
            Check::Sha256 => &self.hash,
            Check::Blake2b => self.blake2b.get_or_init(|| hex(&Blake2b512::digest(&self.binary))),
        }
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
    /// The least that can do so much on such a machine.
    pub fn get(&self, machine: &str, extent: Extent) -> Option<&Agent> {
        // Debian calls a 32-bit kernel's machine i686, and some systems say amd64.
        let machine = if machine == "amd64" { "x86_64" } else { machine };
        let able = self.0.iter().filter(|agent| agent.machine == machine && agent.extent >= extent);
        able.min_by_key(|agent| agent.extent)
    }

    /// The hashes of all that can do so much; first of those that can do most, since they serve the next call too.
    pub fn hashes(&self, extent: Extent) -> Vec<&str> {
        let mut able: Vec<&Agent> = self.0.iter().filter(|agent| agent.extent >= extent).collect();
        able.sort_by_key(|agent| std::cmp::Reverse(agent.extent));
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
    fn the_least_that_will_do_is_sent_and_the_most_that_is_there_is_started() {
        let agents = Agents(vec![
            Agent::new("small-x86_64", b"small".as_slice()),
            Agent::new("x86_64", b"whole".as_slice()),
            Agent::new("aarch64", b"other".as_slice()),
        ]);
        let sent = |machine, extent| agents.get(machine, extent).map(Agent::binary);
        assert_eq!(sent("x86_64", Extent::Small), Some(b"small".as_slice()));
        assert_eq!(sent("amd64", Extent::Whole), Some(b"whole".as_slice()));
        assert_eq!(sent("aarch64", Extent::Small), Some(b"other".as_slice()), "there is no small one for it");
        assert_eq!(sent("riscv64", Extent::Small), None);
        let [small, whole, other] = [0, 1, 2].map(|place| agents.0[place].hash.as_str());
        assert_eq!(agents.hashes(Extent::Small), [whole, other, small]);
        assert_eq!(agents.hashes(Extent::Whole), [whole, other]);
        assert_eq!(agents.machines(), "aarch64, x86_64");
    }
}
