//! [`Journal`]: what a run writes to disk so that it can resume after a reboot, and so that the next run can report an
//! interrupted one (`docs/decisions/0017-the-journal.md`).

pub mod boot;
pub mod trace;

use std::fs;
use std::path::{Path, PathBuf};

use rocksalt_core::value::{from_cbor, to_cbor};
use rocksalt_core::{Map, Value};
use rocksalt_modules::text::digest::{self, DigestAlgorithm};
use rocksalt_modules::{Error, Result};
use rocksalt_sls::Low;
use rocksalt_sls::schedule::OrderMode;

use super::run_progress::RunProgress;
use crate::private_files;

/// The format that this agent reads and writes.
const VERSION: i64 = 1;

/// A run that waits for a reboot.
pub struct Journal {
    pub job: String,
    pub target: String,
    /// Identifies the boot before the reboot.
    pub boot: String,
    /// The controller waits until then to resume the run, in seconds since 1970.
    pub until: f64,
    pub mode: OrderMode,
    pub width: usize,
    pub failhard: bool,
    pub saltenv: Option<String>,
    pub pillarenv: Option<String>,
    /// Pillar data of the request, merged over the pillar.
    pub pillar: Map,
    pub low: Low,
    pub progress: RunProgress,
    /// The notes that states left for each other.
    pub notes: Map,
}

impl Journal {
    /// Writes the journal to a disk, and returns its sha256.
    pub fn write(&self) -> Result<String> {
        let content = to_cbor(&self.to_value());
        let mut why = Vec::new();
        for directory in private_files::durable_directories() {
            if !private_files::prepare(&directory) {
                why.push(format!("{} is not ours alone, or not on a disk", directory.display()));
                continue;
            }
            match private_files::write(&directory.join(name(&self.job, &self.target)), &content) {
                Ok(()) => return Ok(digest::of(DigestAlgorithm::Sha256, &content)),
                Err(error) => why.push(format!("{}: {}", directory.display(), rocksalt_modules::reason(&error))),
            }
        }
        Err(Error::failed(format!("there is no place for the run's journal: {}", why.join("; "))))
    }

    /// The journal of a run, if its hash matches. The file stays.
    pub fn find(job: &str, target: &str, sum: &str) -> Result<(Journal, PathBuf)> {
        let places =
            private_files::durable_directories().into_iter().map(|directory| directory.join(name(job, target)));
        let Some(path) = places.into_iter().find(|path| path.symlink_metadata().is_ok()) else {
            return Err(Error::failed(format!("there is no journal of the job {job}"))
                .hint("it was resumed already, or it was removed"));
        };
        let journal = Journal::read(&path, sum)?;
        if journal.job != job || journal.target != target {
            return Err(refused(&path, "it is that of another run"));
        }
        Ok((journal, path))
    }

    fn read(path: &Path, sum: &str) -> Result<Journal> {
        let content =
            private_files::read(path).map_err(|why| Error::failed(format!("the run's journal is refused: {why}")))?;
        if digest::of(DigestAlgorithm::Sha256, &content) != sum {
            return Err(refused(path, "it is not what was written before the reboot"));
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
        map.insert("low", self.low.to_snapshot());
        map.insert("past", self.progress.to_value());
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
            mode: OrderMode::from_name(&text("mode")?)?,
            width: usize::try_from(map.get("width")?.as_i64()?).ok()?,
            failhard: map.get("failhard")?.as_bool()?,
            saltenv: text("saltenv"),
            pillarenv: text("pillarenv"),
            pillar: inner("pillar")?,
            low: Low::from_snapshot(map.get("low")?)?,
            progress: RunProgress::from_value(map.get("past")?)?,
            notes: inner("notes")?,
        })
    }
}

fn refused(path: &Path, why: &str) -> Error {
    Error::failed(format!("the run's journal {} is refused: {why}", path.display()))
}

/// A target's name may contain anything, so only its hash becomes part of a path.
fn name(job: &str, target: &str) -> String {
    format!("{}journal-{}", private_files::PREFIX, key(job, target))
}

fn key(job: &str, target: &str) -> String {
    let job: String = job.chars().filter(char::is_ascii_digit).collect();
    format!("{job}-{}", &digest::of(DigestAlgorithm::Sha256, target.as_bytes())[..16])
}

/// A text for each run that rebooted this machine and was not resumed in time. Removes their journals.
pub fn unresumed_runs(now: f64) -> Vec<String> {
    let mut found = Vec::new();
    for directory in private_files::durable_directories() {
        for path in entries(&directory, "journal-") {
            let read = private_files::read(&path).ok().and_then(|content| Journal::of(&from_cbor(&content)?));
            if let Some(journal) = read.filter(|journal| journal.until < now) {
                found.push(format!(
                    "the job {} rebooted this machine and was not resumed: {} of {} steps were done",
                    journal.job,
                    journal.progress.recorded.len(),
                    journal.low.chunks.len()
                ));
                let _ = fs::remove_file(path);
            }
        }
    }
    found
}

fn entries(directory: &Path, kind: &str) -> Vec<PathBuf> {
    let start = format!("{}{kind}", private_files::PREFIX);
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
            mode: OrderMode::Genius,
            width: 4,
            failhard: true,
            saltenv: None,
            pillarenv: Some("dev".into()),
            pillar: Map::from_iter([("secret".into(), "x".into())]),
            low: Low::default(),
            progress: RunProgress { outputs: Value::Map(Map::new()), ..RunProgress::default() },
            notes: Map::new(),
        }
    }

    #[test]
    fn a_journal_is_what_was_written_or_refused() {
        let place = tempfile::tempdir().expect("a directory");
        let journal = journal();
        let content = to_cbor(&journal.to_value());
        let sum = digest::of(DigestAlgorithm::Sha256, &content);
        let path = place.path().join(name(&journal.job, &journal.target));
        assert!(path.parent() == Some(place.path()), "no name of a target leads elsewhere: {}", path.display());
        private_files::write(&path, &content).expect("written");
        let again = Journal::read(&path, &sum).expect("the same");
        assert_eq!(again.to_value(), journal.to_value());
        assert!(Journal::read(&path, "other").is_err_and(|error| error.to_string().contains("not what was written")));
        let mut tampered = content.clone();
        *tampered.last_mut().expect("bytes") ^= 1;
        private_files::write(&path, &tampered).expect("written");
        assert!(Journal::read(&path, &sum).is_err());
        private_files::write(&path, b"nonsense").expect("written");
        let sum = digest::of(DigestAlgorithm::Sha256, b"nonsense");
        assert!(Journal::read(&path, &sum).is_err_and(|error| error.to_string().contains("not understood")));
    }
}
