//! The small agent is sent first, the whole one when it is needed; users notice only the time (decision 0018).

use std::time::Duration;

use e2e::{
    Fleet, Quirk, Spec, Started, TestbedEntry, Value, assert_code, exit, password_of, results, text, wait_until,
};

/// A function that needs the whole agent.
const STATE: [&str; 4] = ["h1", "state.single", "test.nop", "name=x"];

/// The kinds of agents of the open links, in the order of their process ids on the target.
fn agents(fleet: &Fleet) -> Vec<String> {
    let outcome = fleet.rocksalt(&["links", "--json"]).finish().expect("it ends");
    let Ok(Value::Array(mut links)) = outcome.json() else { panic!("no list: {}", outcome.all()) };
    // The agent that compiles pillar belongs to no target.
    links.retain(|link| link["target"] != "pillar");
    links.sort_by_key(|link| link["agent_pid"].as_u64());
    links.iter().map(|link| link["agent"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Starts a command on h1 and returns once it runs there.
fn start(fleet: &Fleet, command: &str) -> Started {
    let arguments = ["h1", "cmd.run", command, "--out", "json", "--static"];
    let started = fleet.rocksalt(&arguments).limit(Duration::from_secs(120)).spawn().expect("it starts");
    let slept = command.split(';').next().unwrap_or_default();
    wait_until("the command runs on the target", || !fleet.host(1).processes(slept).is_empty());
    started
}

/// A command that waits for the file `/run/WORD`, and then prints the word.
fn held(word: &str) -> String {
    format!("while test ! -e /run/{word}; do sleep 0.1; done; echo {word}")
}

fn let_go(fleet: &Fleet, word: &str) {
    fleet.host(1).run(&format!("touch /run/{word}")).expect("touch");
}

fn processes(fleet: &Fleet) -> usize {
    fleet.host(1).agents().len()
}

#[test]
fn a_ping_and_then_states_are_one_login() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    fleet.ping_all();
    assert_eq!(agents(&fleet), ["small"]);
    assert_code(&fleet.run(&STATE), exit::FINE);
    wait_until("the small agent ends, since nobody uses it", || agents(&fleet) == ["whole"]);
    wait_until("its process too", || processes(&fleet) == 1);
    // The whole agent now runs the small one's functions too, and stays.
    fleet.ping_all();
    assert_eq!(agents(&fleet), ["whole"]);
    assert_eq!(fleet.bed.logins(), [1]);
}

#[test]
fn the_whole_agent_is_started_if_it_is_there_and_sent_alone_if_it_is_needed_first() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    assert_code(&fleet.run(&STATE), exit::FINE);
    let files = || fleet.host(1).run("find /root/.rocksalt -type f -perm -u+x").expect("find").lines().count();
    assert_eq!(files(), 1, "the small agent wasn't sent");
    assert_code(&fleet.rocksalt(&["links", "close"]).finish().expect("it ends"), exit::FINE);
    fleet.ping_all();
    assert_eq!(agents(&fleet), ["whole"]);
    assert_eq!(files(), 1, "nor now");
}

#[test]
fn templates_in_arguments_take_the_whole_agent() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let plain = fleet.run(&["h1", "cmd.run", "echo {{ 1 + 1 }}"]);
    assert_eq!(text(&plain, "h1"), "{{ 1 + 1 }}");
    assert_eq!(agents(&fleet), ["small"]);
    let rendered = fleet.run(&["h1", "cmd.run", "echo {{ 1 + 1 }}", "template=jinja"]);
    assert_eq!(text(&rendered, "h1"), "2");
    assert_eq!(fleet.bed.logins(), [1]);
}

#[test]
fn what_runs_on_the_small_agent_goes_on_beside_the_whole_one_and_is_seen() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let on_small = start(&fleet, &held("small"));
    assert_code(&fleet.run(&STATE), exit::FINE);
    assert_eq!(agents(&fleet), ["small", "whole"], "both are in use");
    let on_whole = start(&fleet, &held("whole"));
    let running = results(&fleet.run(&["h1", "saltutil.running"]))["h1"].clone();
    let jobs = running.as_array().expect("a list").clone();
    let mut seen: Vec<&str> = jobs.iter().filter_map(|job| job["arg"][0].as_str()).collect();
    seen.sort_unstable();
    assert_eq!(seen, [held("small"), held("whole")], "{running}");
    for job in &jobs {
        let found = results(&fleet.run(&["h1", "saltutil.find_job", job["jid"].as_str().expect("an id")]));
        assert_eq!(found["h1"]["arg"], job["arg"]);
    }
    let_go(&fleet, "small");
    let_go(&fleet, "whole");
    let (small, whole) = (on_small.finish().expect("it ends"), on_whole.finish().expect("it ends"));
    assert_eq!((text(&small, "h1").as_str(), text(&whole, "h1").as_str()), ("small", "whole"));
    wait_until("the small agent ends with its last call", || agents(&fleet) == ["whole"] && processes(&fleet) == 1);
    assert_eq!(fleet.bed.logins(), [1]);
}

#[test]
fn calls_on_both_agents_can_be_ended() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let killed = start(&fleet, "sleep 601");
    let interrupted = start(&fleet, "sleep 602");
    assert_code(&fleet.run(&STATE), exit::FINE);
    let also_killed = start(&fleet, "sleep 603");
    let running = results(&fleet.run(&["h1", "saltutil.running"]))["h1"].clone();
    for job in running.as_array().expect("a list").iter().filter(|job| job["arg"][0] != "sleep 602") {
        let outcome = fleet.run(&["h1", "saltutil.kill_job", job["jid"].as_str().expect("an id")]);
        assert!(text(&outcome, "h1").starts_with("Signal 9 sent to job"), "{}", outcome.all());
    }
    interrupted.interrupt();
    assert_code(&interrupted.finish().expect("it stops"), exit::INTERRUPTED);
    for started in [killed, also_killed] {
        assert_ne!(started.finish().expect("it ends").code(), Some(exit::FINE));
    }
    wait_until("nothing of it runs any more", || fleet.host(1).processes("sleep 60").is_empty());
    assert_code(&fleet.run(&["h1", "test.ping"]), exit::FINE);
    assert_eq!(fleet.bed.logins(), [1]);
}

#[test]
fn wipe_removes_both() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let host = fleet.host(1);
    let left = || host.run("find / /tmp /run /dev/shm -xdev -name '*rocksalt*'").expect("find");
    let before = left();
    fleet.ping_all();
    assert_code(&fleet.run(&STATE), exit::FINE);
    assert_eq!(host.run("find /root/.rocksalt -type f -perm -u+x").expect("find").lines().count(), 2, "both are there");
    assert_code(&fleet.rocksalt(&["links", "close", "--wipe"]).finish().expect("it ends"), exit::FINE);
    wait_until("the agents have ended", || host.processes("rocksalt").is_empty());
    assert_eq!(left(), before);
    // The same, where the command that needs the whole agent also wipes, while the small agent is in use.
    let on_small = start(&fleet, "sleep 600.03");
    assert_code(&fleet.run(&[&STATE[..], &["--wipe"]].concat()), exit::FINE);
    assert_ne!(on_small.finish().expect("its link was closed").code(), Some(exit::FINE));
    wait_until("the agents have ended", || host.processes("rocksalt").is_empty());
    assert_eq!(left(), before);
}

#[test]
fn whoever_one_becomes_and_however_one_comes_it_is_one_login() {
    type Change = fn(TestbedEntry) -> TestbedEntry;
    let ways: [(&str, Change); 5] = [
        ("sudo", |entry| entry.set("user", "deploy").set("sudo", "True").set("sudo_passwd", password_of("deploy"))),
        ("sudo without a password", |entry| entry.set("user", "ops").set("sudo", "True")),
        ("su", |entry| {
            let entry = entry.set("user", "ops").set("become", "{method: su, user: deploy}");
            entry.set("sudo_passwd", password_of("deploy"))
        }),
        ("doas", |entry| entry.set("user", "deploy").set("become", "doas").set("sudo_passwd", password_of("deploy"))),
        ("openssh", |entry| entry.set("transport", "openssh")),
    ];
    let specs = vec![Spec::debian(); ways.len()];
    let Some(fleet) = Fleet::start_with(&specs, |number, entry| ways[number - 1].1(entry)) else { return };
    fleet.ping_all();
    assert_eq!(agents(&fleet), ["small"; 5]);
    let outcome = fleet.run(&["*", "state.single", "test.nop", "name=x"]);
    assert_code(&outcome, exit::FINE);
    wait_until("the small ones have ended", || agents(&fleet) == ["whole"; 5]);
    fleet.ping_all();
    assert_eq!(fleet.bed.logins(), [1; 5], "{:?}", ways.map(|(name, _)| name));
}

#[test]
fn a_server_that_allows_one_command_a_login_gets_another_login() {
    let Some(fleet) = Fleet::start(&[Spec::debian().with(Quirk::OneSession)]) else { return };
    let on_small = start(&fleet, &held("small"));
    assert_code(&fleet.run(&STATE), exit::FINE);
    let_go(&fleet, "small");
    assert_eq!(text(&on_small.finish().expect("it ends"), "h1"), "small", "it isn't disturbed");
    assert_eq!(fleet.bed.logins(), [2]);
    wait_until("the first login ends with its last call", || processes(&fleet) == 1);
}

#[test]
fn a_full_disk_stops_the_whole_agent_and_the_small_one_stays() {
    let Some(fleet) = Fleet::start_with(&[Spec::debian()], |_, entry| entry.set("user", "nosudo")) else { return };
    fleet.ping_all();
    // Leaves no room for the whole agent, in any directory that it could be put in.
    let fill = "for place in /home /tmp /var/tmp /dev/shm; do mount -t tmpfs -o size=64k,mode=1777 none $place; done";
    fleet.host(1).run(fill).expect("it's full");
    let outcome = fleet.run(&STATE);
    assert_code(&outcome, exit::UNREACHED);
    e2e::assert_cause(&outcome, "h1", &["full", "no directory"]);
    fleet.ping_all();
    assert_eq!((agents(&fleet), fleet.bed.logins()), (vec!["small".to_owned()], vec![1]));
}
