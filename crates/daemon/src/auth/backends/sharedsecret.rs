//! `sharedsecret`: one password for all, the setting `sharedsecret`; for a trusted front end that knows its users.

use std::sync::Arc;

use async_trait::async_trait;
use rocksalt_core::Secret;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{Backend, Person, Setup};

/// Shorter ones can be guessed.
const SHORTEST: usize = 12;

struct SharedSecret {
    /// Hashed, so that the comparison takes as long for any length.
    hash: [u8; 32],
}

pub fn make(setup: &Setup<'_>) -> Result<Arc<dyn Backend>, String> {
    match setup.text("sharedsecret") {
        None => Err("the setting `sharedsecret` is missing".into()),
        Some(secret) if secret.len() < SHORTEST => {
            Err(format!("`sharedsecret` is too short: {SHORTEST} characters at least"))
        }
        Some(secret) => Ok(Arc::new(SharedSecret { hash: Sha256::digest(Secret::new(secret).reveal()).into() })),
    }
}

#[async_trait]
impl Backend for SharedSecret {
    fn name(&self) -> &'static str {
        "sharedsecret"
    }

    async fn verify(&self, _user: &str, password: &Secret<String>) -> Result<Option<Person>, String> {
        let given: [u8; 32] = Sha256::digest(password.reveal()).into();
        Ok(bool::from(given.ct_eq(&self.hash)).then(Person::default))
    }
}
