//! The product from end to end: the real binary against real SSH servers.
//!
//! Here is what the scenarios in `tests/` have in common. Whatever fails here fails the test, with all that was said.

pub mod cases;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rocksalt_testkit::roster;
pub use rocksalt_testkit::{
    Bed, Host, HostKind, Outcome, Quirk, Repository, RepositoryServer, Run, Scratch, Spec, Started, TestbedEntry,
    Usage, password_of, rocksalt_binary, say_skipped,
};
pub use serde_json::Value;

/// What the exit code says; the documentation's table.
pub mod exit {
    /// Everything was done, everywhere.
    pub const FINE: i32 = 0;
    /// The command wasn't understood; nothing was sent anywhere.
    pub const USAGE: i32 = 1;
    /// A function failed on some target.
    pub const FAILED: i32 = 2;
    /// Some target couldn't be reached.
    pub const UNREACHED: i32 = 3;
    /// Ctrl-C.
    pub const INTERRUPTED: i32 = 130;
}

/// Hosts, and a project whose roster has them.
#[derive(Debug)]
pub struct Fleet {
    // In this order: the keeper ends before the hosts do.
    pub scratch: Scratch,
    pub bed: Bed,
}

impl Fleet {
    /// Starts hosts and makes a roster in which root logs in with a key. Nothing where there can't be hosts; the
    /// reason is printed.
    pub fn start(specs: &[Spec]) -> Option<Fleet> {
        Fleet::start_with(specs, |_, entry| entry)
    }

    /// The same, with roster entries changed, each with its host's number.
    pub fn start_with(specs: &[Spec], change: impl Fn(usize, TestbedEntry) -> TestbedEntry) -> Option<Fleet> {
        let bed = Bed::start_or_skip(specs)?;
        let scratch = Scratch::new().expect("a scratch directory");
        let fleet = Fleet { scratch, bed };
        fleet.set_roster(change);
        Some(fleet)
    }

    /// Writes the roster anew.
    pub fn set_roster(&self, change: impl Fn(usize, TestbedEntry) -> TestbedEntry) {
        let entries = self.bed.entries().expect("every host has an entry");
        let entries: Vec<TestbedEntry> =
            entries.into_iter().zip(1..).map(|(entry, number)| change(number, entry)).collect();
        self.scratch.write("config/roster", &roster(&entries)).expect("the roster is written");
    }

    pub fn host(&self, number: usize) -> &Host {
        self.bed.host(number).expect("the fleet has that host")
    }

    /// A command in this project, not yet started.
    pub fn rocksalt(&self, arguments: &[&str]) -> Run<'_> {
        self.scratch.rocksalt_in(&self.bed, arguments).expect("the binary is built")
    }

    /// A command to its end, with one JSON object as its output.
    pub fn run(&self, arguments: &[&str]) -> Outcome {
        self.run_within(Duration::from_secs(60), arguments)
    }

    /// The same, with a limit that fails the test.
    pub fn run_within(&self, limit: Duration, arguments: &[&str]) -> Outcome {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--out", "json", "--static"]).collect();
        let finished = self.rocksalt(&arguments).limit(limit).finish();
        finished.unwrap_or_else(|error| panic!("rocksalt {}: {error}", arguments.join(" ")))
    }

    /// `test.ping` on all; every one of them must answer.
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

/// The targets' results of a run with `--out json --static`.
#[track_caller]
pub fn results(outcome: &Outcome) -> BTreeMap<String, Value> {
    match outcome.json() {
        Ok(Value::Object(results)) => results.into_iter().collect(),
        other => panic!("stdout isn't one JSON object ({other:?}): {}", outcome.all()),
    }
}

/// All that a run said of a target, in its result and on stderr, in lower case.
#[track_caller]
pub fn said_of(outcome: &Outcome, id: &str) -> String {
    let result = results(outcome).get(id).map(Value::to_string).unwrap_or_default();
    let mentions = |line: &&str| line.split(|c: char| !c.is_alphanumeric()).any(|word| word == id);
    let lines: Vec<&str> = outcome.stderr.lines().filter(mentions).collect();
    format!("{result}\n{}", lines.join("\n")).to_lowercase()
}

/// The run must have named the cause at this target: one of these texts.
#[track_caller]
pub fn assert_cause(outcome: &Outcome, id: &str, causes: &[&str]) {
    let said = said_of(outcome, id);
    assert!(causes.iter().any(|cause| said.contains(cause)), "{id}: none of {causes:?} in {said:?}\n{}", outcome.all());
}

#[track_caller]
pub fn assert_code(outcome: &Outcome, code: i32) {
    assert_eq!(outcome.code(), Some(code), "{}", outcome.all());
}

/// A text result of one target.
#[track_caller]
pub fn text(outcome: &Outcome, id: &str) -> String {
    let results = results(outcome);
    let result = results.get(id).and_then(Value::as_str).map(str::to_owned);
    result.unwrap_or_else(|| panic!("{id} has no text result: {}", outcome.all()))
}

/// Waits for something that must come true soon, even where a test shares a slow machine with others.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < end, "waited 60 s: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
