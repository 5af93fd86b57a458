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

use super::recorder::{EVENTS, Recorder};
use super::running_job::RunningJob;
use super::{JobService, event_answers};
use crate::Controller;
use crate::execution::{AnswersFor, CancelSignal, How, Job, Outcome, Update};
use crate::state_queue::{QueuePlace, StateQueues};

pub struct Work {
    pub job: JobRecord,
    pub call: Call,
    pub how: How,
    pub turns: TurnPlan,
    pub live: Arc<RunningJob>,
}

/// Which targets can begin, which wait in line, and which are refused since somebody else has them.
#[derive(Default)]
pub struct TurnPlan {
    pub ready: Vec<Entry>,
    pub waiting: Vec<(Entry, QueuePlace)>,
    pub refused: Vec<(String, JobId)>,
    /// Those of whom it is known that they can't be reached.
    pub unreached: Vec<(String, Failure)>,
    /// Of those that can begin, where they must have their target for themselves.
    pub places: HashMap<String, QueuePlace>,
}

impl TurnPlan {
    pub fn free(entries: Vec<Entry>) -> TurnPlan {
        TurnPlan { ready: entries, ..TurnPlan::default() }
    }

    pub fn ask(queues: &StateQueues, entries: Vec<Entry>, job: JobId, queue: bool) -> TurnPlan {
        let mut turns = TurnPlan::default();
        for entry in entries {
            let place = match queue {
                true => Ok(queues.line_up(&entry.id, job)),
                false => queues.take(&entry.id, job),
            };
            match place {
                Ok(place) if place.is_mine() => {
                    turns.places.insert(entry.id.clone(), place);
                    turns.ready.push(entry);
                }
                Ok(place) => turns.waiting.push((entry, place)),
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
pub async fn dispatch(jobs: Arc<JobService>, controller: Arc<Controller>, work: Work) {
    let Work { job, call, mut how, turns, live } = work;
    let (updates, news) = mpsc::unbounded_channel();
    let (receipts, received) = mpsc::unbounded_channel();
    let (events, told) = mpsc::channel(EVENTS);
    how.receipts = Some(receipts);
    let recorder = Recorder::new(&jobs, &controller, &job, &live);
    let places = Arc::clone(&recorder.places);
    let recorder = tokio::spawn(recorder.keep(news, received, told));
    let cancel_signal = live.cancel_signal.clone();
    let answers = event_answers::answers(&controller, &job, &updates, events);
    let part = Part { controller, job: job.id, call, how, answers, updates, cancel_signal };
    for (id, holder) in turns.refused {
        part.done(id, Outcome::Returned(busy(&job.function, holder)));
    }
    for (id, failure) in turns.unreached {
        part.done(id, Outcome::Unreached(failure));
    }
    if let Ok(mut places) = places.lock() {
        places.extend(turns.places);
    }
    let mut waiting = JoinSet::new();
    for (entry, mut place) in turns.waiting {
        let (part, places) = (part.clone(), Arc::clone(&places));
        waiting.spawn(async move {
            tokio::select! {
                () = place.wait() => {
                    if let Ok(mut places) = places.lock() {
                        places.insert(entry.id.clone(), place);
                    }
                    part.run(vec![entry]).await;
                }
                () = part.cancel_signal.stopped() => {
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
    let _ = recorder.await;
    jobs.over(job.id, &live);
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
    cancel_signal: CancelSignal,
}

impl Part {
    async fn run(&self, targets: Vec<Entry>) {
        let job = Job { id: self.job, call: self.call.clone(), targets, how: self.how.clone() };
        self.controller
            .run(job, Some(Arc::clone(&self.answers)), self.updates.clone(), self.cancel_signal.clone())
            .await;
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
