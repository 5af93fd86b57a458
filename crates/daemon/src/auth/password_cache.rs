//! [`PasswordCache`]: recently verified passwords, so that a client that sends its password with each request costs one
//! slow check a minute.
//!
//! It contains keyed hashes (HMAC-SHA-256) of backend, user and password. The key is random, only in this process, and
//! never written anywhere. Guesses can be tried only against a memory image of the process, and only while an entry lives.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use hmac::{Hmac, KeyInit, Mac};
use rocksalt_core::Secret;
use sha2::Sha256;

use super::backends::VerifiedUser;

/// The most entries.
const MAX_ENTRIES: usize = 4096;

pub struct PasswordCache {
    /// `None` if the system has no randomness: then nothing is cached.
    key: Option<Secret<Vec<u8>>>,
    entries: Mutex<HashMap<[u8; 32], (f64, VerifiedUser)>>,
}

impl Default for PasswordCache {
    fn default() -> PasswordCache {
        let mut key = vec![0; 32];
        let key = getrandom::fill(&mut key).is_ok().then(|| Secret::new(key));
        PasswordCache { key, entries: Mutex::default() }
    }
}

impl PasswordCache {
    fn tag(&self, eauth: &str, user: &str, password: &Secret<String>) -> Option<[u8; 32]> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.key.as_ref()?.reveal()).ok()?;
        for part in [eauth, user, password.reveal()] {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        Some(mac.finalize().into_bytes().into())
    }

    /// The user, if the entry has not expired.
    pub fn get(&self, eauth: &str, user: &str, password: &Secret<String>, now: f64) -> Option<VerifiedUser> {
        let tag = self.tag(eauth, user, password)?;
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(&tag).filter(|(until, _)| now < *until).map(|(_, verified)| verified.clone())
    }

    pub fn insert(
        &self,
        eauth: &str,
        user: &str,
        password: &Secret<String>,
        verified: &VerifiedUser,
        now: f64,
        life: f64,
    ) {
        let Some(tag) = self.tag(eauth, user, password).filter(|_| life > 0.0) else { return };
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= MAX_ENTRIES {
            entries.retain(|_, (until, _)| now < *until);
        }
        if entries.len() >= MAX_ENTRIES {
            entries.clear();
        }
        entries.insert(tag, (now + life, verified.clone()));
    }

    /// Drops all entries, after a change of the settings.
    pub fn clear(&self) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
