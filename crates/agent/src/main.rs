//! The agent as a standalone program, which is uploaded to targets.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match rocksalt_agent::start(&arguments) {
        Some(code) => ExitCode::from(code),
        // A start without arguments only shows that this machine can run the program.
        None => ExitCode::SUCCESS,
    }
}
