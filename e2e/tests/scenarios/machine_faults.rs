//! Faults on the machine itself while states are applied: nothing unfinished is reported as done, and the next run
//! completes it.

use std::process::Stdio;
use std::time::Duration;

use e2e::{Fleet, Host, Outcome, Spec, Value, assert_code, exit, results, wait_until};

const CONFIG: &str = "file_roots: {base: [states]}\nroster_file: roster\n";

/// Starts one host, with these states in the sls `it`.
fn fleet(spec: Spec, config: &str, states: &str) -> Option<Fleet> {
    let fleet = Fleet::start(&[spec])?;
    write(&fleet, "rocksalt.yml", &format!("{CONFIG}{config}"));
    write(&fleet, "states/it.sls", states);
    Some(fleet)
}

fn write(fleet: &Fleet, path: &str, text: &str) {
    fleet.scratch.write(&format!("config/{path}"), text).expect("it's written");
}

fn apply(fleet: &Fleet) -> Outcome {
    fleet.run_within(Duration::from_secs(240), &["apply", "h1", "it"])
}

/// The result of the step with this id.
#[track_caller]
fn step(outcome: &Outcome, id: &str) -> Value {
    let results = results(outcome);
    let steps = results["h1"].as_object().unwrap_or_else(|| panic!("{}", outcome.all()));
    let found = steps.iter().find(|(tag, _)| tag.split("_|-").nth(1) == Some(id));
    found.map(|(_, step)| step.clone()).unwrap_or_else(|| panic!("no step {id}: {}", outcome.all()))
}

/// Checks that the step failed and that its comment contains all these texts.
#[track_caller]
fn assert_failed(outcome: &Outcome, id: &str, texts: &[&str]) {
    assert_code(outcome, exit::FAILED);
    let step = step(outcome, id);
    assert_eq!(step["result"], Value::Bool(false), "{}", outcome.all());
    for text in texts {
        assert!(step["comment"].as_str().is_some_and(|comment| comment.contains(text)), "no {text:?} in {step}");
    }
}

#[track_caller]
fn assert_done(outcome: &Outcome, id: &str, changed: bool) {
    assert_code(outcome, exit::FINE);
    let step = step(outcome, id);
    assert_eq!(step["result"], Value::Bool(true), "{}", outcome.all());
    assert_eq!(step["changes"].as_object().is_some_and(|changes| !changes.is_empty()), changed, "{}", outcome.all());
}

/// Starts a run and returns once this process runs on the host.
fn begin(fleet: &Fleet, process: &str) -> e2e::Started {
    let arguments = ["apply", "h1", "it", "--out", "json", "--static"];
    let started = fleet.rocksalt(&arguments).limit(Duration::from_secs(120)).spawn().expect("it starts");
    wait_until("it runs on the host", || !fleet.host(1).processes(process).is_empty());
    started
}

/// Checks a run whose agent was killed: it reports the host, and none of these steps.
#[track_caller]
fn assert_lost(started: e2e::Started, steps: &[&str]) {
    let outcome = started.finish().expect("the run ends");
    assert_code(&outcome, exit::UNREACHED);
    e2e::assert_cause(&outcome, "h1", &["agent", "link"]);
    for step in steps {
        let said = results(&outcome).get("h1").map(Value::to_string).unwrap_or_default();
        assert!(!said.contains(step), "{step} is mentioned: {}", outcome.all());
    }
}

/// A package script that waits for `touch /run/let-go`, however long that takes.
const UNTIL_LET_GO: &str = "while test ! -e /run/let-go; do sleep 0.1; done";

/// Creates test packages in a `file:` repository on the host: each has a name and a postinst script.
fn repository(host: &Host, packages: &[(&str, &str)]) {
    let mut lines = String::from("set -e; mkdir -p /srv/repository; cd /srv/repository\n");
    for (name, after) in packages {
        lines += &format!(
            "mkdir -p /tmp/{name}/DEBIAN /tmp/{name}/opt\n\
             printf 'Package: {name}\\nVersion: 1.0\\nArchitecture: all\\nMaintainer: Nobody <nobody@localhost>\\n\
             Description: for a test\\n' >/tmp/{name}/DEBIAN/control\n\
             echo {name} >/tmp/{name}/opt/{name}\n\
             printf '#!/bin/sh\\n%s\\n' '{after}' >/tmp/{name}/DEBIAN/postinst\n\
             chmod 755 /tmp/{name}/DEBIAN/postinst\n\
             dpkg-deb --build /tmp/{name} {name}.deb >/dev/null\n"
        );
    }
    lines += "for deb in *.deb; do dpkg-deb --field $deb; echo Filename: ./$deb; echo Size: $(stat -c %s $deb); \
              echo SHA256: $(sha256sum $deb | cut -d' ' -f1); echo; done >Packages\n\
              echo 'deb [trusted=yes] file:/srv/repository ./' >/etc/apt/sources.list\n\
              apt-get -q update\n";
    host.run(&lines).expect("a repository");
}

fn installed(host: &Host, package: &str) -> String {
    let query = format!("dpkg-query --show --showformat '${{db:Status-Status}}' {package} 2>/dev/null || true");
    host.run(&query).expect("dpkg-query")
}

#[test]
fn a_disk_that_is_full_leaves_the_old_file_whole() {
    let states = "/srv/small/file:\n  file.managed:\n    - source: salt://large\n";
    let Some(fleet) = fleet(Spec::debian(), "", states) else { return };
    write(&fleet, "states/large", &"a line of a large file\n".repeat(20_000));
    let host = fleet.host(1);
    host.run("mkdir /srv/small; mount -t tmpfs -o size=128k tmpfs /srv/small; echo old >/srv/small/file")
        .expect("a disk");
    let outcome = apply(&fleet);
    assert_failed(&outcome, "/srv/small/file", &["No space left on device", "/srv/small"]);
    assert_eq!(step(&outcome, "/srv/small/file")["changes"], serde_json::json!({}), "nothing has changed");
    assert_eq!(host.run("cat /srv/small/file; ls -A /srv/small").expect("cat"), "old\nfile\n", "nothing else is left");
    host.run("mount -o remount,size=4m /srv/small").expect("a larger disk");
    assert_done(&apply(&fleet), "/srv/small/file", true);
    assert_eq!(host.run("wc -l </srv/small/file; ls -A /srv/small").expect("wc"), "20000\nfile\n");
    assert_done(&apply(&fleet), "/srv/small/file", false);
}

fn patience(seconds: u32) -> String {
    format!("roster_defaults: {{minion_opts: {{pkg.lock_timeout: {seconds}}}}}\n")
}

#[test]
fn a_lock_of_apt_is_waited_for_and_said() {
    let Some(fleet) = fleet(Spec::debian(), &patience(300), "quick: pkg.installed\n") else { return };
    let host = fleet.host(1);
    repository(host, &[("quick", ":"), ("slow", UNTIL_LET_GO), ("endless", "exec sleep 600")]);
    // Records the exit code of each apt-get that the agent starts.
    host.run(
        "printf '#!/bin/sh\n/usr/bin/apt-get \"$@\"; code=$?; echo $code >>/run/codes; exit $code\n' \
         >/usr/local/bin/apt-get; chmod 755 /usr/local/bin/apt-get",
    )
    .expect("a program around apt-get");
    let hold = |package: &str, process: &str| {
        let command = format!("setsid /usr/bin/apt-get -qq --yes install {package} >/dev/null 2>&1 </dev/null &");
        host.run(&command).expect("the other installation starts");
        wait_until("the other installation has the lock", || !host.processes(process).is_empty());
    };
    fleet.ping_all();
    hold("slow", "slow.postinst");
    let outcome = std::thread::scope(|scope| {
        let applied = scope.spawn(|| apply(&fleet));
        wait_until("the agent has found the lock", || host.run("grep -qvx 0 /run/codes").is_ok());
        host.run("touch /run/let-go").expect("touch");
        applied.join().expect("it ends")
    });
    assert_done(&outcome, "quick", true);
    let said = step(&outcome, "quick").to_string();
    assert!(said.contains("waited") && said.contains("lock"), "the wait isn't reported: {}", outcome.all());
    assert_eq!((installed(host, "slow"), installed(host, "quick")), ("installed".into(), "installed".into()));

    host.run("dpkg --purge quick").expect("it's removed");
    write(&fleet, "rocksalt.yml", &format!("{CONFIG}{}", patience(2)));
    assert_code(&fleet.rocksalt(&["links", "close"]).finish().expect("it ends"), exit::FINE);
    hold("endless", "sleep 600");
    let outcome = apply(&fleet);
    assert_failed(&outcome, "quick", &["lock", "apt-get"]);
    assert!(outcome.took > Duration::from_secs(2) && outcome.took < Duration::from_secs(120), "{}", outcome.all());
    assert_ne!(installed(host, "quick"), "installed");
    // The other apt-get is killed too, so the next run finds the lock free and a half-installed package.
    assert!(host.kill("apt-get") + host.kill("dpkg") > 0);
    host.kill("sleep 600");
    wait_until("the other apt has ended", || host.processes("apt-get").is_empty() && host.processes("dpkg").is_empty());
    host.run("rm -f /var/lib/dpkg/info/endless.postinst").expect("the script is removed");
    assert_done(&apply(&fleet), "quick", true);
    assert_eq!(installed(host, "quick"), "installed");
}

#[test]
fn a_package_whose_script_fails_is_not_installed_until_it_succeeds() {
    let Some(fleet) = fleet(Spec::debian(), "", "broken: pkg.installed\n") else { return };
    let host = fleet.host(1);
    repository(host, &[("broken", "test ! -e /etc/trouble || { echo there is trouble >&2; exit 9; }")]);
    host.run("touch /etc/trouble").expect("trouble");
    for _ in 0..2 {
        assert_failed(&apply(&fleet), "broken", &["there is trouble", "apt-get"]);
        assert_ne!(installed(host, "broken"), "installed");
    }
    host.run("rm /etc/trouble").expect("no trouble");
    assert_done(&apply(&fleet), "broken", true);
    assert_eq!(installed(host, "broken"), "installed");
    assert_done(&apply(&fleet), "broken", false);
}

#[test]
fn a_service_that_does_not_start_says_why() {
    let states = "
/etc/systemd/system/door.service:
  file.managed:
    - contents: |
        [Service]
        ExecStart=/bin/sh -c 'cat /etc/door || { echo cannot open the door; exit 4; }; exec sleep infinity'
        [Install]
        WantedBy=multi-user.target

door:
  service.running:
    - enable: True
    - watch:
      - file: /etc/systemd/system/door.service
";
    let Some(fleet) = fleet(Spec::systemd(), "", states) else { return };
    let host = fleet.host(1);
    assert_failed(&apply(&fleet), "door", &["cannot open the door"]);
    assert_failed(&apply(&fleet), "door", &["cannot open the door"]);
    assert!(host.run("systemctl is-active door").is_err());
    host.run("echo open >/etc/door").expect("a door");
    assert_done(&apply(&fleet), "door", true);
    assert_eq!(
        host.run("systemctl is-active door; systemctl is-enabled door").expect("systemctl"),
        "active\nenabled\n"
    );
    assert_done(&apply(&fleet), "door", false);
}

/// A real login that stays until `leave` ends it.
struct Login<'a>(std::process::Child, &'a Host);

impl Login<'_> {
    fn of<'a>(fleet: &'a Fleet, user: &str) -> Login<'a> {
        let host = fleet.host(1);
        let mut ssh = fleet.bed.command("ssh");
        ssh.args(["-F", "none", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o"]);
        ssh.arg(format!("UserKnownHostsFile={}", fleet.bed.known_hosts().display()))
            .arg("-i")
            .arg(fleet.bed.user_key());
        ssh.arg(format!("{user}@{}", host.address)).arg("exec sleep 600");
        let child = ssh.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("ssh starts");
        wait_until("the user is logged in", || !host.processes("sleep 600").is_empty());
        Login(child, host)
    }

    fn leave(mut self) {
        let Login(child, host) = &mut self;
        assert!(!host.processes("sleep 600").is_empty(), "the login was ended");
        child.kill().and_then(|()| child.wait()).expect("the login ends");
        host.kill("sleep 600");
        wait_until("the user is logged out", || host.run("pgrep -u nosudo").is_err());
    }
}

#[test]
fn a_user_who_is_logged_in_stays_until_he_has_left() {
    let Some(fleet) = fleet(Spec::debian(), "", "nosudo: user.absent\n") else { return };
    let host = fleet.host(1);
    let login = Login::of(&fleet, "nosudo");
    let outcome = apply(&fleet);
    // This is userdel's message.
    assert_failed(&outcome, "nosudo", &["currently used by process"]);
    assert_eq!(step(&outcome, "nosudo")["changes"], serde_json::json!({}), "nothing has changed");
    host.run("getent passwd nosudo && getent shadow nosudo && getent group nosudo").expect("the user still exists");
    login.leave();
    assert_done(&apply(&fleet), "nosudo", true);
    assert!(host.run("getent passwd nosudo").is_err());
    assert_done(&apply(&fleet), "nosudo", false);
}

#[test]
fn what_cannot_change_of_a_user_who_is_logged_in_is_said_and_changed_later() {
    let states = "nosudo:\n  user.present:\n    - uid: 3000\n    - allow_uid_change: True\n    - shell: /bin/sh\n";
    let Some(fleet) = fleet(Spec::debian(), "", states) else { return };
    let host = fleet.host(1);
    let shown = || host.run("getent passwd nosudo | cut -d: -f3,7").expect("getent");
    let before = shown();
    let login = Login::of(&fleet, "nosudo");
    let outcome = apply(&fleet);
    // This is usermod's message.
    assert_failed(&outcome, "nosudo", &["currently used by process"]);
    let changes = &step(&outcome, "nosudo")["changes"];
    assert!(changes.get("uid").is_none(), "{}", outcome.all());
    let (uid, shell) = (before.trim().split(':').next().unwrap_or_default(), changes.get("shell"));
    let now = if shell.is_some() { "/bin/sh" } else { "/bin/bash" };
    assert_eq!(shown(), format!("{uid}:{now}\n"), "the reported changes were made: {}", outcome.all());
    login.leave();
    assert_done(&apply(&fleet), "nosudo", true);
    assert_eq!(shown(), "3000:/bin/sh\n");
    assert_done(&apply(&fleet), "nosudo", false);
}

#[test]
fn an_agent_killed_between_steps_is_not_done_and_the_next_run_goes_on() {
    let states = "
/srv/first:
  file.managed:
    - contents: first
sleep 600.5:
  cmd.run:
    - unless: test -e /srv/hurry
    - require: [{file: /srv/first}]
/srv/last:
  file.managed:
    - contents: last
    - require: [{cmd: sleep 600.5}]
";
    let Some(fleet) = fleet(Spec::debian(), "", states) else { return };
    let host = fleet.host(1);
    let started = begin(&fleet, "sleep 600.5");
    assert!(host.kill_agents() > 0, "there is no agent");
    assert_lost(started, &["/srv/last"]);
    assert!(host.run("test -e /srv/last").is_err());
    host.run("touch /srv/hurry").expect("touch");
    let outcome = apply(&fleet);
    assert_done(&outcome, "/srv/last", true);
    assert_done(&outcome, "/srv/first", false);
    assert_eq!(host.run("cat /srv/first /srv/last").expect("cat"), "first\nlast\n");
}

/// Commands that start others, in a group and apart, and one that ignores SIGTERM.
const DEEP: &str = "trap '' TERM; sleep 600.71 & (sleep 600.72; true) & while :; do sleep 600.73; done";

#[test]
fn what_an_agent_started_ends_with_it() {
    let states = "
deep:
  cmd.run:
    - name: test -e /srv/hurry || sh /srv/deep
";
    let Some(fleet) = fleet(Spec::debian(), "", states) else { return };
    let host = fleet.host(1);
    host.run(&format!("cat >/srv/deep <<'END'\n{DEEP}\nEND")).expect("it is written");
    let left = || host.processes("sleep 600.7").len() + host.processes("/srv/deep").len();

    // A command of a call, and one of a run of states. Neither is told by anybody but the guard.
    for state in [false, true] {
        let started = match state {
            true => begin(&fleet, "sleep 600.73"),
            false => {
                let call = ["h1", "cmd.run", "sh /srv/deep", "--out", "json", "--static"];
                let started = fleet.rocksalt(&call).limit(Duration::from_secs(120)).spawn().expect("it starts");
                wait_until("it runs on the host", || !host.processes("sleep 600.73").is_empty());
                started
            }
        };
        assert!(host.kill_agents() > 0, "there is no agent");
        // Until the last of it is gone, no other run begins.
        if state && left() > 0 {
            let refused = fleet.run(&["h1", "state.apply", "it"]);
            let text = results(&refused)["h1"].to_string();
            let over = left() == 0;
            assert!(over || text.contains("was killed, and what it had started is being ended"), "{}", refused.all());
        }
        wait_until("what it started has ended", || left() == 0);
        assert_lost(started, &[]);
    }
    host.run("touch /srv/hurry").expect("touch");
    let next = fleet.run(&["h1", "state.apply", "it", "queue=True"]);
    assert_done(&next, "deep", true);
    assert!(next.stderr.contains("was interrupted here"), "the next run says what it found: {}", next.all());
    assert!(!apply(&fleet).stderr.contains("was interrupted here"), "only once");
}

#[test]
fn a_guard_that_is_killed_is_replaced() {
    let Some(fleet) = fleet(Spec::debian(), "", "nothing: test.nop\n") else { return };
    let host = fleet.host(1);
    let call = |seconds: &str| {
        let call = ["h1", "cmd.run", seconds, "--out", "json", "--static"];
        fleet.rocksalt(&call).limit(Duration::from_secs(120)).spawn().expect("it starts")
    };
    let first = call("sleep 600.74");
    wait_until("it runs", || !host.processes("sleep 600.74").is_empty());
    assert_eq!(host.kill("guard-children"), 1, "one guard for all calls of an agent");
    wait_until("it is gone", || host.processes("guard-children").is_empty());
    let second = call("sleep 600.75");
    wait_until("it runs", || !host.processes("sleep 600.75").is_empty());
    assert!(host.kill_agents() > 0, "there is no agent");
    wait_until("both have ended", || host.processes("sleep 600.7").is_empty());
    assert_lost(first, &[]);
    assert_lost(second, &[]);
}

#[test]
fn an_agent_killed_while_it_installs_leaves_what_the_next_run_repairs() {
    let Some(fleet) = fleet(Spec::debian(), "", "slow: pkg.installed\n") else { return };
    let host = fleet.host(1);
    repository(host, &[("slow", UNTIL_LET_GO)]);
    for kill_apt in [false, true] {
        host.run("rm -f /run/let-go").expect("rm");
        let started = begin(&fleet, "slow.postinst");
        assert!(host.kill_agents() > 0, "there is no agent");
        if kill_apt {
            // This is like a crash of the machine: dpkg was interrupted, and nothing continues it.
            assert!(host.kill("apt-get") + host.kill("dpkg") > 0);
            host.kill("slow.postinst");
        }
        assert_lost(started, &[]);
        if !kill_apt {
            // Half an installation is worse than a whole one: apt may finish, and until then nobody else changes states.
            let refused = fleet.run(&["h1", "state.apply", "it"]);
            assert!(refused.all().contains("was killed, and what it had started is being ended"), "{}", refused.all());
            assert!(!host.processes("slow.postinst").is_empty(), "apt goes on");
        }
        host.run("touch /run/let-go").expect("it is released");
        let outcome = fleet.run(&["h1", "state.apply", "it", "queue=True"]);
        assert_code(&outcome, exit::FINE);
        assert_eq!(step(&outcome, "slow")["result"], Value::Bool(true), "{}", outcome.all());
        assert_eq!(installed(host, "slow"), "installed");
        assert_eq!(host.run("dpkg --audit").expect("dpkg"), "");
        assert_done(&apply(&fleet), "slow", false);
        host.run("dpkg --purge slow").expect("it's removed");
    }
}

/// The number of files and of lines in each: 200 MB, too much to write between the first file and a kill.
const FILES: usize = 100;
const LINES: usize = 90_000;

/// Runs on the host: waits until there are more than `MORE_THAN` files, and kills the agents that ran before.
const KILLER: &str = "\
agents=$(for pid in $(pgrep -f '[r]ocksalt'); do grep -q guard-children /proc/$pid/cmdline || echo $pid; done)
[ -n \"$agents\" ] || exit 9
touch /run/ready
while set -- /srv/many/*; [ ! -e \"$1\" ] || [ $# -le $MORE_THAN ]; do :; done
kill -9 $agents
";

#[test]
fn an_agent_killed_while_it_writes_leaves_only_whole_files() {
    let states = format!(
        "{{% for number in range({FILES}) %}}\n/srv/many/{{{{ number }}}}:\n  file.managed:\n    \
         - source: salt://large\n{{% endfor %}}\n"
    );
    let Some(fleet) = fleet(Spec::debian(), "", &states) else { return };
    let large = "a line of a large file\n".repeat(LINES);
    write(&fleet, "states/large", &large);
    let host = fleet.host(1);
    host.run(&format!("cat >/run/killer <<'END'\n{KILLER}END\n")).expect("a killer");
    let mut interrupted = 0;
    for more_than in [0, 0, 1, 2, 3, 5, 8, 13] {
        // If the agent finishes before the kill, the try proves nothing. Each try starts with an empty directory.
        host.run("rm -rf /srv/many /run/ready; mkdir /srv/many").expect("an empty directory");
        assert_code(&fleet.run(&["h1", "state.single", "test.nop", "name=x"]), exit::FINE);
        let outcome = std::thread::scope(|scope| {
            let killer = scope.spawn(|| host.run(&format!("MORE_THAN={more_than} timeout 100 sh /run/killer")));
            wait_until("the killer waits", || host.run("test -e /run/ready").is_ok());
            let outcome = apply(&fleet);
            killer.join().expect("it doesn't panic").expect("files were written, and the agent was killed");
            outcome
        });
        let sizes = host.run("stat -c '%n %s' /srv/many/*").expect("stat");
        let wrong: Vec<&str> = sizes.lines().filter(|line| !line.ends_with(&format!(" {}", large.len()))).collect();
        assert!(wrong.is_empty(), "half-written: {wrong:?}");
        match outcome.code() {
            Some(exit::FINE) => assert_eq!(sizes.lines().count(), FILES, "{}", outcome.all()),
            _ => {
                assert_code(&outcome, exit::UNREACHED);
                interrupted += 1;
            }
        }
    }
    assert!(interrupted > 0, "the agent was never killed while it wrote");
    assert_code(&apply(&fleet), exit::FINE);
    let sum = "ls /srv/many | wc -l; sha256sum /srv/many/* | cut -c1-64 | sort -u | wc -l; head -n1 /srv/many/0";
    assert_eq!(host.run(sum).expect("sha256sum"), format!("{FILES}\n1\na line of a large file\n"));
}
