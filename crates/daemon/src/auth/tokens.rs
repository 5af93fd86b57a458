//! [`TokenStore`]: 256 random bits each, stored by their hash only (`docs/security-rules.md#r9`).
//!
//! Tokens are cached in memory. A watch of the store updates the cache when any controller changes or revokes a token;
//! while the watch is broken, the cache is not used.

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

/// The most cached tokens.
const MAX_CACHED: usize = 16_384;

/// The most tokens of one user.
const MAX_PER_USER: u64 = 50_000;

/// A stored token.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TokenRecord {
    #[n(0)]
    pub user: String,
    #[n(1)]
    pub eauth: String,
    #[n(2)]
    pub groups: Vec<String>,
    /// Microseconds since the Unix epoch.
    #[n(3)]
    pub start: u64,
    #[n(4)]
    pub expire: u64,
    /// When it was last used, approximately: it is not written each time.
    #[n(5)]
    pub used: u64,
    /// Passed to the backend to check whether the login is still valid.
    #[n(6)]
    #[cbor(with = "minicbor::bytes")]
    pub stamp: Vec<u8>,
    /// The only allowed address, if tokens are bound to addresses.
    #[n(7)]
    pub from: Option<String>,
}

pub struct TokenStore {
    store: Arc<dyn Store>,
    now: fn() -> u64,
    cache: Mutex<TokenCache>,
}

#[derive(Default)]
struct TokenCache {
    /// False while the watch is broken.
    live: bool,
    /// Counts events of the watch: a read that began before one may be outdated.
    watch_events: u64,
    tokens: HashMap<String, Arc<CachedToken>>,
    /// The number of tokens of each user, as of the last sweep and since.
    counts: HashMap<(String, String), u64>,
}

struct CachedToken {
    record: TokenRecord,
    modified: u64,
    /// When it was last used on this controller.
    used: AtomicU64,
}

impl TokenStore {
    pub fn new(store: Arc<dyn Store>, now: fn() -> u64) -> TokenStore {
        TokenStore { store, now, cache: Mutex::default() }
    }

    fn cache(&self) -> MutexGuard<'_, TokenCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a token; when this returns, all controllers accept it.
    pub async fn create(&self, record: &TokenRecord) -> Result<Secret<String>, String> {
        let owner = (record.eauth.clone(), record.user.clone());
        if self.cache().counts.get(&owner).is_some_and(|count| *count >= MAX_PER_USER) {
            return Err(format!("{} has {MAX_PER_USER} tokens, which is the limit; log some out", record.user));
        }
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| format!("the system has no randomness: {error}"))?;
        let token = Secret::new(hex(&bytes));
        let key = key_of(token.reveal());
        let transaction = Transaction::default().if_absent(&key).put(&key, encoded(record));
        match self.store.commit(transaction).await.map_err(|error| error.to_string())? {
            Committed::Done(_) => {
                *self.cache().counts.entry(owner).or_default() += 1;
                Ok(token)
            }
            // The same 256 bits twice: the source of randomness is broken.
            Committed::Conflict => Err("the system's random numbers repeat".into()),
        }
    }

    /// The record of a token; `None` if it is unknown, expired, or was idle too long.
    pub async fn get(&self, token: &str, idle: Duration) -> Result<Option<TokenRecord>, Error> {
        let key = key_of(token);
        let cached = match self.cached(&key) {
            Some(cached) => cached,
            None => match self.read(&key).await? {
                Some(cached) => cached,
                None => return Ok(None),
            },
        };
        let now = (self.now)();
        let record = &cached.record;
        // Expiry first: nothing else of an expired token matters.
        let used = cached.used.load(Ordering::Relaxed).max(record.used);
        let idle = u64::try_from(idle.as_micros()).unwrap_or(u64::MAX);
        // Another controller stores the time of use only after a tenth of the idle time.
        let longest = idle.saturating_add(idle / 10);
        if now >= record.expire || now.saturating_sub(used) > longest {
            self.delete(&key).await?;
            return Ok(None);
        }
        cached.used.fetch_max(now, Ordering::Relaxed);
        if now.saturating_sub(record.used) > (idle / 10).max(60_000_000) {
            self.write_use(&key, &cached, now).await;
        }
        Ok(Some(cached.record.clone()))
    }

    fn cached(&self, key: &str) -> Option<Arc<CachedToken>> {
        let cache = self.cache();
        let (stored_key, cached) = cache.tokens.get_key_value(key).filter(|_| cache.live)?;
        // The key is a hash, so a timing attack isn't practical; compared in constant time all the same.
        bool::from(stored_key.as_bytes().ct_eq(key.as_bytes())).then(|| Arc::clone(cached))
    }

    async fn read(&self, key: &str) -> Result<Option<Arc<CachedToken>>, Error> {
        let before = self.cache().watch_events;
        let Some(pair) = self.store.get(key).await? else { return Ok(None) };
        let Some(cached) = decode_token(&pair) else { return Ok(None) };
        let mut cache = self.cache();
        // The token may have been revoked meanwhile.
        if cache.live && cache.watch_events == before {
            cache.insert(pair.key, &cached);
        }
        Ok(Some(cached))
    }

    /// Stores the time of use, so that a token in use survives a restart. A lost write costs at most a login.
    async fn write_use(&self, key: &str, cached: &CachedToken, now: u64) {
        let record = TokenRecord { used: now, ..cached.record.clone() };
        let transaction = Transaction::default().if_revision(key, cached.modified).put(key, encoded(&record));
        if self.store.commit(transaction).await.is_ok() {
            self.cache().tokens.remove(key);
        }
    }

    /// Revokes a token; true if it existed.
    pub async fn remove(&self, token: &str) -> Result<bool, Error> {
        let key = key_of(token);
        let there = self.store.get(&key).await?.is_some();
        self.delete(&key).await?;
        Ok(there)
    }

    async fn delete(&self, key: &str) -> Result<(), Error> {
        self.cache().tokens.remove(key);
        self.store.commit(Transaction::default().delete(key)).await.map(drop)
    }

    /// Revokes all tokens of a user.
    pub async fn remove_user(&self, eauth: &str, user: &str) -> Result<u64, Error> {
        self.remove_if(|record| record.eauth == eauth && record.user == user).await
    }

    /// Removes expired tokens and those whose login is no longer valid.
    pub async fn sweep(&self, is_valid: impl Fn(&TokenRecord) -> bool) -> Result<u64, Error> {
        let now = (self.now)();
        self.remove_if(|record| now >= record.expire || !is_valid(record)).await
    }

    async fn remove_if(&self, gone: impl Fn(&TokenRecord) -> bool) -> Result<u64, Error> {
        const PAGE: usize = 500;
        let mut counts: HashMap<(String, String), u64> = HashMap::new();
        let mut removed = 0;
        let mut range = KeyRange::prefix(PREFIX).limit(PAGE);
        loop {
            let listing = self.store.range(&range).await?;
            let mut transaction = Transaction::default();
            for pair in &listing.pairs {
                match minicbor::decode::<TokenRecord>(&pair.value) {
                    Ok(record) if !gone(&record) => *counts.entry((record.eauth, record.user)).or_default() += 1,
                    // Also removes malformed records.
                    _ => transaction = transaction.delete(&pair.key),
                }
            }
            removed += transaction.operations.len() as u64;
            for part in transaction.operations.chunks(100) {
                let part = Transaction { operations: part.to_vec(), ..Transaction::default() };
                self.store.commit(part).await?;
            }
            match listing.pairs.last().filter(|_| listing.more) {
                // The first key after this one.
                Some(last) => range.from = format!("{} ", last.key),
                None => break,
            }
        }
        let mut cache = self.cache();
        cache.counts = counts;
        // Don't wait for the watch to update the cache.
        cache.tokens.retain(|_, cached| !gone(&cached.record));
        Ok(removed)
    }

    /// Watches the store forever.
    pub async fn watch(&self) {
        loop {
            // Any error ends the watch; the cache is dropped before it is used again.
            let _ = self.update_cache().await;
            {
                let mut cache = self.cache();
                cache.live = false;
                cache.watch_events += 1;
                cache.tokens.clear();
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    async fn update_cache(&self) -> Result<(), Error> {
        let revision = self.store.range(&KeyRange::prefix(PREFIX).keys_only().limit(1)).await?.revision;
        let mut watch = self.store.watch(PREFIX, revision).await?;
        self.cache().live = true;
        while let Some(event) = watch.next().await {
            let event = event?;
            let mut cache = self.cache();
            cache.watch_events += 1;
            match event {
                WatchEvent::Changes { changes, .. } => changes.into_iter().for_each(|change| match change {
                    KeyChange::Put(pair) => match decode_token(&pair) {
                        Some(cached) => cache.insert(pair.key, &cached),
                        None => drop(cache.tokens.remove(&pair.key)),
                    },
                    KeyChange::Deleted { key } => drop(cache.tokens.remove(&key)),
                }),
                WatchEvent::Gap { .. } => cache.tokens.clear(),
            }
        }
        Ok(())
    }
}

impl TokenCache {
    fn insert(&mut self, key: String, cached: &Arc<CachedToken>) {
        if self.tokens.len() >= MAX_CACHED {
            // Drop any: a token in use is read again.
            let some: Vec<String> = self.tokens.keys().take(MAX_CACHED / 8).cloned().collect();
            some.iter().for_each(|key| drop(self.tokens.remove(key)));
        }
        self.tokens.insert(key, Arc::clone(cached));
    }
}

fn decode_token(pair: &Pair) -> Option<Arc<CachedToken>> {
    let record: TokenRecord = minicbor::decode(&pair.value).ok()?;
    let used = AtomicU64::new(record.used);
    Some(Arc::new(CachedToken { record, modified: pair.modified, used }))
}

/// Whether a text has the format of a token.
pub fn is_token(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn key_of(token: &str) -> String {
    format!("{PREFIX}{}", hex(&Sha256::digest(token.to_ascii_lowercase())))
}

fn encoded(record: &TokenRecord) -> Vec<u8> {
    // Encoding into memory can't fail.
    minicbor::to_vec(record).unwrap_or_default()
}
