//! [`Job`]: a call on many targets, from its start to the last result.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rocksalt_connect::link::{Answers, Receipt, Request};
use rocksalt_core::call::{Problem, ProblemKind, Return, is_harmless};
use rocksalt_core::frame::Stream;
use rocksalt_core::link::{Failure, Stage};
use rocksalt_core::record::TargetOutcome;
use rocksalt_core::roster::Entry;
use rocksalt_core::{Call, Event, JobId, Value};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::answers::TargetAnswers;
use crate::{Controller, secondary_agent};

#[derive(Clone, Debug)]
pub struct Job {
    pub id: JobId,
    pub call: Call,
    pub targets: Vec<Entry>,
    pub how: How,
}

/// How a job goes over its targets.
#[derive(Clone, Debug, Default)]
pub struct How {
    /// So many at a time; all at once without it.
    pub batch: Option<usize>,
    /// A pause after each target of a batch.
    pub batch_wait: Duration,
    /// For each call; without it a call may take as long as its link stands.
    pub timeout: Option<Duration>,
    /// No further target after the first failure.
    pub failhard: bool,
    /// Leave no agent behind.
    pub wipe: bool,
    /// Send the output of commands as it comes.
    pub stream: bool,
    /// Tell how far runs of states are.
    pub progress: bool,
    /// Targets keep their results until they hear that they are stored: whom to give what tells them so. Without it a
    /// call ends with its controller.
    pub receipts: Option<mpsc::UnboundedSender<(String, Receipt)>>,
}

/// What happens while a job runs.
#[derive(Debug)]
pub enum Update {
    /// A target is being worked on.
    Begun { id: String },
    /// Part of what a command prints there.
    Output { id: String, stream: Stream, bytes: Vec<u8> },
    /// A target's function sent an event.
    Event { id: String, event: Event },
    /// Something that the operator should know, and the target must not.
    Note { id: String, text: String },
    /// A target is done.
    Done { id: String, outcome: Outcome },
}

/// Makes the answers to what a target's function asks.
pub type AnswersFor = dyn Fn(&Entry) -> Arc<dyn Answers> + Send + Sync;

/// How it ended on one target.
#[derive(Clone, Debug)]
pub enum Outcome {
    Returned(Return),
    /// It was not reached, or the link broke.
    Unreached(Failure),
    /// Not even tried, because of an earlier failure or since the job was stopped.
    Skipped(&'static str),
}

impl Outcome {
    pub fn success(&self) -> bool {
        matches!(self, Outcome::Returned(result) if result.success())
    }

    /// As it is kept.
    pub fn kept(self) -> TargetOutcome {
        match self {
            Outcome::Returned(result) => TargetOutcome::Returned(result),
            Outcome::Unreached(failure) => TargetOutcome::Unreached {
                stage: failure.stage.name().to_owned(),
                text: failure.text,
                hint: failure.hint,
            },
            Outcome::Skipped(why) => TargetOutcome::Skipped(why.to_owned()),
        }
    }
}

/// Tells a job to stop; every clone does.
#[derive(Clone)]
pub struct CancelSignal(Arc<watch::Sender<Stop>>);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stop {
    Go,
    Term,
    Kill,
}

impl Default for CancelSignal {
    fn default() -> CancelSignal {
        CancelSignal(Arc::new(watch::Sender::new(Stop::Go)))
    }
}

impl CancelSignal {
    /// What calls have started gets SIGTERM.
    pub fn stop(&self) {
        self.0.send_if_modified(|stop| std::mem::replace(stop, (*stop).max(Stop::Term)) == Stop::Go);
    }

    /// What calls have started gets SIGKILL.
    pub fn kill(&self) {
        self.0.send_replace(Stop::Kill);
    }

    pub(crate) async fn stopped(&self) {
        self.reached(Stop::Term).await;
    }

    pub(crate) async fn killed(&self) {
        self.reached(Stop::Kill).await;
    }

    async fn reached(&self, level: Stop) {
        let mut receiver = self.0.subscribe();
        // The sender lives as long as `self`.
        let _ = receiver.wait_for(|stop| *stop >= level).await;
    }

    pub(crate) fn is_stopped(&self) -> bool {
        *self.0.borrow() > Stop::Go
    }

    pub(crate) fn is_killed(&self) -> bool {
        *self.0.borrow() == Stop::Kill
    }
}

/// One target's share of a job.
pub(crate) struct Work<'a> {
    pub call: Call,
    pub how: &'a How,
    pub answers: Arc<dyn Answers>,
    pub updates: &'a mpsc::UnboundedSender<Update>,
    pub cancel_signal: &'a CancelSignal,
}

impl Controller {
    /// Runs a job. Each target gets exactly one `Done`, whatever happens.
    ///
    /// What functions ask is answered by the controller, unless there are other `answers`.
    pub async fn run(
        self: &Arc<Controller>,
        job: Job,
        answers: Option<Arc<AnswersFor>>,
        updates: mpsc::UnboundedSender<Update>,
        cancel_signal: CancelSignal,
    ) {
        let width = job.how.batch.unwrap_or(job.targets.len()).max(1);
        let all: Arc<[String]> = job.targets.iter().map(|entry| entry.id.clone()).collect();
        let mut waiting: VecDeque<Entry> = job.targets.into();
        let mut running = JoinSet::new();
        let mut skip = None;
        loop {
            while running.len() < width && skip.is_none() {
                let Some(entry) = waiting.pop_front() else { break };
                let _ = updates.send(Update::Begun { id: entry.id.clone() });
                let mut call = job.call.clone();
                call.job = Some(job.id);
                call.stream = job.how.stream;
                call.progress = job.how.progress;
                call.keep = job.how.receipts.is_some() && !is_harmless(&call.function);
                let (controller, how) = (Arc::clone(self), job.how.clone());
                let (updates, cancel_signal) = (updates.clone(), cancel_signal.clone());
                let answers = match &answers {
                    Some(answers) => answers(&entry),
                    None => self.serving(&entry, job.id, &all, &updates),
                };
                running.spawn(async move {
                    let work = Work { call, how: &how, answers, updates: &updates, cancel_signal: &cancel_signal };
                    let outcome = controller.on_target(&entry, work).await;
                    let success = outcome.success();
                    let _ = updates.send(Update::Done { id: entry.id, outcome });
                    success
                });
            }
            let Some(ended) = running.join_next().await else { break };
            if cancel_signal.is_stopped() {
                skip = Some("the job was stopped before it came to this target");
            } else if job.how.failhard && !ended.unwrap_or(false) {
                skip = Some("an earlier target failed, and --failhard was given");
            } else if !waiting.is_empty() && !job.how.batch_wait.is_zero() {
                sleep(job.how.batch_wait).await;
            }
        }
        for entry in waiting {
            let outcome = Outcome::Skipped(skip.unwrap_or("the job ended"));
            let _ = updates.send(Update::Done { id: entry.id, outcome });
        }
    }

    /// The usual answers: files, other targets, events.
    pub(crate) fn serving(
        self: &Arc<Controller>,
        entry: &Entry,
        job: JobId,
        targets: &Arc<[String]>,
        updates: &mpsc::UnboundedSender<Update>,
    ) -> Arc<dyn Answers> {
        Arc::new(TargetAnswers {
            controller: Arc::clone(self),
            source: entry.id.clone(),
            job,
            targets: Arc::clone(targets),
            updates: updates.clone(),
        })
    }

    async fn on_target(&self, entry: &Entry, work: Work<'_>) -> Outcome {
        let limit = work.how.timeout;
        if let Some(result) = (self.own)(&work.call) {
            return Outcome::Returned(result);
        }
        let working = self.through_reboots(entry, work);
        match limit {
            None => working.await,
            // The call's own limit is inside; this one holds for the connecting as well.
            Some(limit) => match timeout(limit + Duration::from_secs(5), working).await {
                Ok(outcome) => outcome,
                Err(_) => Outcome::Returned(timed_out(limit)),
            },
        }
    }

    /// One call on one target.
    pub(crate) async fn call(&self, entry: &Entry, work: Work<'_>) -> Outcome {
        let Work { mut call, how, answers, updates, cancel_signal } = work;
        call.target.clone_from(&entry.id);
        call.options.clone_from(&self.options);
        call.options.extend(entry.options.clone());
        let user = format!("{} {}", self.user, call.function);
        let opening = async {
            let line = self.links.open(entry, (self.agent_kind)(&call), how.wipe, None).await?;
            line.open_channel(&user)
        };
        let port = tokio::select! {
            port = opening => match port {
                Ok(port) => port,
                Err(failure) => return Outcome::Unreached(failure),
            },
            () = cancel_signal.stopped() => return Outcome::Skipped("the job was stopped while it connected to this target"),
        };
        let is_grains = call.function == "grains.items";
        let about_jobs = secondary_agent::asks(&call.function).then(|| call.clone());
        let kept = call.job.filter(|_| call.keep);
        let mut request = Request::start(port, call, answers);
        let mut output = |stream: Stream, bytes: &[u8]| {
            let _ = updates.send(Update::Output { id: entry.id.clone(), stream, bytes: bytes.to_vec() });
        };
        let finished = tokio::select! {
            result = request.finish(&mut output) => result,
            () = cancel_signal.stopped() => stop(&mut request, cancel_signal, how).await,
            () = limit(how.timeout) => return self.give_up(entry, request, how.timeout.unwrap_or_default()).await,
        };
        match finished {
            Ok(mut result) => {
                if let (Some(job), Some(receipts)) = (kept, &how.receipts) {
                    let _ = receipts.send((entry.id.clone(), request.into_receipt(job, entry.id.clone())));
                }
                if let Some(call) = about_jobs {
                    self.add_secondary_agent(entry, call, &user, &mut result).await;
                }
                if let (true, Value::Map(grains)) = (is_grains, &result.value) {
                    let _ = self.grains_cache.remember(&entry.id, grains);
                }
                Outcome::Returned(result)
            }
            Err(failure) => Outcome::Unreached(failure),
        }
    }

    /// The call took too long. A target that doesn't even answer a cancel is not there any more.
    async fn give_up(&self, entry: &Entry, request: Request, limit: Duration) -> Outcome {
        if cancel(request).await.is_some() {
            return Outcome::Returned(timed_out(limit));
        }
        // The next command shall connect anew instead of waiting for the same silence.
        let _ = self.links.close(std::slice::from_ref(&entry.id), false).await;
        let text = format!("no answer within {} seconds, nor to the cancel that followed", limit.as_secs_f64());
        Outcome::Unreached(Failure::new(Stage::Link, text).hint("the network is cut, or the target hangs"))
    }
}

/// Stops a call as hard as somebody wants, and gives it a moment to say so itself.
async fn stop(request: &mut Request, cancel_signal: &CancelSignal, how: &How) -> Result<Return, Failure> {
    let mut kill = cancel_signal.is_killed();
    let mut output = |_: Stream, _: &[u8]| {};
    loop {
        if kill {
            request.kill()
        } else {
            request.cancel()
        }
        // Who is there for a command waits with it; a job that is kept has time to end in peace.
        let patience = if how.receipts.is_some() && !kill { PATIENCE } else { MOMENT };
        tokio::select! {
            result = request.finish(&mut output) => return result,
            () = cancel_signal.killed(), if !kill => kill = true,
            () = sleep(patience) => {
                return Ok(Problem::new(ProblemKind::Cancelled, "cancelled; it may still run on the target").into());
            }
        }
    }
}

/// How long a call may take to end once it was asked to.
const MOMENT: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(60);

/// Stops a call and gives it a moment to say so itself; `None` if it says nothing.
async fn cancel(mut request: Request) -> Option<Return> {
    request.cancel();
    timeout(MOMENT, request.finish(&mut |_, _| {})).await.ok()?.ok()
}

async fn limit(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => std::future::pending().await,
    }
}

fn timed_out(limit: Duration) -> Return {
    Problem::new(
        ProblemKind::TimedOut,
        format!("no result within {} seconds; the call was cancelled", limit.as_secs_f64()),
    )
    .hint("--timeout allows it more time")
    .into()
}
