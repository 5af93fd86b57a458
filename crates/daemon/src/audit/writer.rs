//! The thread that writes: what many wish to note at once becomes one write.
//!
//! An entry is in the file (of the system, if not on the disk) before its request is done, so that no crash of ours loses
//! one. Once a second it is forced to the disk, and only then the store is told how far it goes.

use std::sync::Arc;
use std::time::Duration;

use minicbor::{Decode, Encode};
use rocksalt_backends::store::{Error, Store, Transaction};
use tokio::sync::{mpsc, oneshot};

use super::entry::Entry;
use super::file::{Head, Log};

/// At most so many in one write.
const TOGETHER: usize = 512;

/// How often the file is forced to the disk, if there is something new in it.
const SYNC: Duration = Duration::from_secs(1);

pub enum Wish {
    Note { entry: Box<Entry>, micros: u64, answer: Option<oneshot::Sender<Result<u64, String>>> },
    Sync { answer: oneshot::Sender<Result<Option<Head>, String>> },
}

/// The head as the store has it.
#[derive(Clone, Debug, Encode, Decode)]
struct Kept {
    #[n(0)]
    number: u64,
    #[n(1)]
    hash: String,
}

/// Writes until all who could wish something are gone.
pub fn write(mut log: Log, mut wishes: mpsc::Receiver<Wish>) {
    let mut batch = Vec::new();
    while wishes.blocking_recv_many(&mut batch, TOGETHER) > 0 {
        let (mut entries, mut answers, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
        for wish in batch.drain(..) {
            match wish {
                Wish::Note { entry, micros, answer } => {
                    entries.push((*entry, micros));
                    answers.push(answer);
                }
                Wish::Sync { answer } => syncs.push(answer),
            }
        }
        if !entries.is_empty() {
            let written = log.append(&entries).map_err(|error| format!("the audit log can't be written: {error}"));
            for (index, answer) in answers.into_iter().enumerate() {
                if let Some(answer) = answer {
                    // Whoever asked may be gone.
                    let _ = answer.send(written.clone().map(|first| first + index as u64));
                }
            }
        }
        if !syncs.is_empty() {
            look_after(&mut log);
            let synced = match log.dirty {
                true => log.sync().map(|()| Some(log.head.clone())),
                false => Ok(None),
            };
            let synced = synced.map_err(|error| format!("the audit log can't be forced to the disk: {error}"));
            for answer in syncs {
                let _ = answer.send(synced.clone());
            }
        }
    }
    if log.dirty {
        // The next start finds what is there.
        let _ = log.sync();
    }
}

/// A file that isn't ours any more is left to whoever took it.
fn look_after(log: &mut Log) {
    let said = log.follow().and_then(|why| match why {
        Some(why) => {
            tracing::error!(why, "the audit log is not where it was");
            let entry = Entry { kind: "start", verdict: "allowed", why, ..Entry::default() };
            log.append(&[(entry, crate::clock::now())]).map(drop)
        }
        None => Ok(()),
    });
    if let Err(error) = said {
        tracing::error!(%error, "the audit log can't be looked after");
    }
}

/// Forces the file to the disk, then tells the store.
pub async fn sync(wishes: &mpsc::Sender<Wish>, store: &dyn Store, owner: &str) -> Result<(), String> {
    let (answer, answered) = oneshot::channel();
    let closed = || "the audit log is closed".to_owned();
    wishes.send(Wish::Sync { answer }).await.map_err(|_| closed())?;
    if let Some(head) = answered.await.map_err(|_| closed())?? {
        put(store, owner, &head).await.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Once a second, as long as somebody can wish something.
pub async fn keep_syncing(wishes: mpsc::WeakSender<Wish>, store: Arc<dyn Store>, owner: String) {
    loop {
        tokio::time::sleep(SYNC).await;
        let Some(wishes) = wishes.upgrade() else { return };
        if let Err(why) = sync(&wishes, &*store, &owner).await {
            tracing::error!(why, "the audit log is behind");
        }
    }
}

fn key(owner: &str) -> String {
    let letters = owner.chars().map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' });
    format!("audit/{}", letters.take(200).collect::<String>())
}

/// How far the store has seen the log of a controller.
pub async fn head(store: &dyn Store, owner: &str) -> Result<Option<Head>, Error> {
    let pair = store.get(&key(owner)).await?;
    let kept = pair.and_then(|pair| minicbor::decode::<Kept>(&pair.value).ok());
    Ok(kept.map(|kept| Head { number: kept.number, hash: kept.hash }))
}

async fn put(store: &dyn Store, owner: &str, head: &Head) -> Result<(), Error> {
    let kept = Kept { number: head.number, hash: head.hash.clone() };
    let value = minicbor::to_vec(kept).unwrap_or_default();
    store.commit(Transaction::default().put(key(owner), value)).await.map(drop)
}
