//! [`Audit`]: every request that changes something or was refused, in a chain of hashes (rule R18).

use std::net::IpAddr;

use rocksalt_core::record::JobRecord;
use rocksalt_core::request::Request;

use crate::desk::{Caller, Refusal};

#[derive(Clone, Default)]
pub struct Audit {}

/// The number of an entry, for what comes of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Noted(pub Option<u64>);

/// What happens at the door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    In,
    Out,
    Refused,
    Throttled,
    BadToken,
}

impl Audit {
    /// Stored before the request is done. Refusals are noted too.
    pub async fn note(
        &self,
        _caller: &Caller,
        _request: &Request,
        _refused: Option<&Refusal>,
    ) -> Result<Noted, Refusal> {
        Ok(Noted::default())
    }

    /// The job that came of an entry.
    pub fn started(&self, _noted: &Noted, _job: &JobRecord) {}

    /// A login, or what was none.
    pub fn sign(&self, _sign: Sign, _user: &str, _eauth: &str, _from: Option<IpAddr>) {}
}
