//! From a login to a running agent, over one channel (decision D3).

mod script;
pub use script::quote;
mod talk;

use std::time::Duration;

use rocksalt_core::link::{Failure, Stage};
use rocksalt_core::roster::{Entry, Method};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::agents::Agents;
use crate::transport::{Program, Prompt, Session};
use script::Words;
use talk::{Said, Talk};

/// Nothing said for so long means that nothing will be.
const SILENCE: Duration = Duration::from_secs(30);

/// How to start an agent.
pub struct Settings<'a> {
    pub entry: &'a Entry,
    pub agents: &'a Agents,
    pub prompt: &'a dyn Prompt,
    /// Leave nothing behind: its file is removed as it starts.
    pub wipe: bool,
}

/// A running agent's pipes, and what it had said already.
pub struct Started {
    pub program: Program,
    pub first_bytes: Vec<u8>,
}

/// Starts the agent; puts it there first if it isn't.
pub async fn start(session: &dyn Session, settings: &Settings<'_>) -> Result<Started, Failure> {
    let mut skip = Vec::new();
    // doas asks for its password at a terminal only.
    let needs_tty = |entry: &Entry| {
        entry.escalate.as_ref().is_some_and(|wish| wish.method == Method::Doas && wish.password.is_some())
    };
    let mut tty = settings.entry.tty || needs_tty(settings.entry);
    loop {
        match attempt(session, settings, &skip, tty).await {
            Ok(started) => return Ok(started),
            Err(Setback::Directory { directory, failure }) => {
                if skip.contains(&directory) || skip.len() > 4 {
                    return Err(failure);
                }
                skip.push(directory);
            }
            Err(Setback::NeedsTty) if !tty => tty = true,
            Err(Setback::NeedsTty) => {
                return Err(Failure::new(Stage::Escalate, "sudo wants a terminal and does not accept the one it has"));
            }
            Err(Setback::Final(failure)) => return Err(failure),
        }
    }
}

/// Why an attempt did not work, and whether another might.
enum Setback {
    /// This directory is of no use; another may be.
    Directory { directory: String, failure: Failure },
    NeedsTty,
    Final(Failure),
}

impl From<Failure> for Setback {
    fn from(failure: Failure) -> Setback {
        Setback::Final(failure)
    }
}

async fn attempt(
    session: &dyn Session,
    settings: &Settings<'_>,
    skip: &[String],
    tty: bool,
) -> Result<Started, Setback> {
    let words = words();
    let hashes: Vec<&str> = settings.agents.0.iter().map(|agent| agent.hash.as_str()).collect();
    let own_agent = session.own_agent();
    let command = match &own_agent {
        Some(agent) => script::plain(agent, settings.entry, &words, tty),
        None => script::command(settings.entry, &words, &hashes, skip, settings.wipe, tty),
    };
    let program = session.exec(&command, tty).await?;
    let prompts = prompts(settings.entry, &words);
    let mut talk = Conversation {
        program,
        stdout: Talk::new(&words.mark, prompts.clone()),
        stderr: Talk::new(&words.mark, prompts),
        asked: 0,
    };
    loop {
        match talk.next(settings).await? {
            Said::Start => {
                return Ok(Started { program: talk.program, first_bytes: talk.stdout.into_rest() });
            }
            Said::Prompt => talk.answer(settings).await?,
            Said::Need { machine, gzip, directory } => {
                upload(&mut talk.program, settings, &machine, gzip && !session.near(), &directory).await?;
            }
            Said::Full { bytes, directory } => {
                let failure = Failure::new(
                    Stage::Upload,
                    format!("the agent could not be stored in {directory}: the disk is full ({bytes} bytes arrived)"),
                )
                .hint("free some space there, or name another place with `thin_dir` in the roster");
                return Err(Setback::Directory { directory, failure });
            }
            Said::NoExec { code, directory } => {
                let failure = Failure::new(
                    Stage::Upload,
                    format!("the agent can't be run from {directory} (exit code {code}); it is mounted noexec, most likely"),
                )
                .hint("name a place that allows programs with `thin_dir` in the roster");
                return Err(Setback::Directory { directory, failure });
            }
            Said::Nowhere => {
                return Err(Failure::new(
                    Stage::Upload,
                    "there is no directory on the target that we own and can write to (home, /var/tmp, /dev/shm, /tmp)",
                )
                .hint("name one with `thin_dir` in the roster")
                .into());
            }
            Said::Lacks(tool) => {
                return Err(Failure::new(Stage::Upload, format!("the target has no `{tool}`, which checks the agent"))
                    .hint("install coreutils or busybox there")
                    .into());
            }
        }
    }
}

struct Conversation {
    program: Program,
    stdout: Talk,
    stderr: Talk,
    /// How often a password was asked for.
    asked: usize,
}

impl Conversation {
    async fn next(&mut self, settings: &Settings<'_>) -> Result<Said, Setback> {
        let mut out = vec![0; 16 * 1024];
        let mut err = vec![0; 4 * 1024];
        let mut err_open = true;
        loop {
            if let Some(said) = self.stdout.next_said().or_else(|| self.stderr.next_said()) {
                return Ok(said);
            }
            let read = timeout(SILENCE, async {
                tokio::select! {
                    count = self.program.stdout.read(&mut out) => (true, count.unwrap_or(0)),
                    count = self.program.stderr.read(&mut err), if err_open => (false, count.unwrap_or(0)),
                }
            });
            match read.await {
                Ok((true, 0)) => {
                    if err_open {
                        self.drain_stderr().await;
                    }
                    return Err(ended(&self.stdout.noise(), &self.stderr.noise(), settings.entry, self.asked));
                }
                Ok((true, count)) => self.stdout.push(&out[..count]),
                Ok((false, 0)) => err_open = false,
                Ok((false, count)) => self.stderr.push(&err[..count]),
                Err(_) => {
                    let noise = [self.stdout.noise(), self.stderr.noise()].join(" ");
                    return Err(Failure::new(
                        Stage::Agent,
                        format!("nothing came from the target for {} seconds after the login {noise}", SILENCE.as_secs()).trim_end(),
                    )
                    .hint("does its login shell start a program or wait for input?")
                    .into());
                }
            }
        }
    }

    async fn drain_stderr(&mut self) {
        let mut rest = Vec::new();
        let _ = timeout(Duration::from_millis(500), (&mut self.program.stderr).take(4096).read_to_end(&mut rest)).await;
        self.stderr.push(&rest);
    }

    /// Gives the password that sudo, su or doas asks for. Once: a second question means it was wrong.
    async fn answer(&mut self, settings: &Settings<'_>) -> Result<(), Setback> {
        let Some(escalate) = &settings.entry.escalate else { return Ok(()) };
        let method = escalate.method.name();
        self.asked += 1;
        if self.asked > 1 {
            return Err(Failure::new(Stage::Escalate, format!("{method} did not accept the password"))
                .hint("check `sudo_passwd` in the roster, or leave it out to be asked")
                .into());
        }
        let question = format!("{method} password for {}: ", settings.entry.id);
        let password = match &escalate.password {
            Some(password) => Some(password.clone()),
            None => settings.prompt.secret(&question).await,
        };
        let Some(password) = password else {
            return Err(Failure::new(Stage::Escalate, format!("{method} asks for a password and none is known"))
                .hint("give `sudo_passwd_file` in the roster, use --ask-sudo-pass, or allow NOPASSWD in sudoers")
                .into());
        };
        let mut line = password.reveal().clone().into_bytes();
        line.push(b'\n');
        let written = self.program.stdin.write_all(&line).await;
        let flushed = self.program.stdin.flush().await;
        written.and(flushed).map_err(|error| Failure::new(Stage::Escalate, format!("could not send the password: {error}")))?;
        Ok(())
    }
}

async fn upload(
    program: &mut Program,
    settings: &Settings<'_>,
    machine: &str,
    compress: bool,
    directory: &str,
) -> Result<(), Failure> {
    let Some(agent) = settings.agents.get(machine) else {
        return Err(Failure::new(
            Stage::Upload,
            format!("the target is a {machine} machine, and this rocksalt has agents for {} only", settings.agents.machines()),
        )
        .hint("build an agent for it and set ROCKSALT_AGENTS to its directory"));
    };
    let (format, bytes) = if compress { ("gz", agent.compressed()) } else { ("raw", agent.binary()) };
    let fault = |error: std::io::Error| {
        Failure::new(Stage::Upload, format!("the link broke while the agent was sent to {directory}: {error}"))
            .hint("try again; nothing that is incomplete is ever run")
    };
    let header = format!("{format} {} {}\n", bytes.len(), agent.hash);
    program.stdin.write_all(header.as_bytes()).await.map_err(fault)?;
    for piece in bytes.chunks(128 * 1024) {
        match timeout(SILENCE, program.stdin.write_all(piece)).await {
            Ok(written) => written.map_err(fault)?,
            Err(_) => return Err(fault(std::io::ErrorKind::TimedOut.into())),
        }
    }
    program.stdin.flush().await.map_err(fault)
}

/// Explains an end without a word of ours.
fn ended(stdout: &str, stderr: &str, entry: &Entry, asked: usize) -> Setback {
    let both = format!("{stderr} {stdout}");
    let has = |words: &[&str]| words.iter().any(|word| both.contains(word));
    if has(&["must have a tty", "a terminal is required", "Must be run from a terminal", "tty required"]) {
        return Setback::NeedsTty;
    }
    let said = if stderr.is_empty() { stdout } else { stderr };
    if entry.escalate.is_some() {
        let method = entry.escalate.as_ref().map_or("sudo", |escalate| escalate.method.name());
        let failure = |text: String| Failure::new(Stage::Escalate, text);
        if asked > 0 && has(&["incorrect password", "Authentication failure", "Authentication failed", "Sorry, try again", "no password was provided"]) {
            return failure(format!("{method} did not accept the password: {said}"))
                .hint("check `sudo_passwd` in the roster, or leave it out to be asked")
                .into();
        }
        if has(&["not in the sudoers", "is not allowed to", "may not run", "Operation not permitted", "not permitted"]) {
            return failure(format!("{method} is not allowed for this user: {said}"))
                .hint("add the user to sudoers, or log in as another one")
                .into();
        }
        if has(&["not found", "No such file"]) {
            return failure(format!("{method} is not there: {said}"))
                .hint("install it, or choose another way with `become` in the roster")
                .into();
        }
        if !said.is_empty() {
            return failure(format!("{method} failed: {said}")).into();
        }
    }
    if has(&["Permission denied", "permission denied"]) {
        return Failure::new(Stage::Agent, format!("the agent can't be started: {said}"))
            .hint("its directory may be mounted noexec: name another with `thin_dir` in the roster")
            .into();
    }
    if has(&["account is currently not available", "nologin"]) {
        return Failure::new(Stage::Session, format!("the user has no login shell: {said}")).hint("log in as another user").into();
    }
    let text = match said {
        "" => "the session ended before the agent started, without a word".to_owned(),
        said => format!("the session ended before the agent started: {said}"),
    };
    Failure::new(Stage::Agent, text).hint("does a plain `ssh` to it with the command `true` work?").into()
}

/// New for every attempt, so that nothing a target printed before can be taken for our words.
fn words() -> Words {
    let number = std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), 0u8);
    Words { mark: format!("ROCKSALT-{number:016x}"), prompt: format!("ROCKSALT-PASSWORD-{number:016x}:") }
}

fn prompts(entry: &Entry, words: &Words) -> Vec<String> {
    match entry.escalate.as_ref().map(|escalate| escalate.method) {
        None => Vec::new(),
        Some(Method::Sudo) => vec![words.prompt.clone()],
        Some(Method::Su | Method::Doas) => vec!["assword: ".into(), "assword:".into()],
    }
}

