//! What a run leaves on the machine: so that it can go on after a restart, and so that the next one can say what this
//! one has done if it does not come to its end (`docs/decisions/0017-the-journal.md`).

pub mod boot;
pub mod trace;

use std::fs;
use std::path::{Path, PathBuf};

use rocksalt_core::value::{from_cbor, to_cbor};
use rocksalt_core::{Map, Value};
use rocksalt_modules::text::digest::{self, Kind};
use rocksalt_modules::{Error, Result};
use rocksalt_sls::Low;
use rocksalt_sls::schedule::Mode;

use super::past::Past;
use crate::place;

/// Of this form only.
const VERSION: i64 = 1;

/// A run that waits for the machine to be up again.
pub struct Journal {
    pub job: String,
    pub target: String,
    /// Before the restart.
    pub boot: String,
    /// Seconds since 1970 until which somebody waits to go on.
    pub until: f64,
    pub mode: Mode,
    pub width: usize,
    pub failhard: bool,
    pub saltenv: Option<String>,
    pub pillarenv: Option<String>,
    /// Given over the pillar.
    pub pillar: Map,
    pub low: Low,
    pub past: Past,
    /// What states left for each other.
    pub notes: Map,
}

impl Journal {
    /// Writes it where it outlasts a restart, and gives its sha256.
    pub fn write(&self) -> Result<String> {
        let content = to_cbor(&self.to_value());
        let mut why = Vec::new();
        for directory in place::lasting() {
            if !place::prepare(&directory) {
                why.push(format!("{} is not ours alone, or not on a disk", directory.display()));
                continue;
            }
            match place::write(&directory.join(name(&self.job, &self.target)), &content) {
                Ok(()) => return Ok(digest::of(Kind::Sha256, &content)),
                Err(error) => why.push(format!("{}: {}", directory.display(), rocksalt_modules::reason(&error))),
            }
        }
        Err(Error::failed(format!("there is no place for the run's journal: {}", why.join("; "))))
    }

    /// The journal of a run, if it is the very one that was written. It stays where it is.
    pub fn find(job: &str, target: &str, sum: &str) -> Result<(Journal, PathBuf)> {
        let places = place::lasting().into_iter().map(|directory| directory.join(name(job, target)));
        let Some(path) = places.into_iter().find(|path| path.symlink_metadata().is_ok()) else {
            return Err(Error::failed(format!("there is no journal of the job {job}"))
                .hint("it was gone on with already, or it was removed"));
        };
        let journal = Journal::read(&path, sum)?;
        if journal.job != job || journal.target != target {
            return Err(refused(&path, "it is that of another run"));
        }
        Ok((journal, path))
    }

    fn read(path: &Path, sum: &str) -> Result<Journal> {
        let content = place::read(path).map_err(|why| Error::failed(format!("the run's journal is refused: {why}")))?;
        if digest::of(Kind::Sha256, &content) != sum {
            return Err(refused(path, "it is not what was written before the restart"));
        }
        from_cbor(&content).and_then(|value| Journal::of(&value)).ok_or_else(|| refused(path, "it is not understood"))
    }

    fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("version", VERSION);
        map.insert("job", self.job.as_str());
        map.insert("target", self.target.as_str());
        map.insert("boot", self.boot.as_str());
        map.insert("until", self.until);
        map.insert("mode", self.mode.name());
        map.insert("width", self.width);
        map.insert("failhard", self.failhard);
        map.insert("saltenv", self.saltenv.clone());
        map.insert("pillarenv", self.pillarenv.clone());
        map.insert("pillar", self.pillar.clone());
        map.insert("low", self.low.keep());
        map.insert("past", self.past.to_value());
        map.insert("notes", self.notes.clone());
        map.into()
    }

    fn of(value: &Value) -> Option<Journal> {
        let map = value.as_map().filter(|map| map.get("version").and_then(Value::as_i64) == Some(VERSION))?;
        let text = |key: &str| Some(map.get(key)?.as_str()?.to_owned());
        let inner = |key: &str| Some(map.get(key)?.as_map()?.clone());
        Some(Journal {
            job: text("job")?,
            target: text("target")?,
            boot: text("boot")?,
            until: match map.get("until")? {
                Value::Float(until) => *until,
                _ => return None,
            },
            mode: Mode::from_name(&text("mode")?)?,
            width: usize::try_from(map.get("width")?.as_i64()?).ok()?,
            failhard: map.get("failhard")?.as_bool()?,
            saltenv: text("saltenv"),
            pillarenv: text("pillarenv"),
            pillar: inner("pillar")?,
            low: Low::of_kept(map.get("low")?)?,
            past: Past::of(map.get("past")?)?,
            notes: inner("notes")?,
        })
    }
}

fn refused(path: &Path, why: &str) -> Error {
    Error::failed(format!("the run's journal {} is refused: {why}", path.display()))
}

/// From the name of a target, which anybody may have written, only a hash becomes part of a path.
fn name(job: &str, target: &str) -> String {
    format!("{}journal-{}", place::PREFIX, key(job, target))
}

fn key(job: &str, target: &str) -> String {
    let job: String = job.chars().filter(char::is_ascii_digit).collect();
    format!("{job}-{}", &digest::of(Kind::Sha256, target.as_bytes())[..16])
}

/// Runs that restarted this machine and were not gone on with: what is to be said of each. They are removed.
pub fn forsaken(now: f64) -> Vec<String> {
    let mut found = Vec::new();
    for directory in place::lasting() {
        for path in entries(&directory, "journal-") {
            let read = place::read(&path).ok().and_then(|content| Journal::of(&from_cbor(&content)?));
            if let Some(journal) = read.filter(|journal| journal.until < now) {
                found.push(format!(
                    "the job {} rebooted this machine and was not gone on with: {} of {} steps were done",
                    journal.job,
                    journal.past.recorded.len(),
                    journal.low.chunks.len()
                ));
                let _ = fs::remove_file(path);
            }
        }
    }
    found
}

fn entries(directory: &Path, kind: &str) -> Vec<PathBuf> {
    let start = format!("{}{kind}", place::PREFIX);
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let ours = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start));
    entries.filter(ours).filter(|path| path.extension().is_none()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal() -> Journal {
        Journal {
            job: "20260101000000000000".into(),
            target: "../../etc".into(),
            boot: "a/1".into(),
            until: 5.0,
            mode: Mode::Genius,
            width: 4,
            failhard: true,
            saltenv: None,
            pillarenv: Some("dev".into()),
            pillar: Map::from_iter([("secret".into(), "x".into())]),
            low: Low::default(),
            past: Past { outputs: Value::Map(Map::new()), ..Past::default() },
            notes: Map::new(),
        }
    }

    #[test]
    fn a_journal_is_what_was_written_or_refused() {
        let place = tempfile::tempdir().expect("a directory");
        let journal = journal();
        let content = to_cbor(&journal.to_value());
        let sum = digest::of(Kind::Sha256, &content);
        let path = place.path().join(name(&journal.job, &journal.target));
        assert!(path.parent() == Some(place.path()), "no name of a target leads elsewhere: {}", path.display());
        place::write(&path, &content).expect("written");
        let again = Journal::read(&path, &sum).expect("the same");
        assert_eq!(again.to_value(), journal.to_value());
        assert!(Journal::read(&path, "other").is_err_and(|error| error.to_string().contains("not what was written")));
        let mut tampered = content.clone();
        *tampered.last_mut().expect("bytes") ^= 1;
        place::write(&path, &tampered).expect("written");
        assert!(Journal::read(&path, &sum).is_err());
        place::write(&path, b"nonsense").expect("written");
        let sum = digest::of(Kind::Sha256, b"nonsense");
        assert!(Journal::read(&path, &sum).is_err_and(|error| error.to_string().contains("not understood")));
    }
}
