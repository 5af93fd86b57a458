//! [`Audit`]: every request that changes something or was refused, in a chain of hashes (rule R18).
//!
//! A file of JSON lines in the state directory; each names the hash of the one before it, and the store keeps the hash of
//! the newest, so that neither a change nor a cut goes unseen. Where the two come apart by a crash is in [`file`].

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
use crate::requests::{Caller, Kind, Refusal};

use entry::Entry;
use file::Log;
use writer::Wish;

pub use file::{Head, files};
pub use verify::{Fault, Report, verify};

/// Refusals of people whom nobody knows: so many a second are noted one by one, the rest is counted.
const STRANGERS: u32 = 20;

/// Without a file it notes nothing.
#[derive(Clone, Default)]
pub struct Audit(Option<Arc<Inner>>);

struct Inner {
    wishes: mpsc::Sender<Wish>,
    syncing: JoinHandle<()>,
    store: Arc<dyn Store>,
    owner: String,
    /// For the hashes of arguments: without it nobody can try guesses against them.
    key: Secret<Vec<u8>>,
    strangers: Mutex<Strangers>,
}

struct Strangers {
    since: Instant,
    noted: u32,
    unnoted: u64,
}

/// The number of an entry, for what comes of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Noted(pub Option<u64>);

/// What happens at the door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    In,
    Out,
    Refused,
    Throttled,
    BadToken,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.syncing.abort();
    }
}

impl Audit {
    /// `owner` is the name of this controller: each has a log of its own.
    pub async fn open(directory: &Path, owner: &str, store: Arc<dyn Store>) -> Result<Audit, String> {
        let known = writer::head(&*store, owner).await.map_err(|error| error.to_string())?;
        let fault = |error: std::io::Error| format!("can't open the audit log in {}: {error}", directory.display());
        let key = key(directory).map_err(fault)?;
        let (log, found) = Log::open(directory, known.as_ref()).map_err(fault)?;
        let (wishes, received) = mpsc::channel(4096);
        let thread = std::thread::Builder::new().name("audit".into());
        thread.spawn(move || writer::write(log, received)).map_err(fault)?;
        let syncing = tokio::spawn(writer::keep_syncing(wishes.downgrade(), Arc::clone(&store), owner.to_owned()));
        let strangers = Mutex::new(Strangers { since: Instant::now(), noted: 0, unnoted: 0 });
        let audit = Audit(Some(Arc::new(Inner { wishes, syncing, store, owner: owner.to_owned(), key, strangers })));
        let mut entry = Entry { kind: "start", verdict: "allowed", user: owner.to_owned(), ..Entry::default() };
        if found.torn > 0 {
            entry.why = format!("a crash had left half an entry of {} bytes", found.torn);
        }
        if let Some(fault) = found.fault {
            tracing::error!(fault, "the audit log is not as it was left");
            entry.why = fault;
        }
        audit.write(entry).await.map_err(|refusal| refusal.text)?;
        Ok(audit)
    }

    /// Stored before the request is done. What only looks is noted if it is refused.
    pub async fn note(&self, caller: &Caller, request: &Request, refused: Option<&Refusal>) -> Result<Noted, Refusal> {
        let Some(inner) = self.0.as_ref().filter(|_| refused.is_some() || changes(request)) else {
            return Ok(Noted::default());
        };
        let mut entry = Entry {
            verdict: if refused.is_some() { "refused" } else { "allowed" },
            user: caller.user.clone(),
            eauth: caller.eauth.clone(),
            from: place(caller.from),
            why: refused.map(|refusal| refusal.text.clone()).unwrap_or_default(),
            ..Entry::default()
        };
        describe(request, &mut entry, |args, kwargs| inner.hidden(args, kwargs));
        self.write(entry).await.map(|number| Noted(Some(number)))
    }

    /// The job that came of an entry. Whoever started it does not wait for this.
    pub fn started(&self, noted: &Noted, job: &JobRecord) {
        let (Some(inner), Some(of)) = (&self.0, noted.0) else { return };
        let entry = Entry {
            kind: "job",
            verdict: "allowed",
            user: job.user.clone(),
            of: Some(of),
            job: Some(job.id),
            targets: Some(job.targets.len()),
            ..Entry::default()
        };
        inner.send(entry);
    }

    /// A login, or what was none.
    pub async fn sign(&self, sign: Sign, user: &str, eauth: &str, from: Option<IpAddr>) -> Result<(), Refusal> {
        let Some(inner) = &self.0 else { return Ok(()) };
        let (kind, verdict, why) = match sign {
            Sign::In => ("login", "allowed", ""),
            Sign::Out => ("logout", "allowed", ""),
            Sign::Refused => ("login", "refused", "wrong"),
            Sign::Throttled => ("login", "refused", "too many failures"),
            Sign::BadToken => ("token", "refused", "unknown or over"),
        };
        let mut entry = Entry {
            kind,
            verdict,
            user: user.to_owned(),
            eauth: eauth.to_owned(),
            from: place(from),
            why: why.to_owned(),
            ..Entry::default()
        };
        if matches!(sign, Sign::In | Sign::Out) {
            return self.write(entry).await.map(drop);
        }
        // A stranger must not be able to fill the disk, nor wait for it.
        if let Some(unnoted) = inner.stranger() {
            entry.unnoted = unnoted;
            inner.send(entry);
        }
        Ok(())
    }

    /// Notes the end, and forces all of it to the disk.
    pub async fn close(&self) {
        let Some(inner) = &self.0 else { return };
        let entry = Entry { kind: "stop", verdict: "allowed", user: inner.owner.clone(), ..Entry::default() };
        let noted = self.write(entry).await.map_err(|refusal| refusal.text);
        let synced = writer::sync(&inner.wishes, &*inner.store, &inner.owner).await;
        if let Err(why) = noted.and(synced) {
            tracing::error!(why, "the audit log did not end in order");
        }
    }

    /// How far the store has seen the log.
    pub async fn head(&self) -> Result<Option<Head>, Refusal> {
        match &self.0 {
            Some(inner) => Ok(writer::head(&*inner.store, &inner.owner).await?),
            None => Ok(None),
        }
    }

    async fn write(&self, entry: Entry) -> Result<u64, Refusal> {
        let Some(inner) = &self.0 else { return Ok(0) };
        let unavailable = |why: String| Refusal::new(Kind::Unavailable, why);
        let closed = || unavailable("the audit log is closed".into());
        let (answer, answered) = oneshot::channel();
        let wish = Wish::Note { entry: Box::new(entry), micros: now(), answer: Some(answer) };
        inner.wishes.send(wish).await.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?.map_err(unavailable)
    }
}

impl Inner {
    /// Without waiting, unless it is full.
    fn send(&self, entry: Entry) {
        let wish = Wish::Note { entry: Box::new(entry), micros: now(), answer: None };
        if let Err(mpsc::error::TrySendError::Full(wish)) = self.wishes.try_send(wish) {
            let wishes = self.wishes.clone();
            tokio::spawn(async move { drop(wishes.send(wish).await) });
        }
    }

    /// How many were not noted before this one; `None` if this one isn't either.
    fn stranger(&self) -> Option<u64> {
        let mut strangers = self.strangers.lock().unwrap_or_else(PoisonError::into_inner);
        if strangers.since.elapsed() >= Duration::from_secs(1) {
            strangers.since = Instant::now();
            strangers.noted = 0;
        }
        if strangers.noted >= STRANGERS {
            strangers.unnoted += 1;
            return None;
        }
        strangers.noted += 1;
        Some(std::mem::take(&mut strangers.unnoted))
    }

    /// A keyed hash: the same arguments have the same one, and nobody can tell from it what they are.
    fn hidden(&self, args: &[Value], kwargs: &Map) -> Option<String> {
        if args.is_empty() && kwargs.is_empty() {
            return None;
        }
        let mut mac = Hmac::<Sha256>::new_from_slice(self.key.reveal()).ok()?;
        let all = Value::List(vec![Value::List(args.to_vec()), Value::Map(kwargs.clone())]);
        mac.update(Secret::new(json::compact(&all)).reveal().as_bytes());
        Some(rocksalt_core::hex(&mac.finalize().into_bytes()))
    }
}

/// What is noted when it is allowed: it runs something, or changes something.
fn changes(request: &Request) -> bool {
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

fn describe(request: &Request, entry: &mut Entry, hidden: impl Fn(&[Value], &Map) -> Option<String>) {
    let of_job = |entry: &mut Entry, kind, job| {
        entry.kind = kind;
        entry.job = Some(job);
    };
    match request {
        Request::Run(run) => {
            entry.kind = "run";
            entry.function = run.function.clone();
            entry.target = run.target.clone();
            entry.target_kind = run.target_kind.clone();
            entry.arguments = hidden(&run.args, &run.kwargs);
            entry.job = run.job;
        }
        Request::Runner(local) | Request::Wheel(local) => {
            entry.kind = if matches!(request, Request::Runner(_)) { "runner" } else { "wheel" };
            entry.function = local.function.clone();
            entry.arguments = hidden(&local.args, &local.kwargs);
        }
        Request::ShowJob(job) => of_job(entry, "show_job", *job),
        Request::WatchJob(job) => of_job(entry, "watch_job", *job),
        Request::CancelJob { job, .. } => of_job(entry, "cancel_job", *job),
        Request::ListJobs(_) => entry.kind = "list_jobs",
        Request::Events { .. } => entry.kind = "events",
        Request::Fire(event) => {
            entry.kind = "fire";
            entry.function = event.tag.clone();
            entry.arguments = hidden(&[], &event.data);
        }
        Request::Hook { path, data } => {
            entry.kind = "hook";
            entry.function = path.clone();
            entry.arguments = hidden(&[], data);
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

/// Made once, readable by its owner alone.
fn key(directory: &Path) -> std::io::Result<Secret<Vec<u8>>> {
    let path = directory.join("audit.key");
    match fs::read(&path) {
        Ok(key) if key.len() >= 32 => return Ok(Secret::new(key)),
        // A crash between making and writing it.
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

fn place(from: Option<IpAddr>) -> String {
    from.map_or_else(|| "local".to_owned(), |address| address.to_canonical().to_string())
}
