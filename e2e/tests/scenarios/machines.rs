//! Applies the states of the catalog on real machines: all cases of `e2e/cases`, each on its own host.
//!
//! `CASES=user` runs the cases of a noun, `CASES=user/present` those of a file. `CASES_AT_ONCE` is the number of cases
//! that run in parallel (2 by default).

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use e2e::cases::{all, run};

#[test]
fn states_do_on_real_machines_what_they_say() {
    if let Some(reason) = rocksalt_testkit::cannot_run_hosts() {
        return e2e::say_skipped(&reason);
    }
    let only = std::env::var("CASES").ok().filter(|only| !only.trim().is_empty());
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let cases = all(&directory, only.as_deref()).unwrap_or_else(|problem| panic!("{problem}"));
    assert!(!cases.is_empty(), "there are no cases ({})", only.unwrap_or_default());
    let at_once = std::env::var("CASES_AT_ONCE").ok().and_then(|count| count.parse().ok()).unwrap_or(2);
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..usize::min(at_once, cases.len()) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let began = Instant::now();
                    let outcome = run(case);
                    let verdict = if outcome.is_ok() { "ok" } else { "FAILED" };
                    say(&format!("{verdict:6} {:5.1} s  {}\n", began.elapsed().as_secs_f64(), case.name));
                    if let Err(problem) = outcome {
                        say(&format!("  {problem}\n"));
                        wrong.lock().expect("no thread panics").push(format!("{}\n  {problem}", case.name));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no thread panics");
    assert!(wrong.is_empty(), "{} of {} cases fail:\n\n{}\n", wrong.len(), cases.len(), wrong.join("\n\n"));
}

/// Prints progress for `--nocapture`, since each case takes seconds.
#[allow(clippy::print_stdout)]
fn say(line: &str) {
    print!("{line}");
}
