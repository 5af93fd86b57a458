//! [`ResultQuery`]: what a target knows of a job after the link to it broke, or after the controller was gone.

use std::sync::Arc;
use std::time::Duration;

use rocksalt_connect::link::{NoAnswers, Receipt, Request};
use rocksalt_core::call::{KEPT, Problem, ProblemKind, Return};
use rocksalt_core::link::{AgentKind, Failure, Stage};
use rocksalt_core::record::TargetOutcome;
use rocksalt_core::roster::Entry;
use rocksalt_core::{Call, JobId, Map, Value};
use tokio::time::{Instant, sleep, timeout};

use crate::Controller;
use crate::execution::CancelSignal;

/// One question.
const PATIENCE: Duration = Duration::from_secs(20);

/// Between two questions; they grow rarer.
const SOON: Duration = Duration::from_millis(200);
const RARELY: Duration = Duration::from_secs(10);

/// A job that is to be stopped, and whose target can't be reached, is given up after so long.
const STOPPED: Duration = Duration::from_secs(10);

pub struct ResultQuery {
    pub controller: Arc<Controller>,
    pub job: JobId,
    pub target: String,
    /// How long a target that isn't there is looked for.
    pub limit: Duration,
    pub cancel_signal: CancelSignal,
    /// How it ended if the target has never heard of it.
    pub otherwise: Option<TargetOutcome>,
}

pub struct QueryResult {
    pub target: String,
    pub outcome: TargetOutcome,
    pub receipt: Option<Receipt>,
}

/// What the target says.
enum Said {
    Done(Return),
    Running,
    Died,
    Unknown,
}

impl ResultQuery {
    /// Asks until it is known how the job ended there, or the time is over.
    pub async fn run(mut self) -> QueryResult {
        let (outcome, receipt) = self.ask().await;
        QueryResult { target: self.target, outcome, receipt }
    }

    async fn ask(&mut self) -> (TargetOutcome, Option<Receipt>) {
        let Some(entry) = self.controller.roster.get(&self.target).cloned() else {
            return (TargetOutcome::Lost("the target is not in the roster any more, so it was not asked".into()), None);
        };
        let mut pause = SOON;
        let mut missing_since = Instant::now();
        loop {
            let patience = if self.cancel_signal.is_cancelled() { self.limit.min(STOPPED) } else { self.limit };
            match self.question(&entry).await {
                Ok((Said::Done(result), receipt)) => return (TargetOutcome::Returned(result), Some(receipt)),
                Ok((Said::Died, receipt)) => {
                    let why = "it began there, and the agent or the machine went down before it ended";
                    return (TargetOutcome::Lost(why.into()), Some(receipt));
                }
                Ok((Said::Unknown, receipt)) => {
                    let never = || TargetOutcome::Lost("the target has no note that it began there".into());
                    return (self.otherwise.take().unwrap_or_else(never), Some(receipt));
                }
                Ok((Said::Running, _)) => missing_since = Instant::now(),
                Err(failure) if missing_since.elapsed() >= patience => {
                    let why = format!("the target could not be asked for {} seconds: {failure}", patience.as_secs());
                    return (TargetOutcome::Lost(why), None);
                }
                Err(_) => {}
            }
            tokio::select! {
                () = sleep(pause) => pause = (pause * 2).min(RARELY),
                // To stop what runs there, at once.
                () = self.cancel_signal.cancelled(), if !self.cancel_signal.is_cancelled() => pause = SOON,
                () = self.cancel_signal.killed(), if !self.cancel_signal.is_killed() => pause = SOON,
            }
        }
    }

    async fn question(&self, entry: &Entry) -> Result<(Said, Receipt), Failure> {
        let mut kwargs = Map::new();
        if self.cancel_signal.is_cancelled() {
            kwargs.insert("signal", if self.cancel_signal.is_killed() { 9i64 } else { 15i64 });
        }
        let call = Call { kwargs, target: entry.id.clone(), ..Call::new(KEPT).arg(self.job.as_str()) };
        let user = format!("{} {KEPT}", self.controller.user);
        let asking = async {
            let line = self.controller.links.open(entry, AgentKind::Small, false, None).await?;
            let mut request = Request::start(line.open_channel(&user)?, call, Arc::new(NoAnswers));
            let result = request.finish(&mut |_, _| {}).await?;
            Ok((said(result), request.into_receipt(self.job, entry.id.clone())))
        };
        match timeout(PATIENCE, asking).await {
            Ok(answer) => answer,
            Err(_) => {
                // The next question shall connect anew instead of waiting for the same silence.
                let _ = self.controller.links.close(std::slice::from_ref(&entry.id), false).await;
                Err(Failure::new(Stage::Link, format!("no answer within {} seconds", PATIENCE.as_secs())))
            }
        }
    }
}

fn said(answer: Return) -> Said {
    let map = answer.value.as_map();
    let text = |key: &str| map.and_then(|map| map.get(key)).and_then(Value::as_str);
    match text("state") {
        Some("running") => Said::Running,
        Some("died") => Said::Died,
        Some("unknown") => Said::Unknown,
        Some("done") => match map.and_then(|map| map.get("result")) {
            Some(Value::Bytes(bytes)) => Said::Done(Return::from_bytes(bytes).unwrap_or_else(unreadable)),
            _ => Said::Done(unreadable()),
        },
        // It could not even look.
        _ => Said::Done(answer),
    }
}

fn unreadable() -> Return {
    Problem::new(ProblemKind::Failed, "it ended on the target, but the result that it kept can't be read").into()
}
