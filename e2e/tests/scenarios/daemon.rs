//! `rocksalt serve` as users see it: the first start, logins, TLS, reload, shutdown.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use e2e::{Fleet, Spec, Started, Value, assert_code, exit, say_skipped, wait_until};

/// A user id that nobody has on this machine.
const NEW_USER: u32 = 61_234;
const OTHER_USER: u32 = 61_235;

/// The daemon of a new user without any files.
struct Own {
    home: tempfile::TempDir,
    program: PathBuf,
    child: Option<Child>,
}

impl Own {
    /// Returns `None` where we can't become another user.
    fn new() -> Option<Own> {
        if !rustix::process::geteuid().is_root() {
            say_skipped("only root can become another user");
            return None;
        }
        let home = tempfile::tempdir().expect("a directory");
        let program = home.path().join("rocksalt");
        fs::copy(e2e::rocksalt_binary().expect("the binary is built"), &program).expect("copied");
        chown(home.path(), Some(NEW_USER), Some(NEW_USER)).expect("we are root");
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o711)).expect("it belongs to us");
        Some(Own { home, program, child: None })
    }

    fn command(&self, uid: u32, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.home.path()).env("PATH", "/usr/bin:/bin").current_dir("/");
        command.uid(uid).gid(uid).stdin(Stdio::null());
        command
    }

    fn start(&mut self) {
        let file = |name: &str| fs::File::create(self.home.path().join(name)).expect("created");
        let mut command = self.command(NEW_USER, &self.program);
        command.args(["serve", "--listen", "127.0.0.1:0"]).stdout(file("out")).stderr(file("err"));
        self.child = Some(command.spawn().expect("it starts"));
        wait_until("the daemon listens", || self.said("out").contains("Listening on"));
    }

    fn said(&self, name: &str) -> String {
        fs::read_to_string(self.home.path().join(name)).unwrap_or_default()
    }

    fn port(&self) -> u16 {
        let said = self.said("out");
        let (_, rest) = said.split_once("http://127.0.0.1:").expect("an address");
        rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|port| port.parse().ok()).expect("a port")
    }

    fn socket(&self) -> PathBuf {
        let said = self.said("out");
        let (_, rest) = said.split_once("unix:").expect("a socket");
        rest.trim_end().trim_end_matches('.').into()
    }

    fn signal(&self, name: &str) {
        let pid = self.child.as_ref().expect("it runs").id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().expect("kill is there").success());
    }

    fn stop(&mut self) {
        self.signal("TERM");
        let status = self.child.take().expect("it runs").wait().expect("it ends");
        assert_eq!(status.code(), Some(0), "{}", self.said("err"));
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn exchange(mut stream: impl Read + Write, request: &str, body: &str) -> std::io::Result<String> {
    let length = body.len();
    write!(stream, "{request}\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn login(port: u16, password: &str) -> String {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let body = format!("username=admin&password={password}&eauth=file");
    let request = "POST /login HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded";
    exchange(stream, request, &body).expect("an answer")
}

fn token(answer: &str) -> &str {
    answer.split("\"token\"").nth(1).and_then(|rest| rest.split('"').nth(1)).unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn a_new_user_starts_from_nothing() {
    let Some(mut own) = Own::new() else { return };
    own.start();
    let said = own.said("out");
    let password = said.split("password: ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let password = password.unwrap_or_else(|| panic!("no password: {said}")).to_owned();
    let config = own.home.path().join(".config/rocksalt/rocksalt.yml");
    assert!(config.is_file(), "{said}");
    let answer = login(own.port(), &password);
    let first = token(&answer).to_owned();
    assert!(login(own.port(), "wrong").starts_with("HTTP/1.1 401"));
    let ping = |own: &Own, token: &str| {
        let stream = TcpStream::connect(("127.0.0.1", own.port())).expect("it listens");
        let request =
            format!("POST / HTTP/1.1\r\nX-Auth-Token: {token}\r\nContent-Type: application/x-www-form-urlencoded");
        exchange(stream, &request, "client=local&tgt=*&fun=test.ping").expect("an answer")
    };
    assert!(ping(&own, &first).contains("\"here\":true"), "{}", own.said("err"));
    // Root and the user need no login at the socket; other users are refused, even if its permissions are open.
    let local =
        exchange(UnixStream::connect(own.socket()).expect("root may"), "GET /healthz HTTP/1.1", "").expect("fine");
    assert!(local.contains("details"), "{local}");
    let mut directory = own.socket();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o666)).expect("we are root");
    while directory.pop() && directory.starts_with(own.home.path()) {
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o711)).expect("we are root");
    }
    let mut curl = own.command(OTHER_USER, Path::new("/usr/bin/curl"));
    curl.args(["-sS", "--max-time", "10", "--unix-socket"]).arg(own.socket()).arg("http://x/healthz");
    let refused = curl.output().expect("curl is there");
    assert!(!refused.status.success() && refused.stdout.is_empty(), "{}", String::from_utf8_lossy(&refused.stdout));
    fs::set_permissions(own.socket().parent().expect("one"), fs::Permissions::from_mode(0o700)).expect("we are root");
    // A second daemon is refused, and the error names the first.
    let second =
        own.command(NEW_USER, &own.program).args(["serve", "--listen", "127.0.0.1:0"]).output().expect("it runs");
    let error = String::from_utf8_lossy(&second.stderr).into_owned();
    let pid = own.child.as_ref().expect("it runs").id().to_string();
    assert_eq!(second.status.code(), Some(exit::USAGE), "{error}");
    assert!(error.contains("another daemon") && error.contains(&pid), "{error}");
    // A restart keeps the user, the token and the job, and prints no password again.
    own.stop();
    own.start();
    assert!(!own.said("out").contains("password"), "{}", own.said("out"));
    login(own.port(), &password);
    assert!(ping(&own, &first).contains("\"here\":true"));
    // The log has no secrets.
    let log = own.said("err");
    assert!(!log.contains(&password) && !log.contains(&first), "{log}");
    // A reload reports an invalid configuration and keeps the old one; a start refuses it with the same message.
    fs::write(&config, "lisen: 127.0.0.1:1\n").expect("we are root");
    own.signal("HUP");
    wait_until("the reload reports the error", || own.said("err").contains("'lisen' is not a key"));
    assert!(ping(&own, &first).contains("\"here\":true"));
    own.stop();
    let wrong = own.command(NEW_USER, &own.program).arg("serve").output().expect("it runs");
    let error = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert_eq!(wrong.status.code(), Some(exit::USAGE), "{error}");
    assert!(error.contains("'lisen' is not a key") && error.contains("did you mean 'listen'"), "{error}");
}

/// The daemon of a fleet's project.
struct Daemon<'a> {
    fleet: &'a Fleet,
    process: Started,
}

impl<'a> Daemon<'a> {
    fn start(fleet: &'a Fleet, arguments: &[&str]) -> Daemon<'a> {
        let arguments: Vec<&str> = ["serve"].iter().chain(arguments).copied().collect();
        let process = fleet.rocksalt(&arguments).limit(Duration::from_secs(300)).spawn().expect("it starts");
        let daemon = Daemon { fleet, process };
        wait_until("the daemon answers", || daemon.ask("GET /healthz HTTP/1.1", "").is_some());
        daemon
    }

    /// Sends a request over the socket; `None` if no daemon answers.
    fn ask(&self, request: &str, body: &str) -> Option<String> {
        let state = fs::read_dir(self.fleet.scratch.path("state/rocksalt")).ok()?.flatten().next()?;
        let stream = UnixStream::connect(state.path().join("daemon.sock")).ok()?;
        exchange(stream, request, body).ok()
    }

    fn runner(&self, body: &str) -> Value {
        let answer = self.ask("POST / HTTP/1.1\r\nContent-Type: application/json", body).expect("it answers");
        let (_, json) = answer.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str::<Value>(json).unwrap_or_else(|error| panic!("{error}: {answer}"))["return"][0].clone()
    }

    fn stop(self) -> e2e::Outcome {
        let pid = self.process.pid().to_string();
        assert!(Command::new("kill").arg(pid).status().expect("kill is there").success());
        let outcome = self.process.finish().expect("it ends");
        assert_code(&outcome, exit::FINE);
        outcome
    }
}

#[test]
fn a_job_outlives_the_daemon_that_started_it() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let daemon = Daemon::start(&fleet, &["--listen", "127.0.0.1:0"]);
    let command = "sleep 6; echo once >> /root/ran; echo finished";
    let body = format!(r#"{{"client":"local_async","tgt":"h1","fun":"cmd.run","arg":["{command}"]}}"#);
    let jid = daemon.runner(&body)["jid"].as_str().expect("a job").to_owned();
    wait_until("it runs", || !fleet.host(1).processes("sleep").is_empty());
    let outcome = daemon.stop();
    assert!(outcome.took < Duration::from_secs(60), "{}", outcome.all());
    let daemon = Daemon::start(&fleet, &["--listen", "127.0.0.1:0"]);
    let look = format!(r#"{{"client":"runner","fun":"jobs.lookup_jid","jid":"{jid}"}}"#);
    wait_until("its result is available", || daemon.runner(&look)["h1"] == "finished");
    assert_eq!(fleet.host(1).run("cat /root/ran").expect("it is there").trim(), "once");
    // `manage.up` answers from known data, without contacting a target.
    wait_until("it is up", || daemon.runner(r#"{"client":"runner","fun":"manage.up"}"#)[0] == "h1");
    daemon.stop();
}

#[test]
fn curl_trusts_the_certificate_that_was_made() {
    let Some(fleet) = Fleet::start(&[Spec::busybox()]) else { return };
    fleet.scratch.write("config/rocksalt.yml", "listen: ['0.0.0.0:8443']\n").expect("written");
    let said = Daemon::start(&fleet, &[]).stop().stdout;
    let pin = said.split("--pinnedpubkey '").nth(1).and_then(|rest| rest.split('\'').next());
    let pin = pin.unwrap_or_else(|| panic!("no pin: {said}")).to_owned();
    assert!(said.contains("SHA-256:") && said.contains("https://0.0.0.0:8443"), "{said}");
    let daemon = Daemon::start(&fleet, &[]);
    let state = fs::read_dir(fleet.scratch.path("state/rocksalt")).expect("it is there").flatten().next();
    let certificate = state.expect("one").path().join("certificate.pem");
    let curl = |arguments: &[&str]| {
        let mut command = fleet.bed.command("curl");
        command.args(["-sS", "--max-time", "20"]).arg("--cacert").arg(&certificate).args(arguments);
        let output = command.output().expect("curl is there");
        (
            output.status.success(),
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)),
        )
    };
    let url = "https://localhost:8443/healthz";
    for arguments in [&[url][..], &["--pinnedpubkey", &pin, url], &["--http1.1", url], &["--tlsv1.3", url]] {
        let (fine, text) = curl(arguments);
        assert!(fine && text.contains("\"ok\""), "{arguments:?}: {text}");
    }
    let other = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    assert!(!curl(&["--pinnedpubkey", other, url]).0, "another key is refused");
    assert!(
        !curl(&["https://example.test:8443/healthz", "--resolve", "example.test:8443:127.0.0.1"]).0,
        "another name"
    );
    assert!(!curl(&["http://localhost:8443/healthz"]).0, "nothing without TLS");
    daemon.stop();
    fleet.scratch.write("config/rocksalt.yml", "listen: 0.0.0.0:8443\ntls: false\n").expect("written");
    let outcome = fleet.rocksalt(&["serve"]).finish().expect("it ends");
    assert_code(&outcome, exit::USAGE);
    assert!(outcome.stderr.contains("without TLS passwords could be read"), "{}", outcome.all());
}
