//! Fifty hosts: cold, warm, and with some of them broken; one login each.

use std::time::Duration;

use e2e::{Fleet, Quirk, Spec, assert_cause, assert_code, exit, results, text};

const COUNT: usize = 50;

#[test]
fn fifty_hosts_one_login_each_when_cold_and_none_when_warm() {
    let Some(fleet) = Fleet::start(&vec![Spec::debian(); COUNT]) else { return };
    fleet.ping_all();
    assert_eq!(fleet.bed.logins(), vec![1; COUNT], "cold: exactly one login for each host");
    fleet.ping_all();
    // The kind of function doesn't matter.
    let hostnames = fleet.run(&["*", "cmd.run", "hostname"]);
    assert_code(&hostnames, exit::FINE);
    for host in fleet.bed.hosts() {
        assert_eq!(text(&hostnames, &host.id()), host.id());
    }
    assert_code(&fleet.run(&["*", "grains.item", "os"]), exit::FINE);
    assert_code(&fleet.run(&["*", "file.write", "/tmp/mark", "here"]), exit::FINE);
    assert_eq!(fleet.bed.logins(), vec![1; COUNT], "warm: no login at all");
}

#[test]
fn fifty_hosts_without_static_print_one_object_a_target() {
    let Some(fleet) = Fleet::start(&vec![Spec::debian(); COUNT]) else { return };
    let outcome = fleet.rocksalt(&["*", "test.ping", "--out", "json"]).finish().expect("it ends");
    assert_code(&outcome, exit::FINE);
    let objects = serde_json::Deserializer::from_str(&outcome.stdout).into_iter::<e2e::Value>();
    let mut ids = Vec::new();
    for object in objects {
        let object = object.unwrap_or_else(|error| panic!("{error}: {}", outcome.all()));
        let object = object.as_object().cloned().unwrap_or_default();
        assert_eq!(object.len(), 1, "one object for each target: {}", outcome.all());
        ids.extend(object.into_iter().filter(|(_, value)| *value == true).map(|(id, _)| id));
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), COUNT, "{}", outcome.all());
}

#[test]
fn fifty_hosts_with_a_sudo_password() {
    let sudo = |_, entry: e2e::TestbedEntry| {
        entry.set("user", "deploy").set("sudo", "True").set("sudo_passwd", e2e::password_of("deploy"))
    };
    let Some(fleet) = Fleet::start_with(&vec![Spec::debian(); COUNT], sudo) else { return };
    let outcome = fleet.run(&["*", "cmd.run", "id -un"]);
    assert_code(&outcome, exit::FINE);
    for host in fleet.bed.hosts() {
        assert_eq!(text(&outcome, &host.id()), "root");
        // The process list, which every user on the target can read, has no password.
        assert!(
            host.processes(&e2e::password_of("deploy")).is_empty(),
            "a password in a command line of {}",
            host.id()
        );
    }
    assert_eq!(fleet.bed.logins(), vec![1; COUNT]);
}

#[test]
fn each_broken_host_is_reported_with_its_cause_and_the_rest_are_fine() {
    let (refusing, silent, down, changed) = (11, 12, 13, 14);
    let mut specs = vec![Spec::debian(); COUNT];
    specs[refusing - 1] = Spec::debian().with(Quirk::KeyRefused);
    specs[silent - 1] = Spec::debian().with(Quirk::Silent);
    let Some(fleet) = Fleet::start_with(&specs, |number, entry| {
        // Only hosts that can't answer get a short timeout; the others may be slow.
        if number == silent || number == down { entry.set("timeout", "5") } else { entry }
    }) else {
        return;
    };
    fleet.bed.cut(down).expect("it's cut off");
    fleet.host(changed).change_host_key().expect("its key changes");

    let outcome = fleet.run_within(Duration::from_secs(120), &["*", "test.ping"]);
    assert_code(&outcome, exit::UNREACHED);
    let results = results(&outcome);
    let broken = [refusing, silent, down, changed];
    for host in fleet.bed.hosts() {
        let fine = results.get(&host.id()).is_some_and(|value| *value == true);
        assert_eq!(fine, !broken.contains(&host.number), "{}: {}", host.id(), outcome.all());
    }
    assert_cause(
        &outcome,
        "h11",
        &["refused the key", "no key", "key was refused", "not accepted", "accepts none", "publickey"],
    );
    assert_cause(&outcome, "h12", &["banner", "said nothing", "did not greet", "no greeting", "silent"]);
    assert_cause(&outcome, "h13", &["timed out", "no route", "unreachable", "no answer"]);
    assert_cause(&outcome, "h14", &["host key"]);
    assert_cause(&outcome, "h14", &["changed", "differs", "another", "not the one"]);
    // The healthy hosts must not need a second login because of the broken ones.
    for host in fleet.bed.hosts().iter().filter(|host| !broken.contains(&host.number)) {
        assert_eq!(host.logins(), 1, "{}", host.id());
    }
}

#[test]
fn publish_from_host_7_to_host_15_makes_no_new_login() {
    let Some(fleet) = Fleet::start(&vec![Spec::debian(); 40]) else { return };
    fleet.scratch.write("config/rocksalt.yml", "peer:\n  h7:\n    - test.*\n").expect("the configuration is written");
    fleet.ping_all();
    let outcome = fleet.run(&["h7", "publish.publish", "h15", "test.echo", "over"]);
    assert_code(&outcome, exit::FINE);
    assert_eq!(results(&outcome)["h7"]["h15"], "over", "{}", outcome.all());
    // A call without a rule is refused: h8 may call nothing, h7 not cmd.run.
    for forbidden in [["h8", "publish.publish", "h15", "test.ping"], ["h7", "publish.publish", "h15", "cmd.run id"]] {
        let words: Vec<&str> = forbidden.iter().flat_map(|word| word.split(' ')).collect();
        let outcome = fleet.run(&words);
        assert!(results(&outcome)[forbidden[0]]["h15"].is_null(), "{}", outcome.all());
    }
    assert_eq!(fleet.bed.logins(), vec![1; 40]);
}
