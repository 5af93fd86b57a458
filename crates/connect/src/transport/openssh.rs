//! The system's `ssh`: for Kerberos, FIDO keys and odd proxies.

use async_trait::async_trait;
use rocksalt_core::link::{Failure, Stage};
use rocksalt_core::roster::Entry;

use super::{Prompt, Session, Transport};

pub struct OpenSsh;

#[async_trait]
impl Transport for OpenSsh {
    async fn connect(&self, _: &Entry, _: &dyn Prompt) -> Result<Box<dyn Session>, Failure> {
        Err(Failure::new(Stage::Settings, "being written"))
    }
}
