//! `rocksalt completions`: a completion script for a shell.

use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

use crate::failure::Failure;

/// Prints a completion script: `rocksalt completions bash > /etc/bash_completion.d/rocksalt`.
#[derive(Args)]
pub struct Options {
    shell: Shell,
}

pub fn run(options: &Options, mut command: clap::Command) -> Result<ExitCode, Failure> {
    clap_complete::generate(options.shell, &mut command, "rocksalt", &mut std::io::stdout());
    Ok(ExitCode::SUCCESS)
}
