//! The first start: creates the admin user, and notices for the terminal.

use std::path::PathBuf;

use rocksalt_core::Secret;

use super::{Error, ListenAddress, Settings};
use crate::auth::users::Users;

/// The user who may do everything by default.
const ADMIN: &str = "admin";

/// Information for the person who starts the daemon.
#[derive(Clone, Debug)]
pub enum StartNotice {
    /// The first user; the password is shown only once.
    Admin {
        user: String,
        password: Secret,
    },
    /// A certificate was created.
    Certificate {
        path: PathBuf,
        fingerprint: String,
        pin: String,
        names: Vec<String>,
    },
    Listening(Vec<ListenAddress>),
}

/// Creates the first user, if there is none.
pub async fn create_admin(settings: &Settings, notify: &(dyn Fn(StartNotice) + Sync)) -> Result<(), Error> {
    let users = Users::at(&settings.users());
    if users.path().exists() {
        return Ok(());
    }
    let password = random_password()?;
    let secret = password.clone();
    // Hashing is slow on purpose.
    let adding = tokio::task::spawn_blocking(move || users.add(ADMIN, &secret, &[]));
    adding.await.map_err(|error| Error::Users(error.to_string()))?.map_err(Error::Users)?;
    notify(StartNotice::Admin { user: ADMIN.into(), password });
    Ok(())
}

/// 24 unambiguous letters and digits: 120 bits.
fn random_password() -> Result<Secret, Error> {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut random = [0u8; 24];
    getrandom::fill(&mut random).map_err(|error| Error::Users(format!("no randomness: {error}")))?;
    Ok(Secret::new(random.iter().map(|byte| LETTERS[usize::from(byte % 32)] as char).collect()))
}
