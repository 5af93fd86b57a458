//! [`Recorder`]: stores what comes of a job, in the order in which it comes, and tells the targets that it is stored.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rocksalt_backends::store::Error;
use rocksalt_connect::link::Receipt;
use rocksalt_core::Event;
use rocksalt_core::call::{Problem, ProblemKind, is_harmless};
use rocksalt_core::frame::Stream;
use rocksalt_core::job_update::JobUpdate;
use rocksalt_core::link::Stage;
use rocksalt_core::record::{JobRecord, JobState, ReturnRecord, TargetOutcome};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::JobService;
use super::result_query::{self, QueryResult};
use super::running_job::RunningJob;
use crate::Controller;
use crate::execution::{Outcome, Update};
use crate::job_events;
use crate::ledger::Ledger;
use crate::state_queue::QueuePlace;

/// How long to wait before a store that is away is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// So many events of targets wait to be stored; then who sends more must wait.
pub const EVENTS: usize = 64;

pub struct Recorder {
    ledger: Arc<Ledger>,
    controller: Arc<Controller>,
    job: JobRecord,
    live: Arc<RunningJob>,
    recall_for: Duration,
    /// Targets that are ours until their return is stored.
    pub places: Arc<Mutex<HashMap<String, QueuePlace>>>,
    receipts: HashMap<String, Receipt>,
    /// Targets that are asked once more.
    recalls: JoinSet<QueryResult>,
    /// So many returns are missing, those of these targets.
    left: usize,
    open: HashSet<String>,
    lost: bool,
}

impl Recorder {
    pub fn new(jobs: &JobService, controller: &Arc<Controller>, job: &JobRecord, live: &Arc<RunningJob>) -> Recorder {
        Recorder {
            ledger: Arc::clone(&jobs.ledger),
            controller: Arc::clone(controller),
            job: job.clone(),
            live: Arc::clone(live),
            recall_for: jobs.settings.recall,
            places: Arc::default(),
            receipts: HashMap::new(),
            recalls: JoinSet::new(),
            left: job.targets.len(),
            open: job.targets.iter().cloned().collect(),
            lost: false,
        }
    }

    /// Until every target has a return.
    pub async fn keep(
        mut self,
        mut news: mpsc::UnboundedReceiver<Update>,
        mut receipts: mpsc::UnboundedReceiver<(String, Receipt)>,
        mut events: mpsc::Receiver<(String, Event)>,
    ) {
        let (mut updates, mut told, mut open) = (Vec::new(), Vec::new(), true);
        while self.left > 0 {
            tokio::select! {
                _ = events.recv_many(&mut told, 32), if !events.is_closed() || !events.is_empty() => {
                    self.tell(told.drain(..)).await;
                }
                count = news.recv_many(&mut updates, 64), if open => {
                    open = count > 0;
                    // What a target said before it returned comes before its return; no more than that, or one that
                    // floods us would hold up the others.
                    told.extend(std::iter::from_fn(|| events.try_recv().ok()).take(EVENTS));
                    self.tell(told.drain(..)).await;
                    while let Ok((id, receipt)) = receipts.try_recv() {
                        self.receipts.insert(id, receipt);
                    }
                    self.updates(updates.drain(..)).await;
                }
                Some(recalled) = self.recalls.join_next() => {
                    if let Ok(recalled) = recalled {
                        self.recalled(recalled).await;
                    }
                }
                // Nobody can say anything any more.
                else => break,
            }
        }
        if self.job.targets.is_empty() {
            self.store(Vec::new(), true).await;
        }
        // Whoever ran it is gone without a word: the program ends, or has a defect. The targets know.
        if self.left > 0 {
            let open: Vec<String> = self.open.iter().cloned().collect();
            let ask = open.into_iter().map(|id| (id, None)).collect();
            self.ask(ask).await;
        }
    }

    /// Asks the targets of a job whose controller was gone; what is known without asking comes along.
    pub async fn settle(
        mut self,
        known: Vec<(String, TargetOutcome)>,
        ask: Vec<(String, Option<TargetOutcome>)>,
        returned: usize,
        lost: bool,
    ) {
        self.left = self.left.saturating_sub(returned);
        self.lost = lost;
        if !known.is_empty() || self.left == 0 {
            self.returned(known).await;
        }
        self.ask(ask).await;
    }

    /// Asks targets until all have said what they know.
    async fn ask(&mut self, targets: Vec<(String, Option<TargetOutcome>)>) {
        for (id, otherwise) in targets {
            self.recall(id, otherwise);
        }
        while let Some(recalled) = self.recalls.join_next().await {
            if let Ok(recalled) = recalled {
                self.recalled(recalled).await;
            }
        }
    }

    async fn tell(&mut self, told: impl Iterator<Item = (String, Event)>) {
        let mut events = Vec::new();
        for (id, event) in told {
            self.live.hub.tell(JobUpdate::Event { target: id.clone(), event: event.clone() });
            match event.tag.strip_prefix("warning: ") {
                Some(text) => self.ledger.tell(job_events::warning(&self.job, &id, text, &event.data)),
                None => events.push(job_events::from_target(self.job.id, &id, event)),
            }
        }
        // An event is not worth to hold a job up: a store that is away loses it.
        if !events.is_empty() {
            let _ = self.ledger.fire_all(events).await;
        }
    }

    async fn updates(&mut self, updates: impl Iterator<Item = Update>) {
        let mut done = Vec::new();
        let mut begun = false;
        for update in updates {
            match update {
                Update::Begun { id } => {
                    begun = true;
                    self.live.hub.tell(JobUpdate::Begun { target: id });
                }
                Update::Output { id, stream: Stream::Progress, bytes } => {
                    if let Some(event) = job_events::step(&self.job, &id, &bytes) {
                        self.ledger.tell(event);
                    }
                    self.live.hub.tell(JobUpdate::Progress { target: id, bytes });
                }
                Update::Output { id, stream, bytes } => {
                    self.live.hub.tell(JobUpdate::Output { target: id, stream, bytes });
                }
                // Only for who started it: notes may name what is in a pillar.
                Update::Note { id, text } => self.live.hub.tell(JobUpdate::Note { target: id, text }),
                Update::Event { .. } => {}
                Update::Done { id, outcome } => match outcome {
                    // It may still run there.
                    Outcome::Unreached(failure) if failure.stage == Stage::Link && !is_harmless(&self.job.function) => {
                        let otherwise = Some(Outcome::Unreached(failure).kept());
                        self.recall(id, otherwise);
                    }
                    outcome => done.push((id, outcome.kept())),
                },
            }
        }
        if begun && self.job.state == JobState::Queued {
            let mut job = self.job.clone();
            // If it can't be stored now, the end will be.
            if self.ledger.set_state(&mut job, JobState::Running, Vec::new()).await.is_ok() {
                self.job = job;
            }
        }
        self.returned(done).await;
    }

    fn recall(&mut self, id: String, otherwise: Option<TargetOutcome>) {
        let asking = result_query::ResultQuery {
            controller: Arc::clone(&self.controller),
            job: self.job.id,
            target: id,
            limit: self.recall_for,
            cancel_signal: self.live.cancel_signal.clone(),
            otherwise,
        };
        self.recalls.spawn(asking.recall());
    }

    async fn recalled(&mut self, recalled: QueryResult) {
        let QueryResult { target, outcome, receipt } = recalled;
        // What a controller that went down did not come to.
        self.lost |= matches!(outcome, TargetOutcome::Skipped(_));
        if let Some(receipt) = receipt {
            self.receipts.insert(target.clone(), receipt);
        }
        self.returned(vec![(target, outcome)]).await;
    }

    /// Stores returns; the last of them together with the job's end.
    async fn returned(&mut self, done: Vec<(String, TargetOutcome)>) {
        if done.is_empty() && self.left > 0 {
            return;
        }
        self.left = self.left.saturating_sub(done.len());
        for (id, _) in &done {
            self.open.remove(id);
        }
        self.lost |= done.iter().any(|(_, outcome)| matches!(outcome, TargetOutcome::Lost(_)));
        let record = |(id, outcome)| self.ledger.return_record(&self.job, id, outcome);
        let records: Vec<ReturnRecord> = done.into_iter().map(record).collect();
        self.store(records, self.left == 0).await;
    }

    /// Comes back when it is stored: nobody may believe it before.
    async fn store(&mut self, mut records: Vec<ReturnRecord>, end: bool) {
        let state = match (self.lost, self.live.cancel_signal.is_stopped()) {
            (true, _) => JobState::Lost,
            (false, true) => JobState::Cancelled,
            (false, false) => JobState::Done,
        };
        loop {
            match self.ledger.returned_all(&mut self.job, &records, end.then_some(state)).await {
                Ok(()) => break,
                Err(error @ (Error::TooLarge { .. } | Error::Key { .. })) => {
                    // What the store never takes is said to be so.
                    let problem = Problem::new(ProblemKind::Failed, format!("the result could not be stored: {error}"));
                    for record in &mut records {
                        record.outcome = TargetOutcome::Returned(problem.clone().into());
                    }
                    tokio::time::sleep(PAUSE).await;
                }
                // It comes back, or somebody makes room: until then nobody hears that it has ended.
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        for record in &records {
            if let Some(receipt) = self.receipts.remove(&record.target) {
                receipt.stored();
            }
            self.places.lock().unwrap_or_else(PoisonError::into_inner).remove(&record.target);
        }
        records.iter().for_each(|record| self.live.hub.tell(JobUpdate::Done(record.clone())));
        if end {
            self.live.hub.tell(JobUpdate::Ended(self.job.clone()));
        }
        self.live.add(records);
    }
}
