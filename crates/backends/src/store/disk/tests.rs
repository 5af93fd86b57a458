//! Faults of the disk below a store, and access to its file.

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::StorageBackend;
use redb::backends::FileBackend;
use tempfile::TempDir;

use super::*;
use crate::store::WatchEvent;

fn put(key: &str) -> Transaction {
    Transaction::default().put(key, vec![7; 1000])
}

fn place() -> (TempDir, std::path::PathBuf) {
    let mode = PermissionsExt::from_mode(0o700);
    let directory = tempfile::Builder::new().permissions(mode).tempdir().expect("a directory");
    let path = directory.path().join("store");
    (directory, path)
}

/// A file on a disk that can be made to fail.
#[derive(Debug)]
struct Failing {
    file: FileBackend,
    writes: Arc<AtomicBool>,
    reads: Arc<AtomicBool>,
}

impl Failing {
    fn check(fails: &AtomicBool) -> std::io::Result<()> {
        match fails.load(Ordering::SeqCst) {
            true => Err(std::io::Error::from(std::io::ErrorKind::StorageFull)),
            false => Ok(()),
        }
    }
}

impl StorageBackend for Failing {
    fn len(&self) -> std::io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        Failing::check(&self.reads)?;
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> std::io::Result<()> {
        Failing::check(&self.writes)?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> std::io::Result<()> {
        Failing::check(&self.writes)?;
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        Failing::check(&self.writes)?;
        self.file.write(offset, data)
    }
}

/// Replaces the disk below an open store by one that fails on demand.
fn make_fail(disk: &Disk) -> (Arc<AtomicBool>, Arc<AtomicBool>) {
    let (writes, reads) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    disk.database.close();
    let file = disk.database.store_file().open().expect("ours").expect("there");
    let file = FileBackend::new(file).expect("a file");
    let failing = Failing { file, writes: Arc::clone(&writes), reads: Arc::clone(&reads) };
    // Without a cache every read reads the file.
    let handle = redb::Builder::new().set_cache_size(0).create_with_backend(failing).expect("opens");
    disk.database.replace(handle);
    (writes, reads)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_write_leaves_nothing_and_the_next_one_works() {
    let (_directory, path) = place();
    let disk = Disk::open(&path).await.expect("opens");
    assert_eq!(disk.commit(put("before")).await.expect("written"), Committed::Done(1));
    let mut watch = disk.watch("", 0).await.expect("a watch");
    let (writes, _) = make_fail(&disk);
    writes.store(true, Ordering::SeqCst);
    let error = disk.commit(put("lost").put("also", "x")).await.expect_err("the disk fails");
    assert!(matches!(&error, Error::Broken { why, .. } if why.contains("the disk is full")), "{error}");
    // The store has reopened the real file by itself.
    assert!(disk.get("lost").await.expect("reads").is_none());
    assert_eq!(disk.commit(put("after")).await.expect("written"), Committed::Done(2));
    let listing = disk.range(&KeyRange::prefix("").keys_only()).await.expect("reads");
    assert_eq!(listing.pairs.iter().map(|pair| &*pair.key).collect::<Vec<_>>(), ["after", "before"]);
    for expected in [1, 2] {
        let news = watch.next().await.expect("open").expect("no error");
        assert!(matches!(news, WatchEvent::Changes { revision, .. } if revision == expected), "{news:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_read_is_mended() {
    let (_directory, path) = place();
    let disk = Disk::open(&path).await.expect("opens");
    disk.commit(put("a")).await.expect("written");
    let (_, reads) = make_fail(&disk);
    reads.store(true, Ordering::SeqCst);
    assert!(disk.get("a").await.expect("read by a new handle").is_some());
    assert_eq!(disk.commit(put("b")).await.expect("written"), Committed::Done(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_file_is_away_everybody_is_told_and_later_it_goes_on() {
    let (_directory, path) = place();
    let disk = Disk::open(&path).await.expect("opens");
    disk.commit(put("a")).await.expect("written");
    let (writes, _) = make_fail(&disk);
    writes.store(true, Ordering::SeqCst);
    let elsewhere = path.with_extension("elsewhere");
    std::fs::rename(&path, &elsewhere).expect("moved");
    disk.commit(put("b")).await.expect_err("the disk fails");
    let error = disk.get("a").await.expect_err("the file is away");
    assert!(error.to_string().contains("closed after a failure"), "{error}");
    let error = disk.commit(put("b")).await.expect_err("the file is away");
    assert!(error.to_string().contains("no longer exists"), "{error}");
    assert!(!path.exists(), "an empty file was made in its place");
    std::fs::rename(&elsewhere, &path).expect("moved");
    assert_eq!(disk.commit(put("b")).await.expect("written"), Committed::Done(2));
    assert!(disk.get("a").await.expect("reads").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_has_it_and_others_are_told_who() {
    let (_directory, path) = place();
    let disk = Disk::open(&path).await.expect("opens");
    let error = Disk::open(&path).await.err().expect("in use").to_string();
    assert!(error.contains(&format!("process {}", std::process::id())) && error.contains("stop that one"), "{error}");
    // Even if a user removes the lock file.
    std::fs::remove_file(path.with_extension("lock")).expect("removed");
    let error = Disk::open(&path).await.err().expect("in use").to_string();
    assert!(error.contains("in use by another process"), "{error}");
    drop(disk);
    Disk::open(&path).await.expect("free again");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_ours_alone_is_used() {
    let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    let set = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("ours");
    let (directory, _) = place();
    let path = directory.path().join("made/deep/store");
    drop(Disk::open(&path).await.expect("opens"));
    assert_eq!((mode(&path), mode(path.parent().expect("one"))), (0o600, 0o700));
    set(&path, 0o640);
    let error = Disk::open(&path).await.err().expect("refused").to_string();
    assert!(error.contains("chmod 600"), "{error}");
    set(&path, 0o600);
    set(path.parent().expect("one"), 0o755);
    let error = Disk::open(&path).await.err().expect("refused").to_string();
    assert!(error.contains("chmod 700"), "{error}");
    set(path.parent().expect("one"), 0o700);
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&path, &link).expect("linked");
    assert!(Disk::open(&link).await.is_err());
    Disk::open(&path).await.expect("opens again");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_store_is_refused_and_left_alone() {
    let (_directory, path) = place();
    drop(Disk::open(&path).await.expect("opens"));
    let whole = std::fs::read(&path).expect("reads");
    let mut header = whole.clone();
    header[0..512].fill(0x55);
    let damages = [Vec::new(), b"hello".to_vec(), vec![0; 100_000], header, whole[..whole.len() / 2].to_vec()];
    for damaged in damages {
        std::fs::write(&path, &damaged).expect("writes");
        let error = Disk::open(&path).await.err().expect("refused").to_string();
        assert!(error.contains("begins with an empty store"), "{error}");
        assert_eq!(std::fs::read(&path).expect("reads"), damaged);
    }
    std::fs::write(&path, &whole).expect("writes");
    Disk::open(&path).await.expect("opens");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_another_version_is_refused() {
    let (_directory, path) = place();
    let disk = Disk::open(&path).await.expect("opens");
    let write = disk.database.handle().expect("open").get().expect("open").begin_write().expect("begins");
    write.open_table(database::META).expect("a table").insert("format", 99).expect("written");
    write.commit().expect("written");
    drop(disk);
    let error = Disk::open(&path).await.err().expect("refused").to_string();
    assert!(error.contains("another version"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn space_is_given_back() {
    let (_directory, path) = place();
    let disk = Disk::open(&path).await.expect("opens");
    for index in 0..40 {
        disk.commit(Transaction::default().put(format!("large/{index}"), vec![1; 1 << 20])).await.expect("written");
    }
    let length = |path: &Path| std::fs::metadata(path).expect("there").len();
    let full = length(&path);
    let keys = (0..40).map(|index| format!("large/{index}"));
    disk.commit(keys.fold(Transaction::default(), Transaction::delete).put("small", "x")).await.expect("written");
    drop(disk);
    let disk = Disk::open(&path).await.expect("opens");
    assert!(length(&path) * 8 < full, "{} of {full}", length(&path));
    assert!(disk.get("small").await.expect("reads").is_some());
    assert_eq!(disk.range(&KeyRange::prefix("")).await.expect("reads").revision, 41);
}
