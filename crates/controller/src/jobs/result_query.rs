//! [`ResultQuery`]: asks a target for the result of a job after its link broke or the controller was restarted.

use std::sync::Arc;
use std::time::Duration;

use rocksalt_connect::link::{NoAnswers, Receipt, RemoteCall};
use rocksalt_core::call::{KEPT, Problem, ProblemKind, Return};
use rocksalt_core::link::{AgentKind, LinkFailure, Stage};
use rocksalt_core::record::TargetOutcome;
use rocksalt_core::roster::RosterEntry;
use rocksalt_core::{Call, JobId, Map, Value};
use tokio::time::{Instant, sleep, timeout};

use crate::Controller;
use crate::execution::CancelSignal;

/// The limit of one request.
const PATIENCE: Duration = Duration::from_secs(20);

/// The first pause between two requests; it doubles each time.
const SOON: Duration = Duration::from_millis(200);
const RARELY: Duration = Duration::from_secs(10);

/// How long an unreachable target is asked if its job was cancelled.
const STOPPED: Duration = Duration::from_secs(10);

pub struct ResultQuery {
    pub controller: Arc<Controller>,
    pub job: JobId,
    pub target: String,
    /// How long an unreachable target is asked.
    pub limit: Duration,
    pub cancel_signal: CancelSignal,
    /// The outcome if the target does not know the job.
    pub otherwise: Option<TargetOutcome>,
}

pub struct QueryResult {
    pub target: String,
    pub outcome: TargetOutcome,
    pub receipt: Option<Receipt>,
}

/// What the target reports about the job.
enum TargetAnswer {
    Done(Return),
    Running,
    Died,
    Unknown,
}

impl ResultQuery {
    /// Asks until the outcome is known or the limit is reached.
    pub async fn run(mut self) -> QueryResult {
        let (outcome, receipt) = self.query_until_known().await;
        QueryResult { target: self.target, outcome, receipt }
    }

    async fn query_until_known(&mut self) -> (TargetOutcome, Option<Receipt>) {
        let Some(entry) = self.controller.roster.get(&self.target).cloned() else {
            return (TargetOutcome::Lost("the target is not in the roster any more, so it was not asked".into()), None);
        };
        let mut pause = SOON;
        let mut missing_since = Instant::now();
        loop {
            let patience = if self.cancel_signal.is_cancelled() { self.limit.min(STOPPED) } else { self.limit };
            match self.query_once(&entry).await {
                Ok((TargetAnswer::Done(result), receipt)) => return (TargetOutcome::Returned(result), Some(receipt)),
                Ok((TargetAnswer::Died, receipt)) => {
                    let why = "it began there, and the agent or the machine went down before it ended";
                    return (TargetOutcome::Lost(why.into()), Some(receipt));
                }
                Ok((TargetAnswer::Unknown, receipt)) => {
                    let never = || TargetOutcome::Lost("the target has no note that it began there".into());
                    return (self.otherwise.take().unwrap_or_else(never), Some(receipt));
                }
                Ok((TargetAnswer::Running, _)) => missing_since = Instant::now(),
                Err(failure) if missing_since.elapsed() >= patience => {
                    let why = format!("the target could not be asked for {} seconds: {failure}", patience.as_secs());
                    return (TargetOutcome::Lost(why), None);
                }
                Err(_) => {}
            }
            tokio::select! {
                () = sleep(pause) => pause = (pause * 2).min(RARELY),
                // The next request sends the signal.
                () = self.cancel_signal.cancelled(), if !self.cancel_signal.is_cancelled() => pause = SOON,
                () = self.cancel_signal.killed(), if !self.cancel_signal.is_killed() => pause = SOON,
            }
        }
    }

    async fn query_once(&self, entry: &RosterEntry) -> Result<(TargetAnswer, Receipt), LinkFailure> {
        let mut kwargs = Map::new();
        if self.cancel_signal.is_cancelled() {
            kwargs.insert("signal", if self.cancel_signal.is_killed() { 9i64 } else { 15i64 });
        }
        let call = Call { kwargs, target: entry.id.clone(), ..Call::new(KEPT).arg(self.job.as_str()) };
        let user = format!("{} {KEPT}", self.controller.user);
        let asking = async {
            let line = self.controller.links.open(entry, AgentKind::Small, false, None).await?;
            let mut request = RemoteCall::start(line.open_channel(&user)?, call, Arc::new(NoAnswers));
            let result = request.finish(&mut |_, _| {}).await?;
            Ok((parse_answer(result), request.into_receipt(self.job, entry.id.clone())))
        };
        match timeout(PATIENCE, asking).await {
            Ok(answer) => answer,
            Err(_) => {
                // The next request must connect again instead of waiting on a dead link.
                let _ = self.controller.links.close(std::slice::from_ref(&entry.id), false).await;
                Err(LinkFailure::new(Stage::Link, format!("no answer within {} seconds", PATIENCE.as_secs())))
            }
        }
    }
}

fn parse_answer(answer: Return) -> TargetAnswer {
    let map = answer.value.as_map();
    let text = |key: &str| map.and_then(|map| map.get(key)).and_then(Value::as_str);
    match text("state") {
        Some("running") => TargetAnswer::Running,
        Some("died") => TargetAnswer::Died,
        Some("unknown") => TargetAnswer::Unknown,
        Some("done") => match map.and_then(|map| map.get("result")) {
            Some(Value::Bytes(bytes)) => TargetAnswer::Done(Return::from_bytes(bytes).unwrap_or_else(unreadable)),
            _ => TargetAnswer::Done(unreadable()),
        },
        // The query itself failed.
        _ => TargetAnswer::Done(answer),
    }
}

fn unreadable() -> Return {
    Problem::new(ProblemKind::Failed, "it ended on the target, but the result that it kept can't be read").into()
}
