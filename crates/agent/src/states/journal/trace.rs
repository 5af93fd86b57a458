//! [`Trace`]: which steps of a run have begun and ended, while it lasts; if it breaks off, the next run says so.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FlockOperation, flock};

use super::{entries, key};
use crate::place;

/// Goes with the run: dropping it removes the file, and whoever is killed can't.
pub struct Trace {
    file: Mutex<File>,
    path: PathBuf,
}

impl Trace {
    /// `None` if there is no place for it; a run goes without.
    pub fn begin(job: &str, target: &str, steps: usize) -> Option<Trace> {
        Trace::begin_in(place::home()?, job, target, steps)
    }

    fn begin_in(directory: &Path, job: &str, target: &str, steps: usize) -> Option<Trace> {
        if job.is_empty() {
            return None;
        }
        let path = directory.join(format!("{}run-{}", place::PREFIX, key(job, target)));
        let file = place::create(&path).ok()?;
        // Held as long as the process lives: so others know whether it does.
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        let trace = Trace { file: Mutex::new(file), path };
        trace.write(&format!("run {job} {steps}\n"));
        Some(trace)
    }

    pub fn begun(&self, tag: &str) {
        self.write(&format!("begin {}\n", one_line(tag)));
    }

    pub fn ended(&self, tag: &str, result: Option<bool>) {
        let word = if result == Some(false) { "failed" } else { "done" };
        self.write(&format!("{word} {}\n", one_line(tag)));
    }

    fn write(&self, line: &str) {
        // Whoever has no room for it has other worries.
        let _ = self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn one_line(tag: &str) -> String {
    tag.replace(['\n', '\r'], " ")
}

/// Runs that broke off: what is to be said of each. Their traces are removed.
pub fn broken_off() -> Vec<String> {
    place::home().map(broken_off_in).unwrap_or_default()
}

fn broken_off_in(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for path in entries(directory, "run-") {
        let Ok(content) = place::read(&path) else { continue };
        let free = File::open(&path).is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok());
        if free {
            let _ = fs::remove_file(&path);
            found.extend(tell(&String::from_utf8_lossy(&content)));
        }
    }
    found
}

/// What a trace that nobody holds any more means.
fn tell(trace: &str) -> Option<String> {
    let mut lines = trace.lines();
    let (job, steps) = lines.next()?.strip_prefix("run ")?.split_once(' ')?;
    let (mut begun, mut done, mut failed) = (Vec::new(), 0, 0);
    for (word, tag) in lines.filter_map(|line| line.split_once(' ')) {
        match word {
            "begin" => begun.push(tag),
            "done" | "failed" => {
                begun.retain(|other| *other != tag);
                if word == "done" { done += 1 } else { failed += 1 }
            }
            _ => {}
        }
    }
    let step = |tag: &&str| match tag.split("_|-").collect::<Vec<_>>()[..] {
        [state, id, _, function] => format!("{state}.{function} of '{id}'"),
        _ => (*tag).to_owned(),
    };
    let mut text = format!("the job {job} broke off here: {done} of {steps} steps were done");
    if failed > 0 {
        text += &format!(", {failed} failed");
    }
    if !begun.is_empty() {
        let begun: Vec<String> = begun.iter().map(step).collect();
        text += &format!("; begun but not ended: {}", begun.join(", "));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_breaks_off_is_told_of_once() {
        let place = tempfile::tempdir().expect("a directory");
        let job = "20260101000000000000";
        let trace = Trace::begin_in(place.path(), job, "h1", 5).expect("a trace");
        trace.begun("test_|-one_|-one_|-nop");
        trace.ended("test_|-one_|-one_|-nop", Some(true));
        trace.ended("test_|-bad_|-bad_|-fail", Some(false));
        trace.begun("cmd_|-two\nlines_|-sleep_|-run");
        assert!(broken_off_in(place.path()).is_empty(), "it still runs");
        // As if it were killed: the lock goes, the file stays.
        let path = trace.path.clone();
        let content = fs::read(&path).expect("it is there");
        drop(trace);
        assert!(!path.exists(), "a run that ends leaves nothing");
        place::write(&path, &content).expect("written");
        let told = broken_off_in(place.path());
        let expected = format!(
            "the job {job} broke off here: 1 of 5 steps were done, 1 failed; begun but not ended: cmd.run of 'two lines'"
        );
        assert_eq!(told, [expected]);
        assert!(broken_off_in(place.path()).is_empty() && !path.exists());
    }
}
