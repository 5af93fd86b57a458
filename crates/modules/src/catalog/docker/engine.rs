//! [`Engine`]: the container engine, `docker` or `podman`.

use std::time::Duration;

use rocksalt_core::{Value, json};
use serde::{Deserialize, Serialize};

use super::cmd;
use crate::machine::{Command, Output, Probe, System};
use crate::{Error, Result};

#[derive(Clone, Serialize, Deserialize)]
pub struct Engine {
    program: String,
}

impl Engine {
    pub fn find(machine: &dyn Probe) -> Result<Engine> {
        for name in ["docker", "podman"] {
            if let Some(path) = cmd::which(machine, name) {
                return Ok(Engine { program: path.to_string_lossy().into_owned() });
            }
        }
        Err(Error::failed("neither `docker` nor `podman` is on this machine")
            .hint("install one of them in a step before this one, for example Debian's podman"))
    }

    fn command(&self, words: &[&str], env: &[(String, Option<String>)]) -> Command {
        let mut command = Command::new(std::iter::once(self.program.as_str()).chain(words.iter().copied()));
        command.env = env.to_vec();
        command.timeout = Some(Duration::from_secs(3600));
        command
    }

    /// The description of an object (`container`, `image`, `network` or `volume`); `None` if it doesn't exist.
    pub fn inspect(&self, machine: &dyn Probe, kind: &str, name: &str) -> Result<Option<Value>> {
        let words = [kind, "inspect", sound(name)?];
        let output = machine.query(&self.command(&words, &[]))?;
        if !output.success() {
            let said = String::from_utf8_lossy(&output.stderr).to_lowercase();
            let missing = ["no such", "not found", "image not known", "unable to find"];
            return match missing.iter().any(|part| said.contains(part)) {
                true => Ok(None),
                false => Err(self.failure(&words, &output)),
            };
        }
        let told = json::parse(&output.text())
            .map_err(|error| Error::failed(format!("{} {} told no JSON: {error}", self.program, words.join(" "))))?;
        Ok(match told {
            Value::List(items) => items.into_iter().next(),
            other => Some(other),
        })
    }

    /// The output of a command that only reads.
    pub fn ask(&self, machine: &dyn Probe, words: &[&str]) -> Result<String> {
        let output = machine.query(&self.command(words, &[]))?;
        match output.success() {
            true => Ok(output.text()),
            false => Err(self.failure(words, &output)),
        }
    }

    /// Runs a command, and returns its output.
    pub fn tell(&self, machine: &dyn System, words: &[&str]) -> Result<String> {
        self.tell_with(machine, words, &[])
    }

    pub fn tell_with(&self, machine: &dyn System, words: &[&str], env: &[(String, Option<String>)]) -> Result<String> {
        let output = machine.run(&self.command(words, env))?;
        match output.success() {
            true => Ok(output.text()),
            false => Err(self.failure(words, &output)),
        }
    }

    /// The tool's whole error message, with the command.
    fn failure(&self, words: &[&str], output: &Output) -> Error {
        let said = String::from_utf8_lossy(&output.stderr);
        let how = if output.timed_out { "did not end within an hour" } else { "failed" };
        Error::failed(format!("`{} {}` {how}: {}", self.program, words.join(" "), said.trim()))
    }
}

/// Checks that a name can't be taken for an option.
pub fn sound(name: &str) -> Result<&str> {
    match !name.is_empty() && !name.starts_with('-') && !name.contains(char::is_whitespace) {
        true => Ok(name),
        false => Err(Error::arguments(format!("'{name}' can't be the name of a container, image, network or volume"))),
    }
}
