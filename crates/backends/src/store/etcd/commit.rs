//! Commits to etcd exactly once, also if a response is lost.
//!
//! When a response is lost (a broken connection, a leader change, a timeout) the transaction may have been committed, may
//! be committed shortly by the member that still has it, or never. A plain retry could commit it twice, and a conflict of
//! the retry may be caused by the first attempt. So each transaction also writes a *marker*, a key that only this process
//! writes and only one transaction at a time, under the condition that the marker is unchanged.
//! After a lost response we write the marker alone, under the same condition (a fence):
//!
//! - It succeeds: the lost transaction was not committed, and can't be any more, because its condition no longer holds.
//!   It is retried.
//! - It fails: the marker tells which of our attempts was committed, and its revision is that commit's revision.
//!
//! Only if the fence gets no response within the time limit either, the outcome is unknown ([`Error::OutcomeUnknown`]).
//!
//! Markers of ended processes are deleted after a day.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prost::Message;

use super::call::{CallError, CallErrorKind, RetryBudget, random};
use super::members::EtcdMembers;
use super::messages::{
    Compare, DeleteRequest, PutRequest, RANGE, RangeRequest, RangeResponse, RequestOp, TXN, TxnRequest, TxnResponse, op,
};
use super::{KeyNames, LARGEST_REQUEST, revision};
use crate::store::{Committed, Error, Precondition, Transaction, TransactionOp};

/// Age at which markers are deleted, in seconds.
const MARKER_AGE: u64 = 24 * 3600;

pub struct CommitMarkers {
    free: Mutex<Vec<CommitMarker>>,
    /// Random name of this process.
    process: String,
    made: AtomicU64,
    attempts: AtomicU64,
}

/// A key that one transaction at a time uses.
struct CommitMarker {
    key: Vec<u8>,
    /// Its last revision; 0 if it doesn't exist.
    modified: i64,
}

impl CommitMarkers {
    pub fn new() -> CommitMarkers {
        let process = format!("{:016x}{:016x}", random(), random());
        CommitMarkers { free: Mutex::default(), process, made: AtomicU64::new(0), attempts: AtomicU64::new(0) }
    }

    fn acquire(&self, names: &KeyNames) -> CommitMarker {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.unwrap_or_else(|| {
            let number = self.made.fetch_add(1, Ordering::Relaxed);
            CommitMarker { key: names.marker(&format!("{}/{number}", self.process)), modified: 0 }
        })
    }

    fn release(&self, marker: CommitMarker) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(marker);
    }

    /// The marker's value for an attempt: its number, and the time for [`sweep`].
    fn attempt(&self) -> Vec<u8> {
        let number = self.attempts.fetch_add(1, Ordering::Relaxed);
        format!("{number} {}", now()).into_bytes()
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

pub async fn commit(
    members: &EtcdMembers,
    names: &KeyNames,
    markers: &CommitMarkers,
    transaction: Transaction,
) -> Result<Committed, Error> {
    let compare = transaction.conditions.iter().map(|condition| to_compare(names, condition)).collect();
    let success = transaction.operations.into_iter().map(|operation| to_request_op(names, operation)).collect();
    let request = TxnRequest { compare, success, failure: Vec::new() };
    if request.success.is_empty() {
        // It writes nothing, so it is idempotent.
        let response: TxnResponse = members.call(TXN, request).await.map_err(|error| error.error("read"))?;
        let done = Committed::Done(revision(response.header.as_ref()));
        return Ok(if response.succeeded { done } else { Committed::Conflict });
    }
    let size = request.encoded_len();
    if size > LARGEST_REQUEST {
        let what = format!("{size} bytes in one transaction; etcd's limit is {LARGEST_REQUEST}");
        return Err(Error::TooLarge { what });
    }
    let marker = markers.acquire(names);
    let budget = RetryBudget::new(members.time_limit);
    let mut commit = MarkedCommit { members, names, markers, request, marker, budget };
    let committed = commit.run().await;
    // After an unknown outcome the marker's revision is unknown, too.
    if !matches!(committed, Err(Error::OutcomeUnknown { .. })) {
        markers.release(commit.marker);
    }
    committed
}

/// A commit with its marker.
struct MarkedCommit<'a> {
    members: &'a EtcdMembers,
    names: &'a KeyNames,
    markers: &'a CommitMarkers,
    request: TxnRequest,
    marker: CommitMarker,
    budget: RetryBudget,
}

impl MarkedCommit<'_> {
    /// Retries until the outcome is known or the time limit is reached. Leaves the marker's revision up to date.
    async fn run(&mut self) -> Result<Committed, Error> {
        loop {
            let attempt = self.markers.attempt();
            let error = match self.send(&attempt).await {
                Ok(response) if response.succeeded => {
                    return Ok(self.committed(revision(response.header.as_ref()).cast_signed()));
                }
                Ok(response) if marker_in(&response).0 == self.marker.modified => return Ok(Committed::Conflict),
                // Our marker was deleted. No attempt of ours is open here: start again with another marker.
                Ok(_) => {
                    self.marker = self.markers.acquire(self.names);
                    if self.budget.is_over() {
                        return Err(Error::Unavailable { doing: "write", why: "our markers are deleted".into() });
                    }
                    continue;
                }
                Err(error) => error,
            };
            match error.kind {
                CallErrorKind::Full => return self.commit_when_full(&attempt, error).await,
                CallErrorKind::NoAnswer => match self.resolve_lost_commit(&attempt, error).await? {
                    LostCommit::Done(modified) => return Ok(self.committed(modified)),
                    LostCommit::NotDone(error) if self.budget.is_over() => return Err(error.error("write")),
                    LostCommit::NotDone(_) => {}
                },
                _ if error.is_transient() => {
                    let waited = self.budget.wait_after(self.members, error).await;
                    waited.map_err(|error| error.error("write"))?;
                }
                _ => return Err(error.error("write")),
            }
        }
    }

    /// Sends the transaction once, with the marker.
    async fn send(&self, attempt: &[u8]) -> Result<TxnResponse, CallError> {
        let mut request = self.request.clone();
        request.compare.push(Compare::modified(self.marker.key.clone(), self.marker.modified));
        request.success.push(put_op(&self.marker.key, attempt));
        request.failure.push(read_op(&self.marker.key));
        self.members.call_once(TXN, request, self.budget.attempt()).await
    }

    fn committed(&mut self, modified: i64) -> Committed {
        self.marker.modified = modified;
        Committed::Done(modified.cast_unsigned())
    }

    /// etcd reports that it is full also for the transaction that filled it, and has committed that one.
    async fn commit_when_full(&mut self, attempt: &[u8], error: CallError) -> Result<Committed, Error> {
        let range = RangeRequest { key: self.marker.key.clone(), ..RangeRequest::default() };
        let unknown = |again: CallError| Error::OutcomeUnknown { why: format!("{}, then {}", error.why, again.why) };
        let response: RangeResponse = self.members.call(RANGE, range).await.map_err(unknown)?;
        let stored = response.kvs.first();
        self.marker.modified = stored.map_or(0, |pair| pair.mod_revision);
        if stored.is_some_and(|pair| pair.value == attempt) {
            return Ok(Committed::Done(self.marker.modified.cast_unsigned()));
        }
        match only_deletes(&self.request) {
            true => delete_once(self.members, self.request.clone(), self.budget.attempt()).await,
            false => Err(error.error("write")),
        }
    }

    /// Finds out the outcome of an attempt whose response was lost, by writing a fence.
    async fn resolve_lost_commit(&mut self, attempt: &[u8], error: CallError) -> Result<LostCommit, Error> {
        let mut fences: Vec<Vec<u8>> = Vec::new();
        let unknown =
            |error: CallError| Error::OutcomeUnknown { why: format!("its response was lost ({})", error.why) };
        loop {
            let fence = self.markers.attempt();
            let request = TxnRequest {
                compare: vec![Compare::modified(self.marker.key.clone(), self.marker.modified)],
                success: vec![put_op(&self.marker.key, &fence)],
                failure: vec![read_op(&self.marker.key)],
            };
            fences.push(fence);
            match self.members.call_once::<_, TxnResponse>(TXN, request, self.budget.attempt()).await {
                Ok(response) if response.succeeded => {
                    self.marker.modified = revision(response.header.as_ref()).cast_signed();
                    return Ok(LostCommit::NotDone(error));
                }
                Ok(response) => match marker_in(&response) {
                    (modified, value) if value == attempt => return Ok(LostCommit::Done(modified)),
                    // An earlier fence whose response was also lost.
                    (modified, value) if fences.contains(&value) => {
                        self.marker.modified = modified;
                        return Ok(LostCommit::NotDone(error));
                    }
                    _ => return Err(unknown(CallError { why: "and its marker was deleted".into(), ..error })),
                },
                Err(again) if again.is_transient() => {
                    self.budget.wait_after(self.members, again).await.map_err(unknown)?;
                }
                Err(other) => return Err(unknown(other)),
            }
        }
    }
}

/// The outcome of an attempt whose response was lost.
enum LostCommit {
    Done(i64),
    /// And never will be.
    NotDone(CallError),
}

fn only_deletes(request: &TxnRequest) -> bool {
    request.success.iter().all(|one| matches!(one.request, Some(op::Kind::Delete(_))))
}

/// A full etcd still deletes but doesn't accept a marker, so this is tried only once.
async fn delete_once(members: &EtcdMembers, request: TxnRequest, limit: Duration) -> Result<Committed, Error> {
    match members.call_once::<_, TxnResponse>(TXN, request, limit).await {
        Ok(response) if response.succeeded => Ok(Committed::Done(revision(response.header.as_ref()))),
        Ok(_) => Ok(Committed::Conflict),
        Err(error) if error.kind == CallErrorKind::NoAnswer => Err(Error::OutcomeUnknown { why: error.why }),
        Err(error) => Err(error.error("write")),
    }
}

/// The marker in a response: its revision and value.
fn marker_in(response: &TxnResponse) -> (i64, Vec<u8>) {
    let range = response.responses.last().and_then(|response| response.range.as_ref());
    let pair = range.and_then(|range| range.kvs.first());
    pair.map_or((0, Vec::new()), |pair| (pair.mod_revision, pair.value.clone()))
}

fn to_compare(names: &KeyNames, condition: &Precondition) -> Compare {
    match condition {
        Precondition::Absent { key } => Compare::modified(names.full(key), 0),
        Precondition::At { key, revision } => Compare::modified(names.full(key), revision.cast_signed()),
    }
}

fn to_request_op(names: &KeyNames, change: TransactionOp) -> RequestOp {
    match change {
        TransactionOp::Put { key, value, lease } => {
            op::Kind::Put(PutRequest { key: names.full(&key), value, lease: lease.unwrap_or(0) }).into()
        }
        TransactionOp::Delete { key } => op::Kind::Delete(DeleteRequest { key: names.full(&key) }).into(),
    }
}

fn put_op(key: &[u8], value: &[u8]) -> RequestOp {
    op::Kind::Put(PutRequest { key: key.to_owned(), value: value.to_owned(), lease: 0 }).into()
}

fn read_op(key: &[u8]) -> RequestOp {
    op::Kind::Range(RangeRequest { key: key.to_owned(), ..RangeRequest::default() }).into()
}

/// Deletes the markers of ended processes. If such a process still runs, it just creates a new marker.
pub async fn sweep(members: &EtcdMembers, names: &KeyNames) {
    let (key, range_end) = names.markers();
    let range = RangeRequest { key, range_end, limit: 10_000, ..RangeRequest::default() };
    let Ok(found) = members.call::<_, RangeResponse>(RANGE, range).await else { return };
    let age = |value: &[u8]| {
        let text = std::str::from_utf8(value).ok()?;
        now().checked_sub(text.split(' ').nth(1)?.parse().ok()?)
    };
    for pair in found.kvs.into_iter().filter(|pair| age(&pair.value).is_some_and(|age| age > MARKER_AGE)) {
        let request = TxnRequest {
            compare: vec![Compare::modified(pair.key.clone(), pair.mod_revision)],
            success: vec![op::Kind::Delete(DeleteRequest { key: pair.key }).into()],
            failure: Vec::new(),
        };
        // On failure, the next opening of the store sweeps again.
        let _ = members.call::<_, TxnResponse>(TXN, request).await;
    }
}
