//! Additional tests of the store on disk: it survives any end of its process, and it is fast.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rocksalt_backends::store::{Committed, Error, KeyRange, Settings, Store, Transaction, WatchEvent, open};

use super::store_conformance::{done, next, private};

/// Tells the child process of a test where the store is.
const CHILD: &str = "ROCKSALT_TEST_STORE";

async fn disk(path: &Path) -> Result<Arc<dyn Store>, Error> {
    open("disk", &Settings { path: path.to_owned(), ..Settings::default() }).await
}

/// Runs a test of this program as a child process, which does the other half.
fn child(test: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(CHILD, path);
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn all_is_there_after_a_restart_but_what_was_under_a_lease() {
    let directory = private();
    let path = directory.path().join("store");
    let store = disk(&path).await.expect("opens");
    let first = done(&*store, Transaction::default().put("a", "1")).await;
    let lease = store.lease(Duration::from_secs(5)).await.expect("a lease");
    let second = done(&*store, Transaction::default().put_with_lease("b", "1", &lease).put("c", "1")).await;
    let mut watch = store.watch("", second).await.expect("a watch");
    drop(store);
    assert!(watch.next().await.is_none(), "a closed store says so");
    assert!(lease.is_lost());
    let store = disk(&path).await.expect("opens");
    let listing = store.range(&KeyRange::prefix("")).await.expect("a range");
    let kept: Vec<_> = listing.pairs.iter().map(|pair| (&*pair.key, pair.created)).collect();
    assert_eq!(kept, [("a", first), ("c", second)]);
    assert_eq!(listing.revision, second + 1, "that something is gone is a commit, too");
    let mut watch = store.watch("", first).await.expect("a watch");
    assert_eq!(next(&mut watch).await, WatchEvent::Gap { revision: second + 1 });
    assert_eq!(done(&*store, Transaction::default().put("d", "1")).await, second + 2);
    assert!(matches!(next(&mut watch).await, WatchEvent::Changes { revision, .. } if revision == second + 2));
}

/// kill -9 in a loop of writes: no acknowledged commit is lost, and none is partial.
#[tokio::test(flavor = "multi_thread")]
async fn killed_while_it_writes() {
    if let Ok(path) = std::env::var(CHILD) {
        return write_and_say_so(Path::new(&path)).await;
    }
    let directory = private();
    let path = directory.path().join("store");
    let mut newest = [None::<u64>; WRITERS];
    for round in 0..40u64 {
        let mut child =
            child("store_disk::killed_while_it_writes", &path).stdout(Stdio::piped()).spawn().expect("starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let reader = std::thread::spawn(move || {
            // The last line may be incomplete: its commit was not acknowledged.
            let lines = output.split(b'\n').map_while(Result::ok).filter_map(|line| String::from_utf8(line).ok());
            let acknowledged = lines.filter_map(|line| {
                let (writer, number) = line.strip_prefix("stored ")?.strip_suffix('.')?.split_once(' ')?;
                Some((writer.parse::<usize>().ok()?, number.parse::<u64>().ok()?))
            });
            acknowledged.collect::<Vec<_>>()
        });
        // At different moments: in some rounds while the store is still being opened.
        tokio::time::sleep(Duration::from_millis(20 + (round * 37) % 260)).await;
        child.kill().expect("killed");
        child.wait().expect("ended");
        for (writer, number) in reader.join().expect("no panic") {
            newest[writer] = newest[writer].max(Some(number));
        }
        let store = disk(&path).await.expect("opens after a kill");
        for (writer, newest) in newest.iter_mut().enumerate() {
            let stored = check(&*store, writer).await;
            assert!(stored >= *newest, "round {round}: {newest:?} was acknowledged, {stored:?} is stored");
            *newest = stored;
        }
    }
    let total: u64 = newest.iter().flatten().sum();
    assert!(total > 400, "only {total} were written: nothing was tested");
}

const WRITERS: usize = 4;

/// Each commit puts its number under three keys and deletes those of 50 commits before, so a partial commit would be
/// visible.
async fn write_and_say_so(path: &Path) {
    let store = disk(path).await.expect("opens");
    let writer = |store: Arc<dyn Store>, writer: usize| async move {
        let first = check(&*store, writer).await.map_or(0, |number| number + 1);
        for number in first.. {
            let text = number.to_string();
            let mut transaction = Transaction::default()
                .put(format!("{writer}/newest"), &*text)
                .put(format!("{writer}/again"), &*text)
                .put(format!("{writer}/all/{number:08}"), vec![b'x'; (number as usize * 97) % 9000]);
            if number >= 50 {
                transaction = transaction.delete(format!("{writer}/all/{:08}", number - 50));
            }
            done(&*store, transaction).await;
            // One write call for each line: it is complete, or missing.
            let line = format!("stored {writer} {number}.\n");
            std::io::stdout().lock().write_all(line.as_bytes()).expect("the parent listens");
        }
    };
    let tasks: Vec<_> = (0..WRITERS).map(|number| tokio::spawn(writer(Arc::clone(&store), number))).collect();
    for task in tasks {
        let _ = task.await;
    }
}

/// Checks that all keys of a writer are from one commit. Returns its number.
async fn check(store: &dyn Store, writer: usize) -> Option<u64> {
    let pairs = store.range(&KeyRange::prefix(&format!("{writer}/"))).await.expect("a range").pairs;
    if pairs.is_empty() {
        return None;
    }
    let value = |name: &str| {
        let pair = pairs.iter().find(|pair| pair.key == format!("{writer}/{name}")).expect(name);
        String::from_utf8(pair.value.clone()).expect("text").parse::<u64>().expect("a number")
    };
    let newest = value("newest");
    assert_eq!(value("again"), newest, "half a commit");
    let all: Vec<_> = pairs.iter().filter_map(|pair| pair.key.strip_prefix(&format!("{writer}/all/"))).collect();
    let expected: Vec<_> = (newest.saturating_sub(49)..=newest).map(|number| format!("{number:08}")).collect();
    assert_eq!(all, expected, "half a commit");
    Some(newest)
}

/// A full disk (docs/faults.md#f12), in its own mount, which needs root.
#[tokio::test(flavor = "multi_thread")]
async fn on_a_full_disk() {
    if let Ok(path) = std::env::var(CHILD) {
        return fill_the_disk(Path::new(&path)).await;
    }
    if let Some(reason) = rocksalt_testkit::cannot_run_hosts() {
        return rocksalt_testkit::say_skipped(&reason);
    }
    let directory = private();
    let command = child("store_disk::on_a_full_disk", &directory.path().join("small/store"));
    let script = "mkdir -m 700 \"$0\" && mount -t tmpfs -o size=40m,mode=700 none \"$0\" && exec \"$@\"";
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "sh", "-c", script]).arg(directory.path().join("small"));
    unshare.arg(command.get_program()).args(command.get_args()).env(CHILD, directory.path().join("small/store"));
    let output = unshare.output().expect("unshare starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("went on"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

async fn fill_the_disk(path: &Path) {
    let store = disk(path).await.expect("opens");
    let put = |index: usize| {
        Transaction::default().put(format!("a/{index}"), vec![1; 100_000]).put("newest", index.to_string())
    };
    let mut stored = 0;
    let error = loop {
        match store.commit(put(stored)).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("the disk is full"), "{error}");
    // Another program uses up the space that we keep free; then a write can fail in the middle.
    let hog = path.with_file_name("hog");
    let _ = std::fs::write(&hog, vec![1; 64 << 20]);
    for _ in 0..3 {
        store.commit(put(stored)).await.expect_err("still full");
    }
    let newest = async |store: &dyn Store| store.get("newest").await.expect("reads").expect("there").value;
    assert_eq!(newest(&*store).await, (stored - 1).to_string().into_bytes(), "what was stored can be read");
    assert_eq!(store.range(&KeyRange::prefix("a/").keys_only()).await.expect("reads").pairs.len(), stored);
    std::fs::remove_file(&hog).expect("removed");
    // Deleting frees space.
    let half = (0..stored / 2).fold(Transaction::default(), |all, index| all.delete(format!("a/{index}")));
    done(&*store, half).await;
    drop(store);
    let store = disk(path).await.expect("opens");
    done(&*store, put(stored)).await;
    assert_eq!(newest(&*store).await, stored.to_string().into_bytes());
    assert_eq!(
        store.range(&KeyRange::prefix("a/").keys_only()).await.expect("reads").pairs.len(),
        stored - stored / 2 + 1
    );
    write!(std::io::stdout(), "went on").expect("printed");
}

/// How many small commits per second 16 writers achieve, as `cargo test -p rocksalt-backends --test suite -- --ignored
/// --nocapture commits_a_second` prints. Each is on the disk when it is acknowledged.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a benchmark"]
#[allow(clippy::print_stdout)]
async fn commits_a_second() {
    let directory = private();
    let path = directory.path().join("store");
    let store = disk(&path).await.expect("opens");
    for writers in [1, 4, 16, 64] {
        let begun = Instant::now();
        let limit = Duration::from_secs(3);
        let writer = |store: Arc<dyn Store>, writer: usize| async move {
            let mut count = 0;
            while begun.elapsed() < limit {
                let transaction = Transaction::default().put(format!("{writers}/{writer}/{count:08}"), vec![7; 200]);
                assert!(matches!(store.commit(transaction).await, Ok(Committed::Done(_))));
                count += 1;
            }
            count
        };
        let tasks: Vec<_> = (0..writers).map(|number| tokio::spawn(writer(Arc::clone(&store), number))).collect();
        let mut total = 0;
        for task in tasks {
            total += task.await.expect("no panic");
        }
        println!("{writers:3} writers: {:6.0} commits a second", f64::from(total) / begun.elapsed().as_secs_f64());
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    println!("{memory}");
    for index in 0..150 {
        done(&*store, Transaction::default().put(format!("large/{index}"), vec![index as u8; 1 << 20])).await;
    }
    drop(store);
    let begun = Instant::now();
    disk(&path).await.expect("opens");
    let size = std::fs::metadata(&path).expect("there").len() >> 20;
    println!("opening a file of {size} MiB, with a check of all of it: {:.2} seconds", begun.elapsed().as_secs_f64());
}

/// Random bits of the file change: the process must not hang or crash.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_wrong_bits_harms_nobody() {
    let directory = private();
    let path = directory.path().join("store");
    let store = disk(&path).await.expect("opens");
    for part in 0..20 {
        let keys = (0..25).map(|index| format!("a/{part}/{index}"));
        done(&*store, keys.fold(Transaction::default(), |all, key| all.put(key, vec![7; 300]))).await;
    }
    drop(store);
    let whole = std::fs::read(&path).expect("reads");
    let (mut refused, mut failed, mut fine) = (0, 0, 0);
    for round in 0..120u64 {
        let mut damaged = whole.clone();
        for hit in 0..=round % 20 {
            // Some at the start of the file, most in its used part.
            let mixed = (round * 20 + hit).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
            let within = if round % 3 == 0 { 512 } else { whole.len() as u64 };
            damaged[(mixed % within) as usize] ^= 1 << (mixed >> 60 & 7);
        }
        std::fs::write(&path, damaged).expect("writes");
        let used = async {
            let store = disk(&path).await.map_err(|_| &mut refused)?;
            let read = store.range(&KeyRange::prefix("a/")).await;
            let written = store.commit(Transaction::default().put("b", "x")).await;
            let (Ok(read), Ok(_)) = (read, written) else { return Err(&mut failed) };
            // Data that is returned is correct.
            assert_eq!(read.pairs.len(), 500);
            assert!(read.pairs.iter().all(|pair| pair.value == [7; 300]));
            Ok(())
        };
        match tokio::time::timeout(Duration::from_secs(20), used).await.expect("it ends") {
            Ok(()) => fine += 1,
            Err(count) => *count += 1,
        }
    }
    assert!(refused > 20 && fine > 20, "{refused} refused, {failed} failed, {fine} fine: nothing was tested");
}
