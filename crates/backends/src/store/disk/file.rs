//! [`Database`]: redb's handle of the file, which is closed and opened anew after a fault; and what is read from it.
//!
//! redb gives up a handle at the first failed read or write of the file. What was committed before is safe: opening it
//! again finds the last whole commit.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use redb::{ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition};

use super::place::{PATIENCE, Place};
use crate::store::{Error, LeaseId, Listing, Pair, Range, Revision};

/// Created, modified, lease (0 for none), value.
pub type Row = (u64, u64, LeaseId, &'static [u8]);
pub const PAIRS: TableDefinition<'_, &str, Row> = TableDefinition::new("pairs");
/// The keys that are under a lease.
pub const LEASED: TableDefinition<'_, (LeaseId, &str), ()> = TableDefinition::new("leased");
/// Numbers about the file itself.
pub const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
pub const REVISION: &str = "revision";
const FORMAT: &str = "format";
/// What this version reads and writes.
const THIS_FORMAT: u64 = 1;

/// Pages that are kept in memory.
const CACHE: usize = 32 << 20;

/// From this size on it is worth looking whether a file is mostly empty.
const WORTH_COMPACTING: u64 = 16 << 20;

/// How long to wait for those who still read by a handle that is given up.
const READERS: Duration = Duration::from_secs(5);

/// A larger file is not checked at every start.
const CHECKED: u64 = 512 << 20;

pub struct Database {
    place: Place,
    handle: RwLock<Option<Arc<Handle>>>,
}

/// redb's own. It writes once more when it is closed, and must not take the process with it if it can't.
pub struct Handle(Option<redb::Database>);

impl Handle {
    pub fn get(&self) -> Result<&redb::Database, Fault> {
        self.0.as_ref().ok_or_else(closed)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let _ = catch_unwind(AssertUnwindSafe(|| drop(self.0.take())));
    }
}

fn closed() -> Fault {
    Fault::panic("it is closed after a fault".into())
}

/// What went wrong below us.
#[derive(Debug)]
pub struct Fault {
    why: String,
    full: bool,
}

impl<E: Into<redb::Error>> From<E> for Fault {
    fn from(error: E) -> Fault {
        let error = error.into();
        let full = matches!(&error, redb::Error::Io(error) if is_full(error));
        let why = match error {
            redb::Error::Io(error) if full => format!("the disk is full ({error})"),
            redb::Error::Corrupted(what) => format!("the file is damaged: {what}"),
            other => other.to_string(),
        };
        Fault { why, full }
    }
}

impl Fault {
    pub fn panic(why: String) -> Fault {
        Fault { why, full: false }
    }

    /// There isn't room enough left to begin.
    pub fn no_room(left: u64) -> Fault {
        Fault { why: format!("the disk is full ({} KiB left)", left >> 10), full: true }
    }

    pub fn error(self, doing: &'static str, place: &Place) -> Error {
        let shown = place.path().display().to_string();
        match self.full {
            true => Error::Broken {
                doing,
                place: shown,
                why: format!("{}; nothing was changed; it goes on by itself when there is room again", self.why),
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
    pub fn open(place: Place) -> Result<Database, Error> {
        if place.file()?.is_none() {
            place.make(|file| fill(file).map_err(|fault| fault.error("begin", &place)))?;
        }
        let mut handle = attach(&place)?;
        let length = place.file()?.and_then(|file| file.metadata().ok()).map_or(0, |metadata| metadata.len());
        // redb holds some damages for impossible.
        let checked = catch_unwind(AssertUnwindSafe(|| {
            let database = handle.0.as_mut().ok_or_else(|| damaged(&place, "it is closed"))?;
            if length <= CHECKED {
                check(&place, database)?;
            }
            if length >= WORTH_COMPACTING && wasteful(length, database) {
                // What can't be compacted now is as good as before; a broken handle is seen later.
                let _ = database.compact();
            }
            Ok(())
        }));
        checked.unwrap_or_else(|_| Err(damaged(&place, "what is in it makes no sense")))?;
        Ok(Database { place, handle: RwLock::new(Some(Arc::new(handle))) })
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Checks the format, removes what was under the leases of a process that is gone, and gives the revision.
    pub fn begin(&self) -> Result<Revision, Error> {
        let fault = |fault: Fault| fault.error("open what is", &self.place);
        let handle = self.handle().map_err(fault)?;
        let handle = handle.get().map_err(fault)?;
        if handle.begin_read().map_err(Fault::from).and_then(|read| stored_format(&read)).map_err(fault)? != THIS_FORMAT
        {
            return Err(Error::settings(format!(
                "{} was written by another version of rocksalt; use that one, or give this one another place",
                self.place.path().display()
            )));
        }
        end_leases(handle).map_err(fault)
    }

    pub fn handle(&self) -> Result<Arc<Handle>, Fault> {
        self.handle.read().unwrap_or_else(PoisonError::into_inner).clone().ok_or_else(closed)
    }

    pub fn read<T>(&self, read: impl Fn(&ReadTransaction) -> Result<T, Fault>) -> Result<T, Fault> {
        read(&self.handle()?.get()?.begin_read()?)
    }

    /// Closes the handle and opens a new one; the answer is the revision that the file has.
    pub fn reopen(&self) -> Result<Revision, Error> {
        let old = self.handle.write().unwrap_or_else(PoisonError::into_inner).take();
        // The file is locked until the last reader has let go of the old handle.
        let begun = Instant::now();
        let mut waiting = old.map(|old| Arc::downgrade(&old));
        while let Some(old) = waiting.take_if(|old| old.strong_count() > 0) {
            if begun.elapsed() > READERS {
                return Err(Error::Away { doing: "go on", why: "it is still being read after a fault".into() });
            }
            std::thread::sleep(Duration::from_millis(5));
            waiting = Some(old);
        }
        let handle = attach(&self.place)?;
        let fault = |fault: Fault| fault.error("go on", &self.place);
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
    builder.set_cache_size(CACHE);
    builder
}

fn attach(place: &Place) -> Result<Handle, Error> {
    let shown = place.path().display();
    let begun = Instant::now();
    let opened = loop {
        let file = place.file()?.ok_or_else(|| Error::settings(format!("{shown} is no longer there")))?;
        // An empty file would be taken for one to begin with.
        if file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            break Ok(Err("it is empty".to_owned()));
        }
        // redb holds some damages for impossible.
        match catch_unwind(AssertUnwindSafe(|| builder().create_file(file))) {
            // A child that is just being started holds what its parent had locked, for a moment.
            Ok(Err(redb::DatabaseError::DatabaseAlreadyOpen)) if begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            // Somebody has removed our own lock.
            Ok(Err(redb::DatabaseError::DatabaseAlreadyOpen)) => {
                return Err(Error::settings(format!("{shown} is in use by another process; stop that one first")));
            }
            opened => break opened.map(|opened| opened.map_err(|error| error.to_string())),
        }
    };
    let why = match opened {
        Ok(Ok(database)) => return Ok(Handle(Some(database))),
        Ok(Err(why)) => why,
        Err(_) => "what is in it makes no sense".to_owned(),
    };
    Err(damaged(place, &why))
}

fn damaged(place: &Place, why: &str) -> Error {
    let shown = place.path().display();
    Error::Broken {
        doing: "use what is",
        place: shown.to_string(),
        why: format!(
            "{why}. If the file is damaged put a copy of it back that is whole, or move it away (mv {shown} \
             {shown}.damaged): then the next start begins with an empty store"
        ),
    }
}

/// Reads the whole file. A file that was closed in good order redb takes at its word; if bits of it have changed since,
/// it would give wrong answers, or write over what is in use.
fn check(place: &Place, database: &mut redb::Database) -> Result<(), Error> {
    let now = |database: &redb::Database| database.begin_read().map_err(Fault::from).and_then(|read| revision(&read));
    let before = now(database);
    match database.check_integrity() {
        Ok(true) => return Ok(()),
        // It could be mended: lists of free pages, or by going back to the commit before the last.
        Ok(false) => {}
        Err(error) => return Err(damaged(place, &error.to_string())),
    }
    match (before, now(database)) {
        (Ok(before), Ok(after)) if before == after => Ok(()),
        (Ok(before), Ok(after)) => Err(Error::Broken {
            doing: "use what is",
            place: place.path().display().to_string(),
            why: format!(
                "the newest changes in it were damaged, and are lost: it was at revision {before}, and what was there \
                 at revision {after} is whole. Put a newer copy of the file back, or start again to go on with that"
            ),
        }),
        (_, Ok(_)) => Ok(()),
        (_, Err(fault)) => Err(damaged(place, fault.why())),
    }
}

/// What a new file has.
fn fill(file: File) -> Result<(), Fault> {
    let database = builder().create_file(file)?;
    let transaction = database.begin_write()?;
    transaction.open_table(PAIRS)?;
    transaction.open_table(LEASED)?;
    {
        let mut meta = transaction.open_table(META)?;
        meta.insert(FORMAT, THIS_FORMAT)?;
        meta.insert(REVISION, 0)?;
    }
    transaction.commit()?;
    Ok(())
}

/// Whether more than half of a file is empty.
fn wasteful(length: u64, database: &redb::Database) -> bool {
    let stats = database.begin_write().map_err(Fault::from).and_then(|transaction| {
        let stats = transaction.stats()?;
        transaction.abort()?;
        Ok(stats)
    });
    stats.is_ok_and(|stats| (stats.stored_bytes() + stats.metadata_bytes()) * 2 < length)
}

fn end_leases(handle: &redb::Database) -> Result<Revision, Fault> {
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

pub fn get(transaction: &ReadTransaction, key: &str) -> Result<Option<Pair>, Fault> {
    let row = transaction.open_table(PAIRS)?.get(key)?;
    Ok(row.map(|row| pair(key, row.value(), false)))
}

pub fn range(transaction: &ReadTransaction, range: &Range) -> Result<Listing, Fault> {
    let mut listing = Listing { revision: revision(transaction)?, ..Listing::default() };
    if range.is_empty() {
        return Ok(listing);
    }
    let table: ReadOnlyTable<&str, Row> = transaction.open_table(PAIRS)?;
    let found = ReadableTable::range(&table, &*range.from..&*range.to)?;
    let mut found: Box<dyn Iterator<Item = _>> = if range.backwards { Box::new(found.rev()) } else { Box::new(found) };
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

fn revision(transaction: &ReadTransaction) -> Result<Revision, Fault> {
    Ok(transaction.open_table(META)?.get(REVISION)?.map_or(0, |revision| revision.value()))
}

fn stored_format(transaction: &ReadTransaction) -> Result<u64, Fault> {
    Ok(transaction.open_table(META)?.get(FORMAT)?.map_or(0, |format| format.value()))
}
