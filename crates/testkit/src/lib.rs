//! Throw-away hosts and fakes for tests.
//!
//! A [`Bed`] is a set of hosts with real SSH servers in network namespaces of their own (needs root); a [`Loopback`]
//! is the lesser thing that works without root. A [`Scratch`] is a project directory and a way to run the real binary
//! in it.

use std::io::Write;

mod base;
mod bed;
mod error;
mod host;
mod keys;
mod loopback;
mod process;
mod repository;
mod roster;
mod scratch;
mod tool;
mod unpacked;

pub use base::{prepare as prepare_base, prepare_extra};
pub use bed::{Bed, Host, remove_all, remove_stale};
pub use error::Error;
pub use host::{HostKind, Mount, Quirk, Spec};
pub use loopback::Loopback;
pub use process::Usage;
pub use repository::{Repository, RepositoryServer};
pub use roster::{TestbedEntry, roster};
pub use scratch::{Outcome, Run, Scratch, Started, rocksalt_binary};
pub use unpacked::unpacked;

/// What every user of a throw-away host has as a password, followed by `-password`: `deploy-password`.
pub fn password_of(user: &str) -> String {
    format!("{user}-password")
}

/// Why a test that needs throw-away hosts can't run here, if it can't.
pub fn cannot_run_hosts() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("throw-away hosts need root (network namespaces, mounts)".into());
    }
    None
}

/// Says that the running test does nothing, and why. Not captured, unlike what tests print: it must be seen.
///
/// `make test` says it again at its end; it names the file for that in `ROCKSALT_SKIPPED`.
pub fn say_skipped(reason: &str) {
    let thread = std::thread::current();
    let line = format!("SKIPPED {}: {reason}\n", thread.name().unwrap_or("a test"));
    // Nobody to tell is no reason to fail.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os("ROCKSALT_SKIPPED") {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}
