//! [`Tokens`]: 256 random bits each, kept in the store by their hash alone (rule R9).
//!
//! What was read once is in memory, so that a busy client costs no read each time. The store's watch tells of every
//! token that is changed or taken back, by whichever controller; while it is broken, nothing is taken from memory.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use minicbor::{Decode, Encode};
use rocksalt_backends::store::{Committed, Error, KeyChange, KeyRange, Pair, Store, Transaction, WatchEvent};
use rocksalt_core::Secret;
use rocksalt_core::hex;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

const PREFIX: &str = "token/";

/// Tokens in memory; others are read when they are used.
const REMEMBERED: usize = 16_384;

/// One user has at most so many; who logs in again and again without end is stopped there.
const EACH: u64 = 50_000;

/// What is kept of a token.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Kept {
    #[n(0)]
    pub user: String,
    #[n(1)]
    pub eauth: String,
    #[n(2)]
    pub groups: Vec<String>,
    /// Microseconds since 1970.
    #[n(3)]
    pub start: u64,
    #[n(4)]
    pub expire: u64,
    /// When it was last used, or a while before that: it is not written each time.
    #[n(5)]
    pub used: u64,
    /// What the backend is asked with whether the login still stands.
    #[n(6)]
    #[cbor(with = "minicbor::bytes")]
    pub stamp: Vec<u8>,
    /// Only from there, if tokens are bound to addresses.
    #[n(7)]
    pub from: Option<String>,
}

pub struct Tokens {
    store: Arc<dyn Store>,
    now: fn() -> u64,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// False while the watch is broken.
    live: bool,
    /// Counts what the watch has told: a read that began before it is old.
    news: u64,
    tokens: HashMap<String, Arc<Remembered>>,
    /// How many each user has, as of the last sweep and since.
    counts: HashMap<(String, String), u64>,
}

struct Remembered {
    kept: Kept,
    modified: u64,
    /// When it was last used, here.
    used: AtomicU64,
}

impl Tokens {
    pub fn new(store: Arc<dyn Store>, now: fn() -> u64) -> Tokens {
        Tokens { store, now, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new token; once this answers, every controller knows it.
    pub async fn make(&self, kept: &Kept) -> Result<Secret<String>, String> {
        let owner = (kept.eauth.clone(), kept.user.clone());
        if self.known().counts.get(&owner).is_some_and(|count| *count >= EACH) {
            return Err(format!("{} has {EACH} tokens; log some of them out", kept.user));
        }
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| format!("the system has no random bits: {error}"))?;
        let token = Secret::new(hex(&bytes));
        let key = key_of(token.reveal());
        let transaction = Transaction::default().if_absent(&key).put(&key, encoded(kept));
        match self.store.commit(transaction).await.map_err(|error| error.to_string())? {
            Committed::Done(_) => {
                *self.known().counts.entry(owner).or_default() += 1;
                Ok(token)
            }
            // Two times the same 256 bits: the source of randomness is broken.
            Committed::Conflict => Err("the system's random bits repeat themselves".into()),
        }
    }

    /// What a token stands for; `None` if it is unknown, or its time is over, or nobody used it for so long.
    pub async fn get(&self, token: &str, idle: Duration) -> Result<Option<Kept>, Error> {
        let key = key_of(token);
        let remembered = match self.remembered(&key) {
            Some(remembered) => remembered,
            None => match self.read(&key).await? {
                Some(remembered) => remembered,
                None => return Ok(None),
            },
        };
        let now = (self.now)();
        let kept = &remembered.kept;
        // The time first: nothing else of a token that is over counts for anything.
        let used = remembered.used.load(Ordering::Relaxed).max(kept.used);
        let idle = u64::try_from(idle.as_micros()).unwrap_or(u64::MAX);
        // Another controller writes the time of use down only after a tenth of it.
        let longest = idle.saturating_add(idle / 10);
        if now >= kept.expire || now.saturating_sub(used) > longest {
            self.forget(&key).await?;
            return Ok(None);
        }
        remembered.used.fetch_max(now, Ordering::Relaxed);
        if now.saturating_sub(kept.used) > (idle / 10).max(60_000_000) {
            self.write_use(&key, &remembered, now).await;
        }
        Ok(Some(remembered.kept.clone()))
    }

    fn remembered(&self, key: &str) -> Option<Arc<Remembered>> {
        let known = self.known();
        let (kept, remembered) = known.tokens.get_key_value(key).filter(|_| known.live)?;
        // The key is a hash, of which nobody can make a beginning that fits; compared without a hint all the same.
        bool::from(kept.as_bytes().ct_eq(key.as_bytes())).then(|| Arc::clone(remembered))
    }

    async fn read(&self, key: &str) -> Result<Option<Arc<Remembered>>, Error> {
        let before = self.known().news;
        let Some(pair) = self.store.get(key).await? else { return Ok(None) };
        let Some(remembered) = remember(&pair) else { return Ok(None) };
        let mut known = self.known();
        // What was told meanwhile may have been its end.
        if known.live && known.news == before {
            known.keep(pair.key, &remembered);
        }
        Ok(Some(remembered))
    }

    /// So that a token in use lives on over a restart. One that is lost costs nothing but a login.
    async fn write_use(&self, key: &str, remembered: &Remembered, now: u64) {
        let kept = Kept { used: now, ..remembered.kept.clone() };
        let transaction = Transaction::default().if_revision(key, remembered.modified).put(key, encoded(&kept));
        if self.store.commit(transaction).await.is_ok() {
            self.known().tokens.remove(key);
        }
    }

    /// Takes a token back; true if there was one.
    pub async fn remove(&self, token: &str) -> Result<bool, Error> {
        let key = key_of(token);
        let there = self.store.get(&key).await?.is_some();
        self.forget(&key).await?;
        Ok(there)
    }

    async fn forget(&self, key: &str) -> Result<(), Error> {
        self.known().tokens.remove(key);
        self.store.commit(Transaction::default().delete(key)).await.map(drop)
    }

    /// Takes all tokens of a user back.
    pub async fn remove_user(&self, eauth: &str, user: &str) -> Result<u64, Error> {
        self.remove_if(|kept| kept.eauth == eauth && kept.user == user).await
    }

    /// Throws away those whose time is over, and those whose login no longer stands.
    pub async fn sweep(&self, stands: impl Fn(&Kept) -> bool) -> Result<u64, Error> {
        let now = (self.now)();
        self.remove_if(|kept| now >= kept.expire || !stands(kept)).await
    }

    async fn remove_if(&self, gone: impl Fn(&Kept) -> bool) -> Result<u64, Error> {
        const PAGE: usize = 500;
        let mut counts: HashMap<(String, String), u64> = HashMap::new();
        let mut removed = 0;
        let mut range = KeyRange::prefix(PREFIX).limit(PAGE);
        loop {
            let listing = self.store.range(&range).await?;
            let mut transaction = Transaction::default();
            for pair in &listing.pairs {
                match minicbor::decode::<Kept>(&pair.value) {
                    Ok(kept) if !gone(&kept) => *counts.entry((kept.eauth, kept.user)).or_default() += 1,
                    // One that can't be read helps nobody.
                    _ => transaction = transaction.delete(&pair.key),
                }
            }
            removed += transaction.operations.len() as u64;
            for part in transaction.operations.chunks(100) {
                let part = Transaction { operations: part.to_vec(), ..Transaction::default() };
                self.store.commit(part).await?;
            }
            match listing.pairs.last().filter(|_| listing.more) {
                // The first key behind this one.
                Some(last) => range.from = format!("{} ", last.key),
                None => break,
            }
        }
        let mut known = self.known();
        known.counts = counts;
        // The watch tells it too; whoever asked for it must not have to wait for that.
        known.tokens.retain(|_, remembered| !gone(&remembered.kept));
        Ok(removed)
    }

    /// Listens to the store for ever.
    pub async fn watch(&self) {
        loop {
            // Any error ends the watch; what is in memory counts again only after all of it is dropped.
            let _ = self.listen().await;
            {
                let mut known = self.known();
                known.live = false;
                known.news += 1;
                known.tokens.clear();
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    async fn listen(&self) -> Result<(), Error> {
        let revision = self.store.range(&KeyRange::prefix(PREFIX).keys_only().limit(1)).await?.revision;
        let mut watch = self.store.watch(PREFIX, revision).await?;
        self.known().live = true;
        while let Some(news) = watch.next().await {
            let news = news?;
            let mut known = self.known();
            known.news += 1;
            match news {
                WatchEvent::Changes { changes, .. } => changes.into_iter().for_each(|change| match change {
                    KeyChange::Put(pair) => match remember(&pair) {
                        Some(remembered) => known.keep(pair.key, &remembered),
                        None => drop(known.tokens.remove(&pair.key)),
                    },
                    KeyChange::Deleted { key } => drop(known.tokens.remove(&key)),
                }),
                WatchEvent::Gap { .. } => known.tokens.clear(),
            }
        }
        Ok(())
    }
}

impl Known {
    fn keep(&mut self, key: String, remembered: &Arc<Remembered>) {
        if self.tokens.len() >= REMEMBERED {
            // Any of them: whoever is in use comes back with one read.
            let some: Vec<String> = self.tokens.keys().take(REMEMBERED / 8).cloned().collect();
            some.iter().for_each(|key| drop(self.tokens.remove(key)));
        }
        self.tokens.insert(key, Arc::clone(remembered));
    }
}

fn remember(pair: &Pair) -> Option<Arc<Remembered>> {
    let kept: Kept = minicbor::decode(&pair.value).ok()?;
    let used = AtomicU64::new(kept.used);
    Some(Arc::new(Remembered { kept, modified: pair.modified, used }))
}

/// Whether a text can be a token at all.
pub fn is_token(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn key_of(token: &str) -> String {
    format!("{PREFIX}{}", hex(&Sha256::digest(token.to_ascii_lowercase())))
}

fn encoded(kept: &Kept) -> Vec<u8> {
    // Into memory nothing can fail.
    minicbor::to_vec(kept).unwrap_or_default()
}
