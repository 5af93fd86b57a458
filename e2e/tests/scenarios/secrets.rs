//! Plants canaries wherever secrets are entered; they must not be found anywhere (`docs/security-rules.md#r13`).

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use e2e::{Fleet, Spec, Value, wait_until};

const PILLAR: &str = "canary-of-the-pillar-7c1f";
const GIVEN: &str = "canary-in-given-pillar-88d0";
const ARGUMENT: &str = "canary-in-an-argument-51ab";
const STDIN: &str = "canary-on-stdin-0e3d";
const ENVIRONMENT: &str = "canary-in-env-93aa";
const PASSWORD: &str = "canary-of-a-password-a4f2";
const WRONG: &str = "canary-of-a-wrong-password-17bc";

const CONFIG: &str = "\
file_roots: {base: [states]}
pillar_roots: {base: [pillar]}
log_level: trace
log_file: daemon.log
log_level_logfile: trace
external_auth: {file: {ann: ['.*', '@runner', '@wheel']}}
";

const STATES: &str = "\
cecilia:
  user.present:
    - password: {{ pillar['db']['password'] }}
    - hash_password: True

/etc/secret:
  file.managed:
    - contents_pillar: db:password
    - show_changes: False
    - mode: '0600'

in-env:
  cmd.run:
    - name: test -n \"$DB_PASSWORD\"
    - env:
      - DB_PASSWORD: {{ pillar['db']['password'] }}

fails:
  cmd.run:
    - name: test -z \"$DB_PASSWORD\"
    - env:
      - DB_PASSWORD: {{ pillar['db']['password'] }}
";

struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts `rocksalt serve`, with its output in a file.
fn serve(fleet: &Fleet) -> Daemon {
    let scratch = &fleet.scratch;
    let said = File::create(scratch.path("serve.log")).expect("a log");
    let mut command = fleet.bed.command(rocksalt_testkit::rocksalt_binary().expect("the binary is built"));
    command.arg("--config-dir").arg(scratch.path("config")).arg("--roster").arg(scratch.path("config/roster"));
    command.args(["serve", "--listen", "127.0.0.1:8000"]);
    command.env_clear().env("ROCKSALT_SCRATCH", scratch.path(""));
    for name in ["PATH", "LANG", "ROCKSALT_AGENTS"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    for (name, directory) in [
        ("HOME", "home"),
        ("TMPDIR", "tmp"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_RUNTIME_DIR", "runtime"),
        ("XDG_STATE_HOME", "state"),
    ] {
        command.env(name, scratch.path(directory));
    }
    command.stdin(Stdio::null()).stdout(said.try_clone().expect("a log")).stderr(said);
    let daemon = Daemon(command.spawn().expect("it starts"));
    let limit = Instant::now() + Duration::from_secs(60);
    let log = || fs::read_to_string(scratch.path("serve.log")).unwrap_or_default();
    while !log().contains("Listening on ") {
        assert!(Instant::now() < limit, "the daemon does not start: {}", log());
        std::thread::sleep(Duration::from_millis(50));
    }
    daemon
}

fn curl(fleet: &Fleet, words: &[&str]) -> String {
    let output = fleet.bed.command("curl").args(["-s", "--max-time", "60"]).args(words).output().expect("curl");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Requests with secrets in each of their places.
fn chunks() -> [String; 6] {
    [
        format!(
            r#""client": "local", "tgt": "*", "fun": "state.single", "arg": ["user.present"],
               "kwarg": {{"name": "dora", "password": "{ARGUMENT}", "hash_password": true}}"#
        ),
        format!(
            r#""client": "local", "tgt": "*", "fun": "cmd.run", "arg": ["cat >/dev/null"],
               "kwarg": {{"stdin": "{STDIN}", "env": {{"API_TOKEN": "{ENVIRONMENT}"}}}}"#
        ),
        format!(r#""client": "local", "tgt": "*", "fun": "cmd.run", "arg": ["true", "stdin={STDIN}"]"#),
        format!(
            r#""client": "local", "tgt": "*", "fun": "state.apply", "arg": ["it"], "kwarg": {{"pillar": {{"x": "{GIVEN}"}}}}"#
        ),
        format!(r#""client": "local", "tgt": "*", "fun": "no.such", "kwarg": {{"password": "{ARGUMENT}"}}"#),
        format!(r#""client": "runner", "fun": "no.such", "password2": "x", "api_token": "{ARGUMENT}""#),
    ]
}

/// Searches all files of a directory for canaries.
fn search(directory: &Path, canaries: &[&str], found: &mut Vec<String>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            search(&path, canaries, found);
        } else if path.is_file() {
            let content = fs::read(&path).unwrap_or_default();
            for canary in canaries {
                if content.windows(canary.len()).any(|window| window == canary.as_bytes()) {
                    found.push(format!("{canary} in {}", path.display()));
                }
            }
        }
    }
}

/// Searches answers for canaries, and cites what is around them.
fn search_answers(answers: &[String], canaries: &[&str], found: &mut Vec<String>) {
    for answer in answers {
        for canary in canaries.iter().filter(|canary| answer.contains(**canary)) {
            let start = answer.find(canary).unwrap_or_default().saturating_sub(200);
            let near: String = answer.chars().skip(start).take(400).collect();
            found.push(format!("{canary} in an answer: …{near}…"));
        }
    }
}

/// The daemon's output and its log file, which must have something in them.
fn logs(fleet: &Fleet) -> String {
    let log = fs::read_to_string(fleet.scratch.path("serve.log")).expect("a log");
    let file = fs::read_to_string(fleet.scratch.path("config/daemon.log")).expect("the log file");
    assert!(file.contains("target{id=\"h1\" job=") && file.contains("request{id="), "{file}");
    assert!(file.contains("rocksalt_agent: states: user.present"), "{file}");
    let log = log + &file;
    assert!(log.contains("state.single") || log.lines().count() > 5, "{log}");
    log
}

#[test]
fn no_secret_is_found_where_it_should_not_be() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let write = |name: &str, text: &str| drop(fleet.scratch.write(name, text).expect("it's written"));
    write("config/rocksalt.yml", CONFIG);
    write("config/states/it.sls", STATES);
    write("config/pillar/top.sls", "base: {'*': [db]}\n");
    write("config/pillar/db.sls", &format!("db: {{password: {PILLAR}}}\n"));
    let said = fleet.rocksalt(&["users", "add", "ann", "--password-stdin"]).input(PASSWORD).finish().expect("it ends");
    assert_eq!(said.code(), Some(0), "{}", said.all());
    let _daemon = serve(&fleet);
    let mut answers = Vec::new();

    // Logs in, also with a wrong password, and sends requests that contain the password.
    let login = |password: &str| {
        let body = format!("{{\"username\": \"ann\", \"password\": \"{password}\", \"eauth\": \"file\"}}");
        curl(&fleet, &["http://127.0.0.1:8000/login", "-H", "Content-Type: application/json", "-d", &body])
    };
    let first: Value = serde_json::from_str(&login(PASSWORD)).expect("a login");
    let token = first["return"][0]["token"].as_str().expect("a token").to_owned();
    answers.push(login(WRONG));
    let run = |chunk: &str| {
        let body = format!("[{{\"username\": \"ann\", \"password\": \"{PASSWORD}\", \"eauth\": \"file\", {chunk}}}]");
        curl(&fleet, &["http://127.0.0.1:8000/run", "-H", "Content-Type: application/json", "-d", &body])
    };
    answers.extend(chunks().iter().map(|chunk| run(chunk)));
    assert!(answers[1].contains("dora") && answers[4].contains("cecilia"), "{answers:?}");
    let applied = fleet.run_within(Duration::from_secs(120), &["apply", "h1", "it"]);
    answers.push(applied.all());

    // Requests everything that can be queried afterwards.
    let header = format!("X-Auth-Token: {token}");
    let ask = |path: &str| curl(&fleet, &[&format!("http://127.0.0.1:8000{path}"), "-H", &header]);
    let jobs: Value = serde_json::from_str(&ask("/jobs")).expect("jobs");
    let jobs: Vec<String> = jobs["return"][0].as_object().expect("jobs").keys().cloned().collect();
    assert!(jobs.len() >= 5, "{jobs:?}");
    answers.extend(jobs.iter().map(|jid| ask(&format!("/jobs/{jid}"))));
    for path in ["/jobs", "/v1/jobs", "/v1/events?after=0&limit=1000", "/metrics", "/stats", "/v1/stats"] {
        answers.push(ask(path));
    }
    let events = ask("/v1/events?after=0&limit=1000");
    assert!(events.contains("salt/job/"), "{events}");
    let audit = fleet.rocksalt(&["audit", "show", "-n", "1000", "--json"]).finish().expect("it ends");
    assert!(audit.stdout.contains("state.single"), "{}", audit.all());
    answers.push(audit.all());
    let verified = fleet.rocksalt(&["audit", "verify"]).finish().expect("it ends");
    assert_eq!(verified.code(), Some(0), "{}", verified.all());

    let canaries = [PILLAR, GIVEN, ARGUMENT, STDIN, ENVIRONMENT, PASSWORD, WRONG, token.as_str()];
    let mut found = Vec::new();
    search_answers(&answers, &canaries, &mut found);
    // Searches the store, the audit log, the files of commands and of the keeper, and the daemon's output.
    for directory in ["state", "cache", "runtime", "tmp", "home"] {
        search(&fleet.scratch.path(directory), &canaries, &mut found);
    }
    let log = logs(&fleet);
    found.extend(canaries.iter().filter(|canary| log.contains(**canary)).map(|canary| format!("{canary} in the log")));
    assert!(found.is_empty(), "{}", found.join("\n"));

    // Checks the search itself: a job's record has a canary in an argument that can't be known as a secret.
    run(r#""client": "local", "tgt": "*", "fun": "test.echo", "arg": ["canary-in-plain-sight"]"#);
    wait_until("the search finds it", || {
        let mut seen = Vec::new();
        search(&fleet.scratch.path("state"), &["canary-in-plain-sight"], &mut seen);
        !seen.is_empty()
    });
}
