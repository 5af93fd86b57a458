//! [`JobRecorder`]: stores the results of a job as they arrive, and sends receipts to the targets.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rocksalt_backends::store::Error;
use rocksalt_catalog::nature;
use rocksalt_connect::link::Receipt;
use rocksalt_core::call::{Problem, ProblemKind};
use rocksalt_core::job_update::JobUpdate;
use rocksalt_core::link::Stage;
use rocksalt_core::record::{JobRecord, JobState, ReturnRecord, TargetOutcome};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::JobService;
use super::result_query::{self, QueryResult};
use super::running_job::RunningJob;
use crate::Controller;
use crate::answers::TargetEvent;
use crate::job_events;
use crate::job_records::JobRecords;
use crate::state_queue::QueuePlace;

/// The pause before a store that failed is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// The number of events of targets that wait to be stored; a target that sends more has to wait.
pub const EVENTS: usize = 64;

pub struct JobRecorder {
    records: Arc<dyn JobRecords>,
    controller: Arc<Controller>,
    job: JobRecord,
    running: Arc<RunningJob>,
    /// `None`: targets keep no results, so they are not asked for any.
    recall: Option<Duration>,
    /// Places in queues, held until the target's return is stored.
    pub places: Arc<Mutex<HashMap<String, QueuePlace>>>,
    receipts: HashMap<String, Receipt>,
    /// Queries of targets for their results.
    recalls: JoinSet<QueryResult>,
    /// The number of missing returns; `open` has their targets.
    left: usize,
    open: HashSet<String>,
    lost: bool,
}

impl JobRecorder {
    pub fn new<R: JobRecords>(
        jobs: &JobService<R>,
        controller: &Arc<Controller>,
        job: &JobRecord,
        running: &Arc<RunningJob>,
    ) -> JobRecorder {
        JobRecorder {
            records: Arc::clone(&jobs.records) as Arc<dyn JobRecords>,
            controller: Arc::clone(controller),
            job: job.clone(),
            running: Arc::clone(running),
            recall: jobs.settings.recall,
            places: Arc::default(),
            receipts: HashMap::new(),
            recalls: JoinSet::new(),
            left: job.targets.len(),
            open: job.targets.iter().cloned().collect(),
            lost: false,
        }
    }

    /// Stores results until every target has a return.
    pub async fn record(
        mut self,
        mut received: mpsc::UnboundedReceiver<JobUpdate>,
        mut receipts: mpsc::UnboundedReceiver<(String, Receipt)>,
        mut events: mpsc::Receiver<TargetEvent>,
    ) {
        let (mut updates, mut fired, mut open) = (Vec::new(), Vec::new(), true);
        while self.left > 0 {
            tokio::select! {
                _ = events.recv_many(&mut fired, 32), if !events.is_closed() || !events.is_empty() => {
                    self.store_events(fired.drain(..)).await;
                }
                count = received.recv_many(&mut updates, 64), if open => {
                    open = count > 0;
                    // Events that a target sent before its return are stored first, but not all that are waiting: a
                    // target that sends very many would delay the others.
                    fired.extend(std::iter::from_fn(|| events.try_recv().ok()).take(EVENTS));
                    self.store_events(fired.drain(..)).await;
                    while let Ok((id, receipt)) = receipts.try_recv() {
                        self.receipts.insert(id, receipt);
                    }
                    self.store_updates(updates.drain(..)).await;
                }
                Some(recalled) = self.recalls.join_next() => {
                    if let Ok(recalled) = recalled {
                        self.recalled(recalled).await;
                    }
                }
                // All senders are gone.
                else => break,
            }
        }
        if self.job.targets.is_empty() {
            self.store(Vec::new(), true).await;
        }
        // The task that ran the job ended without all outcomes: the process is stopping, or it has a bug. The targets
        // may still have results.
        if self.left > 0 {
            let open: Vec<String> = self.open.iter().cloned().collect();
            if self.recall.is_some() {
                self.query_all(open.into_iter().map(|id| (id, None)).collect()).await;
            } else {
                let lost = |id| (id, TargetOutcome::Lost("the process that ran the job ended".into()));
                self.returned(open.into_iter().map(lost).collect()).await;
            }
        }
    }

    /// Ends a job that an earlier process left: stores the outcomes that are known, and asks the other targets.
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
        self.query_all(ask).await;
    }

    /// Asks targets for their results until the outcome of each is known.
    async fn query_all(&mut self, targets: Vec<(String, Option<TargetOutcome>)>) {
        for (id, otherwise) in targets {
            self.query(id, otherwise);
        }
        while let Some(recalled) = self.recalls.join_next().await {
            if let Ok(recalled) = recalled {
                self.recalled(recalled).await;
            }
        }
    }

    async fn store_events(&mut self, fired: impl Iterator<Item = TargetEvent>) {
        let mut events = Vec::new();
        for event in fired {
            match event {
                TargetEvent::Fired { target, event } => {
                    if self.records.has_events() {
                        events.push(job_events::from_target(self.job.id, &target, event.clone()));
                    }
                    self.running.publish(JobUpdate::Event { target, event });
                }
                TargetEvent::Warned { target, text, hint } => {
                    if self.records.has_events() {
                        self.records
                            .publish_event(&self.job, job_events::warning(&self.job, &target, &text, hint.as_deref()));
                    }
                    self.running.publish(JobUpdate::Warning { target, text, hint });
                }
            }
        }
        // An event must not delay the job: if it can't be stored now, it is dropped.
        if !events.is_empty() {
            let _ = self.records.store_events(&self.job, events).await;
        }
    }

    async fn store_updates(&mut self, updates: impl Iterator<Item = JobUpdate>) {
        let mut done = Vec::new();
        let mut begun = false;
        for update in updates {
            match update {
                JobUpdate::Begun { target } => {
                    begun = true;
                    self.running.publish(JobUpdate::Begun { target });
                }
                JobUpdate::Progress { target, bytes } => {
                    if self.records.has_events()
                        && let Some(event) = job_events::step(&self.job, &target, &bytes)
                    {
                        self.records.publish_event(&self.job, event);
                    }
                    self.running.publish(JobUpdate::Progress { target, bytes });
                }
                // Notes are not stored: they may contain data of a pillar.
                update @ (JobUpdate::Output { .. }
                | JobUpdate::Note { .. }
                | JobUpdate::Event { .. }
                | JobUpdate::Warning { .. }) => {
                    self.running.publish(update);
                }
                JobUpdate::Done(ReturnRecord { target, outcome, .. }) => match outcome {
                    // The call may still run there.
                    TargetOutcome::Unreached { stage: Stage::Link, .. }
                        if self.recall.is_some() && !nature(&self.job.function).repeatable =>
                    {
                        self.query(target, Some(outcome));
                    }
                    outcome => done.push((target, outcome)),
                },
                // Only the recorder ends the job.
                JobUpdate::Ended(_) => {}
            }
        }
        if begun && self.job.state == JobState::Queued {
            let mut job = self.job.clone();
            // If this fails, storing the end of the job makes up for it.
            if self.records.set_state(&mut job, JobState::Running).await.is_ok() {
                self.job = job;
            }
        }
        self.returned(done).await;
    }

    /// Asks a target for its result.
    fn query(&mut self, id: String, otherwise: Option<TargetOutcome>) {
        let query = result_query::ResultQuery {
            controller: Arc::clone(&self.controller),
            job: self.job.id,
            target: id,
            limit: self.recall.unwrap_or_default(),
            cancel_signal: self.running.cancel_signal.clone(),
            otherwise,
        };
        self.recalls.spawn(query.run());
    }

    async fn recalled(&mut self, recalled: QueryResult) {
        let QueryResult { target, outcome, receipt } = recalled;
        // Skipped means that the controller went down before it sent the call.
        self.lost |= matches!(outcome, TargetOutcome::Skipped(_));
        if let Some(receipt) = receipt {
            self.receipts.insert(target.clone(), receipt);
        }
        self.returned(vec![(target, outcome)]).await;
    }

    /// Stores returns, and the end of the job with the last one.
    async fn returned(&mut self, done: Vec<(String, TargetOutcome)>) {
        if done.is_empty() && self.left > 0 {
            return;
        }
        self.left = self.left.saturating_sub(done.len());
        for (id, _) in &done {
            self.open.remove(id);
        }
        self.lost |= done.iter().any(|(_, outcome)| matches!(outcome, TargetOutcome::Lost(_)));
        let record = |(id, outcome)| self.records.return_record(&self.job, id, outcome);
        let records: Vec<ReturnRecord> = done.into_iter().map(record).collect();
        self.store(records, self.left == 0).await;
    }

    /// Stores returns, and publishes them only when they are stored.
    async fn store(&mut self, mut records: Vec<ReturnRecord>, end: bool) {
        let state = match (self.lost, self.running.cancel_signal.is_cancelled()) {
            (true, _) => JobState::Lost,
            (false, true) => JobState::Cancelled,
            (false, false) => JobState::Done,
        };
        loop {
            match self.records.store_returns(&mut self.job, &records, end.then_some(state)).await {
                Ok(()) => break,
                Err(error @ (Error::TooLarge { .. } | Error::Key { .. })) => {
                    // The store will always refuse it: the record says so instead.
                    let problem = Problem::new(ProblemKind::Failed, format!("the result could not be stored: {error}"));
                    for record in &mut records {
                        record.outcome = TargetOutcome::Returned(problem.clone().into());
                    }
                    tokio::time::sleep(PAUSE).await;
                }
                // Until the store works again, nobody sees the job as ended.
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        for record in &records {
            if let Some(receipt) = self.receipts.remove(&record.target) {
                receipt.stored();
            }
            self.places.lock().unwrap_or_else(PoisonError::into_inner).remove(&record.target);
        }
        self.running.publish_returns(records);
        if end {
            self.running.publish(JobUpdate::Ended(Box::new(self.job.clone())));
        }
    }
}
