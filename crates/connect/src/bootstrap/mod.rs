//! Starts the agent through a login, over one command and its pipes (docs/decisions/0005-upload-of-the-agent.md).

mod script;
mod script_output;
mod upload;

use std::time::{Duration, Instant};

use rocksalt_core::link::{AgentKind, LinkFailure, Stage};
use rocksalt_core::roster::{Method, RosterEntry};
use rocksalt_core::secret::Secret;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::agents::{Agent, Agents};
use crate::log::{ms, printable};
use crate::transport::{LoginSession, Program, Prompt};
use script::Markers;
use script_output::{ScriptError, ScriptMessage, ScriptOutput};
use upload::AgentUpload;

/// A target that sends nothing for this long counts as hanging.
const SILENCE_LIMIT: Duration = Duration::from_secs(30);

/// Which agent to start, and how.
pub struct Options<'a> {
    pub entry: &'a RosterEntry,
    pub agents: &'a Agents,
    /// What the agent must be able to do.
    pub agent_kind: AgentKind,
    pub prompt: &'a dyn Prompt,
    /// Remove the agent's file as it starts, so that nothing stays on the target.
    pub wipe: bool,
    /// Limits concurrent uploads: each holds a part of the agent in memory.
    pub uploading: &'a Semaphore,
}

/// The pipes of a running agent, and the bytes already read from it.
pub struct RunningAgent {
    pub program: Program,
    pub first_bytes: Vec<u8>,
    /// The password that sudo, su or doas accepted.
    pub password: Option<Secret>,
}

/// Starts the agent, and uploads it first if the target doesn't have it.
pub async fn start(session: &dyn LoginSession, options: &Options<'_>) -> Result<RunningAgent, LinkFailure> {
    let mut skip = Vec::new();
    let mut last = None;
    // doas asks for its password at a terminal only.
    let needs_tty = |entry: &RosterEntry| {
        entry.escalate.as_ref().is_some_and(|wish| wish.method == Method::Doas && wish.password.is_some())
    };
    let mut tty = options.entry.tty || needs_tty(options.entry);
    loop {
        match attempt(session, options, &skip, tty).await {
            Ok(started) => return Ok(started),
            Err(AttemptError::Directory { directory, failure }) => {
                if skip.contains(&directory) {
                    return Err(failure);
                }
                skip.push(directory);
                last = Some(failure);
            }
            // The failure of the last directory is more specific.
            Err(AttemptError::NoDirectory(failure)) => return Err(last.unwrap_or(failure)),
            Err(AttemptError::NeedsTty) if !tty => tty = true,
            Err(AttemptError::NeedsTty) => {
                return Err(LinkFailure::new(
                    Stage::Escalate,
                    "sudo wants a terminal and does not accept the one it has",
                ));
            }
            Err(AttemptError::Final(failure)) => return Err(failure),
        }
    }
}

/// Why an attempt failed; after all but `NoDirectory` and `Final` another attempt may succeed.
enum AttemptError {
    /// This directory can't be used; another one may work.
    Directory {
        directory: String,
        failure: LinkFailure,
    },
    NeedsTty,
    /// There is no other directory.
    NoDirectory(LinkFailure),
    Final(LinkFailure),
}

impl From<LinkFailure> for AttemptError {
    fn from(failure: LinkFailure) -> AttemptError {
        AttemptError::Final(failure)
    }
}

async fn attempt(
    session: &dyn LoginSession,
    options: &Options<'_>,
    skip: &[String],
    tty: bool,
) -> Result<RunningAgent, AttemptError> {
    if options.entry.escalate.is_none()
        && let Some(machine) = session.machine()
        && let Some(program) = session.start_directly(agent_for(options, machine, AgentKind::Whole)?).await
    {
        tracing::debug!("started the agent as a child process");
        return Ok(RunningAgent { program, first_bytes: Vec::new(), password: None });
    }
    let markers = random_markers();
    let hashes = options.agents.hashes(options.agent_kind);
    let command = script::bootstrap_command(options.entry, &markers, &hashes, skip, options.wipe, tty);
    let escalation = options.entry.escalate.as_ref().map_or("none", |escalate| escalate.method.name());
    tracing::debug!(tty, escalation, agent = options.agent_kind.name(), ?skip, "starts the bootstrap script");
    let Program { mut stdin, stdout, stderr, room } = session.exec(&command, tty).await?;
    let mut reader = ScriptReader::new(stdout, stderr, &markers.mark, prompts(options.entry, &markers));
    let mut next = None;
    let mut password = None;
    loop {
        let message = match next.take() {
            Some(message) => message,
            None => reader.next(options).await?,
        };
        match message {
            ScriptMessage::Start => {
                tracing::debug!("the agent starts");
                let ScriptReader { stdout, stderr, out, .. } = reader;
                return Ok(RunningAgent {
                    program: Program { stdin, stdout, stderr, room: None },
                    first_bytes: out.into_rest(),
                    password,
                });
            }
            ScriptMessage::Prompt => {
                reader.asked += 1;
                tracing::debug!(escalation, "the target asks for a password");
                password = send_password(&mut *stdin, options, reader.asked).await?;
            }
            ScriptMessage::Need { machine, gzip, check, directory } => {
                let agent = agent_for(options, &machine, options.agent_kind)?;
                let upload = AgentUpload { agent, check, compress: gzip && !session.near(), directory: &directory };
                let _permit = options.uploading.acquire().await;
                let (began, kind, hash) = (Instant::now(), agent.kind.name(), short(&agent.hash));
                let (machine, directory, gzip) = (printable(&machine), printable(&directory), upload.compress);
                tracing::debug!(machine, agent = kind, hash, directory, gzip, "uploads the agent");
                // A target whose disk is full reports it and stops reading before the whole agent is sent.
                tokio::select! {
                    sent = upload.send(&mut *stdin, room.clone()) => sent?,
                    message = reader.next(options) => next = Some(message?),
                }
                tracing::debug!(bytes = agent.binary().len(), ms = ms(began), "the upload ended");
            }
            ScriptMessage::Error(error) => return Err(error.into()),
        }
    }
}

/// The first digits of a hash, for diagnostics.
fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

impl From<ScriptError> for AttemptError {
    fn from(error: ScriptError) -> AttemptError {
        let failure = |text: String| LinkFailure::new(Stage::Upload, text);
        match error {
            ScriptError::Full { bytes, directory } => {
                let text =
                    format!("the agent could not be stored in {directory}: the disk is full ({bytes} bytes arrived)");
                let hint = "free some space there, or name another directory with `thin_dir` in the roster";
                AttemptError::Directory { directory, failure: failure(text).hint(hint) }
            }
            ScriptError::NoExec { code, directory } => {
                let text = format!(
                    "the agent can't be run from {directory} (exit code {code}); it is probably mounted noexec"
                );
                let hint = "name a directory that allows programs with `thin_dir` in the roster";
                AttemptError::Directory { directory, failure: failure(text).hint(hint) }
            }
            ScriptError::NoDirectory => {
                let text = "the target has no directory that the user owns and can write to";
                let text = format!("{text} (home, /var/tmp, /dev/shm, /tmp)");
                AttemptError::NoDirectory(failure(text).hint("name one with `thin_dir` in the roster"))
            }
            ScriptError::MissingTool(tool) => {
                let text = format!("the target has no `{tool}`, which verifies the agent");
                failure(text).hint("install coreutils or busybox there").into()
            }
        }
    }
}

/// Reads the messages of the script from both pipes of the target.
struct ScriptReader {
    stdout: Box<dyn AsyncRead + Send + Unpin>,
    stderr: Box<dyn AsyncRead + Send + Unpin>,
    out: ScriptOutput,
    err: ScriptOutput,
    err_open: bool,
    /// How often the target asked for a password.
    asked: usize,
}

impl ScriptReader {
    fn new(
        stdout: Box<dyn AsyncRead + Send + Unpin>,
        stderr: Box<dyn AsyncRead + Send + Unpin>,
        mark: &str,
        prompts: Vec<String>,
    ) -> ScriptReader {
        let out = ScriptOutput::new(mark, prompts.clone());
        ScriptReader { stdout, stderr, out, err: ScriptOutput::new(mark, prompts), err_open: true, asked: 0 }
    }

    async fn next(&mut self, options: &Options<'_>) -> Result<ScriptMessage, AttemptError> {
        let mut out = vec![0; 16 * 1024];
        let mut err = vec![0; 4 * 1024];
        loop {
            if let Some(output) = self.out.next_message().or_else(|| self.err.next_message()) {
                return Ok(output);
            }
            let read = timeout(SILENCE_LIMIT, async {
                tokio::select! {
                    count = self.stdout.read(&mut out) => (true, count.unwrap_or(0)),
                    count = self.stderr.read(&mut err), if self.err_open => (false, count.unwrap_or(0)),
                }
            });
            match read.await {
                Ok((true, 0)) => {
                    self.drain_stderr().await;
                    return Err(explain_exit(&self.out.noise(), &self.err.noise(), options.entry, self.asked));
                }
                Ok((true, count)) => self.out.push(&out[..count]),
                Ok((false, 0)) => self.err_open = false,
                Ok((false, count)) => self.err.push(&err[..count]),
                Err(_) => {
                    let noise = [self.out.noise(), self.err.noise()].join(" ");
                    let seconds = SILENCE_LIMIT.as_secs();
                    let text = format!("the target sent nothing for {seconds} seconds after the login {noise}");
                    return Err(LinkFailure::new(Stage::Agent, text.trim_end())
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

/// Sends the password that sudo, su or doas asks for. A second prompt means that it was wrong.
///
/// Returns the password, so that the user need not be asked again for the next agent.
async fn send_password(
    stdin: &mut (dyn AsyncWrite + Send + Unpin),
    options: &Options<'_>,
    asked: usize,
) -> Result<Option<Secret>, LinkFailure> {
    let Some(escalate) = &options.entry.escalate else { return Ok(None) };
    let method = escalate.method.name();
    if asked > 1 {
        return Err(LinkFailure::new(Stage::Escalate, format!("{method} did not accept the password"))
            .hint("check `sudo_passwd` in the roster, or leave it out to be asked"));
    }
    let question = format!("{method} password for {}: ", options.entry.id);
    let password = match &escalate.password {
        Some(password) => Some(password.clone()),
        None => options.prompt.secret(&question).await,
    };
    let Some(password) = password else {
        return Err(LinkFailure::new(Stage::Escalate, format!("{method} asks for a password and none is known"))
            .hint("give `sudo_passwd_file` in the roster, use --ask-sudo-pass, or allow NOPASSWD in sudoers"));
    };
    let line = Secret::new(format!("{}\n", password.reveal()));
    let sent = async {
        stdin.write_all(line.reveal().as_bytes()).await?;
        stdin.flush().await
    };
    sent.await.map_err(|error| LinkFailure::new(Stage::Escalate, format!("could not send the password: {error}")))?;
    Ok(Some(password))
}

fn agent_for<'a>(options: &Options<'a>, machine: &str, kind: AgentKind) -> Result<&'a Agent, LinkFailure> {
    options.agents.get(machine, kind).ok_or_else(|| {
        let machines = match options.agents.machines() {
            none if none.is_empty() => "no machine at all".to_owned(),
            machines => format!("{machines} only"),
        };
        LinkFailure::new(
            Stage::Upload,
            format!("the target is a {machine} machine, and this rocksalt has agents for {machines}"),
        )
        .hint("build an agent for it and set ROCKSALT_AGENTS to its directory")
    })
}

/// Explains why the command ended without a message of the script.
fn explain_exit(stdout: &str, stderr: &str, entry: &RosterEntry, asked: usize) -> AttemptError {
    let both = format!("{stderr} {stdout}");
    let has = |words: &[&str]| words.iter().any(|word| both.contains(word));
    if has(&["must have a tty", "a terminal is required", "Must be run from a terminal", "tty required"]) {
        return AttemptError::NeedsTty;
    }
    let output = if stderr.is_empty() { stdout } else { stderr };
    if entry.escalate.is_some() {
        let method = entry.escalate.as_ref().map_or("sudo", |escalate| escalate.method.name());
        let failure = |text: String| LinkFailure::new(Stage::Escalate, text);
        if asked > 0
            && has(&[
                "incorrect password",
                "Authentication failure",
                "Authentication failed",
                "Sorry, try again",
                "no password was provided",
            ])
        {
            return failure(format!("{method} did not accept the password: {output}"))
                .hint("check `sudo_passwd` in the roster, or leave it out to be asked")
                .into();
        }
        if has(&["not in the sudoers", "is not allowed to", "may not run", "Operation not permitted", "not permitted"])
        {
            return failure(format!("{method} is not allowed for this user: {output}"))
                .hint("add the user to sudoers, or log in as another one")
                .into();
        }
        if has(&["not found", "No such file"]) {
            return failure(format!("{method} is not installed: {output}"))
                .hint("install it, or choose another method with `become` in the roster")
                .into();
        }
        if !output.is_empty() {
            return failure(format!("{method} failed: {output}")).into();
        }
    }
    if has(&["Permission denied", "permission denied"]) {
        return LinkFailure::new(Stage::Agent, format!("the agent can't be started: {output}"))
            .hint("its directory may be mounted noexec: name another with `thin_dir` in the roster")
            .into();
    }
    if has(&["account is currently not available", "nologin"]) {
        return LinkFailure::new(Stage::Session, format!("the user has no login shell: {output}"))
            .hint("log in as another user")
            .into();
    }
    let text = match output {
        "" => "the session ended before the agent started, without any output".to_owned(),
        output => format!("the session ended before the agent started: {output}"),
    };
    LinkFailure::new(Stage::Agent, text).hint("does a plain `ssh` to it with the command `true` work?").into()
}

/// New for every attempt, so that no earlier output of a target can be taken for a message of the script.
fn random_markers() -> Markers {
    let number = std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), 0u8);
    Markers { mark: format!("ROCKSALT-{number:016x}"), prompt: format!("ROCKSALT-PASSWORD-{number:016x}:") }
}

fn prompts(entry: &RosterEntry, markers: &Markers) -> Vec<String> {
    match entry.escalate.as_ref().map(|escalate| escalate.method) {
        None => Vec::new(),
        Some(Method::Sudo) => vec![markers.prompt.clone()],
        Some(Method::Su | Method::Doas) => vec!["assword: ".into(), "assword:".into()],
    }
}
