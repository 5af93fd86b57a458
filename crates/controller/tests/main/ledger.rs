//! The ledger on a store: no event is lost or duplicated, even for a slow follower.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rocksalt_backends::store::{self, Settings as StoreSettings};
use rocksalt_controller::ledger::{Heard, Ledger, NewJob, Settings};
use rocksalt_core::call::Return;
use rocksalt_core::record::{Account, JobState, TargetOutcome};
use rocksalt_core::request::JobFilter;
use rocksalt_core::{Event, Map, Value};

static CLOCK: AtomicU64 = AtomicU64::new(1_700_000_000_000_000);

async fn ledger() -> Arc<Ledger> {
    let store = store::open("memory", &StoreSettings::default()).await.expect("a store");
    let settings = Settings {
        now: || CLOCK.fetch_add(1, Ordering::Relaxed),
        owner: "me".into(),
        keep_jobs_seconds: 1,
        keep_events_seconds: 1,
        largest_return: 100,
    };
    Arc::new(Ledger::open(store, settings).await.expect("a ledger"))
}

fn event(number: i64) -> Event {
    Event { tag: format!("my/{number}"), data: Map::from_iter([("n".into(), Value::Int(number))]) }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_follows_hears_all_in_order_and_once() {
    let ledger = ledger().await;
    let early = ledger.follow(None);
    let writing = {
        let ledger = Arc::clone(&ledger);
        tokio::spawn(async move {
            for number in 0..10_000 {
                ledger.fire(event(number), None).await.expect("it is stored");
            }
        })
    };
    tokio::time::sleep(Duration::from_millis(5)).await;
    let late = ledger.follow(Some(0));
    let mut readers = Vec::new();
    for (mut follower, slow) in [(early, false), (late, true)] {
        readers.push(tokio::spawn(async move {
            for expected in 1..=10_000u64 {
                match follower.next().await.expect("an event") {
                    Heard::Event(event) => assert_eq!(event.id, expected),
                    Heard::Gap { first } => panic!("a gap before {first}"),
                    Heard::Hidden(id) => panic!("{id} is hidden"),
                }
                // Slow enough that its next event is no longer in memory.
                if slow && expected == 3 {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                }
            }
        }));
    }
    writing.await.expect("written");
    for reader in readers {
        tokio::time::timeout(Duration::from_secs(20), reader).await.expect("in time").expect("heard all");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_reads_only_what_its_account_may() {
    let ledger = ledger().await;
    let accounts = [Some(Account::new("file", "ann")), Some(Account::new("ldap", "ann")), Some(Account::local("bob"))];
    let late = ledger.follow(None).only(Account::new("file", "ann"));
    for (number, account) in accounts.iter().chain([&None]).enumerate() {
        ledger.fire(event(number as i64), account.as_ref()).await.expect("it is stored");
    }
    // From memory, and from the store.
    for mut follower in [late, ledger.follow(Some(0)).only(Account::new("file", "ann"))] {
        for (id, readable) in [(1, true), (2, false), (3, false), (4, true)] {
            match follower.next().await.expect("an event") {
                Heard::Event(event) => assert!(readable && event.id == id, "{event:?}"),
                Heard::Hidden(hidden) => assert!(!readable && hidden == id, "{hidden}"),
                Heard::Gap { first } => panic!("a gap before {first}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_from_its_record_to_its_end() {
    let ledger = ledger().await;
    let new = NewJob {
        function: "test.ping".into(),
        target: "*".into(),
        target_kind: "glob".into(),
        targets: vec!["a/b".into(), "c".into()],
        account: Account::local("ann"),
        ..NewJob::default()
    };
    let mut job = ledger.begin(new, JobState::Running).await.expect("stored").expect("new");
    let result = |value: Value| TargetOutcome::Returned(Return { value, retcode: 0, problem: None });
    ledger.returned(&job, "a/b", result(true.into())).await.expect("stored");
    let large = ledger.returned(&job, "c", result("x".repeat(1000).into())).await.expect("stored");
    assert_eq!(large.cut_from, Some(1003));
    ledger.set_state(&mut job, JobState::Done, Vec::new()).await.expect("stored");
    assert_eq!(ledger.job(job.id).await.expect("read").map(|job| job.state), Some(JobState::Done));
    assert_eq!(ledger.returns(job.id).await.expect("read").len(), 2);
    let fitting = JobFilter { functions: vec!["test.*".into()], ..JobFilter::default() };
    assert_eq!(ledger.jobs(&fitting).await.expect("read").len(), 1);
    let other = JobFilter { user: Some("bob".into()), ..JobFilter::default() };
    assert!(ledger.jobs(&other).await.expect("read").is_empty());
    let mut tags = Vec::new();
    let mut follower = ledger.follow(Some(0));
    while tags.len() < 4 {
        if let Heard::Event(event) = follower.next().await.expect("an event") {
            tags.push(event.event.tag.replace(job.id.as_str(), "JID"));
        }
    }
    assert_eq!(tags, ["JID", "salt/job/JID/new", "salt/job/JID/ret/a/b", "salt/job/JID/ret/c"]);
    CLOCK.fetch_add(10_000_000, Ordering::Relaxed);
    ledger.expire().await.expect("forgotten");
    assert!(ledger.jobs(&JobFilter::default()).await.expect("read").is_empty());
    assert!(ledger.returns(job.id).await.expect("read").is_empty());
    match ledger.follow(Some(1)).next().await {
        Ok(Heard::Event(event)) => assert_eq!(event.id, 2, "still in memory"),
        other => panic!("{other:?}"),
    }
}
