//! From a login to a running agent, over one channel (decision D3).

mod script;
pub use script::quote;
mod talk;
mod upload;

use std::time::Duration;

use rocksalt_core::link::{Extent, Failure, Stage};
use rocksalt_core::roster::{Entry, Method};
use rocksalt_core::secret::Secret;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::agents::{Agent, Agents};
use crate::transport::{Program, Prompt, Session};
use script::Words;
use talk::{Said, Talk};
use upload::Upload;

/// Nothing said for so long means that nothing will be.
const SILENCE: Duration = Duration::from_secs(30);

/// How to start an agent.
pub struct Settings<'a> {
    pub entry: &'a Entry,
    pub agents: &'a Agents,
    /// What the agent must be able to do.
    pub extent: Extent,
    pub prompt: &'a dyn Prompt,
    /// Leave nothing behind: its file is removed as it starts.
    pub wipe: bool,
    /// How many uploads may be under way: each holds its part in memory.
    pub uploading: &'a Semaphore,
}

/// A running agent's pipes, and what it had said already.
pub struct Started {
    pub program: Program,
    pub first_bytes: Vec<u8>,
    /// What sudo, su or doas was given on the way.
    pub password: Option<Secret>,
}

/// Starts the agent; puts it there first if it isn't.
pub async fn start(session: &dyn Session, settings: &Settings<'_>) -> Result<Started, Failure> {
    let mut skip = Vec::new();
    let mut last = None;
    // doas asks for its password at a terminal only.
    let needs_tty = |entry: &Entry| {
        entry.escalate.as_ref().is_some_and(|wish| wish.method == Method::Doas && wish.password.is_some())
    };
    let mut tty = settings.entry.tty || needs_tty(settings.entry);
    loop {
        match attempt(session, settings, &skip, tty).await {
            Ok(started) => return Ok(started),
            Err(Setback::Directory { directory, failure }) => {
                if skip.contains(&directory) {
                    return Err(failure);
                }
                skip.push(directory);
                last = Some(failure);
            }
            // Nothing is left: what was wrong with the last one says more.
            Err(Setback::Nowhere(failure)) => return Err(last.unwrap_or(failure)),
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
    Directory {
        directory: String,
        failure: Failure,
    },
    NeedsTty,
    /// No directory is left.
    Nowhere(Failure),
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
    if settings.entry.escalate.is_none()
        && let Some(program) = session.start_own_agent().await?
    {
        return Ok(Started { program, first_bytes: Vec::new(), password: None });
    }
    let words = words();
    let hashes = settings.agents.hashes(settings.extent);
    let own_agent = session.own_agent();
    let command = match &own_agent {
        Some(agent) => script::plain(agent, settings.entry, &words, tty),
        None => script::command(settings.entry, &words, &hashes, skip, settings.wipe, tty),
    };
    let Program { mut stdin, stdout, stderr, room } = session.exec(&command, tty).await?;
    let prompts = prompts(settings.entry, &words);
    let mut listener = Listener {
        stdout,
        stderr,
        out: Talk::new(&words.mark, prompts.clone()),
        err: Talk::new(&words.mark, prompts),
        err_open: true,
        asked: 0,
    };
    let mut early = None;
    let mut password = None;
    loop {
        let said = match early.take() {
            Some(said) => said,
            None => listener.next(settings).await?,
        };
        match said {
            Said::Start => {
                let Listener { stdout, stderr, out, .. } = listener;
                return Ok(Started {
                    program: Program { stdin, stdout, stderr, room: None },
                    first_bytes: out.into_rest(),
                    password,
                });
            }
            Said::Prompt => {
                listener.asked += 1;
                password = answer(&mut *stdin, settings, listener.asked).await?;
            }
            Said::Need { machine, gzip, check, directory } => {
                let agent = agent_for(settings, &machine)?;
                let upload = Upload { agent, check, compress: gzip && !session.near(), directory: &directory };
                let _turn = settings.uploading.acquire().await;
                // A target whose disk is full says so and stops reading, long before all is sent.
                tokio::select! {
                    sent = upload.send(&mut *stdin, room.clone()) => sent?,
                    said = listener.next(settings) => early = Some(said?),
                }
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
                    format!(
                        "the agent can't be run from {directory} (exit code {code}); it is mounted noexec, most likely"
                    ),
                )
                .hint("name a place that allows programs with `thin_dir` in the roster");
                return Err(Setback::Directory { directory, failure });
            }
            Said::Nowhere => {
                let text = "there is no directory on the target that we own and can write to";
                return Err(Setback::Nowhere(
                    Failure::new(Stage::Upload, format!("{text} (home, /var/tmp, /dev/shm, /tmp)"))
                        .hint("name one with `thin_dir` in the roster"),
                ));
            }
            Said::Lacks(tool) => {
                return Err(Failure::new(Stage::Upload, format!("the target has no `{tool}`, which checks the agent"))
                    .hint("install coreutils or busybox there")
                    .into());
            }
        }
    }
}

/// What the target says, on both of its pipes.
struct Listener {
    stdout: Box<dyn AsyncRead + Send + Unpin>,
    stderr: Box<dyn AsyncRead + Send + Unpin>,
    out: Talk,
    err: Talk,
    err_open: bool,
    /// How often a password was asked for.
    asked: usize,
}

impl Listener {
    async fn next(&mut self, settings: &Settings<'_>) -> Result<Said, Setback> {
        let mut out = vec![0; 16 * 1024];
        let mut err = vec![0; 4 * 1024];
        loop {
            if let Some(said) = self.out.next_said().or_else(|| self.err.next_said()) {
                return Ok(said);
            }
            let read = timeout(SILENCE, async {
                tokio::select! {
                    count = self.stdout.read(&mut out) => (true, count.unwrap_or(0)),
                    count = self.stderr.read(&mut err), if self.err_open => (false, count.unwrap_or(0)),
                }
            });
            match read.await {
                Ok((true, 0)) => {
                    self.drain_stderr().await;
                    return Err(ended(&self.out.noise(), &self.err.noise(), settings.entry, self.asked));
                }
                Ok((true, count)) => self.out.push(&out[..count]),
                Ok((false, 0)) => self.err_open = false,
                Ok((false, count)) => self.err.push(&err[..count]),
                Err(_) => {
                    let noise = [self.out.noise(), self.err.noise()].join(" ");
                    let seconds = SILENCE.as_secs();
                    let text = format!("nothing came from the target for {seconds} seconds after the login {noise}");
                    return Err(Failure::new(Stage::Agent, text.trim_end())
                        .hint("does its login shell start a program or wait for input?")
                        .into());
                }
            }
        }
    }

    async fn drain_stderr(&mut self) {
        let mut rest = Vec::new();
        let mut pipe = (&mut self.stderr).take(4096);
        let _ = timeout(Duration::from_millis(500), pipe.read_to_end(&mut rest)).await;
        self.err.push(&rest);
    }
}

/// Gives the password that sudo, su or doas asks for. Once: a second question means it was wrong.
///
/// It is given back, so that nobody need be asked again.
async fn answer(
    stdin: &mut (dyn AsyncWrite + Send + Unpin),
    settings: &Settings<'_>,
    asked: usize,
) -> Result<Option<Secret>, Failure> {
    let Some(escalate) = &settings.entry.escalate else { return Ok(None) };
    let method = escalate.method.name();
    if asked > 1 {
        return Err(Failure::new(Stage::Escalate, format!("{method} did not accept the password"))
            .hint("check `sudo_passwd` in the roster, or leave it out to be asked"));
    }
    let question = format!("{method} password for {}: ", settings.entry.id);
    let password = match &escalate.password {
        Some(password) => Some(password.clone()),
        None => settings.prompt.secret(&question).await,
    };
    let Some(password) = password else {
        return Err(Failure::new(Stage::Escalate, format!("{method} asks for a password and none is known"))
            .hint("give `sudo_passwd_file` in the roster, use --ask-sudo-pass, or allow NOPASSWD in sudoers"));
    };
    let line = Secret::new(format!("{}\n", password.reveal()));
    let sent = async {
        stdin.write_all(line.reveal().as_bytes()).await?;
        stdin.flush().await
    };
    sent.await.map_err(|error| Failure::new(Stage::Escalate, format!("could not send the password: {error}")))?;
    Ok(Some(password))
}

fn agent_for<'a>(settings: &Settings<'a>, machine: &str) -> Result<&'a Agent, Failure> {
    settings.agents.get(machine, settings.extent).ok_or_else(|| {
        let machines = match settings.agents.machines() {
            none if none.is_empty() => "no machine at all".to_owned(),
            machines => format!("{machines} only"),
        };
        Failure::new(
            Stage::Upload,
            format!("the target is a {machine} machine, and this rocksalt has agents for {machines}"),
        )
        .hint("build an agent for it and set ROCKSALT_AGENTS to its directory")
    })
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
        if asked > 0
            && has(&[
                "incorrect password",
                "Authentication failure",
                "Authentication failed",
                "Sorry, try again",
                "no password was provided",
            ])
        {
            return failure(format!("{method} did not accept the password: {said}"))
                .hint("check `sudo_passwd` in the roster, or leave it out to be asked")
                .into();
        }
        if has(&["not in the sudoers", "is not allowed to", "may not run", "Operation not permitted", "not permitted"])
        {
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
        return Failure::new(Stage::Session, format!("the user has no login shell: {said}"))
            .hint("log in as another user")
            .into();
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
