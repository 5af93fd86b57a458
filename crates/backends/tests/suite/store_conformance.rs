//! The conformance suite of stores. Stores that need no setup run it here; `etcd` runs it in its own tests.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use rocksalt_backends::store::{
    Committed, Error, KeyChange, KeyRange, Pair, Revision, Settings, Store, StoreWatch, Transaction, WatchEvent, open,
};
use tempfile::TempDir;

/// A directory of mode 0700, as a store on disk requires it.
pub fn private() -> TempDir {
    tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir().expect("a directory")
}

#[tokio::test(flavor = "multi_thread")]
async fn memory() {
    all(&open("memory", &Settings::default()).await.expect("opens")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn disk() {
    let directory = private();
    let settings = Settings { path: directory.path().join("store"), ..Settings::default() };
    all(&open("disk", &settings).await.expect("opens")).await;
}

#[tokio::test]
async fn a_store_that_is_not_there_is_named() {
    let error = open("redis", &Settings::default()).await.err().expect("refused").to_string();
    assert_eq!(error, "unknown store 'redis'; known are disk, etcd, memory");
}

/// Each check uses its own prefix in the store.
pub async fn all(store: &Arc<dyn Store>) {
    a_pair_knows_its_commits(&**store).await;
    ranges(&**store).await;
    long_ranges(&**store).await;
    conditions(&**store).await;
    writers_never_lose_a_change(store).await;
    readers_see_all_of_a_commit_or_nothing(store).await;
    a_watch_tells_all_from_any_revision(store).await;
    a_watch_tells_of_its_prefix_only(&**store).await;
    a_slow_watch_misses_nothing(store).await;
    a_watch_may_be_given_up_while_it_waits(&**store).await;
    too_much_is_refused(&**store).await;
    large_values(&**store).await;
    as_memory_does(&**store).await;
    leases(store).await;
    // The last one, because it discards the history for all.
    compaction(&**store).await;
}

fn tx() -> Transaction {
    Transaction::default()
}

pub async fn done(store: &dyn Store, transaction: Transaction) -> Revision {
    match store.commit(transaction).await.expect("a commit") {
        Committed::Done(revision) => revision,
        Committed::Conflict => panic!("a conflict"),
    }
}

async fn get(store: &dyn Store, key: &str) -> Option<Pair> {
    store.get(key).await.expect("a read")
}

async fn value(store: &dyn Store, key: &str) -> Option<String> {
    get(store, key).await.map(|pair| String::from_utf8(pair.value).expect("text"))
}

pub async fn next(watch: &mut StoreWatch) -> WatchEvent {
    let news = tokio::time::timeout(Duration::from_secs(30), watch.next()).await.expect("news in time");
    news.expect("an open watch").expect("no error")
}

async fn quiet(watch: &mut StoreWatch) {
    let news = tokio::time::timeout(Duration::from_millis(150), watch.next()).await;
    assert!(news.is_err(), "{news:?}");
}

async fn a_pair_knows_its_commits(store: &dyn Store) {
    assert_eq!(get(store, "pair/a").await, None);
    let first = done(store, tx().put("pair/a", "1")).await;
    let pair = get(store, "pair/a").await.expect("there");
    assert_eq!(pair, Pair { key: "pair/a".into(), value: b"1".to_vec(), created: first, modified: first });
    let second = done(store, tx().put("pair/a", "2").put("pair/b", "")).await;
    assert!(second > first);
    let pair = get(store, "pair/a").await.expect("there");
    assert_eq!((pair.value, pair.created, pair.modified), (b"2".to_vec(), first, second));
    assert_eq!(get(store, "pair/b").await.map(|pair| pair.value), Some(Vec::new()));
    let third = done(store, tx().delete("pair/a").delete("pair/never")).await;
    assert_eq!(get(store, "pair/a").await, None);
    let fourth = done(store, tx().put("pair/a", "3")).await;
    assert!(fourth > third);
    assert_eq!(get(store, "pair/a").await.map(|pair| pair.created), Some(fourth));
    // Values are opaque bytes, and the last of two changes of a key wins.
    let bytes: Vec<u8> = (0..=255).collect();
    done(store, tx().put("pair/a", "x").put("pair/a", bytes.clone())).await;
    assert_eq!(get(store, "pair/a").await.map(|pair| pair.value), Some(bytes));
    done(store, tx().put("pair/a", "x").delete("pair/a")).await;
    assert_eq!(get(store, "pair/a").await, None);
    assert_eq!(get(store, "").await, None);
}

async fn ranges(store: &dyn Store) {
    let keys = ["range", "range.", "range/", "range/a", "range/a/b", "range/b", "range/~", "range0", "rangf"];
    let last = done(store, keys.iter().fold(tx(), |all, key| all.put(*key, *key))).await;
    let listed = async |range: KeyRange| {
        let listing = store.range(&range).await.expect("a range");
        assert!(listing.revision >= last);
        let keys: Vec<String> = listing.pairs.iter().map(|pair| pair.key.clone()).collect();
        for pair in listing.pairs {
            assert_eq!(pair.value, if range.keys_only { b"".to_vec() } else { pair.key.into_bytes() });
            assert_eq!((pair.created, pair.modified), (last, last));
        }
        (keys.join(" "), listing.more)
    };
    let below = || KeyRange::prefix("range/");
    assert_eq!(listed(below()).await, ("range/ range/a range/a/b range/b range/~".into(), false));
    assert_eq!(listed(below().keys_only()).await, ("range/ range/a range/a/b range/b range/~".into(), false));
    assert_eq!(listed(below().descending()).await, ("range/~ range/b range/a/b range/a range/".into(), false));
    assert_eq!(listed(below().limit(2)).await, ("range/ range/a".into(), true));
    assert_eq!(listed(below().limit(5)).await, ("range/ range/a range/a/b range/b range/~".into(), false));
    assert_eq!(listed(below().limit(2).descending()).await, ("range/~ range/b".into(), true));
    assert_eq!(listed(below().limit(0)).await, (String::new(), true));
    assert_eq!(listed(KeyRange::prefix("range/x").limit(0)).await, (String::new(), false));
    assert_eq!(listed(KeyRange::prefix("range/~")).await, ("range/~".into(), false));
    assert_eq!(
        listed(KeyRange { from: "range/a".into(), to: "range/b".into(), ..KeyRange::default() }).await.0,
        "range/a range/a/b"
    );
    for nothing in
        [KeyRange::default(), KeyRange { from: "range/b".into(), to: "range/a".into(), ..KeyRange::default() }]
    {
        assert_eq!(listed(nothing).await, (String::new(), false));
    }
    let all = store.range(&KeyRange::prefix("").keys_only()).await.expect("a range");
    assert!(all.pairs.is_sorted_by(|one, next| one.key < next.key));
    assert!(keys.iter().all(|key| all.pairs.iter().any(|pair| pair.key == *key)));
}

async fn long_ranges(store: &dyn Store) {
    let key = |index: usize| format!("long/{index:05}");
    for part in 0..20 {
        done(store, (part * 65..(part + 1) * 65).fold(tx(), |all, index| all.put(key(index), key(index)))).await;
    }
    let keys = |pairs: Vec<Pair>| pairs.into_iter().map(|pair| pair.key).collect::<Vec<_>>();
    let whole = store.range(&KeyRange::prefix("long/")).await.expect("a range");
    assert!(!whole.more);
    assert_eq!(keys(whole.pairs), (0..1300).map(key).collect::<Vec<_>>());
    let backwards = store.range(&KeyRange::prefix("long/").descending()).await.expect("a range");
    assert_eq!(keys(backwards.pairs), (0..1300).rev().map(key).collect::<Vec<_>>());
    let many = store.range(&KeyRange::prefix("long/").limit(1100).keys_only()).await.expect("a range");
    assert_eq!((keys(many.pairs), many.more), ((0..1100).map(key).collect(), true));
    let many = store.range(&KeyRange::prefix("long/").limit(1100).descending()).await.expect("a range");
    assert_eq!((keys(many.pairs), many.more), ((200..1300).rev().map(key).collect(), true));
    let many = store.range(&KeyRange::prefix("long/").limit(1300).descending()).await.expect("a range");
    assert_eq!((many.pairs.len(), many.more), (1300, false));
}

async fn conditions(store: &dyn Store) {
    let conflict = async |transaction| {
        assert_eq!(store.commit(transaction).await.expect("an answer"), Committed::Conflict);
    };
    let first = done(store, tx().if_absent("if/a").put("if/a", "1")).await;
    conflict(tx().if_absent("if/a").put("if/a", "2").put("if/b", "2").delete("if/a")).await;
    assert_eq!((value(store, "if/a").await, get(store, "if/b").await), (Some("1".into()), None));
    // A condition may be on a key that is not changed.
    let second = done(store, tx().if_revision("if/a", first).put("if/b", "3")).await;
    conflict(tx().if_revision("if/a", first).if_revision("if/b", first).put("if/c", "4")).await;
    conflict(tx().if_revision("if/a", second).delete("if/a")).await;
    conflict(tx().if_revision("if/never", first).put("if/c", "4")).await;
    conflict(tx().if_revision("if/a", 0).put("if/a", "5")).await;
    assert_eq!(get(store, "if/c").await, None);
    // A transaction with conditions only.
    let seen = done(store, tx().if_revision("if/a", first).if_absent("if/c")).await;
    assert!(seen >= second);
    conflict(tx().if_absent("if/a")).await;
    done(store, tx()).await;
    // A deleted key is absent, and a new one has another revision.
    done(store, tx().if_revision("if/a", first).delete("if/a")).await;
    done(store, tx().if_absent("if/a").put("if/a", "6")).await;
    conflict(tx().if_revision("if/a", first).put("if/a", "7")).await;
}

async fn writers_never_lose_a_change(store: &Arc<dyn Store>) {
    done(&**store, tx().put("count", "0")).await;
    let together = Arc::new(tokio::sync::Barrier::new(8));
    let count = |store: Arc<dyn Store>, together: Arc<tokio::sync::Barrier>| async move {
        let mut conflicts = 0;
        let mut revisions = Vec::new();
        while revisions.len() < 20 {
            let pair = get(&*store, "count").await.expect("there");
            let number: u64 = String::from_utf8(pair.value).expect("text").parse().expect("a number");
            // All transactions are conditional on the same revision, and exactly one wins.
            if revisions.is_empty() && conflicts == 0 {
                together.wait().await;
            }
            let counted = tx().if_revision("count", pair.modified).put("count", (number + 1).to_string());
            match store.commit(counted).await.expect("an answer") {
                Committed::Done(revision) => revisions.push(revision),
                Committed::Conflict => conflicts += 1,
            }
        }
        (revisions, conflicts)
    };
    let tasks: Vec<_> = (0..8).map(|_| tokio::spawn(count(Arc::clone(store), Arc::clone(&together)))).collect();
    let (mut revisions, mut conflicts) = (Vec::new(), 0);
    for task in tasks {
        let (done, conflicting) = task.await.expect("no panic");
        assert!(done.is_sorted_by(|one, next| one < next));
        revisions.extend(done);
        conflicts += conflicting;
    }
    assert_eq!(value(&**store, "count").await, Some("160".into()));
    revisions.sort_unstable();
    revisions.dedup();
    assert_eq!(revisions.len(), 160, "two commits have one revision");
    assert!(conflicts >= 7, "nothing was tested");
}

async fn readers_see_all_of_a_commit_or_nothing(store: &Arc<dyn Store>) {
    let keys = ["both/a", "both/b", "both/c"];
    done(&**store, keys.iter().fold(tx(), |all, key| all.put(*key, "0"))).await;
    let writer = {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            for number in 1..=100 {
                done(&*store, keys.iter().fold(tx(), |all, key| all.put(*key, number.to_string()))).await;
            }
        })
    };
    let mut newest = 0;
    while !writer.is_finished() {
        let listing = store.range(&KeyRange::prefix("both/")).await.expect("a range");
        assert_eq!(listing.pairs.len(), 3);
        assert!(
            listing.pairs.iter().all(|pair| pair.value == listing.pairs[0].value && pair.modified <= listing.revision)
        );
        assert!(listing.revision >= newest, "a later listing shows an earlier state");
        newest = listing.revision;
    }
    writer.await.expect("no panic");
}

/// Commits changes from several tasks. Returns the committed changes by revision.
pub async fn scribble(store: &Arc<dyn Store>, root: &str, each: usize) -> BTreeMap<Revision, Vec<String>> {
    let scribbler = |store: Arc<dyn Store>, root: String, task: usize| async move {
        let mut made = Vec::new();
        for index in 0..each {
            let key = |name: &str| format!("{root}{task}/{index}/{name}");
            let mut keys = vec![key("a")];
            let mut transaction = tx().put(key("a"), index.to_string());
            if index % 3 == 0 {
                transaction = transaction.put(key("b"), "b");
                keys.push(key("b"));
            }
            made.push((done(&*store, transaction).await, keys));
        }
        made
    };
    let tasks: Vec<_> = (0..4).map(|task| tokio::spawn(scribbler(Arc::clone(store), root.to_owned(), task))).collect();
    let mut all = BTreeMap::new();
    for task in tasks {
        for (revision, keys) in task.await.expect("no panic") {
            assert!(all.insert(revision, keys).is_none(), "two commits have revision {revision}");
        }
    }
    all
}

/// Reads a watch up to a revision; the caller checks for gaps and order.
pub async fn heard(watch: &mut StoreWatch, last: Revision) -> Vec<(Revision, Vec<String>)> {
    let mut all = Vec::new();
    loop {
        match next(watch).await {
            WatchEvent::Changes { revision, changes } => {
                let mut keys: Vec<String> = changes.iter().map(|change| change.key().to_owned()).collect();
                keys.sort();
                all.push((revision, keys));
                if revision >= last {
                    return all;
                }
            }
            WatchEvent::Gap { revision } => panic!("a gap up to {revision}"),
        }
    }
}

async fn a_watch_tells_all_from_any_revision(store: &Arc<dyn Store>) {
    let start = store.range(&KeyRange::default()).await.expect("a range").revision;
    let mut from_the_start = store.watch("watch/", start).await.expect("a watch");
    let live = {
        let mut watch = store.watch("watch/", start).await.expect("a watch");
        tokio::spawn(async move { heard_count(&mut watch, 120).await.len() })
    };
    let made = scribble(store, "watch/", 30).await;
    let made: Vec<(Revision, Vec<String>)> = made.into_iter().collect();
    let last = made.last().expect("some").0;
    assert_eq!(heard(&mut from_the_start, last).await, made);
    assert_eq!(live.await.expect("no panic"), 120);
    for skipped in [0, 1, 17, 60, 118] {
        let mut watch = store.watch("watch/", made[skipped].0).await.expect("a watch");
        assert_eq!(heard(&mut watch, last).await, made[skipped + 1..], "after {skipped}");
    }
    // From the revision of a listing on there are neither gaps nor duplicates.
    let listing = store.range(&KeyRange::prefix("watch/")).await.expect("a range");
    let mut watch = store.watch("watch/", listing.revision).await.expect("a watch");
    quiet(&mut watch).await;
    let more = done(&**store, tx().put("watch/more", "x")).await;
    assert_eq!(heard(&mut watch, more).await, [(more, vec!["watch/more".to_owned()])]);
}

async fn heard_count(watch: &mut StoreWatch, count: usize) -> Vec<WatchEvent> {
    let mut all = Vec::new();
    while all.len() < count {
        all.push(next(watch).await);
    }
    all
}

async fn a_watch_tells_of_its_prefix_only(store: &dyn Store) {
    let start = done(store, tx().put("only/gone", "x")).await;
    let mut watch = store.watch("only/", start).await.expect("a watch");
    let mut everything = store.watch("", start).await.expect("a watch");
    done(store, tx().put("only", "x").put("only0", "x")).await;
    let revision =
        done(store, tx().put("only/a", "1").put("other", "x").delete("only/gone").delete("only/never")).await;
    let WatchEvent::Changes { revision: told, mut changes } = next(&mut watch).await else { panic!("a gap") };
    changes.sort_by(|one, other| one.key().cmp(other.key()));
    let pair = Pair { key: "only/a".into(), value: b"1".to_vec(), created: revision, modified: revision };
    assert_eq!((told, changes), (revision, vec![KeyChange::Put(pair), KeyChange::Deleted { key: "only/gone".into() }]));
    // A commit without changes is not reported.
    done(store, tx().delete("only/never")).await;
    let again = done(store, tx().put("only/a", "2")).await;
    let WatchEvent::Changes { revision: told, changes } = next(&mut watch).await else { panic!("a gap") };
    let pair = Pair { key: "only/a".into(), value: b"2".to_vec(), created: revision, modified: again };
    assert_eq!((told, changes), (again, vec![KeyChange::Put(pair)]));
    let all: Vec<_> = heard(&mut everything, again).await.into_iter().flat_map(|(_, keys)| keys).collect();
    assert_eq!(all, ["only", "only0", "only/a", "only/gone", "other", "only/a"]);
    // A watch from a future revision reports nothing before it.
    let mut ahead = store.watch("only/", again + 1).await.expect("a watch");
    done(store, tx().put("only/a", "3")).await;
    let later = done(store, tx().put("only/a", "4")).await;
    assert!(matches!(next(&mut ahead).await, WatchEvent::Changes { revision, .. } if revision == later));
}

async fn a_slow_watch_misses_nothing(store: &Arc<dyn Store>) {
    let start = store.range(&KeyRange::default()).await.expect("a range").revision;
    let mut slow = store.watch("slow/", start).await.expect("a watch");
    let made: Vec<_> = scribble(store, "slow/", 250).await.into_iter().collect();
    let last = made.last().expect("some").0;
    assert_eq!(heard(&mut slow, last).await, made);
}

async fn a_watch_may_be_given_up_while_it_waits(store: &dyn Store) {
    let start = store.range(&KeyRange::default()).await.expect("a range").revision;
    let mut watch = store.watch("patience/", start).await.expect("a watch");
    for index in 0..10 {
        for _ in 0..3 {
            assert!(tokio::time::timeout(Duration::from_millis(1), watch.next()).await.is_err());
        }
        let revision = done(store, tx().put("patience/a", index.to_string())).await;
        assert!(matches!(next(&mut watch).await, WatchEvent::Changes { revision: told, .. } if told == revision));
    }
}

async fn too_much_is_refused(store: &dyn Store) {
    let limits = store.limits();
    let full = (0..limits.operations)
        .fold(tx(), |all, index| all.if_absent(format!("much/{index}")).put(format!("much/{index}"), "x"));
    done(store, full.clone()).await;
    let error = store.commit(full.put("much/more", "x")).await.expect_err("too many");
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    let error = store.commit(tx().put("much/large", vec![0; limits.bytes])).await.expect_err("too large");
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    assert_eq!(get(store, "much/large").await, None);
    for key in ["", "line\nbreak", "ümlaut"] {
        let error = store.commit(tx().put(key, "x")).await.expect_err("no key");
        assert!(matches!(error, Error::Key { .. }), "{error}");
    }
}

async fn large_values(store: &dyn Store) {
    let large: Vec<u8> = (0..1 << 20).map(|index: u32| (index % 251) as u8).collect();
    let revision = done(store, tx().put("large/a", large.clone())).await;
    done(store, tx().put("large/b", large.clone())).await;
    let pairs = store.range(&KeyRange::prefix("large/")).await.expect("a range").pairs;
    assert!(pairs.len() == 2 && pairs.iter().all(|pair| pair.value == large));
    let mut watch = store.watch("large/", revision - 1).await.expect("a watch");
    for _ in 0..2 {
        let WatchEvent::Changes { changes, .. } = next(&mut watch).await else { panic!("a gap") };
        assert!(matches!(&changes[..], [KeyChange::Put(pair)] if pair.value == large));
    }
}

/// Random transactions have the same results on this store and on one in memory, except for revisions.
async fn as_memory_does(store: &dyn Store) {
    let model = open("memory", &Settings::default()).await.expect("opens");
    let start = store.range(&KeyRange::default()).await.expect("a range").revision;
    let mut watches =
        [store.watch("model/", start).await, model.watch("model/", 0).await].map(|watch| watch.expect("one"));
    let mut chance = 0x2545_f491_4f6c_dd1du64;
    let mut roll = |sides: u64| {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        chance % sides
    };
    let (mut conflicts, mut told) = (0, 0);
    for round in 0..300 {
        let mut transactions = [tx(), tx()];
        for _ in 0..roll(3) {
            let (key, wrong) = (format!("model/{}", roll(8)), roll(5) == 0);
            for (index, store) in [store, &*model].into_iter().enumerate() {
                let transaction = std::mem::take(&mut transactions[index]);
                transactions[index] = match get(store, &key).await {
                    Some(pair) if !wrong => transaction.if_revision(&key, pair.modified),
                    Some(_) => transaction.if_absent(&key),
                    None if !wrong => transaction.if_absent(&key),
                    None => transaction.if_revision(&key, 1),
                };
            }
        }
        for _ in 0..roll(5) {
            let (key, delete) = (format!("model/{}", roll(8)), roll(3) == 0);
            transactions = transactions.map(|transaction| match delete {
                true => transaction.delete(&key),
                false => transaction.put(&key, format!("{round}")),
            });
        }
        let [ours, theirs] = transactions;
        let answers = [store.commit(ours).await.expect("an answer"), model.commit(theirs).await.expect("an answer")];
        let conflict = answers.map(|answer| answer == Committed::Conflict);
        assert_eq!(conflict[0], conflict[1], "round {round}");
        conflicts += usize::from(conflict[0]);
    }
    for store in [store, &*model] {
        done(store, tx().put("model/last", "x")).await;
    }
    loop {
        let [ours, theirs] = &mut watches;
        let (ours, theirs) = (without_numbers(next(ours).await), without_numbers(next(theirs).await));
        assert_eq!(ours, theirs, "after {told}");
        told += 1;
        if ours.contains_key("model/last") {
            break;
        }
    }
    let listed = async |store: &dyn Store| {
        let pairs = store.range(&KeyRange::prefix("model/")).await.expect("a range").pairs;
        pairs.into_iter().map(|pair| (pair.key, pair.value, pair.created == pair.modified)).collect::<Vec<_>>()
    };
    assert_eq!(listed(store).await, listed(&*model).await);
    assert!(conflicts > 20 && told > 50, "{conflicts} conflicts, {told} told: nothing was tested");
}

/// The changes of a commit, without their order: the value, and whether the key is new.
fn without_numbers(news: WatchEvent) -> BTreeMap<String, Option<(Vec<u8>, bool)>> {
    let WatchEvent::Changes { changes, .. } = news else { panic!("a gap") };
    let plain = |change| match change {
        KeyChange::Put(pair) => (pair.key, Some((pair.value, pair.created == pair.modified))),
        KeyChange::Deleted { key } => (key, None),
    };
    changes.into_iter().map(plain).collect()
}

async fn leases(store: &Arc<dyn Store>) {
    let ttl = Duration::from_secs(5);
    let (first, second) = (store.lease(ttl).await.expect("a lease"), store.lease(ttl).await.expect("a lease"));
    assert_ne!(first.id, second.id);
    let start =
        done(&**store, tx().put_with_lease("lease/a", "1", &first).put_with_lease("lease/b", "1", &second)).await;
    done(
        &**store,
        tx().put_with_lease("lease/c", "1", &first).put_with_lease("lease/d", "1", &first).put("lease/e", "1"),
    )
    .await;
    // One key leaves the lease, another one is added.
    let last = done(&**store, tx().put("lease/c", "2").put_with_lease("lease/e", "2", &first)).await;
    assert!(!first.is_lost() && !second.is_lost());
    let mut watch = store.watch("lease/", last).await.expect("a watch");
    let (mut lost, id) = (first.lost.clone(), first.id);
    drop(first);
    let WatchEvent::Changes { changes, .. } = next(&mut watch).await else { panic!("a gap") };
    let mut gone: Vec<_> =
        changes.iter().map(|change| (matches!(change, KeyChange::Deleted { .. }), change.key())).collect();
    gone.sort_unstable();
    assert_eq!(gone, [(true, "lease/a"), (true, "lease/d"), (true, "lease/e")]);
    lost.wait_for(|lost| *lost).await.expect("told");
    let left: Vec<_> = store.range(&KeyRange::prefix("lease/").keys_only()).await.expect("a range").pairs;
    assert_eq!(left.iter().map(|pair| &*pair.key).collect::<Vec<_>>(), ["lease/b", "lease/c"]);
    assert!(!second.is_lost());
    // Nothing can be put under the ended lease any more, but a conflict is still reported as one.
    let under = |key: &str| {
        let put =
            rocksalt_backends::store::TransactionOp::Put { key: key.into(), value: b"x".to_vec(), lease: Some(id) };
        let mut transaction = tx().put("lease/f", "x");
        transaction.operations.push(put);
        transaction
    };
    let error = store.commit(under("lease/g")).await.expect_err("gone");
    assert!(matches!(error, Error::LeaseGone), "{error}");
    assert_eq!(get(&**store, "lease/f").await, None);
    assert_eq!(store.commit(under("lease/g").if_absent("lease/b")).await.expect("an answer"), Committed::Conflict);
    // The other lease is kept alive for longer than its time to live.
    done(&**store, tx().if_revision("lease/b", start).put_with_lease("lease/b", "2", &second)).await;
    tokio::time::sleep(ttl + Duration::from_secs(1)).await;
    assert!(!second.is_lost());
    assert_eq!(value(&**store, "lease/b").await, Some("2".into()));
}

async fn compaction(store: &dyn Store) {
    let mut revisions = Vec::new();
    for index in 0..10 {
        revisions
            .push(done(store, tx().put("compact/a", index.to_string()).put(format!("compact/{index}"), "x")).await);
    }
    // etcd may lose a deletion at the compacted revision itself.
    let deleted = done(store, tx().delete("compact/3")).await;
    let after = done(store, tx().put("compact/a", "after")).await;
    let mut waiting = store.watch("compact/", after).await.expect("a watch");
    store.compact(deleted + 1).await.expect("compacted");
    // Compacting again, and at a revision that was compacted already.
    store.compact(deleted + 1).await.expect("compacted");
    store.compact(revisions[2]).await.expect("compacted");
    store.compact(0).await.expect("compacted");
    for revision in [0, revisions[0], revisions[9], deleted - 1] {
        let mut watch = store.watch("compact/", revision).await.expect("a watch");
        assert_eq!(next(&mut watch).await, WatchEvent::Gap { revision: deleted }, "from {revision} of {deleted}");
        assert!(matches!(next(&mut watch).await, WatchEvent::Changes { revision, .. } if revision == after));
    }
    let mut watch = store.watch("compact/", deleted).await.expect("a watch");
    assert!(matches!(next(&mut watch).await, WatchEvent::Changes { revision, .. } if revision == after));
    // A watch that has read everything is not affected, and only history is discarded.
    let more = done(store, tx().put("compact/a", "more")).await;
    assert!(matches!(next(&mut waiting).await, WatchEvent::Changes { revision, .. } if revision == more));
    assert_eq!(store.range(&KeyRange::prefix("compact/")).await.expect("a range").pairs.len(), 10);
    // Compacting at a future revision does not affect later commits.
    store.compact(more + 1_000_000).await.expect("compacted");
    let last = done(store, tx().put("compact/a", "last")).await;
    assert!(matches!(next(&mut waiting).await, WatchEvent::Changes { revision, .. } if revision == last));
}
