//! The product from end to end: the real binary against real SSH servers.
//!
//! This crate has what the scenarios in `tests/` share. A failure here fails the test, with all output of the run.

pub mod cases;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rocksalt_testkit::roster;
pub use rocksalt_testkit::{
    Bed, Host, HostKind, Outcome, Quirk, Repository, RepositoryServer, Run, Scratch, Spec, Started, TestbedEntry,
    Usage, password_of, rocksalt_binary, say_skipped,
};
pub use serde_json::Value;

/// The meanings of the exit codes, as in the documentation's table.
pub mod exit {
    /// Everything was done on all targets.
    pub const FINE: i32 = 0;
    /// The command is invalid; nothing was sent to any target.
    pub const USAGE: i32 = 1;
    /// A function failed on some target.
    pub const FAILED: i32 = 2;
    /// Some target couldn't be reached.
    pub const UNREACHED: i32 = 3;
    /// Ctrl-C.
    pub const INTERRUPTED: i32 = 130;
}

/// Hosts, and a project whose roster lists them.
#[derive(Debug)]
pub struct Fleet {
    // The order of the fields matters: the keeper is killed before the hosts are.
    pub scratch: Scratch,
    pub bed: Bed,
}

impl Fleet {
    /// Starts hosts and writes a roster in which root logs in with a key. Where hosts can't run, it returns `None` and
    /// prints the reason.
    pub fn start(specs: &[Spec]) -> Option<Fleet> {
        Fleet::start_with(specs, |_, entry| entry)
    }

    /// Like [`Fleet::start`], with roster entries that `change` has changed; it also gets the host's number.
    pub fn start_with(specs: &[Spec], change: impl Fn(usize, TestbedEntry) -> TestbedEntry) -> Option<Fleet> {
        let bed = Bed::start_or_skip(specs)?;
        let scratch = Scratch::new().expect("a scratch directory");
        let fleet = Fleet { scratch, bed };
        fleet.set_roster(change);
        Some(fleet)
    }

    /// Rewrites the roster.
    pub fn set_roster(&self, change: impl Fn(usize, TestbedEntry) -> TestbedEntry) {
        let entries = self.bed.entries().expect("every host has an entry");
        let entries: Vec<TestbedEntry> =
            entries.into_iter().zip(1..).map(|(entry, number)| change(number, entry)).collect();
        self.scratch.write("config/roster", &roster(&entries)).expect("the roster is written");
    }

    pub fn host(&self, number: usize) -> &Host {
        self.bed.host(number).expect("the fleet has that host")
    }

    /// Prepares a command in this project.
    pub fn rocksalt(&self, arguments: &[&str]) -> Run<'_> {
        self.scratch.rocksalt_in(&self.bed, arguments).expect("the binary is built")
    }

    /// Runs a command to its end; the output is one JSON object.
    pub fn run(&self, arguments: &[&str]) -> Outcome {
        self.run_within(Duration::from_secs(60), arguments)
    }

    /// Like [`Fleet::run`], with a time limit that fails the test.
    pub fn run_within(&self, limit: Duration, arguments: &[&str]) -> Outcome {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--out", "json", "--static"]).collect();
        let finished = self.rocksalt(&arguments).limit(limit).finish();
        finished.unwrap_or_else(|error| panic!("rocksalt {}: {error}", arguments.join(" ")))
    }

    /// Runs `test.ping` on all hosts; each of them must answer.
    #[track_caller]
    pub fn ping_all(&self) -> Outcome {
        let outcome = self.run(&["*", "test.ping"]);
        let results = results(&outcome);
        let answered = results.values().filter(|value| **value == Value::Bool(true)).count();
        assert_eq!(answered, self.bed.hosts().len(), "{}", outcome.all());
        assert_code(&outcome, exit::FINE);
        outcome
    }
}

/// The result of each target, from a run with `--out json --static`.
#[track_caller]
pub fn results(outcome: &Outcome) -> BTreeMap<String, Value> {
    match outcome.json() {
        Ok(Value::Object(results)) => results.into_iter().collect(),
        other => panic!("stdout isn't one JSON object ({other:?}): {}", outcome.all()),
    }
}

/// The text about one target, from its result and stderr, in lower case.
#[track_caller]
pub fn said_of(outcome: &Outcome, id: &str) -> String {
    let result = results(outcome).get(id).map(Value::to_string).unwrap_or_default();
    let mentions = |line: &&str| line.split(|c: char| !c.is_alphanumeric()).any(|word| word == id);
    let lines: Vec<&str> = outcome.stderr.lines().filter(mentions).collect();
    format!("{result}\n{}", lines.join("\n")).to_lowercase()
}

/// Checks that the run named the cause for this target: one of these texts.
#[track_caller]
pub fn assert_cause(outcome: &Outcome, id: &str, causes: &[&str]) {
    let said = said_of(outcome, id);
    assert!(causes.iter().any(|cause| said.contains(cause)), "{id}: none of {causes:?} in {said:?}\n{}", outcome.all());
}

#[track_caller]
pub fn assert_code(outcome: &Outcome, code: i32) {
    assert_eq!(outcome.code(), Some(code), "{}", outcome.all());
}

/// The result of one target, which must be text.
#[track_caller]
pub fn text(outcome: &Outcome, id: &str) -> String {
    let results = results(outcome);
    let result = results.get(id).and_then(Value::as_str).map(str::to_owned);
    result.unwrap_or_else(|| panic!("{id} has no text result: {}", outcome.all()))
}

/// Waits up to a minute for a condition, since a test may share a slow machine with others.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < end, "waited 60 s: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
