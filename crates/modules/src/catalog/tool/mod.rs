//! Runs the target's own tools, and reads their output.

mod files;
mod program;

pub use files::{make_directories, make_parents, replace_link, write};
pub use program::{Tool, ended, failure, said, variables};

use crate::grains::look;
use crate::machine::{Command, Output, Probe, System};
use crate::text::words;
use crate::{Error, Result};

/// The path of a tool, or an error with a hint what to install.
pub fn find(machine: &dyn Probe, name: &str) -> Result<String> {
    look::program(machine, name).ok_or_else(|| {
        Error::failed(format!("the target has no program '{name}'"))
            .hint("install the package that it comes with, for example by pkg.installed in an earlier step")
    })
}

/// Whether systemd is the first process, so that its daemons answer.
pub fn booted_by_systemd(machine: &dyn Probe) -> bool {
    look::is_directory(machine, "/run/systemd/system")
}

/// The output of a command that only reads; a failure is an error.
pub fn told<S: AsRef<str>>(machine: &dyn Probe, argv: &[S]) -> Result<String> {
    let command = command(argv);
    let output = machine.query(&command)?;
    if output.success() { Ok(output.text()) } else { Err(Error::failed(fault(&command.argv, &output))) }
}

/// As [`told`], for a command that changes something.
pub fn done<S: AsRef<str>>(machine: &dyn System, argv: &[S]) -> Result<String> {
    let command = command(argv);
    let output = machine.run(&command)?;
    if output.success() { Ok(output.text()) } else { Err(Error::failed(fault(&command.argv, &output))) }
}

/// In English, because the output is parsed.
pub fn command<S: AsRef<str>>(argv: &[S]) -> Command {
    let mut command = Command::new(argv.iter().map(AsRef::as_ref));
    command.env.push(("LC_ALL".into(), Some("C".into())));
    command
}

/// The command, how it ended, and its whole output.
pub fn fault(argv: &[String], output: &Output) -> String {
    let shown: Vec<String> = argv.iter().map(|word| words::quote(word)).collect();
    let how = if output.timed_out { "was too slow".into() } else { format!("ended with exit code {}", output.code) };
    let mut text = format!("`{}` {how}", shown.join(" "));
    for said in [&output.stderr, &output.stdout] {
        let said = String::from_utf8_lossy(said);
        if !said.trim().is_empty() {
            text = format!("{text}{}{}", if text.contains('\n') { "\n" } else { ":\n" }, said.trim_end());
        }
    }
    text
}
