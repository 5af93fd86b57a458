//! [`Writer`]: the thread that writes; many transactions with one wait for the disk.
//!
//! All that wait are put into one transaction of redb, each judged by its own conditions in the order in which they
//! came, with a revision of its own. They are answered after the one `fsync`; the next group collects meanwhile.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use redb::{ReadableDatabase, ReadableTable, Table};
use tokio::sync::{mpsc, oneshot, watch};

use super::file::{Database, Fault, Handle, LEASED, META, PAIRS, REVISION, Row};
use crate::store::history::History;
use crate::store::{Change, Committed, Error, LeaseId, Operation, Pair, Revision, Transaction};

/// A group takes no more once it has so many, or so many bytes.
const TOGETHER: usize = 1024;
const TOGETHER_BYTES: usize = 8 << 20;

/// How long the next group waits for those who were answered with the last one, as a part of what a commit takes:
/// they often have more to write, and would else find the disk busy with the first of them alone.
const WAIT_PART: u32 = 3;
const LONGEST_WAIT: Duration = Duration::from_millis(3);
const WAIT_STEP: Duration = Duration::from_micros(30);

/// Before a group is begun there must be room for several times its size, and for pages that are written anew.
/// redb would give its handle up if it ran out of space in the middle.
const ROOM: u64 = 8 << 20;
/// Deleting needs new pages, too, but it's the way to more room.
const ROOM_TO_DELETE: u64 = 1 << 20;

type Answer = oneshot::Sender<Result<Committed, Error>>;

pub enum Ask {
    Commit(Transaction, Answer),
    Lease(watch::Sender<bool>, oneshot::Sender<LeaseId>),
    /// A lease is given back.
    End(LeaseId),
    /// A reader has met a fault. The answer comes when there is a new handle, or can't be one.
    Mend(oneshot::Sender<()>),
}

pub struct Writer {
    database: Arc<Database>,
    history: History,
    revision: Revision,
    leases: HashMap<LeaseId, watch::Sender<bool>>,
    last_lease: LeaseId,
    /// Given back, with keys that are still to be removed.
    ended: Vec<LeaseId>,
    /// How many were in the last group, and how long it took.
    last: (usize, Duration),
}

/// What a group has changed, once it is written.
#[derive(Default)]
struct Group {
    answers: Vec<Result<Committed, Error>>,
    commits: Vec<(Revision, Vec<Change>)>,
}

enum Failed {
    /// Nothing was written.
    Before(Fault),
    /// It was being written, or not.
    Midway(Fault),
}

impl<E: Into<redb::Error>> From<E> for Failed {
    fn from(error: E) -> Failed {
        Failed::Before(error.into().into())
    }
}

impl Writer {
    pub fn new(database: Arc<Database>, history: History, revision: Revision) -> Writer {
        Writer {
            database,
            history,
            revision,
            leases: HashMap::new(),
            last_lease: 0,
            ended: Vec::new(),
            last: (0, Duration::ZERO),
        }
    }

    /// Until nobody can ask any more.
    pub fn run(mut self, mut asked: mpsc::Receiver<Ask>) {
        while let Some(first) = asked.blocking_recv() {
            let (transactions, answers, bytes) = self.collect(first, &mut asked);
            let begun = Instant::now();
            let results = self.commit(transactions, bytes);
            self.last = (answers.len(), begun.elapsed());
            for (answer, result) in answers.into_iter().zip(results) {
                // Whoever asked may be gone.
                let _ = answer.send(result);
            }
        }
        self.history.close();
        for lost in self.leases.values() {
            lost.send_replace(true);
        }
    }

    /// All that wait, and those who are about to.
    fn collect(&mut self, first: Ask, asked: &mut mpsc::Receiver<Ask>) -> (Vec<Transaction>, Vec<Answer>, usize) {
        let (mut transactions, mut answers, mut bytes) = (Vec::new(), Vec::new(), 0);
        let (expected, took) = self.last;
        let end = Instant::now() + (took / WAIT_PART).min(LONGEST_WAIT);
        let mut next = Some(first);
        loop {
            match next {
                Some(Ask::Commit(transaction, answer)) => {
                    bytes += transaction.size();
                    transactions.push(transaction);
                    answers.push(answer);
                }
                Some(Ask::Lease(lost, answer)) => self.lease(lost, answer),
                Some(Ask::End(lease)) => self.end(lease),
                Some(Ask::Mend(answer)) => {
                    self.mend();
                    let _ = answer.send(());
                }
                None if answers.len() < expected && Instant::now() < end => std::thread::sleep(WAIT_STEP),
                None => break,
            }
            if answers.len() >= TOGETHER || bytes >= TOGETHER_BYTES {
                break;
            }
            next = asked.try_recv().ok();
        }
        (transactions, answers, bytes)
    }

    fn lease(&mut self, lost: watch::Sender<bool>, answer: oneshot::Sender<LeaseId>) {
        self.last_lease += 1;
        self.leases.insert(self.last_lease, lost);
        if answer.send(self.last_lease).is_err() {
            self.end(self.last_lease);
        }
    }

    fn end(&mut self, lease: LeaseId) {
        if let Some(lost) = self.leases.remove(&lease) {
            lost.send_replace(true);
            self.ended.push(lease);
        }
    }

    fn commit(&mut self, transactions: Vec<Transaction>, bytes: usize) -> Vec<Result<Committed, Error>> {
        let count = transactions.len();
        let all = |error: Error| vec![Err(error); count];
        if count == 0 && self.ended.is_empty() {
            return Vec::new();
        }
        if self.database.handle().is_err()
            && let Err(error) = self.reopen()
        {
            return all(error);
        }
        let puts = transactions.iter().any(|one| one.changes.iter().any(|it| matches!(it, Operation::Put { .. })));
        let needed = if puts { ROOM + 4 * bytes as u64 } else { ROOM_TO_DELETE };
        if let Some(room) = self.database.place().room().filter(|room| *room < needed) {
            return all(Fault::no_room(room).error("write", self.database.place()));
        }
        let written = catch_unwind(AssertUnwindSafe(|| self.write(transactions)));
        let failed = match written {
            Ok(Ok(group)) => {
                if let Some((last, _)) = group.commits.last() {
                    self.revision = *last;
                }
                self.ended.clear();
                self.history.add(group.commits);
                return group.answers;
            }
            Ok(Err(failed)) => failed,
            Err(_) => Failed::Midway(Fault::panic("what is in the file makes no sense".into())),
        };
        let before = self.revision;
        let reopened = self.reopen();
        match failed {
            Failed::Before(fault) => all(fault.error("write", self.database.place())),
            // The file says what became of it, if it can be read.
            Failed::Midway(fault) if reopened.is_ok() && self.revision == before => {
                all(fault.error("write", self.database.place()))
            }
            Failed::Midway(fault) => all(Error::Unsure { why: fault.why().to_owned() }),
        }
    }

    fn mend(&mut self) {
        let sound = self.database.handle().is_ok_and(|handle| {
            let sound = |handle: &Handle| -> Result<(), Fault> {
                let handle = handle.get()?;
                handle.begin_read()?.open_table(PAIRS)?.first()?;
                handle.begin_write()?.abort()?;
                Ok(())
            };
            catch_unwind(AssertUnwindSafe(|| sound(&handle))).is_ok_and(|sound| sound.is_ok())
        });
        if !sound {
            // If it can't be, whoever asks next is told why.
            let _ = self.reopen();
        }
    }

    fn reopen(&mut self) -> Result<(), Error> {
        let revision = self.database.reopen()?;
        if revision != self.revision {
            // A group of which nobody heard is in the file after all: let them look.
            self.revision = revision;
            self.history.skip_to(revision);
        }
        Ok(())
    }

    fn write(&self, transactions: Vec<Transaction>) -> Result<Group, Failed> {
        let handle = self.database.handle().map_err(Failed::Before)?;
        let write = handle.get().map_err(Failed::Before)?.begin_write()?;
        let mut group = Group::default();
        let mut revision = self.revision;
        {
            let mut tables = Tables { pairs: write.open_table(PAIRS)?, leased: write.open_table(LEASED)? };
            for lease in &self.ended {
                let keys = tables.under(*lease)?;
                if !keys.is_empty() {
                    let changes = keys.into_iter().map(|key| Operation::Delete { key }).collect();
                    revision += 1;
                    group.commits.push((revision, tables.change(revision, changes)?));
                }
            }
            for transaction in transactions {
                let known = |lease: &LeaseId| self.leases.contains_key(lease);
                let gone =
                    |change: &Operation| matches!(change, Operation::Put { lease: Some(lease), .. } if !known(lease));
                let answer = if !transaction.holds(|key| tables.at(key))? {
                    Ok(Committed::Conflict)
                } else if transaction.changes.iter().any(gone) {
                    Err(Error::LeaseGone)
                } else {
                    if !transaction.changes.is_empty() {
                        revision += 1;
                        group.commits.push((revision, tables.change(revision, transaction.changes)?));
                    }
                    Ok(Committed::Done(revision))
                };
                group.answers.push(answer);
            }
            if revision != self.revision {
                write.open_table(META)?.insert(REVISION, revision)?;
            }
        }
        match revision == self.revision {
            true => write.abort()?,
            false => write.commit().map_err(|error| Failed::Midway(Fault::from(error)))?,
        }
        Ok(group)
    }
}

struct Tables<'a> {
    pairs: Table<'a, &'static str, Row>,
    leased: Table<'a, (LeaseId, &'static str), ()>,
}

impl Tables<'_> {
    fn at(&self, key: &str) -> Result<Option<Revision>, redb::StorageError> {
        Ok(self.pairs.get(key)?.map(|row| row.value().1))
    }

    fn under(&self, lease: LeaseId) -> Result<Vec<String>, redb::StorageError> {
        let rows = self.leased.range((lease, "")..(lease + 1, ""))?;
        rows.map(|row| row.map(|(key, _)| key.value().1.to_owned())).collect()
    }

    fn change(&mut self, revision: Revision, changes: Vec<Operation>) -> Result<Vec<Change>, redb::StorageError> {
        let mut made = Vec::with_capacity(changes.len());
        for operation in changes {
            // Created, and the lease it was under.
            let old = self.pairs.get(operation.key())?.map(|row| (row.value().0, row.value().2));
            if let Some((_, lease)) = old.filter(|(_, lease)| *lease != 0) {
                self.leased.remove((lease, operation.key()))?;
            }
            match operation {
                Operation::Put { key, value, lease } => {
                    let created = old.map_or(revision, |(created, _)| created);
                    self.pairs.insert(&*key, (created, revision, lease.unwrap_or(0), &*value))?;
                    if let Some(lease) = lease {
                        self.leased.insert((lease, &*key), ())?;
                    }
                    made.push(Change::Put(Pair { key, value, created, modified: revision }));
                }
                Operation::Delete { key } => {
                    if self.pairs.remove(&*key)?.is_some() {
                        made.push(Change::Deleted { key });
                    }
                }
            }
        }
        Ok(made)
    }
}
