//! Runs the system's programs for accounts, and keeps their whole output.

use rocksalt_core::Value;

use crate::catalog::cmd;
use crate::machine::{Command, Probe, System};
use crate::{Error, Result};

/// Runs a program; the error contains the command and the whole output.
///
/// Its input is never shown, because it contains secrets.
pub fn run(machine: &dyn System, argv: &[String], stdin: Option<Vec<u8>>) -> Result<String, String> {
    let (program, rest) = argv.split_first().ok_or("there is no command to run")?;
    let Some(path) = cmd::which(machine, program) else {
        return Err(format!("Command '{program}' cannot be found"));
    };
    let words = std::iter::once(path.to_string_lossy().into_owned()).chain(rest.iter().cloned());
    let command = Command { stdin: Some(stdin.unwrap_or_default()), ..plain(words) };
    let output = machine.run(&command).map_err(|error| error.to_string())?;
    if output.success() {
        return Ok(output.text());
    }
    let said = [&output.stderr, &output.stdout].map(|text| String::from_utf8_lossy(text).trim_end().to_owned());
    let said: Vec<&str> = said.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
    Err(format!("`{}` ended with {}: {}", argv.join(" "), output.code, said.join("\n")))
}

/// Runs a program that only reads; `None` if it doesn't exist.
pub fn ask(machine: &dyn Probe, argv: &[&str]) -> Option<Result<crate::machine::Output>> {
    let path = cmd::which(machine, argv.first()?)?;
    let words = std::iter::once(path.to_string_lossy().into_owned()).chain(argv[1..].iter().map(|&word| word.into()));
    Some(machine.query(&plain(words)))
}

/// In English, because messages are compared and shown.
fn plain(words: impl Iterator<Item = String>) -> Command {
    Command { env: vec![("LC_ALL".into(), Some("C".into()))], ..Command::new(words) }
}

pub fn is_there(machine: &dyn Probe, program: &str) -> bool {
    cmd::which(machine, program).is_some()
}

pub fn words(argv: &[&str]) -> Vec<String> {
    argv.iter().map(|word| (*word).to_owned()).collect()
}

/// Checks a name, which becomes an argument of a command and a field of a file with colons.
pub fn check_name(what: &str, name: &str) -> Result<()> {
    let strange = |letter: char| letter.is_whitespace() || letter.is_control() || matches!(letter, ':' | ',' | '/');
    if name.is_empty() || name.starts_with('-') || name.contains(strange) {
        return Err(Error::arguments(format!("'{name}' is no name of a {what}")));
    }
    Ok(())
}

/// Refuses arguments that Salt only has for other systems.
pub fn refuse(arguments: &[(&str, &Value)]) -> Result<()> {
    match arguments.iter().find(|(_, value)| value.truth()) {
        Some((name, _)) => Err(Error::arguments(format!("{name}: there is no such thing on this system"))),
        None => Ok(()),
    }
}

pub fn texts(items: impl IntoIterator<Item = String>) -> Value {
    Value::List(items.into_iter().map(Value::from).collect())
}
