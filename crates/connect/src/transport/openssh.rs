//! The system's `ssh`: for Kerberos, FIDO keys and odd proxies.

use async_trait::async_trait;
use rocksalt_core::link::{Failure, Key, Stage};
use rocksalt_core::roster::Entry;

use super::{Caller, Person, Session, Transport, plain_key};

pub struct OpenSsh(pub Person);

#[async_trait]
impl Transport for OpenSsh {
    fn key(&self, entry: &Entry) -> Key {
        plain_key(entry, &self.0)
    }

    async fn connect(&self, _: &Entry, _: &Caller<'_>) -> Result<Box<dyn Session>, Failure> {
        Err(Failure::new(Stage::Settings, "being written"))
    }
}
