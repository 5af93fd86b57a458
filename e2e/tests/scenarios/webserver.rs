//! `examples/webserver` on five empty machines: done in one run, no changes in a second one, the same in every mode.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use e2e::{Fleet, Outcome, Repository, RepositoryServer, Spec, Value, assert_code, exit, results};

const HOSTS: usize = 5;
const LIMIT: Duration = Duration::from_secs(480);
/// The packages that the example installs.
const PACKAGES: [&str; 5] = ["cron", "logrotate", "nftables", "nginx", "procps"];

/// For each host, the steps that changed something.
type Changed = BTreeMap<String, Vec<String>>;

/// The parts of a machine, each as lines of text.
type Picture = BTreeMap<String, String>;

/// Five empty machines, the example as their project, and a repository in their network.
struct Example {
    fleet: Fleet,
    pillar: Value,
    _server: RepositoryServer,
}

impl Example {
    fn start() -> Option<Example> {
        let fleet = Fleet::start(&vec![Spec::systemd(); HOSTS])?;
        let repository = Repository::of(&PACKAGES).expect("there is a repository");
        let server = repository.serve(&fleet.bed).expect("it's served");
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/webserver");
        for part in ["states", "pillar", "rocksalt.yml"] {
            copy(&fleet, &example, &example.join(part));
        }
        let pillar = serde_json::json!({"repository": {
            "url": server.url(),
            "keyring": "/usr/share/keyrings/testbed.asc",
            "key": repository.key().expect("it has a key"),
        }});
        Some(Example { fleet, pillar, _server: server })
    }

    fn apply(&self, mode: &str) -> Outcome {
        let pillar = self.pillar.to_string();
        let outcome = self.fleet.run_within(LIMIT, &["apply", "*", "--mode", mode, "--pillar", &pillar]);
        assert_code(&outcome, exit::FINE);
        outcome
    }

    /// The page that a host serves to any client; `None` if it doesn't answer.
    fn get(&self, number: usize, path: &str) -> Option<String> {
        let url = format!("http://{}{path}", self.fleet.host(number).address);
        let output = self.fleet.bed.command("curl").args(["--silent", "--fail", "--max-time", "5", &url]).output();
        let output = output.expect("curl starts");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Copies the files of the example, except for its roster, into the project.
fn copy(fleet: &Fleet, example: &Path, from: &Path) {
    if from.is_dir() {
        for entry in fs::read_dir(from).expect("a folder of the example").flatten() {
            copy(fleet, example, &entry.path());
        }
    } else {
        let text = fs::read_to_string(from).expect("a text of the example");
        let name = from.strip_prefix(example).expect("it's in the example").display().to_string();
        fleet.scratch.write(&format!("config/{name}"), &text).expect("it's written");
    }
}

/// The names of the steps that changed something, for each host; no step may have failed.
#[track_caller]
fn changed(outcome: &Outcome) -> Changed {
    let hosts = results(outcome);
    assert_eq!(hosts.len(), HOSTS, "{}", outcome.all());
    let changed = hosts.into_iter().map(|(host, states)| {
        let states = states.as_object().unwrap_or_else(|| panic!("{host}: {states}")).clone();
        assert!(states.len() > 38, "{host} has only {} steps", states.len());
        for (name, state) in &states {
            assert_ne!(state["result"], Value::Bool(false), "{host}: {name}: {state}");
        }
        let changes = |state: &Value| state["changes"].as_object().is_some_and(|changes| !changes.is_empty());
        (host, states.into_iter().filter(|(_, state)| changes(state)).map(|(name, _)| name).collect())
    });
    changed.collect()
}

/// Everything that the example affects on a machine, except for times and random data.
fn picture(fleet: &Fleet, number: usize) -> Picture {
    // Left out are backup copies of tools, of which each step adds one, random data, caches, and files that contain the
    // time (crontabs). Accounts are compared separately.
    let apart = "\\( -path etc/machine-id -o -path etc/.pwd.lock -o -path etc/ld.so.cache -o -name '*-' -o -path root/.cache \
        -o -path etc/resolv.conf -o -path 'etc/*shadow' -o -path etc/passwd -o -path etc/group -o -path 'etc/sub?id' \
        -o -path '*rocksalt*' \\) -prune -o";
    let places = "cd /; find etc home root usr/local usr/share/keyrings var/www var/backups/site -xdev";
    let files = format!("{places} {apart} -printf '%p %y %m %u:%g %l\\n'");
    let contents = format!("{places} {apart} -type f -exec sha256sum {{}} +");
    let looks = [
        ("files", &*files),
        ("contents", &*contents),
        ("packages", "dpkg-query --show --showformat '${Package} ${Version} ${db:Status-Status}\\n'"),
        ("accounts", "cd /etc; grep -n '' passwd group subuid subgid; cut -d: -f1,2 shadow gshadow"),
        (
            "people",
            "cut -d: -f1,5- /etc/passwd; \
             while IFS=: read -r group _ _ members; do echo group $group $(echo $members | tr , '\\n' | sort); done </etc/group",
        ),
        (
            "services",
            "for unit in cron nginx nftables status; do echo $unit $(systemctl is-enabled $unit) \
             $(systemctl is-active $unit); done",
        ),
        ("crontabs", "crontab -l"),
        ("rules", "nft --stateless list ruleset"),
        ("settings", "cat /proc/sys/net/core/somaxconn /proc/sys/net/ipv4/conf/all/accept_redirects"),
        ("zone", "readlink /etc/localtime; date +%Z"),
    ];
    let lines = |text: String| {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.join("\n")
    };
    looks.iter().map(|(name, look)| ((*name).to_owned(), lines(fleet.host(number).run(look).expect(name)))).collect()
}

#[track_caller]
fn assert_is_a_web_server(example: &Example, number: usize, picture: &Picture) {
    let has = |part: &str, text: &str| {
        assert!(picture[part].contains(text), "h{number}: no {text:?} in its {part}:\n{}", picture[part]);
    };
    let host = format!("h{number}");
    // A web server that was told to reload its configuration does so a moment later.
    let mut page = String::new();
    e2e::wait_until("the page is served", || {
        page = example.get(number, "/").unwrap_or_default();
        page.contains("From ")
    });
    assert!(page.contains(&format!("From {host}, for example.test.")) && page.contains("It works"), "{page}");
    assert!(example.get(number, "/about.html").is_some_and(|page| page.contains("Who we are")));
    e2e::wait_until("our own service reports", || {
        example.get(number, "/status.json").is_some_and(|text| text.contains(&format!("\"name\": \"{host}\"")))
    });
    for package in PACKAGES {
        has("packages", &format!("{package} "));
    }
    for (part, text) in [
        ("accounts", "alice:x:2100:"),
        ("accounts", "publishers:x:2001:"),
        ("people", "group publishers alice bob"),
        ("people", "status::/nonexistent:/usr/sbin/nologin"),
        ("services", "nginx enabled active"),
        ("services", "nftables enabled active"),
        ("services", "status enabled active"),
        ("services", "cron enabled active"),
        ("crontabs", "17 3 * * * /usr/local/sbin/backup-site"),
        ("crontabs", "MAILTO=root@example.test"),
        ("rules", "tcp dport { 22, 80 } accept"),
        ("rules", "policy drop"),
        ("settings", "1024\n"),
        ("zone", "Europe/Berlin"),
        ("files", "home/alice/.ssh/authorized_keys f 600 alice:alice"),
        ("files", "etc/logrotate.d/example.test"),
    ] {
        // The lines are sorted, so the number may come before or after the other setting.
        has(part, text.trim_end());
    }
}

#[test]
fn an_empty_machine_becomes_a_web_server_in_one_run_and_the_same_one_in_every_mode() {
    let mut first: Option<(Vec<Picture>, Changed)> = None;
    for mode in ["ansible", "justdoit", "genius"] {
        let Some(mut example) = Example::start() else { return };
        assert!(example.get(1, "/").is_none(), "the machine is empty");
        let changes = changed(&example.apply(mode));
        assert!(changes.values().all(|changes| changes.len() > 35), "{mode}: {changes:?}");
        let pictures: Vec<_> = (1..=HOSTS).map(|number| picture(&example.fleet, number)).collect();
        for (number, picture) in (1..).zip(&pictures) {
            assert_is_a_web_server(&example, number, picture);
        }
        let again = example.apply(mode);
        assert!(changed(&again).values().all(Vec::is_empty), "{mode}: the second run has changes: {}", again.all());
        for (number, before) in (1..).zip(&pictures) {
            assert_same(&format!("{mode}, second run: h{number}"), before, &picture(&example.fleet, number), &[]);
        }
        assert_only_the_service_starts_again(&mut example, mode);
        match &first {
            None => first = Some((pictures, changes)),
            Some((ones, steps)) => {
                for (number, (one, other)) in (1..).zip(ones.iter().zip(&pictures)) {
                    // In this mode accounts are created in any order, so their ids and lines differ.
                    let apart: &[&str] = if mode == "justdoit" { &["accounts"] } else { &[] };
                    assert_same(&format!("{mode}: h{number}"), one, other, apart);
                }
                assert_eq!(steps, &changes, "{mode}: other steps changed something");
            }
        }
    }
}

/// Changes a setting of our own service: its file changes, it restarts, and nothing else happens.
#[track_caller]
fn assert_only_the_service_starts_again(example: &mut Example, mode: &str) {
    let processes = |example: &Example| -> Vec<String> {
        let look = "systemctl show --property=MainPID --value status nginx cron";
        (1..=HOSTS).map(|number| example.fleet.host(number).run(look).expect("systemctl")).collect()
    };
    let before = processes(example);
    example.pillar["status"] = serde_json::json!({"every": 1});
    let expected = [
        "file_|-/etc/status.conf_|-/etc/status.conf_|-managed".to_owned(),
        "service_|-status_|-status_|-running".to_owned(),
    ];
    let changes = changed(&example.apply(mode));
    assert!(changes.values().all(|steps| *steps == expected), "{mode}: {changes:?}");
    for (old, new) in before.iter().zip(&processes(example)) {
        let (old, new): (Vec<&str>, Vec<&str>) = (old.split_whitespace().collect(), new.split_whitespace().collect());
        assert_ne!(old[0], new[0], "{mode}: the service was not restarted");
        assert_eq!(old[1..], new[1..], "{mode}: other services were restarted");
    }
}

/// Checks that two pictures are equal, and reports the lines that differ.
#[track_caller]
fn assert_same(what: &str, one: &Picture, other: &Picture, apart: &[&str]) {
    for (part, text) in one.iter().filter(|(part, _)| !apart.contains(&part.as_str())) {
        let gone = text.lines().filter(|line| !other[part].lines().any(|known| known == *line));
        let new = other[part].lines().filter(|line| !text.lines().any(|known| known == *line));
        let lines: Vec<String> =
            gone.map(|line| format!("- {line}")).chain(new.map(|line| format!("+ {line}"))).collect();
        assert!(lines.is_empty(), "{what}: its {part} differ:\n{}", lines.join("\n"));
    }
}
