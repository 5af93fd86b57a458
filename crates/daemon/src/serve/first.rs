//! What a first start makes, and what a person is told of it.

use std::path::PathBuf;

use rocksalt_core::Secret;

use super::{Address, Error, Settings};
use crate::auth::users::Users;

/// Who may do everything where `external_auth` says nothing else.
const ADMIN: &str = "admin";

/// What a person at the terminal should know.
#[derive(Clone, Debug)]
pub enum Notice {
    /// The first user; the only time that the password is seen.
    Admin {
        user: String,
        password: Secret,
    },
    /// A certificate was made.
    Certificate {
        path: PathBuf,
        fingerprint: String,
        pin: String,
        names: Vec<String>,
    },
    Listening(Vec<Address>),
}

/// The first user, if there is none yet.
pub async fn users(settings: &Settings, said: &(dyn Fn(Notice) + Sync)) -> Result<(), Error> {
    let users = Users::at(&settings.users());
    if users.path().exists() {
        return Ok(());
    }
    let password = password()?;
    let secret = password.clone();
    // Hashing takes its time on purpose.
    let adding = tokio::task::spawn_blocking(move || users.add(ADMIN, &secret, &[]));
    adding.await.map_err(|error| Error::Users(error.to_string()))?.map_err(Error::Users)?;
    said(Notice::Admin { user: ADMIN.into(), password });
    Ok(())
}

/// 24 letters and digits that nobody takes for one another: 120 bits.
fn password() -> Result<Secret, Error> {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut random = [0u8; 24];
    getrandom::fill(&mut random).map_err(|error| Error::Users(format!("no randomness: {error}")))?;
    Ok(Secret::new(random.iter().map(|byte| LETTERS[usize::from(byte % 32)] as char).collect()))
}
