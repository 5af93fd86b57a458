//! The keys of a ledger in its store. All parts have a fixed form, so that no text of a user becomes a key by itself
//! (docs/security-rules.md#r6); a target's id is the last part and is only looked up as a whole.

use rocksalt_core::JobId;
use rocksalt_core::record::EventId;

pub const EVENTS: &str = "event/";
pub const JOBS: &str = "job/";
const RETURNS: &str = "return/";

pub fn event(id: EventId) -> String {
    format!("{EVENTS}{id:016x}")
}

pub fn event_id(key: &str) -> Option<EventId> {
    EventId::from_str_radix(key.strip_prefix(EVENTS)?, 16).ok()
}

pub fn job(id: JobId) -> String {
    format!("{JOBS}{id}")
}

pub fn job_id(key: &str) -> Option<JobId> {
    key.strip_prefix(JOBS)?.parse().ok()
}

pub fn returns(id: JobId) -> String {
    format!("{RETURNS}{id}/")
}

/// The key of a return. Ids are ASCII in keys: other bytes are written as `%` and two hexadecimal digits.
pub fn return_of(id: JobId, target: &str) -> String {
    let mut key = returns(id);
    for byte in target.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => key.push(byte as char),
            other => key.push_str(&format!("%{other:02x}")),
        }
    }
    key
}
