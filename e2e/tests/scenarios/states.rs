//! States on real hosts: applied, applied again, dry-run, refused.

use e2e::{Fleet, Spec, Value, assert_code, exit, results};

const CONFIG: &str = "\
file_roots: {base: [states]}
pillar_roots: {base: [pillar]}
roster_file: roster
";

const STATES: [(&str, &str); 5] = [
    ("states/top.sls", "base:\n  '*':\n    - site\n  h1:\n    - only\n"),
    (
        "states/site/init.sls",
        "{% from 'site/map.jinja' import site with context %}\n\
         {{ site.directory }}:\n  file.directory:\n    - mode: '0750'\n\n\
         {{ site.directory }}/greeting:\n  file.managed:\n    - source: salt://site/greeting.j2\n    - template: jinja\n    \
         - mode: '0640'\n    - require:\n      - file: {{ site.directory }}\n\n\
         count:\n  cmd.run:\n    - name: echo again >> {{ site.directory }}/count\n    - onchanges:\n      \
         - file: {{ site.directory }}/greeting\n",
    ),
    ("states/site/map.jinja", "{% set site = salt['grains.filter_by']({'default': {'directory': '/srv/site'}}) %}\n"),
    (
        "states/site/greeting.j2",
        "{{ pillar['greeting'] }} from {{ grains['id'] }} with {{ salt['pillar.get']('secret:word', 'no secret') }}\n",
    ),
    ("states/only.sls", "/srv/site/only:\n  file.managed:\n    - contents: here\n    - require:\n      - sls: site\n"),
];

const PILLAR: [(&str, &str); 3] = [
    ("pillar/top.sls", "base:\n  '*':\n    - common\n  h1:\n    - secret\n"),
    ("pillar/common.sls", "greeting: hello {{ grains['os'] }}\n"),
    ("pillar/secret.sls", "secret:\n  word: xyzzy\n"),
];

fn fleet(count: usize) -> Option<Fleet> {
    let fleet = Fleet::start(&vec![Spec::debian(); count])?;
    for (path, text) in STATES.iter().chain(&PILLAR).chain(&[("rocksalt.yml", CONFIG)]) {
        fleet.scratch.write(&format!("config/{path}"), text).expect("it's written");
    }
    Some(fleet)
}

/// The number of a target's states, of those with changes, and of those that failed.
#[track_caller]
fn tally(result: &Value) -> (usize, usize, usize) {
    let states = result.as_object().unwrap_or_else(|| panic!("{result}"));
    let changed = states.values().filter(|state| state["changes"].as_object().is_some_and(|map| !map.is_empty()));
    let failed = states.values().filter(|state| state["result"] == Value::Bool(false));
    (states.len(), changed.count(), failed.count())
}

#[test]
fn states_are_applied_once_and_then_find_nothing_to_do() {
    let Some(fleet) = fleet(2) else { return };
    let outcome = fleet.run(&["apply", "*"]);
    assert_code(&outcome, exit::FINE);
    let first = results(&outcome);
    assert_eq!(tally(&first["h1"]), (4, 4, 0), "{}", outcome.all());
    assert_eq!(tally(&first["h2"]), (3, 3, 0), "{}", outcome.all());
    let read = |number: usize, path: &str| fleet.host(number).run(&format!("cat {path}")).expect("it's there");
    assert_eq!(read(1, "/srv/site/greeting"), "hello Debian from h1 with xyzzy\n");
    assert_eq!(read(2, "/srv/site/greeting"), "hello Debian from h2 with no secret\n", "only h1 sees h1's pillar");
    assert_eq!(fleet.host(1).run("stat -c %a /srv/site /srv/site/greeting").expect("stat"), "750\n640\n");
    let outcome = fleet.run(&["apply", "*"]);
    assert_code(&outcome, exit::FINE);
    let second = results(&outcome);
    assert_eq!((tally(&second["h1"]), tally(&second["h2"])), ((4, 0, 0), (3, 0, 0)), "{}", outcome.all());
    assert_eq!(read(1, "/srv/site/count"), "again\n", "the step that depends on changes ran once");
    assert_eq!(fleet.bed.logins(), [1, 1], "all of it over one login");
}

/// Every file of the host with the metadata that a write changes.
fn snapshot(fleet: &Fleet) -> String {
    let command =
        "find / -xdev \\( -path /proc -o -path /sys \\) -prune -o -printf '%p %i %m %U:%G %s %T@ %C@\\n' | sort";
    fleet.host(1).run(command).expect("find")
}

#[test]
fn a_dry_run_changes_nothing_at_all() {
    let Some(fleet) = fleet(1) else { return };
    // Uploads the agent and fetches all files before the snapshot.
    fleet.ping_all();
    assert_code(&fleet.run(&["apply", "*", "--test"]), exit::FINE);
    let before = snapshot(&fleet);
    let outcome = fleet.run(&["apply", "*", "--test"]);
    assert_code(&outcome, exit::FINE);
    let states = results(&outcome);
    assert!(states["h1"].as_object().is_some_and(|states| states.values().any(|state| state["result"].is_null())));
    assert_eq!(snapshot(&fleet), before, "a dry run wrote something");
    assert_code(&fleet.run(&["apply", "*"]), exit::FINE);
    assert_ne!(snapshot(&fleet), before, "the snapshot shows writes");
}

#[test]
fn what_does_not_compile_is_refused_and_what_fails_is_said() {
    let Some(fleet) = fleet(1) else { return };
    fleet
        .scratch
        .write("config/states/broken.sls", "a:\n  test.nop:\n    - require:\n      - test: b\n")
        .expect("it's written");
    let outcome = fleet.run(&["apply", "*", "broken"]);
    assert_code(&outcome, exit::FAILED);
    assert!(outcome.stdout.contains("Referenced state does not exist"), "{}", outcome.all());
    fleet
        .scratch
        .write("config/states/fails.sls", "bad:\n  cmd.run:\n    - name: 'exit 3'\ngood:\n  test.nop: []\n")
        .expect("it's written");
    let outcome = fleet.run(&["apply", "*", "fails"]);
    assert_code(&outcome, exit::FAILED);
    assert_eq!(tally(&results(&outcome)["h1"]), (2, 1, 1), "{}", outcome.all());
}

#[test]
fn a_step_uses_what_a_step_of_another_host_gave() {
    let Some(fleet) = fleet(2) else { return };
    let token = "make token:\n  cmd.run:\n    - name: sleep 0.5; hostname | rev\n";
    let user = "/srv/token:\n  file.managed:\n    - contents: ${ outputs('h1')['make token'].stdout | trim }\n";
    fleet.scratch.write("config/states/token.sls", token).expect("it's written");
    fleet.scratch.write("config/states/user.sls", user).expect("it's written");
    let top = "base:\n  h1: [token]\n  h2: [user]\n";
    fleet.scratch.write("config/states/top.sls", top).expect("it's written");
    let outcome = fleet.run(&["apply", "*"]);
    assert_code(&outcome, exit::FAILED);
    assert!(outcome.stdout.contains("may not know what steps on h1 gave"), "nothing by default: {}", outcome.all());
    fleet
        .scratch
        .write("config/rocksalt.yml", &format!("{CONFIG}peer: {{h2: [state.outputs]}}\n"))
        .expect("it's written");
    let outcome = fleet.run(&["apply", "*"]);
    assert_code(&outcome, exit::FINE);
    assert_eq!(fleet.host(2).run("cat /srv/token").expect("it's there"), "1h\n");
    let outcome = fleet.run(&["apply", "h2"]);
    assert_code(&outcome, exit::FAILED);
    assert!(outcome.stdout.contains("h1 is not part of this run"), "{}", outcome.all());
}
