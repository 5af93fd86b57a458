//! Other commands: links, hosts, call, cp; and what `--wipe` leaves behind.

use std::collections::BTreeSet;

use e2e::{Fleet, Quirk, Scratch, Spec, assert_cause, assert_code, exit, results, text, wait_until};

#[test]
fn call_works_on_this_machine_without_a_roster() {
    let scratch = Scratch::new().expect("a scratch directory");
    let run = scratch.rocksalt(["call", "test.echo", "here", "--out", "json"]).expect("the binary is built");
    let outcome = run.finish().expect("it ends");
    assert_code(&outcome, exit::FINE);
    assert_eq!(results(&outcome)["local"], "here", "{}", outcome.all());
}

#[test]
fn a_failing_function_is_told_from_an_unreached_target() {
    let Some(fleet) = Fleet::start(&[Spec::debian(), Spec::debian()]) else { return };
    let outcome = fleet.run(&["*", "cmd.run", "test $(hostname) = h1"]);
    assert_code(&outcome, exit::FAILED);
    fleet.bed.cut(2).expect("it's cut off");
    fleet.scratch.kill_all();
    // Only the unreachable host gets a short timeout; the other one may be slow.
    fleet.set_roster(|number, entry| if number == 2 { entry.set("timeout", "3") } else { entry });
    let outcome = fleet.run(&["*", "test.ping"]);
    assert_code(&outcome, exit::UNREACHED);
}

#[test]
fn links_are_shown_and_closed() {
    let Some(fleet) = Fleet::start(&[Spec::debian(), Spec::debian()]) else { return };
    fleet.ping_all();
    let outcome = fleet.rocksalt(&["links", "--json"]).finish().expect("it ends");
    assert_code(&outcome, exit::FINE);
    for host in fleet.bed.hosts() {
        assert!(outcome.stdout.contains(&host.address), "{}", outcome.all());
    }
    assert_code(&fleet.rocksalt(&["links", "close"]).finish().expect("it ends"), exit::FINE);
    wait_until("the agents end with their links", || {
        fleet.bed.hosts().iter().all(|host| host.processes("rocksalt").is_empty())
    });
    fleet.ping_all();
    assert_eq!(fleet.bed.logins(), [2, 2], "a closed link is opened again");
}

#[test]
fn hosts_are_listed_and_checked_each_as_far_as_it_gets() {
    let Some(fleet) = Fleet::start(&[Spec::debian(), Spec::debian().with(Quirk::KeyRefused)]) else { return };
    let outcome = fleet.rocksalt(&["hosts", "--json"]).finish().expect("it ends");
    assert_code(&outcome, exit::FINE);
    assert!(outcome.stdout.contains("h1") && outcome.stdout.contains("h2"), "{}", outcome.all());
    assert_eq!(fleet.bed.logins(), [0, 0], "listing logs in to no host");
    let outcome = fleet.rocksalt(&["hosts", "--check"]).finish().expect("it ends");
    assert_code(&outcome, exit::UNREACHED);
    let line = |id: &str| {
        let all = format!("{}{}", outcome.stdout, outcome.stderr).to_lowercase();
        all.lines().filter(|line| line.contains(id)).map(str::to_owned).collect::<Vec<_>>().join("\n")
    };
    assert!(line("h1").contains("agent"), "h1 reaches the agent: {}", outcome.all());
    assert!(line("h2").contains("login") || line("h2").contains("auth"), "h2 stops at the login: {}", outcome.all());
}

#[test]
fn a_file_is_copied_to_targets_as_it_is() {
    let Some(fleet) = Fleet::start(&[Spec::debian(), Spec::debian()]) else { return };
    let content: String = (0..200_000).map(|number: u32| char::from(b'a' + (number % 26) as u8)).collect();
    let file = fleet.scratch.write("sent", &content).expect("it's written").display().to_string();
    let outcome = fleet.rocksalt(&["cp", &file, "*:/var/tmp/received"]).finish().expect("it ends");
    assert_code(&outcome, exit::FINE);
    for host in fleet.bed.hosts() {
        assert_eq!(host.run("cat /var/tmp/received").expect("it's there"), content, "{}", host.id());
    }
    let outcome = fleet.rocksalt(&["cp", "/no/such/file", "*:/var/tmp/x"]).finish().expect("it ends");
    assert_code(&outcome, exit::USAGE);
}

#[test]
fn wipe_leaves_nothing_behind() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let host = fleet.host(1);
    let files = || -> BTreeSet<String> {
        let listed = host.run("find / /tmp /run /dev/shm -xdev").expect("find");
        listed.lines().map(str::to_owned).collect()
    };
    let before = files();
    let outcome = fleet.run(&["h1", "cmd.run", "hostname", "--wipe"]);
    assert_code(&outcome, exit::FINE);
    assert_eq!(text(&outcome, "h1"), "h1");
    wait_until("the agent has ended", || host.processes("rocksalt").is_empty());
    let after = files();
    let left: Vec<&String> = after.difference(&before).collect();
    assert!(left.is_empty(), "left behind: {left:?}");
    // Without `--wipe` the agent stays; otherwise this test would prove nothing.
    fleet.ping_all();
    assert!(files().len() > before.len(), "the agent isn't on the target");
}

#[test]
fn a_timeout_of_one_call_does_not_end_the_link() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    fleet.ping_all();
    let outcome = fleet.run(&["h1", "cmd.run", "sleep 600", "--timeout", "1"]);
    assert_ne!(outcome.code(), Some(exit::FINE), "{}", outcome.all());
    assert_cause(&outcome, "h1", &["time", "1 s"]);
    fleet.ping_all();
    assert_eq!(fleet.bed.logins(), [1]);
}

#[test]
fn commands_and_new_files_have_the_umask_of_the_login() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    // The agent is uploaded the first time and already present the second time.
    for _ in 0..2 {
        assert_eq!(
            text(&fleet.run(&["h1", "cmd.run", "umask; rm -rf /srv/d; mkdir /srv/d; stat -c %a /srv/d"]), "h1"),
            "0022\n755"
        );
        fleet.run(&["h1", "file.write", "/srv/d/f", "text"]);
        assert_eq!(fleet.host(1).run("stat -c %a /srv/d/f").expect("stat"), "644\n");
        assert_eq!(
            fleet.host(1).run("find /root/.rocksalt ! -type l -perm /077").expect("find"),
            "",
            "only the user can access the files"
        );
        assert_code(&fleet.rocksalt(&["links", "close"]).finish().expect("it ends"), exit::FINE);
    }
}
