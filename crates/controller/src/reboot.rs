//! Waits for a target that reboots in the middle of a run of states, and resumes the run.

use std::time::Duration;

use rocksalt_core::call::{Problem, ProblemKind, RESUME, Return};
use rocksalt_core::job_update::JobUpdate;
use rocksalt_core::record::TargetOutcome;
use rocksalt_core::roster::RosterEntry;
use rocksalt_core::{Call, Map, Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::Controller;
use crate::execution::{ExecutionOptions, TargetCall};

/// The pause between two attempts to reach the target.
const PAUSE: Duration = Duration::from_secs(1);

/// The limit of one attempt.
const LOOK: Duration = Duration::from_secs(20);

/// No target makes a command wait for longer than a day.
const MOST: f64 = 86_400.0;

impl Controller {
    /// Calls a target, and resumes the call after each reboot that the target announces.
    pub(crate) async fn through_reboots(&self, entry: &RosterEntry, work: TargetCall<'_>) -> TargetOutcome {
        let (call, options, answers, updates, cancel_signal) =
            (work.call.clone(), work.options, work.answers.clone(), work.updates, work.cancel_signal);
        let mut outcome = self.call(entry, work).await;
        while let Some(announced) = announced(&outcome) {
            let again = |kwargs: Map| {
                let keep = call.keep && !kwargs.get("probe").is_some_and(Value::truth);
                let call = Call { function: RESUME.into(), args: Vec::new(), kwargs, keep, ..call.clone() };
                TargetCall { call, options, answers: answers.clone(), updates, cancel_signal }
            };
            let waiting = self.wait_for_reboot(entry, &announced, &again);
            let ready = tokio::select! {
                ready = waiting => ready,
                () = cancel_signal.cancelled() => Err(TargetOutcome::Skipped("the job was stopped while this target rebooted".into())),
            };
            outcome = match ready {
                Ok(()) => self.call(entry, again(kwargs(&announced, false))).await,
                Err(outcome) => return outcome,
            };
        }
        outcome
    }

    /// Returns when the target is up again and has found its journal; an `Err` is the outcome otherwise.
    async fn wait_for_reboot<'w>(
        &self,
        entry: &RosterEntry,
        announced: &RebootAnnouncement,
        again: &impl Fn(Map) -> TargetCall<'w>,
    ) -> Result<(), TargetOutcome> {
        let until = Instant::now() + announced.wait;
        let limit = announced.wait.as_secs();
        loop {
            let work = again(kwargs(announced, true));
            let left = until.saturating_duration_since(Instant::now()).as_secs();
            let _ =
                work.updates.send(JobUpdate::Progress { target: entry.id.clone(), bytes: announced.progress(left) });
            sleep(PAUSE).await;
            let options = ExecutionOptions { timeout: Some(LOOK), ..work.options.clone() };
            let outcome = timeout(LOOK + PAUSE, self.call(entry, TargetCall { options: &options, ..work })).await;
            match outcome {
                Ok(TargetOutcome::Returned(result)) if result.success() => return Ok(()),
                Ok(TargetOutcome::Returned(Return { problem: Some(problem), .. }))
                    if !matches!(problem.kind, ProblemKind::Rebooting | ProblemKind::TimedOut) =>
                {
                    let text = format!("the run was not resumed after a reboot: {}", problem.text);
                    let hint = problem.hint.unwrap_or_else(|| announced.done_before());
                    return Err(TargetOutcome::Returned(Problem::new(problem.kind, text).hint(hint).into()));
                }
                // The machine has not shut down yet: the link still works.
                Ok(TargetOutcome::Returned(_)) => {}
                // A dead link must not be reused.
                _ => drop(self.links.close(std::slice::from_ref(&entry.id), false).await),
            }
            if Instant::now() >= until {
                let text = format!("it was not up again within {limit} seconds of its reboot");
                let problem = Problem::new(ProblemKind::TimedOut, text).hint(announced.done_before());
                return Err(TargetOutcome::Returned(problem.into()));
            }
        }
    }
}

/// What a target announces before it reboots.
struct RebootAnnouncement {
    wait: Duration,
    journal: String,
    done: i64,
    total: i64,
}

impl RebootAnnouncement {
    /// The progress in the form in which agents report it.
    fn progress(&self, left: u64) -> Vec<u8> {
        let mut map = Map::new();
        map.insert("done", self.done);
        map.insert("total", self.total);
        let text = format!("reboot (waits {left} s of {} s)", self.wait.as_secs());
        map.insert("running", vec![Value::from(text)]);
        json::compact(&map.into()).into_bytes()
    }

    fn done_before(&self) -> String {
        format!("{} of {} steps had been done before it; the next run does the rest", self.done, self.total)
    }
}

fn kwargs(announced: &RebootAnnouncement, probe: bool) -> Map {
    Map::from_iter([("journal".into(), announced.journal.as_str().into()), ("probe".into(), probe.into())])
}

/// The announcement, if the outcome is one. Its only effect is that the controller calls the same target again.
fn announced(outcome: &TargetOutcome) -> Option<RebootAnnouncement> {
    let TargetOutcome::Returned(result) = outcome else { return None };
    result.problem.as_ref().filter(|problem| problem.kind == ProblemKind::Rebooting)?;
    let map = result.value.as_map()?;
    let number = |key: &str| map.get(key).and_then(Value::as_i64).unwrap_or_default();
    let wait = match map.get("wait")? {
        Value::Float(wait) => *wait,
        other => other.as_i64()? as f64,
    };
    let wait = Duration::from_secs_f64(if wait.is_finite() { wait.clamp(1.0, MOST) } else { MOST });
    let journal = map.get("journal")?.as_str()?.to_owned();
    Some(RebootAnnouncement { wait, journal, done: number("done"), total: number("total") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_announcement_makes_it_wait() {
        let with = |kind, value: Value| TargetOutcome::Returned(Return { value, ..Problem::new(kind, "x").into() });
        let map =
            |wait: f64| Value::Map(Map::from_iter([("wait".into(), wait.into()), ("journal".into(), "abc".into())]));
        let found = announced(&with(ProblemKind::Rebooting, map(5.0))).expect("an announcement");
        assert_eq!((found.wait, found.journal.as_str()), (Duration::from_secs(5), "abc"));
        let endless = announced(&with(ProblemKind::Rebooting, map(f64::INFINITY))).expect("an announcement");
        assert_eq!(endless.wait, Duration::from_secs(86_400));
        assert!(announced(&with(ProblemKind::Failed, map(5.0))).is_none());
        assert!(announced(&with(ProblemKind::Rebooting, Value::Null)).is_none());
        let shown = String::from_utf8(found.progress(3)).expect("text");
        assert!(shown.contains("waits 3 s of 5 s"), "{shown}");
    }
}
