//! The `rocksalt` command: commands in, outputs out.
//!
//! Invariant: nothing but this crate prints, and nothing but this one and the daemon reads the
//! environment or the clock.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod agents;
mod arguments;
mod commands;
mod config;
mod daemon;
mod environment;
mod failure;
mod following;
mod graph;
mod keeper;
mod known_jobs;
mod live;
mod local;
mod metadata;
mod names;
mod output;
mod printing;
mod prompt;
mod roster;
mod say;
mod session;
mod table;
mod tally;
mod this_machine;
mod times;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    // First of all, and without anything else being set up: this is what targets run.
    if let Some(code) = rocksalt_agent::start(words.get(1..).unwrap_or_default()) {
        return ExitCode::from(code);
    }
    rocksalt_core::memory::share_one_heap();
    commands::main(words)
}
