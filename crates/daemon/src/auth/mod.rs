//! [`Auth`]: who somebody is, by a password, a token or a certificate.

use std::net::IpAddr;

use rocksalt_core::Secret;

use crate::desk::{Caller, Kind, Refusal};

#[derive(Default)]
pub struct Auth {}

/// What somebody gives to log in.
pub struct Credentials {
    pub user: String,
    pub password: Secret<String>,
    pub eauth: String,
    /// Seconds, if the asker wishes another life of the token.
    pub token_expire: Option<f64>,
}

/// A token that was just made; the only time that it is seen.
pub struct Login {
    pub token: Secret<String>,
    /// Seconds since 1970.
    pub start: f64,
    pub expire: f64,
    pub caller: Caller,
}

impl Auth {
    /// Checks a password without making a token (Salt's `/run` with credentials). Slow on purpose if it is wrong.
    pub async fn verify(&self, _credentials: &Credentials, _from: Option<IpAddr>) -> Result<Caller, Refusal> {
        Err(Refusal::new(Kind::Unauthenticated, "not yet"))
    }

    pub async fn login(&self, _credentials: Credentials, _from: Option<IpAddr>) -> Result<Login, Refusal> {
        Err(Refusal::new(Kind::Unauthenticated, "not yet"))
    }

    /// Whose token it is; refused if it is unknown or its time is over.
    pub async fn token(&self, _token: &str, _from: Option<IpAddr>) -> Result<Caller, Refusal> {
        Err(Refusal::new(Kind::Unauthenticated, "not yet"))
    }

    pub async fn certificate(&self, _name: &str, _from: Option<IpAddr>) -> Result<Caller, Refusal> {
        Err(Refusal::new(Kind::Unauthenticated, "not yet"))
    }

    pub fn allowed_address(&self, _from: Option<IpAddr>) -> bool {
        true
    }

    pub async fn logout(&self, _token: &str) -> Result<(), Refusal> {
        Ok(())
    }
}
