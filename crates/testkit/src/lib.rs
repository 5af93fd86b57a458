//! Throw-away hosts and fakes for tests.
//!
//! A [`Bed`] is a set of hosts with real SSH servers in their own network namespaces; it needs root. A [`Loopback`] is
//! a simpler substitute without root. A [`Scratch`] is a project directory in which the real binary is run.

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

/// The password of a user of a throw-away host: the name followed by `-password`, such as `deploy-password`.
pub fn password_of(user: &str) -> String {
    format!("{user}-password")
}

/// Why throw-away hosts can't run here; `None` if they can.
pub fn cannot_run_hosts() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("throw-away hosts need root (network namespaces, mounts)".into());
    }
    None
}

/// Reports that the running test is skipped, and why. Written to stderr directly, since the output of tests is
/// captured.
///
/// `make test` repeats the reports at its end; it passes the file for them in `ROCKSALT_SKIPPED`.
pub fn say_skipped(reason: &str) {
    let thread = std::thread::current();
    let line = format!("SKIPPED {}: {reason}\n", thread.name().unwrap_or("a test"));
    // A report that can't be written must not fail the test.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os("ROCKSALT_SKIPPED") {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}
