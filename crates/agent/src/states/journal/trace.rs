//! [`Trace`]: a file with the steps of a run that have begun and ended. The next run reports an interrupted one.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FlockOperation, flock};

use super::{entries, key};
use crate::private_files;

/// Dropping it at the end of the run removes the file; a killed process leaves it.
pub struct Trace {
    file: Mutex<File>,
    path: PathBuf,
}

impl Trace {
    /// `None` if the file cannot be created; the run does without.
    pub fn begin(job: &str, target: &str, steps: usize) -> Option<Trace> {
        Trace::begin_in(private_files::home()?, job, target, steps)
    }

    fn begin_in(directory: &Path, job: &str, target: &str, steps: usize) -> Option<Trace> {
        if job.is_empty() {
            return None;
        }
        let path = directory.join(format!("{}run-{}", private_files::PREFIX, key(job, target)));
        let file = private_files::create(&path).ok()?;
        // Locked while the process lives, so that others can tell whether it does.
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
        // A full disk must not stop the run.
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

/// A text for each interrupted run. Removes their traces.
pub fn interrupted_runs() -> Vec<String> {
    private_files::home().map(interrupted_in).unwrap_or_default()
}

fn interrupted_in(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for path in entries(directory, "run-") {
        let Ok(content) = private_files::read(&path) else { continue };
        let free = File::open(&path).is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok());
        if free {
            let _ = fs::remove_file(&path);
            found.extend(describe(&String::from_utf8_lossy(&content)));
        }
    }
    found
}

/// The text for a trace that no process holds.
fn describe(trace: &str) -> Option<String> {
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
    let mut text = format!("the job {job} was interrupted here: {done} of {steps} steps were done");
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
    fn an_interrupted_run_is_reported_once() {
        let place = tempfile::tempdir().expect("a directory");
        let job = "20260101000000000000";
        let trace = Trace::begin_in(place.path(), job, "h1", 5).expect("a trace");
        trace.begun("test_|-one_|-one_|-nop");
        trace.ended("test_|-one_|-one_|-nop", Some(true));
        trace.ended("test_|-bad_|-bad_|-fail", Some(false));
        trace.begun("cmd_|-two\nlines_|-sleep_|-run");
        assert!(interrupted_in(place.path()).is_empty(), "it still runs");
        // As after `kill -9`: the lock is released, the file stays.
        let path = trace.path.clone();
        let content = fs::read(&path).expect("it is there");
        drop(trace);
        assert!(!path.exists(), "a run that ends leaves nothing");
        private_files::write(&path, &content).expect("written");
        let reported = interrupted_in(place.path());
        let expected = format!(
            "the job {job} was interrupted here: 1 of 5 steps were done, 1 failed; begun but not ended: cmd.run of 'two lines'"
        );
        assert_eq!(reported, [expected]);
        assert!(interrupted_in(place.path()).is_empty() && !path.exists());
    }
}
