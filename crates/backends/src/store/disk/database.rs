//! [`Database`]: the redb file, reopened after a fault, and the reads from it.
//!
//! redb makes a handle unusable at the first failed read or write of the file. Committed data is safe: reopening finds
//! the last complete commit.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use redb::{ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition};

use super::store_file::{LOCK_TIMEOUT, StoreFile};
use crate::store::{Error, KeyRange, LeaseId, Pair, RangeResult, Revision};

/// Created, modified, lease (0 for none), value.
pub type PairRow = (u64, u64, LeaseId, &'static [u8]);
pub const PAIRS: TableDefinition<'_, &str, PairRow> = TableDefinition::new("pairs");
/// The keys of each lease.
pub const LEASED: TableDefinition<'_, (LeaseId, &str), ()> = TableDefinition::new("leased");
/// The file's format and revision.
pub const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
pub const REVISION: &str = "revision";
const FORMAT: &str = "format";
/// The format that this version reads and writes.
const CURRENT_FORMAT: u64 = 1;

/// redb's page cache, in bytes.
const CACHE_SIZE: usize = 32 << 20;

/// Smaller files are not checked for unused space.
const MIN_COMPACT_SIZE: u64 = 16 << 20;

/// How long to wait for readers of an unusable handle.
const READERS_TIMEOUT: Duration = Duration::from_secs(5);

/// A larger file is not checked at start.
const MAX_CHECKED_SIZE: u64 = 512 << 20;

pub struct Database {
    file: StoreFile,
    handle: RwLock<Option<Arc<Handle>>>,
}

/// redb's handle. Closing it writes once more, and a failure of that must not panic the process.
pub struct Handle(Option<redb::Database>);

impl Handle {
    pub fn get(&self) -> Result<&redb::Database, DatabaseFault> {
        self.0.as_ref().ok_or_else(closed)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let _ = catch_unwind(AssertUnwindSafe(|| drop(self.0.take())));
    }
}

fn closed() -> DatabaseFault {
    DatabaseFault::panic("it is closed after a failure".into())
}

/// A failure of redb or the file system.
#[derive(Debug)]
pub struct DatabaseFault {
    why: String,
    full: bool,
}

impl<E: Into<redb::Error>> From<E> for DatabaseFault {
    fn from(error: E) -> DatabaseFault {
        let error = error.into();
        let full = matches!(&error, redb::Error::Io(error) if is_full(error));
        let why = match error {
            redb::Error::Io(error) if full => format!("the disk is full ({error})"),
            redb::Error::Corrupted(what) => format!("the file is damaged: {what}"),
            other => other.to_string(),
        };
        DatabaseFault { why, full }
    }
}

impl DatabaseFault {
    pub fn panic(why: String) -> DatabaseFault {
        DatabaseFault { why, full: false }
    }

    /// Too little space left to begin a write.
    pub fn no_room(left: u64) -> DatabaseFault {
        DatabaseFault { why: format!("the disk is full ({} KiB left)", left >> 10), full: true }
    }

    pub fn error(self, doing: &'static str, file: &StoreFile) -> Error {
        let shown = file.path().display().to_string();
        match self.full {
            true => Error::Broken {
                doing,
                place: shown,
                why: format!("{}; nothing was changed; it resumes by itself when there is space again", self.why),
            },
            false => Error::Broken { doing, place: shown, why: self.why },
        }
    }

    pub fn why(&self) -> &str {
        &self.why
    }
}

fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

impl Database {
    pub fn open(file: StoreFile) -> Result<Database, Error> {
        if file.open()?.is_none() {
            file.create(|new| initialize(new).map_err(|fault| fault.error("create a file", &file)))?;
        }
        let mut handle = open_handle(&file)?;
        let length = file.open()?.and_then(|file| file.metadata().ok()).map_or(0, |metadata| metadata.len());
        // redb panics on some kinds of damage.
        let checked = catch_unwind(AssertUnwindSafe(|| {
            let database = handle.0.as_mut().ok_or_else(|| damaged(&file, "it is closed"))?;
            if length <= MAX_CHECKED_SIZE {
                check(&file, database)?;
            }
            if length >= MIN_COMPACT_SIZE && is_mostly_unused(length, database) {
                // A failed compaction changes nothing; a broken handle is noticed later.
                let _ = database.compact();
            }
            Ok(())
        }));
        checked.unwrap_or_else(|_| Err(damaged(&file, "its content is invalid")))?;
        Ok(Database { file, handle: RwLock::new(Some(Arc::new(handle))) })
    }

    pub fn store_file(&self) -> &StoreFile {
        &self.file
    }

    /// Checks the format, removes the keys of leases of earlier processes, and returns the revision.
    pub fn start(&self) -> Result<Revision, Error> {
        let fault = |fault: DatabaseFault| fault.error("open the data", &self.file);
        let handle = self.handle().map_err(fault)?;
        let handle = handle.get().map_err(fault)?;
        if handle.begin_read().map_err(DatabaseFault::from).and_then(|read| stored_format(&read)).map_err(fault)?
            != CURRENT_FORMAT
        {
            return Err(Error::settings(format!(
                "{} was written by another version of rocksalt; use that version, or set another store_path",
                self.file.path().display()
            )));
        }
        delete_leased(handle).map_err(fault)
    }

    pub fn handle(&self) -> Result<Arc<Handle>, DatabaseFault> {
        self.handle.read().unwrap_or_else(PoisonError::into_inner).clone().ok_or_else(closed)
    }

    pub fn read<T>(&self, read: impl Fn(&ReadTransaction) -> Result<T, DatabaseFault>) -> Result<T, DatabaseFault> {
        read(&self.handle()?.get()?.begin_read()?)
    }

    /// Closes the handle, opens a new one and returns the file's revision.
    pub fn reopen(&self) -> Result<Revision, Error> {
        let old = self.handle.write().unwrap_or_else(PoisonError::into_inner).take();
        // The file stays locked until the last reader has dropped the old handle.
        let begun = Instant::now();
        let mut waiting = old.map(|old| Arc::downgrade(&old));
        while let Some(old) = waiting.take_if(|old| old.strong_count() > 0) {
            if begun.elapsed() > READERS_TIMEOUT {
                return Err(Error::Unavailable {
                    doing: "reopen the data",
                    why: "it is still being read after a failure".into(),
                });
            }
            std::thread::sleep(Duration::from_millis(5));
            waiting = Some(old);
        }
        let handle = open_handle(&self.file)?;
        let fault = |fault: DatabaseFault| fault.error("reopen the data", &self.file);
        let read = handle.get().and_then(|handle| Ok(handle.begin_read()?)).map_err(fault)?;
        let revision = revision(&read).map_err(fault)?;
        drop(read);
        *self.handle.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(handle));
        Ok(revision)
    }

    #[cfg(test)]
    pub fn close(&self) {
        self.handle.write().unwrap_or_else(PoisonError::into_inner).take();
    }

    #[cfg(test)]
    pub fn replace(&self, handle: redb::Database) {
        *self.handle.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(Handle(Some(handle))));
    }
}

fn builder() -> redb::Builder {
    let mut builder = redb::Builder::new();
    builder.set_cache_size(CACHE_SIZE);
    builder
}

fn open_handle(file: &StoreFile) -> Result<Handle, Error> {
    let shown = file.path().display();
    let begun = Instant::now();
    let opened = loop {
        let file = file.open()?.ok_or_else(|| Error::settings(format!("{shown} no longer exists")))?;
        // redb would initialize an empty file as a new database.
        if file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            break Ok(Err("it is empty".to_owned()));
        }
        // redb panics on some kinds of damage.
        match catch_unwind(AssertUnwindSafe(|| builder().create_file(file))) {
            // A child process that is just being started holds its parent's lock for a moment.
            Ok(Err(redb::DatabaseError::DatabaseAlreadyOpen)) if begun.elapsed() < LOCK_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(20));
            }
            // Our own lock file was removed.
            Ok(Err(redb::DatabaseError::DatabaseAlreadyOpen)) => {
                return Err(Error::settings(format!("{shown} is in use by another process; stop that one first")));
            }
            opened => break opened.map(|opened| opened.map_err(|error| error.to_string())),
        }
    };
    let why = match opened {
        Ok(Ok(database)) => return Ok(Handle(Some(database))),
        Ok(Err(why)) => why,
        Err(_) => "its content is invalid".to_owned(),
    };
    Err(damaged(file, &why))
}

fn damaged(file: &StoreFile, why: &str) -> Error {
    let shown = file.path().display();
    Error::Broken {
        doing: "use the data",
        place: shown.to_string(),
        why: format!(
            "{why}. If the file is damaged, restore a backup of it, or move it away (mv {shown} {shown}.damaged): then \
             the next start begins with an empty store"
        ),
    }
}

/// Verifies the whole file. redb trusts a file that was closed cleanly; if it was damaged since, redb would return wrong
/// data, or overwrite pages in use.
fn check(file: &StoreFile, database: &mut redb::Database) -> Result<(), Error> {
    let now =
        |database: &redb::Database| database.begin_read().map_err(DatabaseFault::from).and_then(|read| revision(&read));
    let before = now(database);
    match database.check_integrity() {
        Ok(true) => return Ok(()),
        // redb repaired it: the lists of free pages, or by rolling back to the commit before the last.
        Ok(false) => {}
        Err(error) => return Err(damaged(file, &error.to_string())),
    }
    match (before, now(database)) {
        (Ok(before), Ok(after)) if before == after => Ok(()),
        (Ok(before), Ok(after)) => Err(Error::Broken {
            doing: "use the data",
            place: file.path().display().to_string(),
            why: format!(
                "the newest changes in it are damaged and lost: it was at revision {before}, and is intact up to \
                 revision {after}. Restore a newer backup of the file, or start again to continue from there"
            ),
        }),
        (_, Ok(_)) => Ok(()),
        (_, Err(fault)) => Err(damaged(file, fault.why())),
    }
}

/// Creates the tables of a new file.
fn initialize(file: File) -> Result<(), DatabaseFault> {
    let database = builder().create_file(file)?;
    let transaction = database.begin_write()?;
    transaction.open_table(PAIRS)?;
    transaction.open_table(LEASED)?;
    {
        let mut meta = transaction.open_table(META)?;
        meta.insert(FORMAT, CURRENT_FORMAT)?;
        meta.insert(REVISION, 0)?;
    }
    transaction.commit()?;
    Ok(())
}

/// Whether more than half of the file is unused.
fn is_mostly_unused(length: u64, database: &redb::Database) -> bool {
    let stats = database.begin_write().map_err(DatabaseFault::from).and_then(|transaction| {
        let stats = transaction.stats()?;
        transaction.abort()?;
        Ok(stats)
    });
    stats.is_ok_and(|stats| (stats.stored_bytes() + stats.metadata_bytes()) * 2 < length)
}

fn delete_leased(handle: &redb::Database) -> Result<Revision, DatabaseFault> {
    let transaction = handle.begin_write()?;
    let revision = {
        let mut meta = transaction.open_table(META)?;
        let revision = meta.get(REVISION)?.map_or(0, |revision| revision.value());
        let mut leased = transaction.open_table(LEASED)?;
        let mut pairs = transaction.open_table(PAIRS)?;
        let mut any = false;
        while let Some((key, _)) = leased.pop_first()? {
            pairs.remove(key.value().1)?;
            any = true;
        }
        if any {
            meta.insert(REVISION, revision + 1)?;
            revision + 1
        } else {
            drop((meta, leased, pairs));
            transaction.abort()?;
            return Ok(revision);
        }
    };
    transaction.commit()?;
    Ok(revision)
}

pub fn get(transaction: &ReadTransaction, key: &str) -> Result<Option<Pair>, DatabaseFault> {
    let row = transaction.open_table(PAIRS)?.get(key)?;
    Ok(row.map(|row| pair(key, row.value(), false)))
}

pub fn range(transaction: &ReadTransaction, range: &KeyRange) -> Result<RangeResult, DatabaseFault> {
    let mut listing = RangeResult { revision: revision(transaction)?, ..RangeResult::default() };
    if range.is_empty() {
        return Ok(listing);
    }
    let table: ReadOnlyTable<&str, PairRow> = transaction.open_table(PAIRS)?;
    let found = ReadableTable::range(&table, &*range.from..&*range.to)?;
    let mut found: Box<dyn Iterator<Item = _>> = if range.descending { Box::new(found.rev()) } else { Box::new(found) };
    for row in found.by_ref().take(range.limit.unwrap_or(usize::MAX)) {
        let (key, row) = row?;
        listing.pairs.push(pair(key.value(), row.value(), range.keys_only));
    }
    listing.more = found.next().is_some();
    Ok(listing)
}

fn pair(key: &str, (created, modified, _, value): (u64, u64, LeaseId, &[u8]), key_only: bool) -> Pair {
    let value = if key_only { Vec::new() } else { value.to_owned() };
    Pair { key: key.to_owned(), value, created, modified }
}

fn revision(transaction: &ReadTransaction) -> Result<Revision, DatabaseFault> {
    Ok(transaction.open_table(META)?.get(REVISION)?.map_or(0, |revision| revision.value()))
}

fn stored_format(transaction: &ReadTransaction) -> Result<u64, DatabaseFault> {
    Ok(transaction.open_table(META)?.get(FORMAT)?.map_or(0, |format| format.value()))
}
