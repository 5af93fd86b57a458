//! Sends a job to its targets, each in its turn.

use std::collections::HashMap;
use std::sync::Arc;

use rocksalt_core::call::{Problem, ProblemKind, Return};
use rocksalt_core::link::Failure;
use rocksalt_core::record::JobRecord;
use rocksalt_core::roster::Entry;
use rocksalt_core::{Call, JobId, Value};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::keeping::{EVENTS, Keeping};
use super::live::Live;
use super::{Runs, events};
use crate::Controller;
use crate::job::{AnswersFor, How, Job, Outcome, Stopper, Update};
use crate::slots::{Slots, Ticket};

pub struct Work {
    pub job: JobRecord,
    pub call: Call,
    pub how: How,
    pub turns: Turns,
    pub live: Arc<Live>,
}

/// Which targets can begin, which wait in line, and which are refused since somebody else has them.
#[derive(Default)]
pub struct Turns {
    pub ready: Vec<Entry>,
    pub waiting: Vec<(Entry, Ticket)>,
    pub refused: Vec<(String, JobId)>,
    /// Those of whom it is known that they can't be reached.
    pub unreached: Vec<(String, Failure)>,
    /// Of those that can begin, where they must have their target for themselves.
    pub tickets: HashMap<String, Ticket>,
}

impl Turns {
    pub fn free(entries: Vec<Entry>) -> Turns {
        Turns { ready: entries, ..Turns::default() }
    }

    pub fn ask(slots: &Slots, entries: Vec<Entry>, job: JobId, queue: bool) -> Turns {
        let mut turns = Turns::default();
        for entry in entries {
            let ticket = match queue {
                true => Ok(slots.line_up(&entry.id, job)),
                false => slots.take(&entry.id, job),
            };
            match ticket {
                Ok(ticket) if ticket.is_mine() => {
                    turns.tickets.insert(entry.id.clone(), ticket);
                    turns.ready.push(entry);
                }
                Ok(ticket) => turns.waiting.push((entry, ticket)),
                Err(holder) => turns.refused.push((entry.id, holder)),
            }
        }
        turns
    }

    pub fn all_wait(&self) -> bool {
        self.ready.is_empty() && !self.waiting.is_empty()
    }
}

/// From the first target to the last return that is stored.
pub async fn work(runs: Arc<Runs>, controller: Arc<Controller>, work: Work) {
    let Work { job, call, mut how, turns, live } = work;
    let (updates, news) = mpsc::unbounded_channel();
    let (receipts, received) = mpsc::unbounded_channel();
    let (events, told) = mpsc::channel(EVENTS);
    how.receipts = Some(receipts);
    let keeping = Keeping::new(&runs, &controller, &job, &live);
    let tickets = Arc::clone(&keeping.tickets);
    let keeping = tokio::spawn(keeping.keep(news, received, told));
    let stopper = live.stopper.clone();
    let answers = events::answers(&controller, &job, &updates, events);
    let part = Part { controller, job: job.id, call, how, answers, updates, stopper };
    for (id, holder) in turns.refused {
        part.done(id, Outcome::Returned(busy(&job.function, holder)));
    }
    for (id, failure) in turns.unreached {
        part.done(id, Outcome::Unreached(failure));
    }
    if let Ok(mut tickets) = tickets.lock() {
        tickets.extend(turns.tickets);
    }
    let mut waiting = JoinSet::new();
    for (entry, mut ticket) in turns.waiting {
        let (part, tickets) = (part.clone(), Arc::clone(&tickets));
        waiting.spawn(async move {
            tokio::select! {
                () = ticket.wait() => {
                    if let Ok(mut tickets) = tickets.lock() {
                        tickets.insert(entry.id.clone(), ticket);
                    }
                    part.run(vec![entry]).await;
                }
                () = part.stopper.stopped() => {
                    part.done(entry.id, Outcome::Skipped("the job was stopped while it waited in line"));
                }
            }
        });
    }
    if !turns.ready.is_empty() {
        part.run(turns.ready).await;
    }
    while waiting.join_next().await.is_some() {}
    // All that could say anything is gone with it.
    drop(part);
    // It ends by itself, whatever happens.
    let _ = keeping.await;
    runs.over(job.id, &live);
}

/// Runs a job on some of its targets.
#[derive(Clone)]
struct Part {
    controller: Arc<Controller>,
    job: JobId,
    call: Call,
    how: How,
    answers: Arc<AnswersFor>,
    updates: mpsc::UnboundedSender<Update>,
    stopper: Stopper,
}

impl Part {
    async fn run(&self, targets: Vec<Entry>) {
        let job = Job { id: self.job, call: self.call.clone(), targets, how: self.how.clone() };
        self.controller.run(job, Some(Arc::clone(&self.answers)), self.updates.clone(), self.stopper.clone()).await;
    }

    fn done(&self, id: String, outcome: Outcome) {
        let _ = self.updates.send(Update::Done { id, outcome });
    }
}

/// In Salt's words and form: a list with one text.
fn busy(function: &str, holder: JobId) -> Return {
    let text = format!(
        "The function \"{function}\" is running here already and was started at {} with jid {holder}",
        holder.start_time()
    );
    let problem = Problem::new(ProblemKind::Refused, text.as_str()).hint("wait for it, or give queue=True");
    Return { value: vec![Value::from(text)].into(), retcode: 1, problem: Some(problem) }
}
