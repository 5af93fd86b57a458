//! The store in a real etcd, under faults: broken connections, dead members, lost leaders, compaction.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rocksalt_backends::store::{
    Committed, Error, KeyRange, Settings, Store, StoreWatch, Transaction, WatchEvent, open,
};

use super::store_cluster::{Cluster, Mode, Proxy, dead_port};
use super::store_conformance::{all, done, heard, next, scribble};

fn put(key: &str) -> Transaction {
    Transaction::default().put(key, key)
}

/// Two prefixes in one etcd don't see each other, and both pass the suite.
#[tokio::test(flavor = "multi_thread")]
async fn conformance() {
    let Some(cluster) = Cluster::start() else { return };
    let store = cluster.store().await;
    all(&store).await;
    let port = cluster.port(1);
    let beside = open("etcd", &Settings { prefix: String::new(), ..cluster.settings(&[port]) }).await.expect("opens");
    let keys = beside.range(&KeyRange::prefix("").keys_only()).await.expect("a range").pairs;
    assert!(!keys.is_empty() && keys.iter().all(|pair| pair.key.starts_with("rocksalt/")));
    let other = open("etcd", &Settings { prefix: "other/".into(), ..cluster.settings(&[port]) }).await.expect("opens");
    assert!(other.range(&KeyRange::prefix("")).await.expect("a range").pairs.is_empty());
    let start = other.range(&KeyRange::default()).await.expect("a range").revision;
    let mut watch = other.watch("", start).await.expect("a watch");
    done(&*store, put("a")).await;
    let revision = done(&*other, put("b")).await;
    assert_eq!(heard(&mut watch, revision).await, [(revision, vec!["b".to_owned()])]);
}

/// All faults that affect a cluster, one after the other, on one cluster.
#[tokio::test(flavor = "multi_thread")]
async fn faults() {
    let Some(mut cluster) = Cluster::start() else { return };
    settings_that_cannot_work(&cluster).await;
    a_dead_member_is_passed_over(&cluster).await;
    an_answer_that_is_lost_is_found_out(&cluster).await;
    nothing_is_done_twice_over_a_line_that_breaks(&cluster).await;
    a_watch_goes_on_over_a_broken_stream(&cluster).await;
    a_watch_leaves_a_line_that_hangs(&cluster).await;
    a_watch_goes_on_over_a_compaction(&cluster).await;
    a_watch_notices_that_the_cluster_is_another(&cluster).await;
    a_full_etcd(&cluster).await;
    a_lease_that_cannot_be_kept_alive_is_lost(&cluster).await;
    a_leader_that_is_killed(&mut cluster).await;
    two_of_three_stopped(&cluster).await;
    all_stopped_for_longer_than_a_lease(&cluster).await;
}

async fn settings_that_cannot_work(cluster: &Cluster) {
    let refused = async |settings: Settings| {
        let begun = Instant::now();
        let error = open("etcd", &settings).await.err().expect("refused").to_string();
        assert!(begun.elapsed() < Duration::from_secs(60), "{error}");
        error
    };
    let port = cluster.port(0);
    let good = || Settings { time_limit: Some(Duration::from_secs(2)), ..cluster.settings(&[port]) };
    let with = |endpoint: &str| Settings { endpoints: vec![endpoint.to_owned()], ..good() };
    let error = refused(Settings { endpoints: Vec::new(), ..good() }).await;
    assert!(error.contains("etcd_endpoints"), "{error}");
    let error = refused(with("http://192.0.2.7:2379")).await;
    assert!(error.contains("TLS") && error.contains("etcd_ca"), "{error}");
    let error = refused(with("192.0.2.7:2379")).await;
    assert!(error.contains("https://"), "{error}");
    let error = refused(with("https://127.0.0.1:2379/v3")).await;
    assert!(error.contains("a host and a port only"), "{error}");
    let error = refused(Settings { certificate: None, ..good() }).await;
    assert!(error.contains("etcd_certificate is not set"), "{error}");
    let error = refused(Settings { key: Some(cluster.path("none")), ..good() }).await;
    assert!(error.contains("can't read etcd_key"), "{error}");
    let error = refused(Settings { ca: Some(cluster.path("other.pem")), ..good() }).await;
    assert!(error.contains("certificate"), "{error}");
    let stranger = |name: &str| Some(cluster.path(&format!("stranger.{name}")));
    let error = refused(Settings { certificate: stranger("pem"), key: stranger("key"), ..good() }).await;
    assert!(error.contains("certificate") || error.contains("transport") || error.contains("alert"), "{error}");
    let error = refused(with(&format!("https://127.0.0.1:{}", dead_port()))).await;
    assert!(error.contains("refused"), "{error}");
    open("etcd", &good()).await.expect("opens");
}

async fn a_dead_member_is_passed_over(cluster: &Cluster) {
    let silent = Proxy::start(cluster.port(0)).await;
    silent.set(Mode::Silent);
    let begun = Instant::now();
    let settings = cluster.settings(&[dead_port(), silent.port, cluster.port(1)]);
    let store = open("etcd", &settings).await.expect("opens");
    done(&*store, put("dead/a")).await;
    let lease = store.lease(Duration::from_secs(5)).await.expect("a lease");
    let mut watch = store.watch("dead/", 0).await.expect("a watch");
    next(&mut watch).await;
    assert!(!lease.is_lost());
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    // Now the current member hangs too, and the first one is still dead.
    silent.set(Mode::Open);
    let begun = Instant::now();
    for index in 0..20 {
        done(&*store, put(&format!("dead/{index}"))).await;
    }
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

async fn an_answer_that_is_lost_is_found_out(cluster: &Cluster) {
    let direct = cluster.store().await;
    let proxy = Proxy::start(cluster.port(0)).await;
    let store = open("etcd", &cluster.settings(&[proxy.port])).await.expect("opens");
    let before = done(&*store, put("lost/before")).await;
    let mut watch = direct.watch("lost/", before).await.expect("a watch");
    proxy.set(Mode::Deaf);
    let committing = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.commit(put("lost/a").if_absent("lost/a")).await })
    };
    // The commit was made, but its sender doesn't know.
    let WatchEvent::Changes { revision, .. } = next(&mut watch).await else { panic!("a gap") };
    assert!(!committing.is_finished());
    proxy.set(Mode::Open);
    proxy.cut();
    assert_eq!(committing.await.expect("no panic").expect("found out"), Committed::Done(revision));
    // The request did not arrive, so it was not made: the retry makes it.
    proxy.set(Mode::Silent);
    let committing = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.commit(put("lost/b").if_absent("lost/b")).await })
    };
    tokio::time::sleep(Duration::from_millis(300)).await;
    proxy.set(Mode::Open);
    proxy.cut();
    assert!(matches!(committing.await.expect("no panic"), Ok(Committed::Done(later)) if later > revision));
    // No response within the time limit: the outcome is reported as unknown.
    proxy.set(Mode::Deaf);
    let hasty = Settings { time_limit: Some(Duration::from_secs(2)), ..cluster.settings(&[proxy.port]) };
    proxy.set(Mode::Open);
    let store = open("etcd", &hasty).await.expect("opens");
    proxy.set(Mode::Deaf);
    let begun = Instant::now();
    let error = store.commit(put("lost/c")).await.expect_err("no answer");
    assert!(matches!(error, Error::OutcomeUnknown { .. }), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    // No member was reached, so it is certain that nothing was done.
    proxy.set(Mode::Closed);
    proxy.cut();
    let error = store.commit(put("lost/d")).await.expect_err("nobody there");
    assert!(matches!(error, Error::Unavailable { .. }), "{error}");
    proxy.set(Mode::Open);
    done(&*store, put("lost/e")).await;
    assert!(direct.get("lost/d").await.expect("a read").is_none());
}

async fn nothing_is_done_twice_over_a_line_that_breaks(cluster: &Cluster) {
    let direct = cluster.store().await;
    let start = direct.range(&KeyRange::default()).await.expect("a range").revision;
    let mut watch = direct.watch("twice/", start).await.expect("a watch");
    let proxies = [Proxy::start(cluster.port(0)).await, Proxy::start(cluster.port(2)).await];
    let store = open("etcd", &cluster.settings(&[proxies[0].port, proxies[1].port])).await.expect("opens");
    let writer = |store: Arc<dyn Store>, writer: usize| async move {
        let mut answers = Vec::new();
        for index in 0..40 {
            let key = format!("twice/{writer}/{index}");
            answers.push((key.clone(), store.commit(put(&key)).await));
        }
        answers
    };
    let tasks: Vec<_> = (0..4).map(|number| tokio::spawn(writer(Arc::clone(&store), number))).collect();
    let mut round = 0;
    while tasks.iter().any(|task| !task.is_finished()) {
        for proxy in &proxies {
            proxy.set(if round % 3 == 2 { Mode::Deaf } else { Mode::Open });
        }
        tokio::time::sleep(Duration::from_millis(40 + round % 7 * 10)).await;
        if round % 3 != 1 {
            proxies[(round / 3 % 2) as usize].cut();
        }
        round += 1;
    }
    let last = done(&*direct, put("twice/last")).await;
    let mut counts = BTreeMap::new();
    for (_, keys) in heard(&mut watch, last).await {
        keys.into_iter().for_each(|key| *counts.entry(key).or_insert(0) += 1);
    }
    for task in tasks {
        for (key, answer) in task.await.expect("no panic") {
            let count = counts.get(&key).copied().unwrap_or(0);
            match answer {
                Ok(Committed::Done(_)) => assert_eq!(count, 1, "{key}"),
                Ok(Committed::Conflict) => panic!("{key}: a conflict with oneself"),
                Err(Error::OutcomeUnknown { .. }) => assert!(count <= 1, "{key}"),
                Err(error) => assert_eq!(count, 0, "{key}: {error}"),
            }
        }
    }
    assert!(round > 10, "nothing was tested");
}

async fn a_watch_goes_on_over_a_broken_stream(cluster: &Cluster) {
    let direct = cluster.store().await;
    let proxy = Proxy::start(cluster.port(1)).await;
    let store = open("etcd", &cluster.settings(&[proxy.port])).await.expect("opens");
    let start = direct.range(&KeyRange::default()).await.expect("a range").revision;
    let mut watch = store.watch("broken/", start).await.expect("a watch");
    let writing = {
        let direct = Arc::clone(&direct);
        tokio::spawn(async move { scribble(&direct, "broken/", 150).await })
    };
    for round in 0u64.. {
        if writing.is_finished() {
            assert!(round > 5, "nothing was tested");
            break;
        }
        tokio::time::sleep(Duration::from_millis(15 + round * 13 % 90)).await;
        proxy.set(if round % 4 == 3 { Mode::Deaf } else { Mode::Open });
        proxy.cut();
    }
    proxy.set(Mode::Open);
    proxy.cut();
    let made: Vec<_> = writing.await.expect("no panic").into_iter().collect();
    let last = made.last().expect("some").0;
    assert_eq!(heard(&mut watch, last).await, made);
}

/// The connection neither breaks nor delivers: only missing keep-alives show the fault.
async fn a_watch_leaves_a_line_that_hangs(cluster: &Cluster) {
    let direct = cluster.store().await;
    let proxy = Proxy::start(cluster.port(0)).await;
    let store = open("etcd", &cluster.settings(&[proxy.port, cluster.port(1)])).await.expect("opens");
    let start = done(&*direct, put("hangs/a")).await;
    let mut watch = store.watch("hangs/", start).await.expect("a watch");
    let first = done(&*direct, put("hangs/b")).await;
    assert!(matches!(next(&mut watch).await, WatchEvent::Changes { revision, .. } if revision == first));
    proxy.set(Mode::Silent);
    let begun = Instant::now();
    let second = done(&*direct, put("hangs/c")).await;
    assert!(matches!(next(&mut watch).await, WatchEvent::Changes { revision, .. } if revision == second));
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

async fn a_watch_goes_on_over_a_compaction(cluster: &Cluster) {
    let direct = cluster.store().await;
    let proxy = Proxy::start(cluster.port(2)).await;
    let store = open("etcd", &cluster.settings(&[proxy.port])).await.expect("opens");
    let start = done(&*direct, put("away/a")).await;
    let mut watch = store.watch("away/", start).await.expect("a watch");
    let first = done(&*direct, put("away/b")).await;
    assert!(matches!(next(&mut watch).await, WatchEvent::Changes { revision, .. } if revision == first));
    // The connection is closed, and what happens meanwhile is compacted.
    proxy.set(Mode::Closed);
    proxy.cut();
    for _ in 0..5 {
        done(&*direct, put("away/c")).await;
    }
    let compacted = done(&*direct, Transaction::default().delete("away/a")).await;
    direct.compact(compacted + 1).await.expect("compacted");
    let after = done(&*direct, put("away/d")).await;
    proxy.set(Mode::Open);
    assert_eq!(next(&mut watch).await, WatchEvent::Gap { revision: compacted });
    assert!(matches!(next(&mut watch).await, WatchEvent::Changes { revision, .. } if revision == after));
    let more = done(&*direct, put("away/e")).await;
    assert!(matches!(next(&mut watch).await, WatchEvent::Changes { revision, .. } if revision == more));
}

/// As after a restore from a backup (docs/faults.md#f19): the revisions are lower, and have another meaning.
async fn a_watch_notices_that_the_cluster_is_another(cluster: &Cluster) {
    let proxy = Proxy::start(cluster.port(0)).await;
    let store = open("etcd", &cluster.settings(&[proxy.port])).await.expect("opens");
    let start = done(&*store, put("another/a")).await;
    let mut watch = store.watch("another/", start).await.expect("a watch");
    let first = done(&*store, put("another/b")).await;
    assert!(matches!(next(&mut watch).await, WatchEvent::Changes { revision, .. } if revision == first));
    let other = cluster.another(&[]);
    let restored = done(&*other.store().await, put("another/c")).await;
    assert!(restored < first);
    proxy.lead_to(other.port(0));
    assert_eq!(next(&mut watch).await, WatchEvent::Gap { revision: restored });
    // Commits work too, although the known revision of the marker is no longer true.
    let second = done(&*store, put("another/d")).await;
    assert!(matches!(next(&mut watch).await, WatchEvent::Changes { revision, .. } if revision == second));
    assert!(second < first);
}

/// etcd's quota is used up (docs/faults.md#f12).
async fn a_full_etcd(cluster: &Cluster) {
    let small = cluster.another(&["--quota-backend-bytes", "4000000"]);
    let store = small.store().await;
    let (mut stored, mut refused) = (Vec::new(), 0);
    for index in 0..400 {
        if refused == 20 {
            break;
        }
        // etcd checks its size every tenth of a second.
        tokio::time::sleep(Duration::from_millis(10)).await;
        let key = format!("full/{index:03}");
        match store.commit(Transaction::default().put(&key, vec![1; 100_000])).await {
            Ok(_) => stored.push(key),
            Err(error) => {
                assert!(matches!(error, Error::Broken { .. }), "{error}");
                assert!(
                    error.to_string().contains("space exceeded") && error.to_string().contains("disarm"),
                    "{error}"
                );
                refused += 1;
            }
        }
    }
    assert!(refused == 20 && stored.len() > 5, "{refused} refused, {} stored", stored.len());
    // Exactly the acknowledged commits are stored.
    let keys = store.range(&KeyRange::prefix("full/").keys_only()).await.expect("a range").pairs;
    assert_eq!(keys.iter().map(|pair| &pair.key).collect::<Vec<_>>(), stored.iter().collect::<Vec<_>>());
    // Deleting works; after the repair everything works again.
    // The last key is deleted separately: compacting at its revision covers the deletion of the others.
    let (last, others) = stored.split_last().expect("some");
    for part in others.chunks(100) {
        done(&*store, part.iter().fold(Transaction::default(), |all, key| all.delete(key))).await;
    }
    let revision = done(&*store, Transaction::default().delete(last)).await;
    assert!(store.range(&KeyRange::prefix("full/")).await.expect("a range").pairs.is_empty());
    store.compact(revision).await.expect("compacted");
    // etcd frees compacted data with a delay, which is longer on a busy machine.
    let begun = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        small.defragment(0);
        match store.commit(put("full/after")).await {
            Ok(_) => break,
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(60), "{error}"),
        }
    }
}

async fn a_lease_that_cannot_be_kept_alive_is_lost(cluster: &Cluster) {
    let direct = cluster.store().await;
    let proxy = Proxy::start(cluster.port(0)).await;
    let store = open("etcd", &cluster.settings(&[proxy.port])).await.expect("opens");
    let ttl = Duration::from_secs(4);
    let mut lease = store.lease(ttl).await.expect("a lease");
    let put = done(&*store, Transaction::default().put_with_lease("kept/a", "x", &lease)).await;
    let mut watch = direct.watch("kept/", put).await.expect("a watch");
    // Short faults have no effect.
    for _ in 0..8 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        proxy.cut();
    }
    assert!(!lease.is_lost());
    proxy.set(Mode::Silent);
    let begun = Instant::now();
    lease.lost.wait_for(|lost| *lost).await.expect("told");
    assert!(begun.elapsed() < ttl, "known only after {:?}", begun.elapsed());
    assert!(direct.get("kept/a").await.expect("a read").is_some(), "lost for us before it is lost for others");
    assert!(matches!(next(&mut watch).await, WatchEvent::Changes { .. }), "then etcd ends it");
    assert!(direct.get("kept/a").await.expect("a read").is_none());
    proxy.set(Mode::Open);
    proxy.cut();
    let error = store.commit(Transaction::default().put_with_lease("kept/b", "x", &lease)).await.expect_err("gone");
    assert!(matches!(error, Error::LeaseGone), "{error}");
}

/// A member fails (docs/faults.md#f4).
async fn a_leader_that_is_killed(cluster: &mut Cluster) {
    let store = cluster.store().await;
    let start = store.range(&KeyRange::default()).await.expect("a range").revision;
    let mut watch = store.watch("leader/", start).await.expect("a watch");
    let lease = store.lease(Duration::from_secs(20)).await.expect("a lease");
    done(&*store, Transaction::default().put_with_lease("mine", "x", &lease)).await;
    let mut made = Vec::new();
    for round in 0..2 {
        let leader = cluster.leader();
        let writing = {
            let store = Arc::clone(&store);
            tokio::spawn(async move { scribble(&store, &format!("leader/{round}/"), 60).await })
        };
        tokio::time::sleep(Duration::from_millis(100)).await;
        cluster.kill(leader);
        // No request fails: `scribble` requires all commits to succeed.
        made.extend(writing.await.expect("no panic"));
        cluster.start_member(leader);
        cluster.leader();
    }
    let last = made.last().expect("some").0;
    assert_eq!(heard(&mut watch, last).await, made);
    assert!(!lease.is_lost());
    assert!(store.get("mine").await.expect("a read").is_some());
}

/// etcd has no quorum (docs/faults.md#f6).
async fn two_of_three_stopped(cluster: &Cluster) {
    let limit = Duration::from_secs(3);
    let ports: Vec<u16> = (0..3).map(|index| cluster.port(index)).collect();
    let settings = Settings { time_limit: Some(limit), ..cluster.settings(&ports) };
    let store = open("etcd", &settings).await.expect("opens");
    let before = done(&*store, put("quorum/before")).await;
    let mut watch = store.watch("quorum/", before).await.expect("a watch");
    cluster.pause(0, true);
    cluster.pause(1, true);
    for key in ["quorum/a", "quorum/b"] {
        let begun = Instant::now();
        let error = store.commit(put(key)).await.expect_err("no quorum");
        assert!(begun.elapsed() < limit + Duration::from_secs(20), "{:?}", begun.elapsed());
        assert!(matches!(error, Error::OutcomeUnknown { .. } | Error::Unavailable { .. }), "{error}");
        assert!(error.is_transient() && error.to_string().contains("https://127.0.0.1"), "{error}");
    }
    let begun = Instant::now();
    let error = store.get("quorum/before").await.expect_err("what can't be proved to be the newest isn't read");
    assert!(begun.elapsed() < limit + Duration::from_secs(20), "{error}");
    cluster.pause(0, false);
    cluster.pause(1, false);
    cluster.leader();
    let after = after_a_while(&*store, "quorum/after").await;
    let told = told_up_to(&mut watch, after).await;
    let stored = store.range(&KeyRange::prefix("quorum/").keys_only()).await.expect("a range").pairs;
    // Commits with an unknown outcome are done once or not at all, and the watch agrees with the listing.
    assert_eq!(told.len() + 1, stored.len());
    assert!(told.iter().all(|key| stored.iter().any(|pair| pair.key == *key)));
}

async fn all_stopped_for_longer_than_a_lease(cluster: &Cluster) {
    let store = cluster.store().await;
    let ttl = Duration::from_secs(3);
    let mut lease = store.lease(ttl).await.expect("a lease");
    let put = done(&*store, Transaction::default().put_with_lease("stopped/a", "x", &lease)).await;
    let mut watch = store.watch("stopped/", put).await.expect("a watch");
    tokio::time::sleep(ttl).await;
    assert!(!lease.is_lost());
    (0..3).for_each(|index| cluster.pause(index, true));
    let begun = Instant::now();
    lease.lost.wait_for(|lost| *lost).await.expect("told");
    assert!(begun.elapsed() < ttl, "known only after {:?}", begun.elapsed());
    tokio::time::sleep((ttl + Duration::from_secs(2)).saturating_sub(begun.elapsed())).await;
    (0..3).for_each(|index| cluster.pause(index, false));
    cluster.leader();
    assert!(matches!(next(&mut watch).await, WatchEvent::Changes { .. }), "its key goes");
    after_a_while(&*store, "stopped/b").await;
    assert!(store.get("stopped/a").await.expect("a read").is_none());
}

/// Commits, once the members have a quorum again.
async fn after_a_while(store: &dyn Store, key: &str) -> u64 {
    let begun = Instant::now();
    loop {
        match store.commit(put(key)).await {
            Ok(Committed::Done(revision)) => return revision,
            Ok(Committed::Conflict) => panic!("a conflict"),
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(30), "{error}"),
        }
    }
}

async fn told_up_to(watch: &mut StoreWatch, last: u64) -> Vec<String> {
    heard(watch, last).await.into_iter().flat_map(|(_, keys)| keys).collect()
}
