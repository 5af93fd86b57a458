//! [`DiskWriter`]: the writer thread, which commits many transactions with one `fsync`.
//!
//! All queued transactions go into one redb transaction. Each is checked against its own conditions, in order, and gets
//! its own revision. They are answered after the `fsync`; the next group queues meanwhile.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use redb::{ReadableDatabase, ReadableTable, Table};
use tokio::sync::{mpsc, oneshot, watch};

use super::database::{Database, DatabaseFault, Handle, LEASED, META, PAIRS, PairRow, REVISION};
use crate::store::history::ChangeHistory;
use crate::store::{Committed, Error, KeyChange, LeaseId, Pair, Revision, Transaction, TransactionOp};

/// The limits of one group.
const MAX_GROUP: usize = 1024;
const MAX_GROUP_BYTES: usize = 8 << 20;

/// A group waits up to this fraction of the last commit's duration for the clients of the last group: they often write
/// again at once, and would otherwise wait for a commit with only the first of them.
const WAIT_DIVISOR: u32 = 3;
const MAX_WAIT: Duration = Duration::from_millis(3);
const WAIT_STEP: Duration = Duration::from_micros(30);

/// Free space needed besides several times the group's size, for rewritten pages. If redb runs out of space in the
/// middle of a commit, its handle becomes unusable.
const FREE_SPACE: u64 = 8 << 20;
/// Deleting also needs new pages, but must stay possible to get space back.
const FREE_SPACE_TO_DELETE: u64 = 1 << 20;

type CommitReply = oneshot::Sender<Result<Committed, Error>>;

pub enum WriterRequest {
    Commit(Transaction, CommitReply),
    Lease(watch::Sender<bool>, oneshot::Sender<LeaseId>),
    /// A lease was dropped.
    EndLease(LeaseId),
    /// A read failed. Answered when the handle is reopened, or that failed.
    Repair(oneshot::Sender<()>),
}

pub struct DiskWriter {
    database: Arc<Database>,
    history: ChangeHistory,
    revision: Revision,
    leases: HashMap<LeaseId, watch::Sender<bool>>,
    last_lease: LeaseId,
    /// Ended leases whose keys are still to be deleted.
    ended: Vec<LeaseId>,
    /// Size and duration of the last commit.
    last: (usize, Duration),
}

/// The results of a group of transactions.
#[derive(Default)]
struct CommitGroup {
    answers: Vec<Result<Committed, Error>>,
    commits: Vec<(Revision, Vec<KeyChange>)>,
}

enum WriteFailure {
    /// Nothing was written.
    Before(DatabaseFault),
    /// It may have been written.
    Midway(DatabaseFault),
}

impl<E: Into<redb::Error>> From<E> for WriteFailure {
    fn from(error: E) -> WriteFailure {
        WriteFailure::Before(error.into().into())
    }
}

impl DiskWriter {
    pub fn new(database: Arc<Database>, history: ChangeHistory, revision: Revision) -> DiskWriter {
        DiskWriter {
            database,
            history,
            revision,
            leases: HashMap::new(),
            last_lease: 0,
            ended: Vec::new(),
            last: (0, Duration::ZERO),
        }
    }

    /// Runs until all senders are gone.
    pub fn run(mut self, mut received: mpsc::Receiver<WriterRequest>) {
        while let Some(first) = received.blocking_recv() {
            let (transactions, answers, bytes) = self.collect(first, &mut received);
            let begun = Instant::now();
            let results = self.commit(transactions, bytes);
            self.last = (answers.len(), begun.elapsed());
            for (answer, result) in answers.into_iter().zip(results) {
                // The receiver may be gone.
                let _ = answer.send(result);
            }
        }
        self.history.close();
        for lost in self.leases.values() {
            lost.send_replace(true);
        }
    }

    /// Collects the next group: what is queued, and what is expected shortly.
    fn collect(
        &mut self,
        first: WriterRequest,
        received: &mut mpsc::Receiver<WriterRequest>,
    ) -> (Vec<Transaction>, Vec<CommitReply>, usize) {
        let (mut transactions, mut answers, mut bytes) = (Vec::new(), Vec::new(), 0);
        let (expected, took) = self.last;
        let end = Instant::now() + (took / WAIT_DIVISOR).min(MAX_WAIT);
        let mut next = Some(first);
        loop {
            match next {
                Some(WriterRequest::Commit(transaction, answer)) => {
                    bytes += transaction.size();
                    transactions.push(transaction);
                    answers.push(answer);
                }
                Some(WriterRequest::Lease(lost, answer)) => self.lease(lost, answer),
                Some(WriterRequest::EndLease(lease)) => self.end(lease),
                Some(WriterRequest::Repair(answer)) => {
                    self.repair_handle();
                    let _ = answer.send(());
                }
                None if answers.len() < expected && Instant::now() < end => std::thread::sleep(WAIT_STEP),
                None => break,
            }
            if answers.len() >= MAX_GROUP || bytes >= MAX_GROUP_BYTES {
                break;
            }
            next = received.try_recv().ok();
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
        let puts =
            transactions.iter().any(|one| one.operations.iter().any(|it| matches!(it, TransactionOp::Put { .. })));
        let needed = if puts { FREE_SPACE + 4 * bytes as u64 } else { FREE_SPACE_TO_DELETE };
        if let Some(space) = self.database.store_file().free_space().filter(|space| *space < needed) {
            return all(DatabaseFault::no_room(space).error("write", self.database.store_file()));
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
            Err(_) => WriteFailure::Midway(DatabaseFault::panic("the file's content is invalid".into())),
        };
        let before = self.revision;
        let reopened = self.reopen();
        match failed {
            WriteFailure::Before(fault) => all(fault.error("write", self.database.store_file())),
            // The file's revision tells whether it was written.
            WriteFailure::Midway(fault) if reopened.is_ok() && self.revision == before => {
                all(fault.error("write", self.database.store_file()))
            }
            WriteFailure::Midway(fault) => all(Error::OutcomeUnknown { why: fault.why().to_owned() }),
        }
    }

    fn repair_handle(&mut self) {
        let is_usable = self.database.handle().is_ok_and(|handle| {
            let is_usable = |handle: &Handle| -> Result<(), DatabaseFault> {
                let handle = handle.get()?;
                handle.begin_read()?.open_table(PAIRS)?.first()?;
                handle.begin_write()?.abort()?;
                Ok(())
            };
            catch_unwind(AssertUnwindSafe(|| is_usable(&handle))).is_ok_and(|is_usable| is_usable.is_ok())
        });
        if !is_usable {
            // If it fails, the next commit or read reports why.
            let _ = self.reopen();
        }
    }

    fn reopen(&mut self) -> Result<(), Error> {
        let revision = self.database.reopen()?;
        if revision != self.revision {
            // A group whose clients got an error is in the file after all: make watches list again.
            self.revision = revision;
            self.history.skip_to(revision);
        }
        Ok(())
    }

    fn write(&self, transactions: Vec<Transaction>) -> Result<CommitGroup, WriteFailure> {
        let handle = self.database.handle().map_err(WriteFailure::Before)?;
        let write = handle.get().map_err(WriteFailure::Before)?.begin_write()?;
        let mut group = CommitGroup::default();
        let mut revision = self.revision;
        {
            let mut tables = Tables { pairs: write.open_table(PAIRS)?, leased: write.open_table(LEASED)? };
            for lease in &self.ended {
                let keys = tables.keys_of(*lease)?;
                if !keys.is_empty() {
                    let changes = keys.into_iter().map(|key| TransactionOp::Delete { key }).collect();
                    revision += 1;
                    group.commits.push((revision, tables.apply(revision, changes)?));
                }
            }
            for transaction in transactions {
                let known = |lease: &LeaseId| self.leases.contains_key(lease);
                let gone = |change: &TransactionOp| matches!(change, TransactionOp::Put { lease: Some(lease), .. } if !known(lease));
                let answer = if !transaction.conditions_hold(|key| tables.revision_of(key))? {
                    Ok(Committed::Conflict)
                } else if transaction.operations.iter().any(gone) {
                    Err(Error::LeaseGone)
                } else {
                    if !transaction.operations.is_empty() {
                        revision += 1;
                        group.commits.push((revision, tables.apply(revision, transaction.operations)?));
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
            false => write.commit().map_err(|error| WriteFailure::Midway(DatabaseFault::from(error)))?,
        }
        Ok(group)
    }
}

struct Tables<'a> {
    pairs: Table<'a, &'static str, PairRow>,
    leased: Table<'a, (LeaseId, &'static str), ()>,
}

impl Tables<'_> {
    fn revision_of(&self, key: &str) -> Result<Option<Revision>, redb::StorageError> {
        Ok(self.pairs.get(key)?.map(|row| row.value().1))
    }

    fn keys_of(&self, lease: LeaseId) -> Result<Vec<String>, redb::StorageError> {
        let rows = self.leased.range((lease, "")..(lease + 1, ""))?;
        rows.map(|row| row.map(|(key, _)| key.value().1.to_owned())).collect()
    }

    fn apply(&mut self, revision: Revision, changes: Vec<TransactionOp>) -> Result<Vec<KeyChange>, redb::StorageError> {
        let mut made = Vec::with_capacity(changes.len());
        for operation in changes {
            // Created, and the lease.
            let old = self.pairs.get(operation.key())?.map(|row| (row.value().0, row.value().2));
            if let Some((_, lease)) = old.filter(|(_, lease)| *lease != 0) {
                self.leased.remove((lease, operation.key()))?;
            }
            match operation {
                TransactionOp::Put { key, value, lease } => {
                    let created = old.map_or(revision, |(created, _)| created);
                    self.pairs.insert(&*key, (created, revision, lease.unwrap_or(0), &*value))?;
                    if let Some(lease) = lease {
                        self.leased.insert((lease, &*key), ())?;
                    }
                    made.push(KeyChange::Put(Pair { key, value, created, modified: revision }));
                }
                TransactionOp::Delete { key } => {
                    if self.pairs.remove(&*key)?.is_some() {
                        made.push(KeyChange::Deleted { key });
                    }
                }
            }
        }
        Ok(made)
    }
}
