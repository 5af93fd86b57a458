//! [`AuditEntry`]: a line of the audit log in JSON, with the hash of the previous line and its own.

use rocksalt_core::hex;
use rocksalt_core::{JobId, Map, Value, json};
use sha2::{Digest, Sha256};

/// The previous hash of the first entry.
pub const NO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Longer texts are truncated, because clients choose the length of a target and must not fill the log.
const MAX_TEXT: usize = 1024;

const HASH_LENGTH: usize = 64;

/// An entry without its position in the chain, which is added when it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditEntry {
    /// `run`, `runner`, `login` …
    pub kind: &'static str,
    pub verdict: &'static str,
    pub user: String,
    pub eauth: String,
    /// An address, or `local`.
    pub from: String,
    pub function: String,
    pub target: String,
    pub target_kind: String,
    /// A keyed hash of the arguments, which may be secret.
    pub arguments: Option<String>,
    /// The number of the entry that this one belongs to.
    pub of: Option<u64>,
    pub job: Option<JobId>,
    /// The job's number of targets.
    pub targets: Option<usize>,
    pub why: String,
    /// The number of refusals of unauthenticated callers that were left out before this one, because there were too many.
    pub unnoted: u64,
}

impl AuditEntry {
    /// Formats the line, with its newline; also returns its hash.
    pub fn line(&self, number: u64, micros: u64, before: &str) -> (String, String) {
        let mut map = Map::new();
        map.insert("n", Value::Int(i64::try_from(number).unwrap_or(i64::MAX)));
        map.insert("time", time(micros));
        map.insert("kind", self.kind);
        map.insert("verdict", self.verdict);
        let texts = [
            ("user", &self.user),
            ("eauth", &self.eauth),
            ("from", &self.from),
            ("function", &self.function),
            ("target", &self.target),
            ("target_kind", &self.target_kind),
            ("why", &self.why),
        ];
        for (name, text) in texts {
            if !text.is_empty() {
                map.insert(name, truncate(text));
            }
        }
        if let Some(arguments) = &self.arguments {
            map.insert("arguments", arguments.as_str());
        }
        if let Some(of) = self.of {
            map.insert("of", Value::Int(i64::try_from(of).unwrap_or(i64::MAX)));
        }
        if let Some(job) = self.job {
            map.insert("jid", job.as_str());
        }
        if let Some(targets) = self.targets {
            map.insert("targets", Value::Int(i64::try_from(targets).unwrap_or(i64::MAX)));
        }
        if self.unnoted > 0 {
            map.insert("unnoted", Value::Int(i64::try_from(self.unnoted).unwrap_or(i64::MAX)));
        }
        map.insert("before", before);
        let mut line = json::compact(&Value::Map(map));
        let hash = hash(&line);
        line.pop();
        line.push_str(&format!(",\"hash\":\"{hash}\"}}\n"));
        (line, hash)
    }
}

/// A line's position in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainLink {
    pub number: u64,
    pub before: String,
    pub hash: String,
}

impl ChainLink {
    /// Parses a line without its newline and verifies its hash.
    pub fn read(line: &str) -> Result<ChainLink, String> {
        let mark = ",\"hash\":\"";
        let start = line.len().checked_sub(mark.len() + HASH_LENGTH + 2).ok_or("it is too short for an entry")?;
        let parts = line.get(..start).zip(line.get(start..));
        let (body, tail) = parts.filter(|(_, tail)| tail.starts_with(mark)).ok_or("it does not end with a hash")?;
        let stated = &tail[mark.len()..mark.len() + HASH_LENGTH];
        let computed = hash(&format!("{body}}}"));
        if stated != computed {
            return Err(format!("its content does not match its hash {stated}"));
        }
        let value = json::parse(line).map_err(|_| "it is not JSON")?;
        let number = value.walk("n", ":").and_then(Value::as_i64).and_then(|number| u64::try_from(number).ok());
        let before = value.walk("before", ":").and_then(Value::as_str);
        match (number, before) {
            (Some(number), Some(before)) => Ok(ChainLink { number, before: before.to_owned(), hash: computed }),
            _ => Err("it lacks the number or the previous hash".into()),
        }
    }
}

fn hash(text: &str) -> String {
    hex(&Sha256::digest(text))
}

fn truncate(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    let mut end = MAX_TEXT;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}… ({} bytes)", &text[..end], text.len())
}

/// Microseconds since 1970 as `2026-11-16T07:00:00.123456Z`.
fn time(micros: u64) -> String {
    let digits = JobId::at(micros).to_string();
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    format!(
        "{}-{}-{}T{}:{}:{}.{}Z",
        part(0, 4),
        part(4, 6),
        part(6, 8),
        part(8, 10),
        part(10, 12),
        part(12, 14),
        part(14, 20)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_verified_by_its_hash() {
        let entry = AuditEntry { kind: "run", verdict: "allowed", user: "a\n\"b".into(), ..AuditEntry::default() };
        let (line, hash) = entry.line(7, 1_000_000, NO_HASH);
        assert!(line.ends_with("\"}\n") && line.matches('\n').count() == 1, "{line}");
        assert!(line.contains("\"time\":\"1970-01-01T00:00:01.000000Z\""), "{line}");
        let link = ChainLink::read(line.trim_end()).expect("it reads");
        assert_eq!(link, ChainLink { number: 7, before: NO_HASH.into(), hash });
        for (from, to) in [("allowed", "refused"), ("\"n\":7", "\"n\":8"), ("00000", "00001")] {
            assert!(ChainLink::read(line.trim_end().replacen(from, to, 1).as_str()).is_err(), "{from}");
        }
        for broken in ["", "x", "{}", &line[..40], "é".repeat(60).as_str()] {
            assert!(ChainLink::read(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn long_texts_are_truncated() {
        let entry = AuditEntry { kind: "run", target: "ü".repeat(100_000), ..AuditEntry::default() };
        assert!(entry.line(1, 0, NO_HASH).0.len() < 2_000);
    }
}
