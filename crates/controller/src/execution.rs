//! [`Execution`]: a call on many targets, from its start to the last outcome.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rocksalt_catalog::nature;
use rocksalt_connect::link::{Answers, Receipt, RemoteCall};
use rocksalt_connect::log::target_span;
use rocksalt_core::call::{Problem, ProblemKind, Return};
use rocksalt_core::frame::Stream;
use rocksalt_core::job_update::JobUpdate;
use rocksalt_core::link::{LinkFailure, Stage};
use rocksalt_core::record::{JobRecord, ReturnRecord, TargetOutcome};
use rocksalt_core::roster::RosterEntry;
use rocksalt_core::{Call, JobId, Value};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::Instrument;

use crate::answers::{TargetAnswers, TargetEvent};
use crate::{Controller, secondary_agent};

#[derive(Clone, Debug)]
pub struct Execution {
    pub job: JobId,
    pub call: Call,
    pub targets: Vec<RosterEntry>,
    pub options: ExecutionOptions,
}

/// How an execution proceeds through its targets.
#[derive(Clone, Debug, Default)]
pub struct ExecutionOptions {
    /// The number of targets that run at a time; all at once without it.
    pub batch: Option<usize>,
    /// The pause after each target of a batch.
    pub batch_wait: Duration,
    /// The limit of each call; without it a call may take as long as its link exists.
    pub timeout: Option<Duration>,
    /// No further target after the first failure.
    pub failhard: bool,
    /// Remove the agent afterwards.
    pub wipe: bool,
    /// Send the output of commands as it arrives.
    pub stream: bool,
    /// Send the progress of runs of states.
    pub progress: bool,
    /// Receives a receipt for each result; a target keeps its result until the receipt confirms that it is stored.
    /// Without it a call ends with its controller.
    pub receipts: Option<mpsc::UnboundedSender<(String, Receipt)>>,
}

/// Makes the answers to requests of a target's function.
pub type AnswersFor = dyn Fn(&RosterEntry) -> Arc<dyn Answers> + Send + Sync;

/// Cancels a job. Clones share one signal.
#[derive(Clone)]
pub struct CancelSignal(Arc<watch::Sender<CancelLevel>>);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CancelLevel {
    None,
    Term,
    Kill,
}

impl Default for CancelSignal {
    fn default() -> CancelSignal {
        CancelSignal(Arc::new(watch::Sender::new(CancelLevel::None)))
    }
}

impl CancelSignal {
    /// Sends SIGTERM to the processes of the calls.
    pub fn cancel(&self) {
        self.0.send_if_modified(|level| std::mem::replace(level, (*level).max(CancelLevel::Term)) == CancelLevel::None);
    }

    /// Sends SIGKILL to the processes of the calls.
    pub fn kill(&self) {
        self.0.send_replace(CancelLevel::Kill);
    }

    pub(crate) async fn cancelled(&self) {
        self.reached(CancelLevel::Term).await;
    }

    pub(crate) async fn killed(&self) {
        self.reached(CancelLevel::Kill).await;
    }

    async fn reached(&self, level: CancelLevel) {
        let mut receiver = self.0.subscribe();
        // The sender lives as long as `self`.
        let _ = receiver.wait_for(|now| *now >= level).await;
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        *self.0.borrow() > CancelLevel::None
    }

    pub(crate) fn is_killed(&self) -> bool {
        *self.0.borrow() == CancelLevel::Kill
    }
}

/// The call on one target, with its context.
pub(crate) struct TargetCall<'a> {
    pub call: Call,
    pub options: &'a ExecutionOptions,
    pub answers: Arc<dyn Answers>,
    pub updates: &'a mpsc::UnboundedSender<JobUpdate>,
    pub cancel_signal: &'a CancelSignal,
}

impl Controller {
    /// Calls the function on each target. Sends exactly one `Done` for each target, whatever happens.
    pub async fn execute(
        self: &Arc<Controller>,
        execution: Execution,
        answers: Arc<AnswersFor>,
        updates: mpsc::UnboundedSender<JobUpdate>,
        cancel_signal: CancelSignal,
    ) {
        let Execution { job, call, targets, options } = execution;
        let width = options.batch.unwrap_or(targets.len()).max(1);
        let mut waiting: VecDeque<RosterEntry> = targets.into();
        let mut running = JoinSet::new();
        let mut skip = None;
        loop {
            while running.len() < width && skip.is_none() {
                let Some(entry) = waiting.pop_front() else { break };
                let _ = updates.send(JobUpdate::Begun { target: entry.id.clone() });
                let mut call = call.clone();
                call.job = Some(job);
                call.stream = options.stream;
                call.progress = options.progress;
                call.keep = options.receipts.is_some() && !nature(&call.function).repeatable;
                let (controller, options) = (Arc::clone(self), options.clone());
                let (updates, cancel_signal) = (updates.clone(), cancel_signal.clone());
                let answers = answers(&entry);
                let span = target_span(&entry.id, Some(job));
                let run = async move {
                    let work = TargetCall {
                        call,
                        options: &options,
                        answers,
                        updates: &updates,
                        cancel_signal: &cancel_signal,
                    };
                    let outcome = controller.call_within_limit(&entry, work).await;
                    log_outcome(&outcome);
                    let success = outcome.success();
                    let _ = updates.send(JobUpdate::Done(ReturnRecord::new(entry.id, outcome)));
                    success
                };
                running.spawn(run.instrument(span.or_current()));
            }
            let Some(ended) = running.join_next().await else { break };
            if cancel_signal.is_cancelled() {
                skip = Some("the job was stopped before it came to this target");
            } else if options.failhard && !ended.unwrap_or(false) {
                skip = Some("an earlier target failed, and --failhard was given");
            } else if !waiting.is_empty() && !options.batch_wait.is_zero() {
                sleep(options.batch_wait).await;
            }
        }
        for entry in waiting {
            let outcome = TargetOutcome::Skipped(skip.unwrap_or("the job ended").into());
            let _ = updates.send(JobUpdate::Done(ReturnRecord::new(entry.id, outcome)));
        }
    }

    /// The controller's answers to requests of the targets' functions: files, pillar, other targets, events.
    pub(crate) fn answers_for(
        self: &Arc<Controller>,
        job: &JobRecord,
        call: &Call,
        updates: &mpsc::UnboundedSender<JobUpdate>,
        events: mpsc::Sender<TargetEvent>,
    ) -> Arc<AnswersFor> {
        let targets: Arc<[String]> = job.targets.iter().cloned().collect();
        let given = Arc::new(call.kwargs.get("pillar").and_then(Value::as_map).cloned().unwrap_or_default());
        let (controller, job, updates) = (Arc::clone(self), job.id, updates.clone());
        Arc::new(move |entry: &RosterEntry| {
            Arc::new(TargetAnswers {
                controller: Arc::clone(&controller),
                source: entry.id.clone(),
                job,
                given: Arc::clone(&given),
                targets: Arc::clone(&targets),
                updates: updates.clone(),
                events: events.clone(),
            }) as Arc<dyn Answers>
        })
    }

    async fn call_within_limit(&self, entry: &RosterEntry, work: TargetCall<'_>) -> TargetOutcome {
        let limit = work.options.timeout;
        let working = self.through_reboots(entry, work);
        match limit {
            None => working.await,
            // The call itself has the limit too; this limit includes the time to connect.
            Some(limit) => match timeout(limit + Duration::from_secs(5), working).await {
                Ok(outcome) => outcome,
                Err(_) => TargetOutcome::Returned(timed_out(limit)),
            },
        }
    }

    /// One call on one target.
    pub(crate) async fn call(&self, entry: &RosterEntry, work: TargetCall<'_>) -> TargetOutcome {
        let TargetCall { mut call, options, answers, updates, cancel_signal } = work;
        call.target.clone_from(&entry.id);
        call.options = self.options_of(entry);
        let user = format!("{} {}", self.user, call.function);
        let opening = async {
            let line = self.links.open(entry, (self.agent_kind)(&call), options.wipe, None).await?;
            line.open_channel(&user)
        };
        let port = tokio::select! {
            port = opening => match port {
                Ok(port) => port,
                Err(failure) => return failure.into(),
            },
            () = cancel_signal.cancelled() => return TargetOutcome::Skipped("the job was stopped while it connected to this target".into()),
        };
        let is_grains = call.function == "grains.items";
        let about_jobs = secondary_agent::is_about_jobs(&call.function).then(|| call.clone());
        let kept = call.job.filter(|_| call.keep);
        tracing::debug!(function = call.function, keep = call.keep, "sends the call");
        let mut request = RemoteCall::start(port, call, answers);
        let mut output = |stream: Stream, bytes: &[u8]| {
            let (target, bytes) = (entry.id.clone(), bytes.to_vec());
            let _ = updates.send(match stream {
                Stream::Progress => JobUpdate::Progress { target, bytes },
                stream => JobUpdate::Output { target, stream, bytes },
            });
        };
        let finished = tokio::select! {
            result = request.finish(&mut output) => result,
            () = cancel_signal.cancelled() => stop(&mut request, cancel_signal, options).await,
            () = limit(options.timeout) => return self.give_up(entry, request, options.timeout.unwrap_or_default()).await,
        };
        match finished {
            Ok(mut result) => {
                if let (Some(job), Some(receipts)) = (kept, &options.receipts) {
                    let _ = receipts.send((entry.id.clone(), request.into_receipt(job, entry.id.clone())));
                }
                if let Some(call) = about_jobs {
                    self.add_secondary_agent(entry, call, &user, &mut result).await;
                }
                if let (true, Value::Map(grains)) = (is_grains, &result.value) {
                    let _ = self.grains_cache.remember(&entry.id, grains);
                }
                TargetOutcome::Returned(result)
            }
            Err(failure) => failure.into(),
        }
    }

    /// Cancels a call that took too long. A target that does not even answer the cancel counts as unreachable.
    async fn give_up(&self, entry: &RosterEntry, request: RemoteCall, limit: Duration) -> TargetOutcome {
        if cancel(request).await.is_some() {
            return TargetOutcome::Returned(timed_out(limit));
        }
        // The next command must connect again instead of waiting on a dead link.
        let _ = self.links.close(std::slice::from_ref(&entry.id), false).await;
        let text = format!("no answer within {} seconds, nor to the cancel that followed", limit.as_secs_f64());
        LinkFailure::new(Stage::Link, text).hint("the network is cut, or the target hangs").into()
    }
}

/// Logs the outcome on a target, without its result, which may contain secrets.
fn log_outcome(outcome: &TargetOutcome) {
    match outcome {
        TargetOutcome::Returned(result) => {
            let problem = result.problem.as_ref().map(|problem| problem.kind);
            tracing::info!(success = result.success(), retcode = result.retcode, ?problem, "the target returned");
        }
        TargetOutcome::Unreached { stage, .. } => tracing::info!(stage = stage.name(), "the target was not reached"),
        TargetOutcome::Skipped(why) => tracing::info!(why, "the target was skipped"),
        TargetOutcome::Lost(why) => tracing::info!(why, "the outcome is unknown"),
    }
}

/// Cancels or kills a call, and waits briefly for its result.
async fn stop(
    request: &mut RemoteCall,
    cancel_signal: &CancelSignal,
    options: &ExecutionOptions,
) -> Result<Return, LinkFailure> {
    let mut kill = cancel_signal.is_killed();
    let mut output = |_: Stream, _: &[u8]| {};
    loop {
        if kill {
            request.kill()
        } else {
            request.cancel()
        }
        // A command is waiting at a terminal; a recorded job has more time to end.
        let patience = if options.receipts.is_some() && !kill { PATIENCE } else { MOMENT };
        tokio::select! {
            result = request.finish(&mut output) => return result,
            () = cancel_signal.killed(), if !kill => kill = true,
            () = sleep(patience) => {
                return Ok(Problem::new(ProblemKind::Cancelled, "cancelled; it may still run on the target").into());
            }
        }
    }
}

/// How long a call may take to end after a cancel.
const MOMENT: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(60);

/// Cancels a call and waits briefly for its result; `None` if there is none.
async fn cancel(mut request: RemoteCall) -> Option<Return> {
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
