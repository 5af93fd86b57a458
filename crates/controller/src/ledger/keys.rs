//! The names under which a ledger keeps things. All parts have a fixed form, so nothing that others write becomes a key
//! by itself (docs/security-rules.md#r6); a target's id is the last part, and only asked for as a whole.

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

/// Ids are ASCII in keys: what isn't is written as its bytes' hexadecimal digits behind a percent sign.
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
