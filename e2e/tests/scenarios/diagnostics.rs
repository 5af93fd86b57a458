//! Diagnostics: they show how a login and a run went, and never a secret.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use e2e::{Fleet, Spec, assert_code, exit, password_of, results};

const PILLAR: &str = "canary-of-the-pillar-2f60";
const GIVEN: &str = "canary-in-given-pillar-b7c4";
const ARGUMENT: &str = "canary-in-an-argument-e55d";
const STDIN: &str = "canary-on-stdin-90a1";
const ENVIRONMENT: &str = "canary-in-env-6d3e";
const WORD: &str = "canary-in-a-command-line-44f8";
const CONTENT: &str = "canary-in-a-file-c0b9";
const TEMPLATE: &str = "canary-in-a-template-18ea";
const OUTPUT: &str = "canary-in-an-output-73aa";

const CONFIG: &str = "file_roots: {base: [states]}\npillar_roots: {base: [pillar]}\n";

const STATES: &str = "\
cecilia:
  user.present:
    - password: {{ pillar['db']['password'] }}
    - hash_password: True

/etc/secret:
  file.managed:
    - source: salt://secret.conf
    - template: jinja
    - context: {key: {{ pillar['db']['password'] }}}

in-env:
  cmd.run:
    - name: test -n \"$DB_PASSWORD\"
    - env:
      - DB_PASSWORD: {{ pillar['db']['password'] }}

'echo {{ pillar['db']['password'] }} >/dev/null':
  cmd.run: []
";

fn write_project(fleet: &Fleet) {
    let write = |name: &str, text: &str| drop(fleet.scratch.write(name, text).expect("it's written"));
    write("config/rocksalt.yml", CONFIG);
    write("config/states/it.sls", STATES);
    write("config/states/secret.conf", &format!("{CONTENT} {{{{ key }}}} {{{{ '{TEMPLATE}' }}}}\n"));
    write("config/pillar/top.sls", "base: {'*': [db]}\n");
    write("config/pillar/db.sls", &format!("db: {{password: {PILLAR}}}\n"));
}

#[test]
fn a_login_can_be_read_off() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let outcome = fleet.run(&["-vv", "h1", "test.ping"]);
    assert_code(&outcome, exit::FINE);
    assert_eq!(results(&outcome).len(), 1, "stdout has only the results: {}", outcome.all());
    for text in [
        "target{id=\"h1\" job=",
        "the TCP connection is open address=",
        "accepted the host key key=",
        "known_hosts:",
        "SHA256:",
        "offers a key file key=",
        "the server accepted it",
        "logged in user=",
        "uploads the agent",
        "the agent greeted",
        "opened a link",
        "test.ping ended with code 0",
    ] {
        assert!(outcome.stderr.contains(text), "{text}: {}", outcome.all());
    }
    // Now the link is open.
    let outcome = fleet.run(&["-l", "debug", "h1", "test.ping"]);
    assert!(outcome.stderr.contains("uses the open link"), "{}", outcome.all());
    assert!(!outcome.stderr.contains("logged in"), "{}", outcome.all());
    let outcome = fleet.run(&["h1", "test.ping"]);
    assert_eq!(outcome.stderr, "", "nothing is printed without -v");
}

#[test]
fn a_file_gets_what_its_level_says() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let file = fleet.scratch.path("run.log");
    let path = file.to_string_lossy().into_owned();
    let outcome = fleet.run(&["--log-file", &path, "--log-file-level", "debug", "h1", "test.ping"]);
    assert_code(&outcome, exit::FINE);
    assert_eq!(outcome.stderr, "", "the file's level must not affect the terminal");
    let lines = fs::read_to_string(&file).expect("the log file");
    assert!(lines.contains("rocksalt_agent: calls: test.ping ended"), "{lines}");
    assert_eq!(fs::metadata(&file).expect("the log file").permissions().mode() & 0o777, 0o600);
}

/// Runs with and without the keeper, and checks stderr and the log file at the highest level.
#[test]
fn no_secret_is_in_any_line() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    write_project(&fleet);
    let password = password_of("deploy");
    fleet.set_roster(|_, entry| {
        let entry = entry.without("priv").set("user", "deploy").set("passwd", password_of("deploy"));
        entry.set("sudo", "True").set("sudo_passwd", password_of("deploy"))
    });
    let file = fleet.scratch.path("run.log");
    let path = file.to_string_lossy().into_owned();
    let mut lines = String::new();
    let mut run = |words: &[&str]| {
        for persist in [&[][..], &["--persist", "0"][..]] {
            let words: Vec<&str> = ["-vvv", "--log-file", &path].iter().chain(words).chain(persist).copied().collect();
            let command = fleet.rocksalt(&words).limit(Duration::from_secs(120)).env("ROCKSALT_LOG", "trace");
            let outcome = command.finish().expect("it ends");
            assert!(outcome.stderr.contains("rocksalt_agent"), "{}", outcome.all());
            lines.push_str(&outcome.stderr);
        }
    };
    run(&["h1", "state.apply", "it", &format!("pillar={{x: {GIVEN}}}")]);
    run(&["h1", "state.single", "user.present", "name=dora", &format!("password={ARGUMENT}"), "hash_password=True"]);
    run(&["h1", "cmd.run", "cat >/dev/null", &format!("stdin={STDIN}"), &format!("env={{API_TOKEN: {ENVIRONMENT}}}")]);
    run(&["h1", "cmd.run_all", &format!("printf '%s' canary-in-an-'{}'", &OUTPUT[13..])]);
    let mut file_lines = fs::read_to_string(&file).expect("the log file");
    assert!(lines.contains("states: file.managed '/etc/secret'"), "{lines}");
    assert!(lines.contains("offers a password") && lines.contains("asks for a password"), "{lines}");
    assert!(lines.contains("secret.conf") && file_lines.contains("secret.conf"), "{lines}");

    // A word of the command line may only be in the job's first line, which repeats the command.
    let outcome = fleet.rocksalt(&["-vvv", "--log-file", &path, "h1", "cmd.run", &format!("true {WORD}")]).finish();
    let outcome = outcome.expect("it ends");
    let rest: String = outcome.stderr.lines().filter(|line| !line.starts_with("job ")).collect();
    file_lines.push_str(&fs::read_to_string(&file).expect("the log file"));
    for canary in [PILLAR, GIVEN, ARGUMENT, STDIN, ENVIRONMENT, WORD, CONTENT, TEMPLATE, OUTPUT, password.as_str()] {
        for text in [&lines, &file_lines, &rest] {
            let near = text.lines().find(|line| line.contains(canary));
            assert!(near.is_none(), "{canary}: {near:?}");
        }
    }
}
