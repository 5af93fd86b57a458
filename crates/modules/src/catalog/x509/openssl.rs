//! Runs the target's `openssl`, with its input in temporary files.

use crate::machine::{Command, Output, Probe, System};
use crate::{Error, Result};

/// Writes parts to files in a temporary directory, in memory if possible, and runs a command there.
const WITH_FILES: &str = "umask 077; test -d /dev/shm && TMPDIR=/dev/shm; export TMPDIR; d=$(mktemp -d) || exit 1; \
                          trap 'rm -rf \"$d\"' EXIT; trap 'exit 1' HUP INT TERM; n=$1; shift; i=0; \
                          while [ $i -lt $n ]; do eval \"printf %s \\\"\\$ROCKSALT_PART_$i\\\"\" > \"$d/$1\"; \
                          unset ROCKSALT_PART_$i; shift; i=$((i+1)); done; cd \"$d\" || exit 1; \"$@\"";

/// A run of openssl: its arguments, the files that they name, and pass phrases.
#[derive(Clone, Default)]
pub struct OpensslCommand {
    words: Vec<String>,
    parts: Vec<(String, String)>,
    secrets: Vec<(String, String)>,
    stdin: Option<Vec<u8>>,
}

impl OpensslCommand {
    pub fn new<'a>(words: impl IntoIterator<Item = &'a str>) -> OpensslCommand {
        OpensslCommand { words: words.into_iter().map(str::to_owned).collect(), ..OpensslCommand::default() }
    }

    #[must_use]
    pub fn and<'a>(mut self, words: impl IntoIterator<Item = &'a str>) -> OpensslCommand {
        self.words.extend(words.into_iter().map(str::to_owned));
        self
    }

    /// Adds a file that the arguments name.
    #[must_use]
    pub fn part(mut self, name: &str, content: impl Into<String>) -> OpensslCommand {
        self.parts.push((name.to_owned(), content.into()));
        self
    }

    /// Adds a pass phrase with its option. It is passed in the environment.
    #[must_use]
    pub fn pass(mut self, option: &str, phrase: Option<&str>) -> OpensslCommand {
        if let Some(phrase) = phrase {
            let name = format!("ROCKSALT_PASS_{}", self.secrets.len());
            self.words.extend([option.to_owned(), format!("env:{name}")]);
            self.secrets.push((name, phrase.to_owned()));
        }
        self
    }

    #[must_use]
    pub fn stdin(mut self, bytes: Vec<u8>) -> OpensslCommand {
        self.stdin = Some(bytes);
        self
    }

    fn command(&self) -> Command {
        let mut argv: Vec<String> = Vec::new();
        let mut env = vec![("LC_ALL".to_owned(), Some("C.UTF-8".to_owned()))];
        if !self.parts.is_empty() {
            argv.extend(["sh", "-c", WITH_FILES, "sh"].map(str::to_owned));
            argv.push(self.parts.len().to_string());
            argv.extend(self.parts.iter().map(|(name, _)| name.clone()));
            let part = |(index, (_, content)): (usize, &(String, String))| {
                (format!("ROCKSALT_PART_{index}"), Some(content.clone()))
            };
            env.extend(self.parts.iter().enumerate().map(part));
        }
        argv.push("openssl".into());
        argv.extend(self.words.iter().cloned());
        env.extend(self.secrets.iter().map(|(name, phrase)| (name.clone(), Some(phrase.clone()))));
        Command { env, stdin: self.stdin.clone(), umask: Some(0o077), ..Command::new(argv) }
    }

    pub fn look(&self, machine: &dyn Probe) -> Result<Output> {
        machine.query(&Command { umask: None, ..self.command() }).map_err(|error| started(&error))
    }

    /// The output; an error with the command if it fails. Neither contains keys.
    pub fn output(&self, machine: &dyn Probe) -> Result<Vec<u8>> {
        let output = self.look(machine)?;
        if output.success() { Ok(output.stdout) } else { Err(self.failed(&output)) }
    }

    /// As [`OpensslCommand::output`], for runs that create something.
    pub fn make(&self, machine: &dyn System) -> Result<Vec<u8>> {
        let output = machine.run(&self.command()).map_err(|error| started(&error))?;
        if output.success() { Ok(output.stdout) } else { Err(self.failed(&output)) }
    }

    fn failed(&self, output: &Output) -> Error {
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said.lines().filter(|line| !line.trim_matches(['.', '+', '*', '-']).is_empty()).collect();
        let words = self.words.join(" ");
        Error::failed(format!("'openssl {words}' failed with exit code {}: {}", output.code, said.join("\n")))
    }
}

fn started(error: &Error) -> Error {
    let text = error.to_string();
    match text.contains("could not start") {
        true => Error::failed(format!("{text}; the target has no openssl")).hint("install the package openssl there"),
        false => Error::failed(text),
    }
}
