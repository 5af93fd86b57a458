//! [`Audit`]: a log of every request that changes something or was refused, in a hash chain
//! (`docs/security-rules.md#r18`).
//!
//! A file of JSON lines in the state directory. Each line has the hash of the previous one, and the store has the hash of
//! the newest, so that changes and truncation are detected. [`file`] explains how the two can differ after a crash.

mod entry;
mod file;
mod verify;
mod writer;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit, Mac};
use rocksalt_backends::store::Store;
use rocksalt_core::record::JobRecord;
use rocksalt_core::request::Request;
use rocksalt_core::{Map, Secret, Value, json};
use sha2::Sha256;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::clock::now;
use crate::requests::{Caller, Refusal, RefusalKind};

use entry::AuditEntry;
use file::AuditFile;
use writer::WriterCommand;

pub use file::{ChainHead, files};
pub use verify::{ChainFault, VerifyReport, verify};

/// Refusals of unauthenticated callers that are logged per second; the rest is only counted.
const MAX_UNKNOWN_PER_SECOND: u32 = 20;

/// Without a file it logs nothing.
#[derive(Clone, Default)]
pub struct Audit(Option<Arc<AuditState>>);

struct AuditState {
    commands: mpsc::Sender<WriterCommand>,
    syncing: JoinHandle<()>,
    store: Arc<dyn Store>,
    owner: String,
    /// Key of the hashes of arguments, so that they can't be guessed offline.
    key: Secret<Vec<u8>>,
    unknown_callers: Mutex<UnknownCallers>,
}

struct UnknownCallers {
    since: Instant,
    logged: u32,
    unnoted: u64,
}

/// The number of an entry, to refer to it later.
#[derive(Clone, Copy, Debug, Default)]
pub struct EntryNumber(pub Option<u64>);

/// A login, a logout or a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginEvent {
    Login,
    Logout,
    Refused,
    Throttled,
    BadToken,
}

impl Drop for AuditState {
    fn drop(&mut self) {
        self.syncing.abort();
    }
}

impl Audit {
    /// `owner` is the name of this controller; each has its own log.
    pub async fn open(directory: &Path, owner: &str, store: Arc<dyn Store>) -> Result<Audit, String> {
        let known = writer::head(&*store, owner).await.map_err(|error| error.to_string())?;
        let fault = |error: std::io::Error| format!("can't open the audit log in {}: {error}", directory.display());
        let key = key(directory).map_err(fault)?;
        let (log, faults) = AuditFile::open(directory, known.as_ref()).map_err(fault)?;
        let (commands, received) = mpsc::channel(4096);
        let thread = std::thread::Builder::new().name("audit".into());
        thread.spawn(move || writer::write(log, received)).map_err(fault)?;
        let syncing =
            tokio::spawn(writer::sync_periodically(commands.downgrade(), Arc::clone(&store), owner.to_owned()));
        let unknown_callers = Mutex::new(UnknownCallers { since: Instant::now(), logged: 0, unnoted: 0 });
        let audit = Audit(Some(Arc::new(AuditState {
            commands,
            syncing,
            store,
            owner: owner.to_owned(),
            key,
            unknown_callers,
        })));
        let mut entry =
            AuditEntry { kind: "start", verdict: "allowed", user: owner.to_owned(), ..AuditEntry::default() };
        if faults.torn > 0 {
            entry.why = format!("a crash left a partial entry of {} bytes", faults.torn);
        }
        if let Some(fault) = faults.fault {
            tracing::error!(fault, "the audit log was changed while the daemon was not running");
            entry.why = fault;
        }
        audit.write(entry).await.map_err(|refusal| refusal.text)?;
        Ok(audit)
    }

    /// Logs a request before it is executed. Requests that only read are logged if they are refused.
    pub async fn log_request(
        &self,
        caller: &Caller,
        request: &Request,
        refused: Option<&Refusal>,
    ) -> Result<EntryNumber, Refusal> {
        let Some(state) = self.0.as_ref().filter(|_| refused.is_some() || is_logged(request)) else {
            return Ok(EntryNumber::default());
        };
        let mut entry = AuditEntry {
            verdict: if refused.is_some() { "refused" } else { "allowed" },
            user: caller.user.clone(),
            eauth: caller.eauth.clone(),
            from: address_text(caller.from),
            why: refused.map(|refusal| refusal.text.clone()).unwrap_or_default(),
            ..AuditEntry::default()
        };
        describe(request, &mut entry, |args, kwargs| state.keyed_hash(args, kwargs));
        self.write(entry).await.map(|number| EntryNumber(Some(number)))
    }

    /// Logs the job that a request started, without waiting.
    pub fn log_job(&self, logged: &EntryNumber, job: &JobRecord) {
        let (Some(state), Some(of)) = (&self.0, logged.0) else { return };
        let entry = AuditEntry {
            kind: "job",
            verdict: "allowed",
            user: job.user.clone(),
            of: Some(of),
            job: Some(job.id),
            targets: Some(job.targets.len()),
            ..AuditEntry::default()
        };
        state.send(entry);
    }

    /// Logs a login, a logout or a failed attempt.
    pub async fn log_login(
        &self,
        event: LoginEvent,
        user: &str,
        eauth: &str,
        from: Option<IpAddr>,
    ) -> Result<(), Refusal> {
        let Some(state) = &self.0 else { return Ok(()) };
        let (kind, verdict, why) = match event {
            LoginEvent::Login => ("login", "allowed", ""),
            LoginEvent::Logout => ("logout", "allowed", ""),
            LoginEvent::Refused => ("login", "refused", "wrong"),
            LoginEvent::Throttled => ("login", "refused", "too many failures"),
            LoginEvent::BadToken => ("token", "refused", "unknown or over"),
        };
        let mut entry = AuditEntry {
            kind,
            verdict,
            user: user.to_owned(),
            eauth: eauth.to_owned(),
            from: address_text(from),
            why: why.to_owned(),
            ..AuditEntry::default()
        };
        if matches!(event, LoginEvent::Login | LoginEvent::Logout) {
            return self.write(entry).await.map(drop);
        }
        // Unauthenticated callers must not be able to fill the disk, or wait for it.
        if let Some(unnoted) = state.admit_unknown() {
            entry.unnoted = unnoted;
            state.send(entry);
        }
        Ok(())
    }

    /// Logs the end, and syncs the file.
    pub async fn close(&self) {
        let Some(state) = &self.0 else { return };
        let entry = AuditEntry { kind: "stop", verdict: "allowed", user: state.owner.clone(), ..AuditEntry::default() };
        let logged = self.write(entry).await.map_err(|refusal| refusal.text);
        let synced = writer::sync(&state.commands, &*state.store, &state.owner).await;
        if let Err(why) = logged.and(synced) {
            tracing::error!(why, "the audit log was not closed cleanly");
        }
    }

    /// The head in the store.
    pub async fn head(&self) -> Result<Option<ChainHead>, Refusal> {
        match &self.0 {
            Some(state) => Ok(writer::head(&*state.store, &state.owner).await?),
            None => Ok(None),
        }
    }

    async fn write(&self, entry: AuditEntry) -> Result<u64, Refusal> {
        let Some(state) = &self.0 else { return Ok(0) };
        let unavailable = |why: String| Refusal::new(RefusalKind::Unavailable, why);
        let closed = || unavailable("the audit log is closed".into());
        let (answer, answered) = oneshot::channel();
        let command = WriterCommand::Append { entry: Box::new(entry), micros: now(), answer: Some(answer) };
        state.commands.send(command).await.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?.map_err(unavailable)
    }
}

impl AuditState {
    /// Sends without waiting for the write.
    fn send(&self, entry: AuditEntry) {
        let command = WriterCommand::Append { entry: Box::new(entry), micros: now(), answer: None };
        if let Err(mpsc::error::TrySendError::Full(command)) = self.commands.try_send(command) {
            let commands = self.commands.clone();
            tokio::spawn(async move { drop(commands.send(command).await) });
        }
    }

    /// The number of refusals left out before this one; `None` if this one is left out, too.
    fn admit_unknown(&self) -> Option<u64> {
        let mut unknown_callers = self.unknown_callers.lock().unwrap_or_else(PoisonError::into_inner);
        if unknown_callers.since.elapsed() >= Duration::from_secs(1) {
            unknown_callers.since = Instant::now();
            unknown_callers.logged = 0;
        }
        if unknown_callers.logged >= MAX_UNKNOWN_PER_SECOND {
            unknown_callers.unnoted += 1;
            return None;
        }
        unknown_callers.logged += 1;
        Some(std::mem::take(&mut unknown_callers.unnoted))
    }

    /// A keyed hash of arguments: equal for equal arguments, and it doesn't reveal them.
    fn keyed_hash(&self, args: &[Value], kwargs: &Map) -> Option<String> {
        if args.is_empty() && kwargs.is_empty() {
            return None;
        }
        let mut mac = Hmac::<Sha256>::new_from_slice(self.key.reveal()).ok()?;
        let all = Value::List(vec![Value::List(args.to_vec()), Value::Map(kwargs.clone())]);
        mac.update(Secret::new(json::compact(&all)).reveal().as_bytes());
        Some(rocksalt_core::hex(&mac.finalize().into_bytes()))
    }
}

/// Whether an allowed request is logged: it runs or changes something.
fn is_logged(request: &Request) -> bool {
    match request {
        Request::Run(_)
        | Request::Runner(_)
        | Request::Wheel(_)
        | Request::CancelJob { .. }
        | Request::Fire(_)
        | Request::Hook { .. }
        | Request::Reload => true,
        Request::ShowJob(_)
        | Request::WatchJob(_)
        | Request::ListJobs(_)
        | Request::Events { .. }
        | Request::Targets
        | Request::Stats
        | Request::Explain { .. } => false,
    }
}

fn describe(request: &Request, entry: &mut AuditEntry, keyed_hash: impl Fn(&[Value], &Map) -> Option<String>) {
    let of_job = |entry: &mut AuditEntry, kind, job| {
        entry.kind = kind;
        entry.job = Some(job);
    };
    match request {
        Request::Run(run) => {
            entry.kind = "run";
            entry.function = run.function.clone();
            entry.target = run.target.clone();
            entry.target_kind = run.target_kind.clone();
            entry.arguments = keyed_hash(&run.args, &run.kwargs);
            entry.job = run.job;
        }
        Request::Runner(local) | Request::Wheel(local) => {
            entry.kind = if matches!(request, Request::Runner(_)) { "runner" } else { "wheel" };
            entry.function = local.function.clone();
            entry.arguments = keyed_hash(&local.args, &local.kwargs);
        }
        Request::ShowJob(job) => of_job(entry, "show_job", *job),
        Request::WatchJob(job) => of_job(entry, "watch_job", *job),
        Request::CancelJob { job, .. } => of_job(entry, "cancel_job", *job),
        Request::ListJobs(_) => entry.kind = "list_jobs",
        Request::Events { .. } => entry.kind = "events",
        Request::Fire(event) => {
            entry.kind = "fire";
            entry.function = event.tag.clone();
            entry.arguments = keyed_hash(&[], &event.data);
        }
        Request::Hook { path, data } => {
            entry.kind = "hook";
            entry.function = path.clone();
            entry.arguments = keyed_hash(&[], data);
        }
        Request::Targets => entry.kind = "targets",
        Request::Stats => entry.kind = "stats",
        Request::Explain { function, target, .. } => {
            entry.kind = "explain";
            entry.function = function.clone();
            entry.target = target.clone();
        }
        Request::Reload => entry.kind = "reload",
    }
}

/// Reads the key, or creates it, readable by its owner only.
fn key(directory: &Path) -> std::io::Result<Secret<Vec<u8>>> {
    let path = directory.join("audit.key");
    match fs::read(&path) {
        Ok(key) if key.len() >= 32 => return Ok(Secret::new(key)),
        // A crash between creating and writing it.
        Ok(_) => fs::remove_file(&path)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut key = vec![0; 32];
    getrandom::fill(&mut key).map_err(|error| std::io::Error::other(error.to_string()))?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(&key)?;
    file.sync_all()?;
    Ok(Secret::new(key))
}

fn address_text(from: Option<IpAddr>) -> String {
    from.map_or_else(|| "local".to_owned(), |address| address.to_canonical().to_string())
}
