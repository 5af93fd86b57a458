//! [`Passwords`]: argon2id checks with bounded concurrency, on blocking threads, because they are slow on purpose.

use std::sync::Arc;

use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use rocksalt_core::Secret;
use tokio::sync::Semaphore;

/// A hash for unknown users, so that they take as long as known ones.
const DUMMY_HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$c29tZSBzYWx0IG9mIG5vYm9keQ$TczWt4exQKcd3LFaOzS1J1BQn5bCYVOhNCVsnPB9GGE";

/// The most waiting checks; more are refused.
const MAX_WAITING: usize = 256;

/// Checks a few passwords at a time.
#[derive(Clone)]
pub struct Passwords {
    permits: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl Default for Passwords {
    fn default() -> Passwords {
        // Each check needs 19 MiB.
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let permits = Arc::new(Semaphore::new(processors.clamp(1, 8)));
        Passwords { permits, waiting: Arc::new(Semaphore::new(MAX_WAITING)) }
    }
}

impl Passwords {
    /// Whether a password matches a hash. Without a hash it takes as long and is false.
    pub async fn check(&self, hash: Option<String>, password: &Secret<String>) -> Result<bool, String> {
        let full = || "too many concurrent logins; try again later".to_owned();
        let _waiting = self.waiting.try_acquire().map_err(|_| full())?;
        let _permit = self.permits.acquire().await.map_err(|_| full())?;
        let password = password.clone();
        let checked = tokio::task::spawn_blocking(move || {
            let known = hash.is_some();
            matches(hash.as_deref().unwrap_or(DUMMY_HASH), &password) && known
        });
        checked.await.map_err(|_| "the password check was aborted".to_owned())
    }
}

/// A hash for a users file, as a PHC string.
pub fn hash(password: &Secret<String>) -> Result<String, String> {
    let hash = Argon2::default().hash_password(password.reveal().as_bytes());
    hash.map(|hash| hash.to_string()).map_err(|error| format!("can't hash the password: {error}"))
}

/// Blocks for some tens of milliseconds.
pub fn matches(hash: &str, password: &Secret<String>) -> bool {
    Argon2::default().verify_password(password.reveal().as_bytes(), hash).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_knows_its_password() {
        let secret = |text: &str| Secret::new(text.to_owned());
        let kept = hash(&secret("right")).expect("a hash");
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
        assert!(matches(&kept, &secret("right")));
        assert!(!matches(&kept, &secret("wrong")));
        assert_ne!(kept, hash(&secret("right")).expect("a hash"));
    }

    #[test]
    fn nobodys_hash_is_a_hash() {
        use argon2::password_hash::phc::PasswordHash;
        let hash = PasswordHash::new(DUMMY_HASH).expect("a PHC string");
        assert_eq!(hash.hash.map(|hash| hash.len()), Some(32));
    }
}
