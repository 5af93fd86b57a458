//! [`Entry`]: one line of the log, in JSON, with the hash of the line before it and its own.

use rocksalt_core::hex;
use rocksalt_core::{JobId, Map, Value, json};
use sha2::{Digest, Sha256};

/// What the first entry names as the one before it.
pub const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// A longer text is cut, and says so: whoever asks chooses how long a target is, and must not choose how long the log is.
const LONGEST: usize = 1024;

const HASH_LENGTH: usize = 64;

/// What is to be noted; where it stands in the chain is added as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
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
    /// A keyed hash of the arguments, which may hold secrets.
    pub arguments: Option<String>,
    /// The entry that this one belongs to.
    pub of: Option<u64>,
    pub job: Option<JobId>,
    /// How many targets the job has.
    pub targets: Option<usize>,
    pub why: String,
    /// Refusals of unknown people that were not noted before this one, since there were too many.
    pub unnoted: u64,
}

impl Entry {
    /// The line, with its newline, and its hash.
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
                map.insert(name, cut(text));
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

/// What a line says of its place in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub number: u64,
    pub before: String,
    pub hash: String,
}

impl Link {
    /// From a line without its newline; why it is none.
    pub fn read(line: &str) -> Result<Link, String> {
        let mark = ",\"hash\":\"";
        let start = line.len().checked_sub(mark.len() + HASH_LENGTH + 2).ok_or("it is too short to be an entry")?;
        let parts = line.get(..start).zip(line.get(start..));
        let (body, tail) = parts.filter(|(_, tail)| tail.starts_with(mark)).ok_or("it has no hash at its end")?;
        let stated = &tail[mark.len()..mark.len() + HASH_LENGTH];
        let computed = hash(&format!("{body}}}"));
        if stated != computed {
            return Err(format!("its content does not fit its hash {stated}"));
        }
        let value = json::parse(line).map_err(|_| "it is no JSON")?;
        let number = value.walk("n", ":").and_then(Value::as_i64).and_then(|number| u64::try_from(number).ok());
        let before = value.walk("before", ":").and_then(Value::as_str);
        match (number, before) {
            (Some(number), Some(before)) => Ok(Link { number, before: before.to_owned(), hash: computed }),
            _ => Err("it has no number, or does not name the entry before it".into()),
        }
    }
}

fn hash(text: &str) -> String {
    hex(&Sha256::digest(text))
}

fn cut(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let mut end = LONGEST;
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
    fn a_line_knows_itself() {
        let entry = Entry { kind: "run", verdict: "allowed", user: "a\n\"b".into(), ..Entry::default() };
        let (line, hash) = entry.line(7, 1_000_000, NOTHING);
        assert!(line.ends_with("\"}\n") && line.matches('\n').count() == 1, "{line}");
        assert!(line.contains("\"time\":\"1970-01-01T00:00:01.000000Z\""), "{line}");
        let link = Link::read(line.trim_end()).expect("it reads");
        assert_eq!(link, Link { number: 7, before: NOTHING.into(), hash });
        for (from, to) in [("allowed", "refused"), ("\"n\":7", "\"n\":8"), ("00000", "00001")] {
            assert!(Link::read(line.trim_end().replacen(from, to, 1).as_str()).is_err(), "{from}");
        }
        for broken in ["", "x", "{}", &line[..40], "é".repeat(60).as_str()] {
            assert!(Link::read(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn nobody_chooses_how_long_a_line_is() {
        let entry = Entry { kind: "run", target: "ü".repeat(100_000), ..Entry::default() };
        assert!(entry.line(1, 0, NOTHING).0.len() < 2_000);
    }
}
