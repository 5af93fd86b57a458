//! Sends a job to its targets, each in its turn.

use std::collections::HashMap;
use std::sync::Arc;

use rocksalt_core::call::{Problem, ProblemKind, Return};
use rocksalt_core::job_update::JobUpdate;
use rocksalt_core::link::LinkFailure;
use rocksalt_core::record::{JobRecord, ReturnRecord, TargetOutcome};
use rocksalt_core::roster::RosterEntry;
use rocksalt_core::{Call, JobId, Value};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::JobService;
use super::recorder::{EVENTS, JobRecorder};
use super::running_job::RunningJob;
use crate::Controller;
use crate::execution::{AnswersFor, CancelSignal, Execution, ExecutionOptions};
use crate::job_records::JobRecords;
use crate::state_queue::{QueuePlace, StateQueues};

/// A job whose record is stored and whose calls have not been sent.
pub struct Dispatch {
    pub job: JobRecord,
    pub call: Call,
    pub options: ExecutionOptions,
    pub turns: TurnPlan,
    /// Replaces the controller's own answers.
    pub answers: Option<Arc<AnswersFor>>,
    pub running: Arc<RunningJob>,
}

/// Which targets can begin, which wait in line, and which already have an outcome.
#[derive(Default)]
pub struct TurnPlan {
    pub ready: Vec<RosterEntry>,
    pub waiting: Vec<(RosterEntry, QueuePlace)>,
    /// Outcomes that are known before anything is sent.
    pub known: Vec<(String, TargetOutcome)>,
    /// The places in the queue for targets that can begin and that the job needs exclusively.
    pub places: HashMap<String, QueuePlace>,
}

impl TurnPlan {
    /// All targets begin at once.
    pub fn all_ready(entries: Vec<RosterEntry>) -> TurnPlan {
        TurnPlan { ready: entries, ..TurnPlan::default() }
    }

    /// The controller answers in place of every target.
    pub fn answered(entries: &[RosterEntry], result: &Return) -> TurnPlan {
        let known = entries.iter().map(|entry| (entry.id.clone(), TargetOutcome::Returned(result.clone())));
        TurnPlan { known: known.collect(), ..TurnPlan::default() }
    }

    /// Takes each target, or waits for it with `queue`, or refuses it.
    pub fn take_places(
        queues: &StateQueues,
        entries: &[RosterEntry],
        job: JobId,
        function: &str,
        queue: bool,
    ) -> TurnPlan {
        let mut turns = TurnPlan::default();
        for entry in entries {
            let place = match queue {
                true => Ok(queues.line_up(&entry.id, job)),
                false => queues.take(&entry.id, job),
            };
            match place {
                Ok(place) if place.is_mine() => {
                    turns.places.insert(entry.id.clone(), place);
                    turns.ready.push(entry.clone());
                }
                Ok(place) => turns.waiting.push((entry.clone(), place)),
                Err(holder) => turns.known.push((entry.id.clone(), TargetOutcome::Returned(busy(function, holder)))),
            }
        }
        turns
    }

    /// Adds targets that are known to be unreachable.
    pub fn add_unreached(&mut self, unreached: &[(RosterEntry, LinkFailure)]) {
        self.known.extend(unreached.iter().map(|(entry, failure)| (entry.id.clone(), failure.clone().into())));
    }

    pub fn all_wait(&self) -> bool {
        self.ready.is_empty() && !self.waiting.is_empty()
    }
}

/// Runs a job from its first target until the last return is stored.
pub async fn dispatch<R: JobRecords>(jobs: Arc<JobService<R>>, controller: Arc<Controller>, dispatch: Dispatch) {
    let Dispatch { job, call, mut options, turns, answers, running } = dispatch;
    let (updates, updates_received) = mpsc::unbounded_channel();
    let (receipts, receipts_received) = mpsc::unbounded_channel();
    let (events, events_received) = mpsc::channel(EVENTS);
    options.receipts = jobs.settings.recall.map(|_| receipts);
    let recorder = JobRecorder::new(&*jobs, &controller, &job, &running);
    let places = Arc::clone(&recorder.places);
    let recording = tokio::spawn(recorder.record(updates_received, receipts_received, events_received));
    let cancel_signal = running.cancel_signal.clone();
    let answers = answers.unwrap_or_else(|| controller.answers_for(&job, &call, &updates, events));
    let share = Share { controller, job: job.id, call, options, answers, updates, cancel_signal };
    for (id, outcome) in turns.known {
        share.done(id, outcome);
    }
    if let Ok(mut places) = places.lock() {
        places.extend(turns.places);
    }
    let mut waiting = JoinSet::new();
    for (entry, mut place) in turns.waiting {
        let (share, places) = (share.clone(), Arc::clone(&places));
        waiting.spawn(async move {
            tokio::select! {
                () = place.wait() => {
                    if let Ok(mut places) = places.lock() {
                        places.insert(entry.id.clone(), place);
                    }
                    share.run(vec![entry]).await;
                }
                () = share.cancel_signal.cancelled() => {
                    let why = "the job was stopped while it waited in line";
                    share.done(entry.id, TargetOutcome::Skipped(why.into()));
                }
            }
        });
    }
    if !turns.ready.is_empty() {
        share.run(turns.ready).await;
    }
    while waiting.join_next().await.is_some() {}
    // Closes the channels to the recorder, which ends when it has stored everything.
    drop(share);
    let _ = recording.await;
    jobs.finished(job.id, &running);
}

/// Runs a job on some of its targets.
#[derive(Clone)]
struct Share {
    controller: Arc<Controller>,
    job: JobId,
    call: Call,
    options: ExecutionOptions,
    answers: Arc<AnswersFor>,
    updates: mpsc::UnboundedSender<JobUpdate>,
    cancel_signal: CancelSignal,
}

impl Share {
    async fn run(&self, targets: Vec<RosterEntry>) {
        let execution = Execution { job: self.job, call: self.call.clone(), targets, options: self.options.clone() };
        let (answers, updates) = (Arc::clone(&self.answers), self.updates.clone());
        self.controller.execute(execution, answers, updates, self.cancel_signal.clone()).await;
    }

    fn done(&self, id: String, outcome: TargetOutcome) {
        let _ = self.updates.send(JobUpdate::Done(ReturnRecord::new(id, outcome)));
    }
}

/// The refusal in Salt's form and wording: a list with one text.
fn busy(function: &str, holder: JobId) -> Return {
    let text = format!(
        "The function \"{function}\" is running here already and was started at {} with jid {holder}",
        holder.start_time()
    );
    let problem = Problem::new(ProblemKind::Refused, text.as_str()).hint("wait for it, or give queue=True");
    Return { value: vec![Value::from(text)].into(), retcode: 1, problem: Some(problem) }
}
