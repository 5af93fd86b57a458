//! The daemon is killed while it works: every job ends or is reported as lost, no acknowledged result is lost, and
//! nothing runs twice (`docs/faults.md#f1`, `#f2`, `#f8`; `docs/decisions/0020-kept-calls.md`).

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use e2e::{Fleet, Spec, Started, Value, wait_until};

const HOSTS: usize = 10;
const JOBS: usize = 200;

/// The pause between two jobs. Jobs are submitted all the time, before and after a kill.
const PAUSE: Duration = Duration::from_millis(80);

/// A daemon, with methods to query it.
struct Daemon<'a> {
    fleet: &'a Fleet,
    process: Started,
}

impl<'a> Daemon<'a> {
    fn start(fleet: &'a Fleet) -> Daemon<'a> {
        let arguments = ["serve", "--listen", "127.0.0.1:0"];
        let process = fleet.rocksalt(&arguments).limit(Duration::from_secs(600)).spawn().expect("it starts");
        let daemon = Daemon { fleet, process };
        wait_until("the daemon answers", || ask(fleet, "GET", "/v1/version", None).is_some());
        daemon
    }

    /// Kills only this process, like `kill -9`.
    fn kill(self) {
        self.process.kill();
        assert!(self.process.finish().is_ok_and(|outcome| outcome.code().is_none()), "it was killed");
    }

    /// Returns a job with its `returns`.
    fn job(&self, jid: &str) -> Option<Value> {
        let mut details = ask(self.fleet, "GET", &format!("/v1/jobs/{jid}?limit=100"), None)?;
        let mut job = details["job"].take();
        job["returns"] = details["returns"].take();
        Some(job)
    }
}

/// Sends one request over the daemon's socket; `None` if there is none or the connection breaks.
fn ask(fleet: &Fleet, method: &str, path: &str, body: Option<&Value>) -> Option<Value> {
    let socket = socket(&fleet.scratch.path("state")).or_else(|| socket(&fleet.scratch.path("runtime")))?;
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    let body = body.map(Value::to_string).unwrap_or_default();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: rocksalt\r\nConnection: close\r\nAccept: application/json\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let answer = String::from_utf8(answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let fine = head.split_whitespace().nth(1).is_some_and(|status| status.starts_with('2'));
    assert!(fine || head.contains(" 404 ") || head.contains(" 503 "), "{method} {path}: {answer}");
    let whole = body.find('{').and_then(|start| Some(&body[start..=body.rfind('}')?]));
    fine.then(|| serde_json::from_str(whole?).ok()).flatten()
}

/// Finds the daemon's socket below a directory, since the name of its state directory isn't known here.
fn socket(below: &Path) -> Option<PathBuf> {
    for entry in std::fs::read_dir(below).ok()?.flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => {
                if let Some(found) = socket(&path) {
                    return Some(found);
                }
            }
            false
                if path.extension().is_some_and(|ending| ending == "sock")
                    && path.to_string_lossy().contains("daemon") =>
            {
                return Some(path);
            }
            false => {}
        }
    }
    None
}

fn ended(job: &Value) -> bool {
    matches!(job["state"].as_str(), Some("done" | "cancelled" | "lost"))
}

/// The returns of a job by target: whether the target succeeded, and its result.
fn returns(job: &Value) -> BTreeMap<String, (bool, Value)> {
    let all = job["returns"].as_array().cloned().unwrap_or_default();
    let one = |record: &Value| {
        let target = record["target"].as_str().unwrap_or_default().to_owned();
        (target, (record["success"] == true, record["return"].clone()))
    };
    all.iter().map(one).collect()
}

/// For each host, how often each line is in the file to which the jobs append.
fn ran(fleet: &Fleet) -> Vec<BTreeMap<String, usize>> {
    let read = |number: usize| {
        let text = fleet.host(number).run("cat /root/ran 2>/dev/null || true").expect("the host answers");
        let mut counts = BTreeMap::new();
        text.lines().for_each(|line| *counts.entry(line.trim().to_owned()).or_default() += 1);
        counts
    };
    (1..=fleet.bed.hosts().len()).map(read).collect()
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

/// Submits jobs; returns the ids and lines of those that the daemon accepted.
fn submit(fleet: &Fleet, random: &mut Random, stop: &AtomicBool) -> BTreeMap<String, String> {
    let mut taken = BTreeMap::new();
    for number in 0..JOBS {
        let line = format!("job-{number}");
        let first = random.below(HOSTS) + 1;
        let target = format!("h{first},h{}", first % HOSTS + 1);
        let pause = random.below(25) as f64 / 10.0;
        let command = format!("echo {line} >> /root/ran; sleep {pause}; echo {line}");
        let body = serde_json::json!({
            "function": "cmd.run", "args": [command], "target": target, "target_kind": "list", "metadata": {"line": line},
        });
        // A daemon that is down accepts nothing. A job that it accepted just before it died is found later by its
        // metadata.
        match ask(fleet, "POST", "/v1/jobs", Some(&body)) {
            Some(job) => drop(taken.insert(job["jid"].as_str().expect("an id").to_owned(), line)),
            None => std::thread::sleep(Duration::from_millis(100)),
        }
        std::thread::sleep(PAUSE);
    }
    stop.store(true, Ordering::Relaxed);
    taken
}

fn wait_until_all_ended(fleet: &Fleet) {
    let until = Instant::now() + Duration::from_secs(120);
    loop {
        let open = ask(fleet, "GET", "/v1/jobs?limit=1000", None).expect("the list");
        let open = open["jobs"].as_array().expect("jobs").iter().filter(|job| !ended(job)).count();
        if open == 0 {
            return;
        }
        assert!(Instant::now() < until, "{open} jobs don't end");
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Compares the two returns of a job with what ran on its targets; returns how many succeeded.
fn check_returns(job: &Value, line: &str, ran: &[BTreeMap<String, usize>]) -> usize {
    let returned = returns(job);
    assert_eq!(returned.len(), 2, "{job}");
    for (target, (success, value)) in &returned {
        let number: usize = target.trim_start_matches('h').parse().expect("a host");
        let times = ran[number - 1].get(line).copied().unwrap_or_default();
        assert!(times <= 1, "{line} ran {times} times on {target}");
        if *success {
            assert_eq!((times, value.as_str()), (1, Some(line)), "{job}");
        } else {
            assert_eq!(job["state"], "lost", "{job}");
            if value.to_string().contains("no note that it began") {
                assert_eq!(times, 0, "the job reports that it never began: {job}");
            }
        }
    }
    returned.values().filter(|(success, _)| *success).count()
}

#[test]
fn whenever_the_daemon_is_killed_every_job_ends_once() {
    let Some(fleet) = Fleet::start(&vec![Spec::debian(); HOSTS]) else { return };
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    let _ = writeln!(std::io::stderr(), "SEED={seed}");
    let mut random = Random(seed);
    let submitted = AtomicBool::new(false);
    let mut acknowledged: BTreeMap<String, BTreeMap<String, (bool, Value)>> = BTreeMap::new();
    let mut daemon = Daemon::start(&fleet);
    // The agents are uploaded first, so that a kill interrupts jobs and not the first connections.
    let ping = serde_json::json!({"function": "test.ping", "target": "*"});
    let ping = ask(&fleet, "POST", "/v1/jobs", Some(&ping)).expect("it is taken");
    let ping = ping["jid"].as_str().expect("an id").to_owned();
    wait_until("all hosts answer", || daemon.job(&ping).is_some_and(|job| ended(&job)));
    let mut kills = 0;
    let (taken, daemon) = std::thread::scope(|scope| {
        let submitting = scope.spawn(|| submit(&fleet, &mut Random(seed + 1), &submitted));
        while !submitted.load(Ordering::Relaxed) || kills < 5 {
            std::thread::sleep(Duration::from_millis(500 + random.below(4000) as u64));
            // A return that was once shown must never disappear.
            let list = ask(&fleet, "GET", "/v1/jobs?limit=20", None);
            for job in list.iter().flat_map(|list| list["jobs"].as_array().cloned().unwrap_or_default()) {
                let jid = job["jid"].as_str().unwrap_or_default();
                if let Some(job) = daemon.job(jid) {
                    acknowledged.entry(jid.to_owned()).or_default().extend(returns(&job));
                }
            }
            daemon.kill();
            kills += 1;
            daemon = Daemon::start(&fleet);
        }
        (submitting.join().expect("nothing unexpected was answered"), daemon)
    });
    assert!(taken.len() > JOBS / 4, "only {} jobs were accepted", taken.len());
    wait_until_all_ended(&fleet);
    let ran = ran(&fleet);
    let (mut done, mut lost) = (0, 0);
    for (jid, line) in &taken {
        let job = daemon.job(jid).unwrap_or_else(|| panic!("the job {jid} was accepted and is missing"));
        let successes = check_returns(&job, line, &ran);
        done += successes;
        lost += 2 - successes;
    }
    for (jid, seen) in &acknowledged {
        let now = returns(&daemon.job(jid).unwrap_or_else(|| panic!("the job {jid} was shown and is missing")));
        for (target, result) in seen {
            assert_eq!(now.get(target), Some(result), "an acknowledged result of {jid} is lost");
        }
    }
    let _ = writeln!(
        std::io::stderr(),
        "{kills} kills; {} jobs taken; {done} results had, {lost} said to be lost",
        taken.len()
    );
    assert!(done > lost, "most results outlive the daemon: {done} kept, {lost} lost");
    daemon.kill();
}

#[test]
fn a_job_whose_agent_is_killed_is_lost_and_not_repeated() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let daemon = Daemon::start(&fleet);
    let command = "echo once >> /root/ran; sleep 61";
    let body = serde_json::json!({"function": "cmd.run", "args": [command], "target": "h1"});
    let job = ask(&fleet, "POST", "/v1/jobs", Some(&body)).expect("it is taken");
    let jid = job["jid"].as_str().expect("an id").to_owned();
    wait_until("it runs", || !fleet.host(1).processes("sleep 61").is_empty());
    assert!(fleet.host(1).kill_agents() > 0, "there is no agent on the target");
    wait_until("it is said to be lost", || daemon.job(&jid).is_some_and(|job| job["state"] == "lost"));
    let job = daemon.job(&jid).expect("there");
    assert!(job["returns"][0]["return"].to_string().contains("it began there"), "{job}");
    assert_eq!(ran(&fleet)[0], BTreeMap::from([("once".to_owned(), 1)]));
    daemon.kill();
}

#[test]
fn a_cancel_reaches_what_runs_since_before_a_restart() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let daemon = Daemon::start(&fleet);
    let body = serde_json::json!({"function": "cmd.run", "args": ["sleep 62"], "target": "h1"});
    let job = ask(&fleet, "POST", "/v1/jobs", Some(&body)).expect("it is taken");
    let jid = job["jid"].as_str().expect("an id").to_owned();
    wait_until("it runs", || !fleet.host(1).processes("sleep 62").is_empty());
    daemon.kill();
    let daemon = Daemon::start(&fleet);
    assert!(!fleet.host(1).processes("sleep 62").is_empty(), "it continues without a daemon");
    assert_eq!(daemon.job(&jid).expect("there")["state"], "running");
    let _ = ask(&fleet, "POST", &format!("/v1/jobs/{jid}/cancel"), Some(&serde_json::json!({"kill": false})));
    wait_until("it is cancelled", || daemon.job(&jid).is_some_and(|job| job["state"] == "cancelled"));
    assert!(fleet.host(1).processes("sleep 62").is_empty());
    wait_until("nothing is left on the target", || {
        fleet.host(1).run("ls /root/.rocksalt/rocksalt-agent-kept").is_ok_and(|list| list.trim().is_empty())
    });
    daemon.kill();
}
