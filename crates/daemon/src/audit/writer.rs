//! The writer thread, which combines concurrent entries into one write.
//!
//! An entry is written to the file before its request is executed, so that a crash of the daemon loses none. The file is
//! synced once a second, and only then the head is stored.

use std::sync::Arc;
use std::time::Duration;

use minicbor::{Decode, Encode};
use rocksalt_backends::store::{Error, Store, Transaction};
use tokio::sync::{mpsc, oneshot};

use super::entry::AuditEntry;
use super::file::{AuditFile, ChainHead};

/// The most entries of one write.
const MAX_BATCH: usize = 512;

/// How often the file is synced.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

pub enum WriterCommand {
    Append { entry: Box<AuditEntry>, micros: u64, answer: Option<oneshot::Sender<Result<u64, String>>> },
    Sync { answer: oneshot::Sender<Result<Option<ChainHead>, String>> },
}

/// The head as it is stored.
#[derive(Clone, Debug, Encode, Decode)]
struct StoredHead {
    #[n(0)]
    number: u64,
    #[n(1)]
    hash: String,
}

/// Writes until all senders are gone.
pub fn write(mut log: AuditFile, mut commands: mpsc::Receiver<WriterCommand>) {
    let mut batch = Vec::new();
    while commands.blocking_recv_many(&mut batch, MAX_BATCH) > 0 {
        let (mut entries, mut answers, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
        for command in batch.drain(..) {
            match command {
                WriterCommand::Append { entry, micros, answer } => {
                    entries.push((*entry, micros));
                    answers.push(answer);
                }
                WriterCommand::Sync { answer } => syncs.push(answer),
            }
        }
        if !entries.is_empty() {
            let written = log.append(&entries).map_err(|error| format!("could not write the audit log: {error}"));
            for (index, answer) in answers.into_iter().enumerate() {
                if let Some(answer) = answer {
                    // The receiver may be gone.
                    let _ = answer.send(written.clone().map(|first| first + index as u64));
                }
            }
        }
        if !syncs.is_empty() {
            check_file(&mut log);
            let synced = match log.dirty {
                true => log.sync().map(|()| Some(log.head.clone())),
                false => Ok(None),
            };
            let synced = synced.map_err(|error| format!("could not sync the audit log: {error}"));
            for answer in syncs {
                let _ = answer.send(synced.clone());
            }
        }
    }
    if log.dirty {
        // On failure, the next start reads what is there.
        let _ = log.sync();
    }
}

/// Continues in a new file if the old one was moved.
fn check_file(log: &mut AuditFile) {
    let checked = log.reopen_if_moved().and_then(|why| match why {
        Some(why) => {
            tracing::error!(why, "the audit log was moved");
            let entry = AuditEntry { kind: "start", verdict: "allowed", why, ..AuditEntry::default() };
            log.append(&[(entry, crate::clock::now())]).map(drop)
        }
        None => Ok(()),
    });
    if let Err(error) = checked {
        tracing::error!(%error, "could not reopen the audit log");
    }
}

/// Syncs the file, then stores the head.
pub async fn sync(commands: &mpsc::Sender<WriterCommand>, store: &dyn Store, owner: &str) -> Result<(), String> {
    let (answer, answered) = oneshot::channel();
    let closed = || "the audit log is closed".to_owned();
    commands.send(WriterCommand::Sync { answer }).await.map_err(|_| closed())?;
    if let Some(head) = answered.await.map_err(|_| closed())?? {
        put(store, owner, &head).await.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Syncs once a second until all senders are gone.
pub async fn sync_periodically(commands: mpsc::WeakSender<WriterCommand>, store: Arc<dyn Store>, owner: String) {
    loop {
        tokio::time::sleep(SYNC_INTERVAL).await;
        let Some(commands) = commands.upgrade() else { return };
        if let Err(why) = sync(&commands, &*store, &owner).await {
            tracing::error!(why, "could not sync the audit log");
        }
    }
}

fn key(owner: &str) -> String {
    let letters = owner.chars().map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' });
    format!("audit/{}", letters.take(200).collect::<String>())
}

/// The stored head of a controller's log.
pub async fn head(store: &dyn Store, owner: &str) -> Result<Option<ChainHead>, Error> {
    let pair = store.get(&key(owner)).await?;
    let stored = pair.and_then(|pair| minicbor::decode::<StoredHead>(&pair.value).ok());
    Ok(stored.map(|stored| ChainHead { number: stored.number, hash: stored.hash }))
}

async fn put(store: &dyn Store, owner: &str, head: &ChainHead) -> Result<(), Error> {
    let stored = StoredHead { number: head.number, hash: head.hash.clone() };
    let value = minicbor::to_vec(stored).unwrap_or_default();
    store.commit(Transaction::default().put(key(owner), value)).await.map(drop)
}
