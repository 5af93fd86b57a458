//! [`Proven`]: passwords that were right a moment ago, so that a client that sends its password with each request costs
//! one slow check a minute.
//!
//! What is kept is a keyed hash (HMAC-SHA-256) of backend, user and password; its key is random, in this process alone,
//! and never written anywhere. A memory image of the process could be tried against guesses for as long as an entry
//! lives; a file or a log can't.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use hmac::{Hmac, KeyInit, Mac};
use rocksalt_core::Secret;
use sha2::Sha256;

use super::backends::Person;

/// So many at most.
const MOST: usize = 4096;

pub struct Proven {
    /// `None` where the system had no random bits: then nothing is remembered.
    key: Option<Secret<Vec<u8>>>,
    entries: Mutex<HashMap<[u8; 32], (f64, Person)>>,
}

impl Default for Proven {
    fn default() -> Proven {
        let mut key = vec![0; 32];
        let key = getrandom::fill(&mut key).is_ok().then(|| Secret::new(key));
        Proven { key, entries: Mutex::default() }
    }
}

impl Proven {
    fn tag(&self, eauth: &str, user: &str, password: &Secret<String>) -> Option<[u8; 32]> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.key.as_ref()?.reveal()).ok()?;
        for part in [eauth, user, password.reveal()] {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        Some(mac.finalize().into_bytes().into())
    }

    /// Who it was, if it was proven less than its life ago.
    pub fn get(&self, eauth: &str, user: &str, password: &Secret<String>, now: f64) -> Option<Person> {
        let tag = self.tag(eauth, user, password)?;
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(&tag).filter(|(until, _)| now < *until).map(|(_, person)| person.clone())
    }

    pub fn remember(&self, eauth: &str, user: &str, password: &Secret<String>, person: &Person, now: f64, life: f64) {
        let Some(tag) = self.tag(eauth, user, password).filter(|_| life > 0.0) else { return };
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= MOST {
            entries.retain(|_, (until, _)| now < *until);
        }
        if entries.len() >= MOST {
            entries.clear();
        }
        entries.insert(tag, (now + life, person.clone()));
    }

    /// After a change of the settings nothing is proven any more.
    pub fn clear(&self) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
