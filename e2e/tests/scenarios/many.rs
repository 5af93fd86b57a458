//! Two thousand targets in one run: their cost for the controller. They are local, so the test needs no root.

use std::io::Write;
use std::time::Duration;

use e2e::{Scratch, TestbedEntry, Usage, assert_code, exit, results, say_skipped, wait_until};

const COUNT: usize = 2000;

/// The approximate memory of an agent; the machine must have enough for all of them.
const AGENT_KILOBYTES: u64 = 2000;

#[test]
fn two_thousand_targets_take_little_memory_no_thread_each_and_leak_no_descriptor() {
    if available_kilobytes() < AGENT_KILOBYTES * COUNT as u64 {
        return say_skipped("not enough memory for 2000 agents on this machine");
    }
    let entries: Vec<TestbedEntry> = (1..=COUNT)
        .map(|number| TestbedEntry::new(format!("s{number}"), format!("s{number}")).set("transport", "local"))
        .collect();
    let scratch = Scratch::with_roster(&entries).expect("a scratch directory");
    let run = |arguments: &[&str]| scratch.rocksalt(arguments.iter().copied()).expect("the binary is built");

    let limit = Duration::from_secs(240);
    let started = run(&["*", "test.ping", "--out", "json", "--static"]).limit(limit).spawn().expect("it starts");
    let mut most = Most::default();
    let watched = std::thread::scope(|scope| {
        let finished = scope.spawn(|| started.finish());
        while !finished.is_finished() {
            most.look(&scratch.usage());
            std::thread::sleep(Duration::from_millis(200));
        }
        finished.join().expect("the watched thread doesn't panic")
    });
    let outcome = watched.expect("it ends in time");
    most.look(&scratch.usage());
    assert_code(&outcome, exit::FINE);
    let answered = results(&outcome).values().filter(|value| **value == true).count();
    assert_eq!(answered, COUNT, "{}", outcome.stderr);

    // The requirement asks for these figures. They are written to stderr directly, past the test's captured output.
    let each = most.peak_kilobytes / COUNT as u64;
    let _ = writeln!(std::io::stderr(), "2000 targets: {most:?}, {each} kB a link, {:.1?}", outcome.took);
    assert!(most.threads < 200, "threads grow with targets: {most:?}");
    assert!(most.peak_kilobytes < 50_000 + 100 * COUNT as u64, "more than 100 kB for each link: {most:?}");

    assert_code(&run(&["links", "close"]).limit(limit).finish().expect("it ends"), exit::FINE);
    wait_until("all descriptors are closed", || scratch.usage().iter().all(|usage| usage.descriptors < 100));
}

/// The largest figures of any process.
#[derive(Debug, Default)]
struct Most {
    threads: usize,
    descriptors: usize,
    peak_kilobytes: u64,
}

impl Most {
    fn look(&mut self, usages: &[Usage]) {
        for usage in usages {
            self.threads = self.threads.max(usage.threads);
            self.descriptors = self.descriptors.max(usage.descriptors);
            self.peak_kilobytes = self.peak_kilobytes.max(usage.peak_kilobytes);
        }
    }
}

fn available_kilobytes() -> u64 {
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(u64::MAX)
}
