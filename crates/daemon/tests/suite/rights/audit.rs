//! The audit log: its content, and that every change of it is detected.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rocksalt_backends::store::{Store, Transaction};
use rocksalt_core::record::{JobRecord, JobState};
use rocksalt_core::request::{Request, RunRequest};
use rocksalt_core::{JobId, Map, Value, json};
use rocksalt_daemon::audit::{self, Audit, ChainHead, EntryNumber, LoginEvent};
use rocksalt_daemon::requests::{Caller, Refusal, RefusalKind};

use super::fixture::{self, map};

fn request(number: usize) -> Request {
    let kwargs = map("{password: canary-in-arguments}");
    Request::Run(Box::new(RunRequest {
        function: format!("test.f{number}"),
        kwargs,
        target: "web*".into(),
        target_kind: "glob".into(),
        ..RunRequest::default()
    }))
}

fn job() -> JobRecord {
    JobRecord {
        id: JobId::at(1_000_000),
        function: "test.f1".into(),
        args: Vec::new(),
        kwargs: Map::new(),
        target: "web*".into(),
        target_kind: "glob".into(),
        targets: vec!["web1".into(), "web2".into()],
        missing: Vec::new(),
        user: "ann".into(),
        eauth: "file".into(),
        metadata: Value::Null,
        started: 0,
        state: JobState::Running,
        ended: None,
        owner: "me".into(),
        options: Default::default(),
        delimiter: None,
    }
}

async fn note(audit: &Audit, number: usize) -> EntryNumber {
    audit.log_request(&Caller::local("ann"), &request(number), None).await.expect("it is noted")
}

fn log(directory: &Path) -> PathBuf {
    directory.join("audit.log")
}

fn lines(directory: &Path) -> Vec<String> {
    fs::read_to_string(log(directory)).expect("a log").lines().map(str::to_owned).collect()
}

fn fault(directory: &Path, head: Option<&ChainHead>) -> Option<(Option<u64>, String)> {
    let report = audit::verify(&audit::files(directory).expect("files"), head).expect("it is read");
    report.fault.map(|fault| (fault.entry, fault.why))
}

/// Ten entries, closed in order.
async fn ten(directory: &Path, store: &Arc<dyn Store>) -> ChainHead {
    let audit = Audit::open(directory, "me", Arc::clone(store)).await.expect("a log");
    for number in 2..10 {
        note(&audit, number).await;
    }
    audit.close().await;
    audit.head().await.expect("the store").expect("a head")
}

#[tokio::test]
async fn entries_say_who_did_what_and_no_secrets() {
    let (directory, store) = (fixture::directory(), fixture::store().await);
    let audit = Audit::open(directory.path(), "me", Arc::clone(&store)).await.expect("a log");
    let noted = note(&audit, 1).await;
    let job = job();
    audit.log_job(&noted, &job);
    let refusal = Refusal::new(RefusalKind::Forbidden, "ann may not");
    audit.log_request(&Caller::local("ann"), &request(2), Some(&refusal)).await.expect("noted");
    audit.log_request(&Caller::local("ann"), &Request::Targets, None).await.expect("nothing to note");
    audit.log_request(&Caller::local("ann"), &Request::Targets, Some(&refusal)).await.expect("noted");
    audit.log_login(LoginEvent::Login, "fred", "file", Some([192, 0, 2, 1].into())).await.expect("noted");
    audit.log_login(LoginEvent::Refused, "fred", "file", Some([192, 0, 2, 1].into())).await.expect("noted");
    audit.close().await;
    let entries: Vec<Value> = lines(directory.path()).iter().map(|line| json::parse(line).expect("JSON")).collect();
    let field = |index: usize, name: &str| entries[index].walk(name, ":").map(ToString::to_string).unwrap_or_default();
    let kinds: Vec<String> =
        (0..entries.len()).map(|index| format!("{} {}", field(index, "kind"), field(index, "verdict"))).collect();
    let expected = [
        "start allowed",
        "run allowed",
        "job allowed",
        "run refused",
        "targets refused",
        "login allowed",
        "login refused",
        "stop allowed",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(
        (field(1, "user"), field(1, "function"), field(1, "target"), field(1, "from")),
        ("ann".into(), "test.f1".into(), "web*".into(), "local".into())
    );
    assert_eq!((field(2, "of"), field(2, "targets"), field(2, "jid")), (field(1, "n"), "2".into(), job.id.to_string()));
    assert_eq!(field(3, "why"), "ann may not");
    assert_eq!(
        (field(5, "user"), field(5, "eauth"), field(5, "from")),
        ("fred".into(), "file".into(), "192.0.2.1".into())
    );
    assert_eq!(field(1, "arguments"), field(3, "arguments"), "the same arguments have the same mark");
    assert_eq!(field(1, "arguments").len(), 64);
    assert!(!fs::read_to_string(log(directory.path())).expect("a log").contains("canary"));
    let head = audit.head().await.expect("the store");
    assert_eq!(fault(directory.path(), head.as_ref()), None);
    use std::os::unix::fs::PermissionsExt;
    for name in ["audit.log", "audit.key"] {
        let mode = fs::metadata(directory.path().join(name)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn every_change_is_found_and_named() {
    type Change = fn(&mut Vec<String>);
    let changes: [(&str, Change, Option<u64>); 9] = [
        ("a field", |lines| lines[4] = lines[4].replace("\"ann\"", "\"eve\""), Some(5)),
        ("a hash", |lines| lines[4] = lines[4].replace("\"hash\":\"", "\"hash\":\"0"), Some(5)),
        ("a line is gone", |lines| drop(lines.remove(4)), Some(6)),
        ("the first lines are gone", |lines| drop(lines.drain(..3)), None),
        ("two change places", |lines| lines.swap(4, 5), Some(6)),
        ("a line twice", |lines| lines.insert(4, lines[4].clone()), Some(5)),
        ("the end is gone", |lines| lines.truncate(6), Some(7)),
        ("everything is gone", Vec::clear, Some(1)),
        ("no text", |lines| lines[4] = "\u{0}".into(), Some(5)),
    ];
    for (what, change, expected) in changes {
        let (directory, store) = (fixture::directory(), fixture::store().await);
        let head = ten(directory.path(), &store).await;
        assert_eq!((head.number, fault(directory.path(), Some(&head))), (10, None));
        let mut all = lines(directory.path());
        assert_eq!(all.len(), 10);
        change(&mut all);
        let text: String = all.iter().map(|line| format!("{line}\n")).collect();
        fs::write(log(directory.path()), text).expect("it is changed");
        let found = fault(directory.path(), Some(&head));
        assert_eq!(found.as_ref().and_then(|(entry, _)| *entry), expected, "{what}: {found:?}");
    }
}

#[tokio::test]
async fn whoever_makes_the_chain_anew_is_found_by_the_store() {
    let (directory, store) = (fixture::directory(), fixture::store().await);
    let head = ten(directory.path(), &store).await;
    // An attacker who knows the format writes another log of the same length.
    let forged = fixture::directory();
    ten(forged.path(), &fixture::store().await).await;
    fs::copy(log(forged.path()), log(directory.path())).expect("it is replaced");
    assert_eq!(fault(directory.path(), None), None, "by itself it is in order");
    assert_eq!(fault(directory.path(), Some(&head)).and_then(|(entry, _)| entry), Some(10));
    // The next start reports it in the log itself.
    let audit = Audit::open(directory.path(), "me", Arc::clone(&store)).await.expect("it starts");
    audit.close().await;
    let last = lines(directory.path());
    assert!(last[10].contains("the store knows"), "{}", last[10]);
    assert!(fault(directory.path(), None).is_some());
}

#[tokio::test]
async fn a_crash_does_not_look_like_tampering() {
    // A write may have ended after any byte.
    let (whole, store) = (fixture::directory(), fixture::store().await);
    let head = ten(whole.path(), &store).await;
    // The store's head before the last entry.
    let known = store.get("audit/me").await.expect("the store").expect("a head").value;
    let text = fs::read(log(whole.path())).expect("a log");
    let start: usize = lines(whole.path())[..10].iter().map(|line| line.len() + 1).sum();
    assert_eq!(start, text.len());
    let audit = Audit::open(whole.path(), "me", Arc::clone(&store)).await.expect("it starts");
    note(&audit, 11).await;
    let text = fs::read(log(whole.path())).expect("a log");
    for end in (start..=text.len()).step_by(7).chain([text.len() - 1, text.len()]) {
        let directory = fixture::directory();
        fs::copy(whole.path().join("audit.key"), directory.path().join("audit.key")).expect("the key");
        let path = log(directory.path());
        fs::write(&path, &text[..end]).expect("what a crash left");
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("a mode");
        assert_eq!(fault(directory.path(), Some(&head)), None, "{end}: as it was left");
        // The store may know less than the file, never more.
        let crashed = fixture::store().await;
        let put = Transaction::default().put("audit/me", known.clone());
        crashed.commit(put).await.expect("it is put");
        let audit = Audit::open(directory.path(), "me", Arc::clone(&crashed)).await.expect("it starts");
        note(&audit, 12).await;
        audit.close().await;
        let head = audit.head().await.expect("the store");
        assert_eq!(fault(directory.path(), head.as_ref()), None, "{end}: after a new start");
    }
}

#[tokio::test]
async fn what_is_noted_is_in_the_file_before_it_is_done() {
    let (directory, store) = (fixture::directory(), fixture::store().await);
    let audit = Audit::open(directory.path(), "me", store).await.expect("a log");
    for number in 0..20 {
        note(&audit, number).await;
        // Another process can read it, even if this one dies now.
        assert!(lines(directory.path()).last().expect("a line").contains(&format!("test.f{number}")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_are_written_together() {
    const EACH: usize = 500;
    let (directory, store) = (fixture::directory(), fixture::store().await);
    let audit = Audit::open(directory.path(), "me", store).await.expect("a log");
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let audit = audit.clone();
        all.spawn(async move {
            for number in 0..EACH {
                note(&audit, number).await;
            }
        });
    }
    while let Some(done) = all.join_next().await {
        done.expect("it ends");
    }
    audit.close().await;
    let head = audit.head().await.expect("the store");
    assert_eq!(fault(directory.path(), head.as_ref()), None);
    assert_eq!(head.map(|head| head.number), Some(16 * EACH as u64 + 2));
}

#[tokio::test]
async fn a_file_that_is_taken_away_is_missed() {
    let (directory, store) = (fixture::directory(), fixture::store().await);
    let audit = Audit::open(directory.path(), "me", store).await.expect("a log");
    note(&audit, 1).await;
    fs::rename(log(directory.path()), directory.path().join("taken")).expect("it is moved");
    tokio::time::sleep(Duration::from_millis(1500)).await;
    note(&audit, 2).await;
    audit.close().await;
    let lines = lines(directory.path());
    assert!(lines[0].contains("was moved, replaced or removed"), "{}", lines[0]);
    assert!(lines[1].contains("test.f2"), "{}", lines[1]);
    let head = audit.head().await.expect("the store");
    let both = [directory.path().join("taken"), log(directory.path())];
    assert_eq!(audit::verify(&both, head.as_ref()).expect("it is read").fault, None, "the chain goes on");
}

#[tokio::test]
async fn strangers_can_not_fill_the_disk() {
    let (directory, store) = (fixture::directory(), fixture::store().await);
    let audit = Audit::open(directory.path(), "me", store).await.expect("a log");
    for _ in 0..10_000 {
        audit.log_login(LoginEvent::BadToken, "", "", Some([192, 0, 2, 1].into())).await.expect("it costs nothing");
    }
    tokio::time::sleep(Duration::from_millis(1100)).await;
    audit.log_login(LoginEvent::Refused, "fred", "file", None).await.expect("noted");
    audit.close().await;
    let lines = lines(directory.path());
    assert!(lines.len() < 200, "{} lines", lines.len());
    assert!(lines.iter().any(|line| line.contains("\"unnoted\":")), "those that are missing are counted");
}

#[tokio::test]
async fn without_a_place_to_note_it_nothing_is_done() {
    let (directory, store) = (fixture::directory(), fixture::store().await);
    let audit = Audit::open(directory.path(), "me", Arc::clone(&store)).await.expect("a log");
    note(&audit, 1).await;
    // A file that others can read is refused.
    fs::set_permissions(log(directory.path()), std::os::unix::fs::PermissionsExt::from_mode(0o644)).expect("a mode");
    assert!(Audit::open(directory.path(), "me", store).await.err().is_some_and(|why| why.contains("chmod 600")));
}
