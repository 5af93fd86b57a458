//! `sharedsecret`: one password for all users, for a trusted front end that authenticates them itself.

use std::sync::Arc;

use async_trait::async_trait;
use rocksalt_core::Secret;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{Backend, Setup, VerifiedUser};

/// Shorter secrets can be guessed.
const MIN_LENGTH: usize = 12;

struct SharedSecret {
    /// Hashed, so that the comparison takes the same time for any length.
    hash: [u8; 32],
}

pub fn open(setup: &Setup<'_>) -> Result<Arc<dyn Backend>, String> {
    match setup.text("sharedsecret") {
        None => Err("the setting `sharedsecret` is missing".into()),
        Some(secret) if secret.len() < MIN_LENGTH => {
            Err(format!("`sharedsecret` must have at least {MIN_LENGTH} characters"))
        }
        Some(secret) => Ok(Arc::new(SharedSecret { hash: Sha256::digest(Secret::new(secret).reveal()).into() })),
    }
}

#[async_trait]
impl Backend for SharedSecret {
    fn name(&self) -> &'static str {
        "sharedsecret"
    }

    async fn verify(&self, _user: &str, password: &Secret<String>) -> Result<Option<VerifiedUser>, String> {
        let given: [u8; 32] = Sha256::digest(password.reveal()).into();
        Ok(bool::from(given.ct_eq(&self.hash)).then(VerifiedUser::default))
    }
}
