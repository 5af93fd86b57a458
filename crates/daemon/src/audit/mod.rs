//! [`Audit`]: every request that changes something or was refused, in a chain of hashes (rule R18).

use rocksalt_core::request::Request;

use crate::desk::{Caller, Refusal};

#[derive(Default)]
pub struct Audit {}

impl Audit {
    /// Stored before the request is done. Refusals are noted too.
    pub async fn note(&self, _caller: &Caller, _request: &Request, _refused: Option<&Refusal>) -> Result<(), Refusal> {
        // TODO(AUTH)
        Ok(())
    }
}
