//! The `rocksalt` command: commands in, outputs out.
//!
//! Invariant: only this crate prints, and only this crate and the daemon read the environment or the clock.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod agents;
mod arguments;
mod call_check;
mod commands;
mod config;
mod daemon;
mod diagnostics;
mod environment;
mod failure;
mod graph;
mod job_follower;
mod job_history;
mod job_summary;
mod keeper;
mod local_controller;
mod metadata;
mod output;
mod printing;
mod progress_line;
mod prompt;
mod roster;
mod salt_names;
mod stdout;
mod table;
mod this_machine;
mod times;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    rocksalt_core::memory::share_one_heap();
    commands::main(words)
}
