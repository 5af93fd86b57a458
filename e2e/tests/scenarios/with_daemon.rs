//! The same commands with and without a daemon: the same output, the same exit codes.

use std::time::Duration;

use e2e::{Fleet, Outcome, Spec, Started, assert_code, exit, wait_until};

/// The daemon of this fleet's project.
struct Daemon(Started);

impl Daemon {
    fn start(fleet: &Fleet) -> Daemon {
        let daemon = fleet.rocksalt(&["serve", "--listen", "127.0.0.1:0"]).limit(Duration::from_secs(600)).spawn();
        let daemon = Daemon(daemon.expect("it starts"));
        wait_until("the daemon answers", || run(fleet, &["events", "--count", "1"]).code() == Some(exit::FINE));
        daemon
    }

    /// Sends SIGTERM, as systemd would.
    fn stop(self) {
        assert!(std::process::Command::new("kill").arg(self.0.pid().to_string()).status().is_ok());
        assert_code(&self.0.finish().expect("it ends"), exit::FINE);
    }
}

fn run(fleet: &Fleet, words: &[&str]) -> Outcome {
    fleet.rocksalt(words).finish().unwrap_or_else(|error| panic!("rocksalt {}: {error}", words.join(" ")))
}

/// Removes job ids and durations, which differ from run to run.
fn normal(text: &str) -> String {
    let lines = text.lines().filter(|line| {
        !["started: ", "Started:", "Duration:", "Total run time:"].iter().any(|word| line.contains(word))
    });
    let plain = lines.map(|line| {
        let words = line.split(' ').map(|word| {
            let digits: String = word.chars().filter(char::is_ascii_digit).collect();
            if digits.len() == 20 { word.replace(&digits, "JID") } else { word.to_owned() }
        });
        words.collect::<Vec<_>>().join(" ")
    });
    plain.collect::<Vec<_>>().join("\n")
}

#[test]
fn commands_are_alike_with_a_daemon_and_without() {
    let Some(fleet) = Fleet::start(&[Spec::debian(), Spec::debian()]) else { return };
    fleet.scratch.write("config/rocksalt.yml", "file_roots: {base: [states]}\n").expect("written");
    fleet
        .scratch
        .write("config/states/motd.sls", "/srv/motd:\n  file.managed:\n    - contents: hello\n")
        .expect("written");
    fleet.ping_all();
    let commands: &[&[&str]] = &[
        &["*", "test.ping", "--static"],
        &["*", "test.ping", "--out", "json", "--static"],
        &["h1", "cmd.run", "echo some; exit 3"],
        &["h1", "cmd.run", "printf 'a\\377b'", "--out", "raw"],
        &["h1", "test.exception", "it broke"],
        &["h1", "test.sleep", "20", "--timeout", "0.5"],
        &["*", "test.retcode", "1", "--batch", "1", "--failhard"],
        &["*", "test.ping", "--subset", "1", "--out", "quiet"],
        &["-L", "h1,h3", "test.ping"],
        &["-G", "os:Debian", "test.ping", "--static"],
        &["h1", "cmd.run", "echo one; sleep 0.3; echo two", "--stream"],
        &["h1", "test.ping", "--show-jid"],
        &["nobody", "test.ping"],
        &["-C", "G@os:Debian and (", "test.ping"],
        &["h1", "test.pin"],
        &["h1", "test.ping", "--batch", "x"],
        &["*", "test.ping", "--batch", "12.5%", "--static"],
        &["h1", "test.ping", "--batch", "0"],
        &["h1", "sys.argspec", "test.ping"],
        &["apply", "*", "motd", "--test", "--static"],
        &["apply", "*", "motd", "--static"],
        &["apply", "*", "nosuch", "--static"],
        &["h1", "state.single", "test.fail_without_changes", "x"],
        &["jobs", "show", "last"],
        &["jobs", "watch", "last"],
        &["jobs", "show", "20200101000000000000"],
        &["jobs", "--since", "soon"],
        &["h1", "test.ping", "--async"],
    ];
    let without: Vec<Outcome> = commands.iter().map(|words| run(&fleet, words)).collect();
    assert_code(&run(&fleet, &["h1", "cmd.run", "rm -f /srv/motd"]), exit::FINE);
    assert_code(&run(&fleet, &["h2", "cmd.run", "rm -f /srv/motd"]), exit::FINE);
    let daemon = Daemon::start(&fleet);
    let mut different = Vec::new();
    for (words, alone) in commands.iter().zip(&without) {
        let with = run(&fleet, words);
        // The hint names the newest job, which is another one now.
        let newest = |text: &str| {
            text.lines().filter(|line| !line.starts_with("hint: the newest is")).collect::<Vec<_>>().join("\n")
        };
        let form =
            |outcome: &Outcome| (outcome.code(), normal(&newest(&outcome.stdout)), normal(&newest(&outcome.stderr)));
        if form(&with) != form(alone) {
            different.push(format!("{}:\nwithout: {}\nwith: {}", words.join(" "), alone.all(), with.all()));
        }
    }
    assert!(different.is_empty(), "{} of {} differ:\n{}", different.len(), commands.len(), different.join("\n\n"));
    // The events show that the commands went through the daemon.
    let events = run(&fleet, &["events", "salt/job/*/ret/*", "--count", "1000"]);
    assert!(events.stdout.lines().count() > 20, "{}", events.all());
    // The daemon also knows the jobs that ran before it started.
    let jobs = run(&fleet, &["jobs", "--limit", "1000"]);
    assert_eq!(jobs.stdout.matches("state.single").count(), 2, "{}", jobs.all());
    // A changed roster takes effect at once; an invalid one is ignored.
    let roster = std::fs::read_to_string(fleet.scratch.path("config/roster")).expect("the roster");
    fleet.scratch.write("config/roster", &roster.replace("h2:", "other:")).expect("written");
    assert_code(&run(&fleet, &["other", "test.ping"]), exit::FINE);
    assert_ne!(run(&fleet, &["h2", "test.ping"]).code(), Some(exit::FINE));
    fleet.scratch.write("config/roster", "h1: [").expect("written");
    assert_code(&run(&fleet, &["other", "test.ping"]), exit::FINE);
    daemon.stop();
}

#[test]
fn a_rerun_keeps_batch_and_timeout_and_queue_waits_for_the_machine() {
    let Some(fleet) = Fleet::start(&[Spec::debian(), Spec::debian()]) else { return };
    fleet.scratch.write("config/rocksalt.yml", "file_roots: {base: [states]}\n").expect("written");
    fleet.scratch.write("config/states/slow.sls", "sleep 3:\n  cmd.run\n").expect("written");
    fleet.ping_all();
    for with_daemon in [false, true] {
        let daemon = with_daemon.then(|| Daemon::start(&fleet));
        // The targets run one after the other, and neither has enough time.
        let words = ["*", "cmd.run", "date +%s%N; sleep 20", "--batch", "37.5%", "--timeout", "1"];
        assert_code(&run(&fleet, &words), exit::FAILED);
        let began = std::time::Instant::now();
        let again = run(&fleet, &["jobs", "rerun", "last"]);
        assert_code(&again, exit::FAILED);
        assert_eq!(again.all().matches("no result within 1 seconds").count(), 2, "{}", again.all());
        assert!(began.elapsed() >= Duration::from_secs(2), "both ran at once: {:?}", began.elapsed());
        assert!(began.elapsed() < Duration::from_secs(15), "the timeout had no effect: {:?}", began.elapsed());
        // Another run is active on the machine.
        let first = fleet.rocksalt(&["apply", "h1", "slow"]).spawn().expect("it starts");
        wait_until("it runs", || !fleet.host(1).processes("sleep").is_empty());
        let refused = run(&fleet, &["apply", "h1", "slow"]);
        assert_code(&refused, exit::FAILED);
        assert!(refused.all().contains("The function \"state.apply\" is running"), "{}", refused.all());
        let queued = run(&fleet, &["apply", "h1", "slow", "--queue"]);
        assert_code(&queued, exit::FINE);
        assert_code(&first.finish().expect("it ends"), exit::FINE);
        if let Some(daemon) = daemon {
            daemon.stop();
        }
    }
}

#[test]
fn ctrl_c_stops_the_job_at_the_daemon() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    fleet.ping_all();
    let daemon = Daemon::start(&fleet);
    let started = fleet.rocksalt(&["h1", "cmd.run", "sleep 61"]).spawn().expect("it starts");
    wait_until("it runs", || !fleet.host(1).processes("sleep").is_empty());
    started.interrupt();
    let outcome = started.finish().expect("it stops");
    assert_code(&outcome, exit::INTERRUPTED);
    assert!(outcome.stderr.contains("waiting for: h1"), "{}", outcome.all());
    wait_until("its processes have ended", || fleet.host(1).processes("sleep").is_empty());
    let jobs = run(&fleet, &["jobs", "--state", "cancelled"]);
    assert!(jobs.stdout.contains("sleep 61"), "{}", jobs.all());
    daemon.stop();
}

#[test]
fn a_job_in_the_background_is_watched_and_cancelled() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    fleet.ping_all();
    for with_daemon in [false, true] {
        let daemon = with_daemon.then(|| Daemon::start(&fleet));
        let started = run(&fleet, &["h1", "cmd.run", "sleep 1; echo over; exit 4", "--async"]);
        assert_code(&started, exit::FINE);
        let id = started.stdout.trim().to_owned();
        assert_eq!(id.len(), 20, "{}", started.all());
        let watched = run(&fleet, &["jobs", "watch", &id]);
        assert_code(&watched, exit::FAILED);
        assert!(watched.stdout.contains("over"), "{}", watched.all());
        let started = run(&fleet, &["h1", "cmd.run", "sleep 62", "--async"]);
        let id = started.stdout.trim().to_owned();
        wait_until("it runs", || !fleet.host(1).processes("sleep").is_empty());
        // Ctrl-C ends only the watching, not the job.
        let watching = fleet.rocksalt(&["jobs", "watch", &id]).spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(500));
        watching.interrupt();
        assert_code(&watching.finish().expect("it ends"), exit::INTERRUPTED);
        assert!(!fleet.host(1).processes("sleep").is_empty(), "the job keeps running");
        assert_code(&run(&fleet, &["jobs", "cancel", &id]), exit::FINE);
        wait_until("its processes have ended", || fleet.host(1).processes("sleep").is_empty());
        wait_until("it is cancelled", || run(&fleet, &["jobs", "show", &id]).stdout.contains("(cancelled)"));
        if let Some(daemon) = daemon {
            daemon.stop();
        }
    }
}

#[test]
fn events_go_on_over_a_restart_of_the_daemon_without_gap_or_double() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let mut daemon = Daemon::start(&fleet);
    let listening =
        fleet.rocksalt(&["events", "--follow", "--json", "--count", "12", "my/*"]).spawn().expect("it starts");
    std::thread::sleep(Duration::from_millis(700));
    for number in 0..12 {
        if number % 4 == 3 {
            daemon.stop();
            daemon = Daemon::start(&fleet);
        }
        let fired = run(&fleet, &["events", "fire", &format!("my/{number}"), "some=data"]);
        assert_code(&fired, exit::FINE);
    }
    let heard = listening.finish().expect("it ends after twelve");
    assert_code(&heard, exit::FINE);
    let tags = |outcome: &Outcome| -> Vec<String> {
        let tag =
            |line: &str| line.split("\"tag\":\"").nth(1).and_then(|rest| rest.split('"').next()).map(str::to_owned);
        outcome.stdout.lines().filter_map(tag).collect()
    };
    let all: Vec<String> = (0..12).map(|number| format!("my/{number}")).collect();
    assert_eq!(tags(&heard), all, "{}", heard.all());
    // By hand, the number in the hint is where to continue.
    let first = run(&fleet, &["events", "--json", "--since", "0", "--count", "5", "my/*"]);
    assert_eq!(tags(&first), all[..5], "{}", first.all());
    let number =
        first.stderr.split("--since ").nth(1).map(|rest| rest.trim().to_owned()).expect("the hint has the number");
    let rest = run(&fleet, &["events", "--json", "--since", &number, "my/*"]);
    assert_eq!(tags(&rest), all[5..], "{}", rest.all());
    daemon.stop();
}

#[test]
fn a_daemon_that_does_not_answer_is_said_and_gone_around() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    fleet.ping_all();
    let daemon = Daemon::start(&fleet);
    let signal = |name: &str| {
        let sent = std::process::Command::new("kill").args([name, &daemon.0.pid().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()));
    };
    signal("-STOP");
    let outcome = run(&fleet, &["h1", "test.ping"]);
    assert_code(&outcome, exit::FINE);
    assert!(outcome.stderr.contains("does not answer") && outcome.took < Duration::from_secs(5), "{}", outcome.all());
    assert_code(&run(&fleet, &["jobs"]), exit::USAGE);
    assert_code(&run(&fleet, &["--no-daemon", "jobs"]), exit::FINE);
    signal("-CONT");
    let outcome = run(&fleet, &["h1", "test.ping"]);
    assert!(outcome.stderr.is_empty(), "{}", outcome.all());
    daemon.stop();
}
