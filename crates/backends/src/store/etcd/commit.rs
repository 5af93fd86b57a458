//! Commits to etcd, each done once and only once, also if the answer is lost.
//!
//! When an answer is lost (a broken connection, a change of the leader, a time limit) the transaction may have been
//! done, may be done in a moment by the member that still has it, or never. Doing it again could do it twice; a conflict
//! at the second attempt may be our own first one. So each transaction also writes a *marker*, a key that only this
//! process writes and only one transaction at a time, and has the condition that the marker is as we left it.
//! After a lost answer we write the marker ourselves, under the same condition:
//!
//! - that works: the lost transaction was not done, and can't be any more, since its condition no longer holds. It is
//!   tried again.
//! - it doesn't: the marker says which of our attempts was done, and its revision is the revision of that commit.
//!
//! Only if nobody answers that either, within the time limit, it is not known ([`Error::Unsure`]).
//!
//! Markers of processes that are gone are swept up after a day.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prost::Message;

use super::call::{Kind, Patience, Trouble, random};
use super::members::Members;
use super::messages::{
    Compare, DeleteRequest, Op, PutRequest, RANGE, RangeRequest, RangeResponse, TXN, TxnRequest, TxnResponse, op,
};
use super::{LARGEST_REQUEST, Names, revision};
use crate::store::{Committed, Condition, Error, Operation, Transaction};

/// How old a marker is when it is swept up, in seconds.
const OLD: u64 = 24 * 3600;

pub struct Markers {
    free: Mutex<Vec<Marker>>,
    /// Of this process, begun now.
    process: String,
    made: AtomicU64,
    attempts: AtomicU64,
}

/// A key that one transaction at a time has.
struct Marker {
    key: Vec<u8>,
    /// When we wrote it last; 0 if it isn't there.
    modified: i64,
}

impl Markers {
    pub fn new() -> Markers {
        let process = format!("{:016x}{:016x}", random(), random());
        Markers { free: Mutex::default(), process, made: AtomicU64::new(0), attempts: AtomicU64::new(0) }
    }

    fn take(&self, names: &Names) -> Marker {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.unwrap_or_else(|| {
            let number = self.made.fetch_add(1, Ordering::Relaxed);
            Marker { key: names.marker(&format!("{}/{number}", self.process)), modified: 0 }
        })
    }

    fn give_back(&self, marker: Marker, modified: i64) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(Marker { modified, ..marker });
    }

    /// What an attempt writes into the marker: which one it is, and the time, for the sweeper.
    fn attempt(&self) -> Vec<u8> {
        let number = self.attempts.fetch_add(1, Ordering::Relaxed);
        format!("{number} {}", now()).into_bytes()
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

pub async fn commit(
    members: &Members,
    names: &Names,
    markers: &Markers,
    transaction: Transaction,
) -> Result<Committed, Error> {
    let compare: Vec<Compare> = transaction.conditions.iter().map(|condition| compared(names, condition)).collect();
    let success: Vec<Op> = transaction.changes.into_iter().map(|change| operation(names, change)).collect();
    let request = TxnRequest { compare, success, failure: Vec::new() };
    if request.success.is_empty() {
        // Nothing is changed, so it may be asked as often as we like.
        let answer: TxnResponse = members.insist(TXN, request).await.map_err(|trouble| trouble.error("look"))?;
        let done = Committed::Done(revision(answer.header.as_ref()));
        return Ok(if answer.succeeded { done } else { Committed::Conflict });
    }
    let size = request.encoded_len();
    if size > LARGEST_REQUEST {
        let what = format!("{size} bytes in one transaction; etcd takes {LARGEST_REQUEST} of them");
        return Err(Error::TooLarge { what });
    }
    let mut patience = Patience::new(members.time_limit);
    let mut marker = markers.take(names);
    loop {
        let attempt = markers.attempt();
        let mut marked = request.clone();
        marked.compare.push(Compare::modified(marker.key.clone(), marker.modified));
        marked.success.push(put(&marker.key, &attempt));
        marked.failure.push(look(&marker.key));
        let asked = members.ask::<_, TxnResponse>(TXN, marked, patience.attempt()).await;
        let trouble = match asked {
            Ok(answer) if answer.succeeded => {
                let done = revision(answer.header.as_ref());
                markers.give_back(marker, done.cast_signed());
                return Ok(Committed::Done(done));
            }
            Ok(answer) if found(&answer).0 == marker.modified => {
                let modified = marker.modified;
                markers.give_back(marker, modified);
                return Ok(Committed::Conflict);
            }
            // Somebody has removed our marker. No attempt of ours is open here: begin with another one.
            Ok(_) => {
                marker = markers.take(names);
                if patience.is_over() {
                    return Err(Error::Away { doing: "write", why: "somebody removes what we write".into() });
                }
                continue;
            }
            Err(trouble) => trouble,
        };
        if trouble.kind == Kind::Full {
            // etcd says so, too, of the one that made it full, and has done that one.
            let range = RangeRequest { key: marker.key.clone(), ..RangeRequest::default() };
            let unsure = |again: Trouble| Error::Unsure { why: format!("{}, then {}", trouble.why, again.why) };
            let looked: RangeResponse = members.insist(RANGE, range).await.map_err(unsure)?;
            let modified = looked.kvs.first().map_or(0, |pair| pair.mod_revision);
            let done = looked.kvs.first().is_some_and(|pair| pair.value == attempt);
            markers.give_back(marker, modified);
            return match done {
                true => Ok(Committed::Done(modified.cast_unsigned())),
                false if only_deletes(&request) => delete_once(members, request, patience.attempt()).await,
                false => Err(trouble.error("write")),
            };
        }
        if trouble.kind == Kind::NoAnswer {
            match clear_up(members, markers, &mut marker, &attempt, &mut patience, trouble).await? {
                Cleared::Done(done) => {
                    markers.give_back(marker, done);
                    return Ok(Committed::Done(done.cast_unsigned()));
                }
                Cleared::NotDone(trouble) => {
                    if patience.is_over() {
                        let modified = marker.modified;
                        markers.give_back(marker, modified);
                        return Err(trouble.error("write"));
                    }
                }
            }
        } else {
            let waited = if trouble.passes() { patience.after(members, trouble).await } else { Err(trouble) };
            if let Err(trouble) = waited {
                let modified = marker.modified;
                markers.give_back(marker, modified);
                return Err(trouble.error("write"));
            }
        }
    }
}

fn only_deletes(request: &TxnRequest) -> bool {
    request.success.iter().all(|one| matches!(one.request, Some(op::Request::Delete(_))))
}

/// An etcd that is full still deletes, but doesn't take a marker: so this is tried once only.
async fn delete_once(members: &Members, request: TxnRequest, limit: Duration) -> Result<Committed, Error> {
    match members.ask::<_, TxnResponse>(TXN, request, limit).await {
        Ok(answer) if answer.succeeded => Ok(Committed::Done(revision(answer.header.as_ref()))),
        Ok(_) => Ok(Committed::Conflict),
        Err(trouble) if trouble.kind == Kind::NoAnswer => Err(Error::Unsure { why: trouble.why }),
        Err(trouble) => Err(trouble.error("write")),
    }
}

enum Cleared {
    Done(i64),
    /// And it never will be.
    NotDone(Trouble),
}

/// Finds out what became of an attempt whose answer was lost.
async fn clear_up(
    members: &Members,
    markers: &Markers,
    marker: &mut Marker,
    attempt: &[u8],
    patience: &mut Patience,
    trouble: Trouble,
) -> Result<Cleared, Error> {
    let mut fences: Vec<Vec<u8>> = Vec::new();
    let unsure = |trouble: Trouble| Error::Unsure { why: format!("its answer was lost ({})", trouble.why) };
    loop {
        let fence = markers.attempt();
        let request = TxnRequest {
            compare: vec![Compare::modified(marker.key.clone(), marker.modified)],
            success: vec![put(&marker.key, &fence)],
            failure: vec![look(&marker.key)],
        };
        fences.push(fence);
        match members.ask::<_, TxnResponse>(TXN, request, patience.attempt()).await {
            Ok(answer) if answer.succeeded => {
                marker.modified = revision(answer.header.as_ref()).cast_signed();
                return Ok(Cleared::NotDone(trouble));
            }
            Ok(answer) => match found(&answer) {
                (modified, value) if value == attempt => return Ok(Cleared::Done(modified)),
                // An earlier one of these, whose answer was lost, too.
                (modified, value) if fences.contains(&value) => {
                    marker.modified = modified;
                    return Ok(Cleared::NotDone(trouble));
                }
                _ => return Err(unsure(Trouble { why: "and its marker was removed".into(), ..trouble })),
            },
            Err(again) if again.passes() => patience.after(members, again).await.map_err(unsure)?,
            Err(other) => return Err(unsure(other)),
        }
    }
}

/// The marker that the answer has: when it was written, and what is in it.
fn found(answer: &TxnResponse) -> (i64, Vec<u8>) {
    let range = answer.responses.last().and_then(|response| response.range.as_ref());
    let pair = range.and_then(|range| range.kvs.first());
    pair.map_or((0, Vec::new()), |pair| (pair.mod_revision, pair.value.clone()))
}

fn compared(names: &Names, condition: &Condition) -> Compare {
    match condition {
        Condition::Absent { key } => Compare::modified(names.full(key), 0),
        Condition::At { key, revision } => Compare::modified(names.full(key), revision.cast_signed()),
    }
}

fn operation(names: &Names, change: Operation) -> Op {
    match change {
        Operation::Put { key, value, lease } => {
            op::Request::Put(PutRequest { key: names.full(&key), value, lease: lease.unwrap_or(0) }).into()
        }
        Operation::Delete { key } => op::Request::Delete(DeleteRequest { key: names.full(&key) }).into(),
    }
}

fn put(key: &[u8], value: &[u8]) -> Op {
    op::Request::Put(PutRequest { key: key.to_owned(), value: value.to_owned(), lease: 0 }).into()
}

fn look(key: &[u8]) -> Op {
    op::Request::Range(RangeRequest { key: key.to_owned(), ..RangeRequest::default() }).into()
}

/// Removes the markers of processes that are gone. If one of them isn't gone after all, it only has to make a new one.
pub async fn sweep(members: &Members, names: &Names) {
    let (key, range_end) = names.markers();
    let range = RangeRequest { key, range_end, limit: 10_000, ..RangeRequest::default() };
    let Ok(found) = members.insist::<_, RangeResponse>(RANGE, range).await else { return };
    let age = |value: &[u8]| {
        let text = std::str::from_utf8(value).ok()?;
        now().checked_sub(text.split(' ').nth(1)?.parse().ok()?)
    };
    for pair in found.kvs.into_iter().filter(|pair| age(&pair.value).is_some_and(|age| age > OLD)) {
        let request = TxnRequest {
            compare: vec![Compare::modified(pair.key.clone(), pair.mod_revision)],
            success: vec![op::Request::Delete(DeleteRequest { key: pair.key }).into()],
            failure: Vec::new(),
        };
        // The next one who opens the store sweeps again.
        let _ = members.insist::<_, TxnResponse>(TXN, request).await;
    }
}
