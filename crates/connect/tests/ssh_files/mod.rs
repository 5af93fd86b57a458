//! The files of ssh, read by us and by OpenSSH's own tools: both must agree.

mod config;
mod known_hosts;

use std::process::Command;

/// Whether the tool is installed; if not, says so on stderr.
#[allow(clippy::print_stderr, reason = "a test that is skipped must say so")]
fn is_there(tool: &str) -> bool {
    let there = Command::new(tool).arg("-?").output().is_ok();
    if !there {
        eprintln!("skipped: there is no {tool}");
    }
    there
}
