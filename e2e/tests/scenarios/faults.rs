//! Faults while a command runs: in the network, the agent, the controller.

use std::fs;
use std::time::{Duration, Instant};

use e2e::{Fleet, Spec, assert_cause, assert_code, exit, results, wait_until};

/// Starts `cmd.run 'sleep SECONDS'` on h1 and returns once it runs there.
fn start_sleep(fleet: &Fleet, seconds: u32, options: &[&str]) -> e2e::Started {
    let command = format!("sleep {seconds}");
    let mut arguments = vec!["h1", "cmd.run", &command, "--out", "json", "--static"];
    arguments.extend(options);
    let started = fleet.rocksalt(&arguments).limit(Duration::from_secs(120)).spawn().expect("it starts");
    wait_until("the command runs on the target", || !fleet.host(1).processes(&command).is_empty());
    started
}

#[test]
fn a_cut_network_is_noticed_within_the_timeout_and_the_next_command_works() {
    // Only the first host gets a short timeout; the other one may be slow.
    let Some(fleet) = Fleet::start_with(&[Spec::debian(), Spec::debian()], |number, entry| {
        if number == 1 { entry.set("timeout", "5") } else { entry }
    }) else {
        return;
    };
    fleet.ping_all();
    let started = start_sleep(&fleet, 600, &["--timeout", "5"]);
    fleet.bed.cut(1).expect("it's cut off");
    let cut = Instant::now();
    let outcome = started.finish().expect("the run ends after the timeout");
    assert!(cut.elapsed() < Duration::from_secs(120), "{}", outcome.all());
    assert_ne!(outcome.code(), Some(exit::FINE), "{}", outcome.all());
    assert_cause(&outcome, "h1", &["timed out", "timeout", "no answer", "within 5", "5 s"]);
    // The other host isn't affected, and a new command reports the first one's fault.
    let outcome = fleet.run(&["*", "test.ping"]);
    assert_code(&outcome, exit::UNREACHED);
    assert_eq!(results(&outcome)["h2"], true, "{}", outcome.all());
    fleet.bed.heal(1).expect("it's back");
    fleet.ping_all();
}

#[test]
fn a_killed_agent_is_reported_at_once_and_the_next_command_works() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let started = start_sleep(&fleet, 600, &[]);
    assert!(fleet.host(1).kill_agents() > 0, "there is no agent on the target");
    let killed = Instant::now();
    let outcome = started.finish().expect("the run ends");
    assert_code(&outcome, exit::UNREACHED);
    assert_cause(&outcome, "h1", &["agent", "link"]);
    assert!(
        killed.elapsed() < Duration::from_secs(30),
        "the end of the agent is noticed, not timed out: {}",
        outcome.all()
    );
    fleet.ping_all();
}

#[test]
fn a_killed_controller_leaves_no_agent_and_the_next_command_works() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let started = start_sleep(&fleet, 600, &[]);
    started.kill();
    assert!(started.finish().is_ok_and(|outcome| outcome.code().is_none()), "it was killed");
    fleet.scratch.kill_all();
    wait_until("the agent ends with its link", || fleet.host(1).processes("rocksalt").is_empty());
    fleet.ping_all();
}

#[test]
fn ctrl_c_stops_at_once_and_names_what_still_runs() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let started = start_sleep(&fleet, 600, &[]);
    started.interrupt();
    let interrupted = Instant::now();
    let outcome = started.finish().expect("it stops");
    assert_code(&outcome, exit::INTERRUPTED);
    assert!(interrupted.elapsed() < Duration::from_secs(120), "{}", outcome.all());
    assert!(outcome.stderr.contains("h1"), "{}", outcome.all());
    fleet.ping_all();
}

#[test]
fn an_agent_that_is_not_what_its_name_says_is_never_executed() {
    let Some(fleet) = Fleet::start_with(&[Spec::debian()], |_, entry| entry.set("thin_dir", "/var/tmp/agent")) else {
        return;
    };
    fleet.ping_all();
    let host = fleet.host(1);
    let files = host.run("find /var/tmp/agent -type f -perm -u+x").expect("find");
    let agents: Vec<&str> = files.lines().collect();
    assert!(!agents.is_empty(), "the agent isn't in the directory that the roster names");
    assert_code(&fleet.rocksalt(&["links", "close"]).finish().expect("it ends"), exit::FINE);
    wait_until("the agent has ended", || host.processes("rocksalt").is_empty());
    // Each agent is replaced by a script of the same name that records whether it was executed.
    for agent in agents {
        let script = format!(
            "printf '#!/bin/sh\\ntouch /var/tmp/was-executed\\n' >'{agent}.x' && chmod 755 '{agent}.x' && mv '{agent}.x' '{agent}'"
        );
        host.run(&script).expect("it's replaced");
    }
    let outcome = fleet.run(&["h1", "test.ping"]);
    let executed = host.run("ls /var/tmp/was-executed 2>/dev/null || true").expect("ls");
    assert_eq!(executed, "", "a file with a wrong hash was executed: {}", outcome.all());
    assert_eq!(results(&outcome)["h1"], true, "the agent is sent again: {}", outcome.all());
}

#[test]
fn a_controller_killed_while_it_uploads_leaves_nothing_that_looks_whole() {
    let Some(fleet) = Fleet::start_with(&[Spec::debian()], |_, entry| entry.set("thin_dir", "/var/tmp/agent")) else {
        return;
    };
    let host = fleet.host(1);
    let directory = host.file("/var/tmp/agent").expect("the host is up");
    let files = || fs::read_dir(&directory).into_iter().flatten().flatten();
    let some_came = || files().any(|file| file.metadata().is_ok_and(|file| file.len() > 0));
    let mut interrupted = 0;
    for _ in 0..8 {
        // Uploading the whole agent takes longer than seeing its first bytes and killing the controller.
        let started = fleet.rocksalt(&["h1", "state.single", "test.nop", "name=x"]).spawn().expect("it starts");
        let end = Instant::now() + Duration::from_secs(60);
        while !some_came() {
            assert!(Instant::now() < end, "nothing was sent: {:?}", started.finish().map(|outcome| outcome.all()));
        }
        fleet.scratch.kill_all();
        assert!(started.finish().is_ok(), "it was killed or had finished");
        wait_until("the interrupted upload has ended", || host.processes("rocksalt").is_empty());
        // An upload that was complete before the kill shows only that the file is whole.
        if whole_agents(host) == 0 {
            interrupted += 1;
            assert_eq!(files().count(), 0, "the partial file is removed");
        }
        host.run("rm -rf /var/tmp/agent").expect("it's removed");
    }
    assert!(interrupted > 0, "no upload was interrupted");
    fleet.ping_all();
    assert_eq!(whole_agents(host), 1);
}

/// The number of executables. Each of them must be complete: its name contains its hash.
#[track_caller]
fn whole_agents(host: &e2e::Host) -> usize {
    let sums = host.run("find /var/tmp/agent -type f -perm -u+x -exec sha256sum {} +").expect("sha256sum");
    let named = |line: &str| line.split_once(' ').is_some_and(|(hash, name)| name.contains(&format!("-{hash}")));
    assert!(sums.lines().all(named), "{sums}");
    sums.lines().count()
}
