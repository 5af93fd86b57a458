//! The conformance suite of the transports, and the failures of the one that uses the system's ssh.

use std::fs;
use std::time::Duration;

use rocksalt_connect::LocalUser;
use rocksalt_connect::transport::{self, LoginContext, LoginSession, NoPrompt, Program};
use rocksalt_core::link::{LinkFailure, Stage};
use rocksalt_core::roster::RosterEntry;
use rocksalt_core::secret::Secret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::sshd::Sshd;

/// The transports that reach [`Sshd`].
const OVER_SSH: [&str; 2] = ["openssh", "ssh"];

const LONG: Duration = Duration::from_secs(30);

/// The output of a program until it ends, when its stdin is closed at once.
async fn outcome(mut program: Program) -> (Vec<u8>, Vec<u8>) {
    drop(program.stdin);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let read = async { tokio::join!(program.stdout.read_to_end(&mut out), program.stderr.read_to_end(&mut err)) };
    let (first, second) = timeout(LONG, read).await.expect("the program ends");
    first.and(second).expect("the pipes can be read");
    (out, err)
}

async fn connect(entry: &RosterEntry) -> Result<Box<dyn LoginSession>, LinkFailure> {
    let local_user = LocalUser {
        name: own_name(),
        home: "/nonexistent".into(),
        uid: 0,
        hostname: "here".into(),
        environment: Default::default(),
    };
    let transport = transport::open(&entry.transport, &local_user)?;
    let caller = LoginContext { prompt: &NoPrompt, agent_socket: None, progress: &|_| {} };
    timeout(LONG, transport.connect(entry, &caller)).await.expect("times out by itself")
}

/// The name of the user who runs the test: the server runs as the same user.
fn own_name() -> String {
    let output = std::process::Command::new("id").arg("-un").output().expect("id is everywhere");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The conformance suite: `entry` must be reachable.
async fn conforms(entry: &RosterEntry) {
    let session = connect(entry).await.unwrap_or_else(|failure| panic!("{}: {failure}", entry.transport));

    let (out, err) = outcome(session.exec("printf hello", false).await.expect("starts")).await;
    assert_eq!((&out[..], &err[..]), (&b"hello"[..], &b""[..]));

    let (out, err) = outcome(session.exec("echo out; echo err >&2", false).await.expect("starts")).await;
    assert_eq!((&out[..], &err[..]), (&b"out\n"[..], &b"err\n"[..]), "stderr has its own pipe");

    let (out, _) = outcome(session.exec("test -t 0 && printf terminal", true).await.expect("starts")).await;
    assert_eq!(out, b"terminal");

    // Every byte value, more than any buffer on the way, in both directions at once.
    let sent: Vec<u8> = (0..1 << 20).map(|number: u32| (number ^ (number >> 8)) as u8).collect();
    let Program { mut stdin, mut stdout, stderr: _stderr, .. } = session.exec("cat", false).await.expect("starts");
    let mut came = Vec::new();
    let exchange = async {
        tokio::join!(
            async {
                stdin.write_all(&sent).await.expect("written");
                stdin.shutdown().await.expect("closed");
                drop(stdin);
            },
            async { stdout.read_to_end(&mut came).await.expect("read") }
        )
    };
    timeout(LONG, exchange).await.expect("cat ends with its stdin");
    assert!(came == sent, "{} of {} bytes came back, or others", came.len(), sent.len());

    // Two programs at once, through one login: the first waits for the output of the second.
    let Program { mut stdin, stdout, stderr, room } =
        session.exec("read word; printf \"$word\"", false).await.expect("starts");
    let (out, _) = outcome(session.exec("printf second", false).await.expect("starts")).await;
    stdin.write_all(&[&out[..], b"\n"].concat()).await.expect("written");
    let (out, _) = outcome(Program { stdin, stdout, stderr, room }).await;
    assert_eq!(out, b"second");

    let running = session.exec("exec sleep 1000", false).await.expect("starts");
    let Program { stdin: _stdin, mut stdout, stderr: _stderr, .. } = running;
    session.close().await;
    let mut rest = Vec::new();
    let _ = timeout(LONG, stdout.read_to_end(&mut rest)).await.expect("close cuts off what runs");
    session.close().await;
}

#[tokio::test]
async fn transports_over_ssh_conform_with_one_login() {
    for name in OVER_SSH {
        let Some(sshd) = Sshd::start() else { return };
        conforms(&sshd.entry(name)).await;
        assert_eq!(sshd.logins(), 1, "{name}: {}", sshd.log());
    }
}

/// Each kind of failure: at the right stage, with a hint, and without a login.
#[tokio::test]
async fn failures_have_their_stage() {
    type Change = fn(&Sshd, &mut RosterEntry);
    let cases: [(&str, Change, Stage, &str); 7] = [
        (
            "unknown host key",
            |sshd, _| fs::write(sshd.path("known_hosts"), "").expect("written"),
            Stage::HostKey,
            "host key",
        ),
        (
            "another host key",
            |sshd, _| sshd.record(&fs::read_to_string(sshd.path("other_key.pub")).expect("a key")),
            Stage::HostKey,
            "known_hosts:1",
        ),
        ("a key that isn't let in", |sshd, entry| entry.keys = vec![sshd.path("other_key")], Stage::Login, "publickey"),
        ("a closed port", |_, entry| entry.port = Some(1), Stage::Connect, "refused"),
        ("a name that nobody has", |_, entry| entry.host = "nosuch.invalid".into(), Stage::Resolve, "nosuch.invalid"),
        ("a name that is an option", |_, entry| entry.host = "-oProxyCommand=true".into(), Stage::Settings, "'-'"),
        (
            "a closed port in between",
            |_, entry| entry.proxy_jump = Some("127.0.0.1:1".into()),
            Stage::Connect,
            "127.0.0.1:1",
        ),
    ];
    for name in OVER_SSH {
        for (case, change, stage, text) in &cases {
            let Some(sshd) = Sshd::start() else { return };
            let mut entry = sshd.entry(name);
            change(&sshd, &mut entry);
            let failure = connect(&entry).await.err().unwrap_or_else(|| panic!("{name}, {case}: connected"));
            assert_eq!(failure.stage, *stage, "{name}, {case}: {failure:?}");
            assert!(failure.text.contains(text), "{name}, {case}: {failure:?}");
            assert_eq!(sshd.logins(), 0, "{name}, {case}");
        }
    }
}

#[tokio::test]
async fn a_new_host_is_taken_where_the_roster_says_so_and_remembered() {
    for name in OVER_SSH {
        let Some(sshd) = Sshd::start() else { return };
        fs::write(sshd.path("known_hosts"), "").expect("written");
        let mut entry = sshd.entry(name);
        entry.accept_new = true;
        connect(&entry).await.unwrap_or_else(|failure| panic!("{name}: {failure:?}")).close().await;
        entry.accept_new = false;
        connect(&entry).await.unwrap_or_else(|failure| panic!("{name}: {failure:?}")).close().await;
        sshd.record(&fs::read_to_string(sshd.path("other_key.pub")).expect("a key"));
        entry.accept_new = true;
        let failure = connect(&entry).await.err().expect("a changed key is never new");
        assert_eq!(failure.stage, Stage::HostKey);
    }
}

#[tokio::test]
async fn openssh_takes_no_password_and_makes_no_second_login() {
    let Some(sshd) = Sshd::start() else { return };
    let mut entry = sshd.entry("openssh");
    entry.password = Some(Secret::new("secret".to_owned()));
    let failure = connect(&entry).await.err().expect("refused");
    assert_eq!(failure.stage, Stage::Settings);
    assert!(failure.hint.unwrap_or_default().contains("transport: ssh"));

    entry.password = None;
    let session = connect(&entry).await.expect("connected");
    session.close().await;
    let failure = session.exec("true", false).await.err().expect("the login is gone");
    assert_eq!(failure.stage, Stage::Link);
    assert_eq!(sshd.logins(), 1);
}

/// A login also ends if its session is dropped without being closed.
#[tokio::test]
async fn openssh_ends_a_login_that_was_forgotten() {
    let Some(sshd) = Sshd::start() else { return };
    drop(connect(&sshd.entry("openssh")).await.expect("connected"));
    let gone = async {
        while !sshd.log().contains("Disconnected from") && !sshd.log().contains("Connection closed by") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(10), gone).await.unwrap_or_else(|_| panic!("still there: {}", sshd.log()));
}
