//! Runs the steps of a group: merges them where it can, handles `watch`, and retries.

use rocksalt_core::log::LogLevel;
use rocksalt_core::{Map, Value};
use rocksalt_modules::catalog::Verdict;
use rocksalt_sls::Chunk;
use rocksalt_sls::schedule::{ItemKind, ScheduleItem, StepGroup, WatchAction};

use super::call_state::CallOptions;
use super::merged;
use super::retry::Retry;
use super::runner::{StepReport, StepRunner};
use super::step_result::StepResult;

impl StepRunner<'_> {
    /// Runs one step, or several merged ones. With `counted`, each call takes the next number of the run.
    pub(super) fn run_group(&self, group: &StepGroup, items: &[ScheduleItem], counted: bool) -> StepReport {
        let others: Vec<&Chunk> = group.aggregate.iter().map(|index| self.chunk(*index)).collect();
        let merged_arguments = merged::arguments_of(&others);
        let chunks: Vec<&Chunk> = items.iter().map(|item| self.chunk(item.chunk)).collect();
        let mut results = Vec::with_capacity(items.len());
        while results.len() < items.len() {
            let at = results.len();
            let count = merged::longest_mergeable(&chunks[at..]);
            let started = self.machine.now();
            if count > 1
                && let Some(verdicts) = merged::call(self, &chunks[at..at + count], self.options.test)
            {
                results.extend(verdicts.into_iter().map(|verdict| self.step_result(verdict, started, counted)));
                continue;
            }
            for item in &items[at..at + count] {
                let options = CallOptions {
                    test: self.options.test || item.kind == ItemKind::DryRun,
                    watched: None,
                    merged_arguments: &merged_arguments,
                    counted,
                };
                let result = self.run_step(self.chunk(item.chunk), item.kind, &group.watch, options);
                results.push(StepResult { parallel: item.parallel, ..result });
            }
        }
        group.items.iter().copied().zip(results).collect()
    }

    /// Calls a state, and its watch function if a watched state has changed.
    fn run_step(&self, chunk: &Chunk, kind: ItemKind, watch: &WatchAction, options: CallOptions<'_>) -> StepResult {
        let nothing = Map::new();
        if kind == ItemKind::Listener {
            return self.call_with_retry(chunk, kind, CallOptions { watched: Some(&nothing), ..options });
        }
        let mut result = self.call_with_retry(chunk, kind, options);
        let changed = match watch {
            WatchAction::None => return result,
            WatchAction::Skipped => {
                result.verdict.comment += " mod_watch was not run because requisites were skipped by another state";
                return result;
            }
            WatchAction::Changed(changed) => changed,
        };
        let skip = result.verdict.further.get("skip_watch").is_some_and(Value::truth);
        if skip || !result.verdict.changes.is_empty() {
            return result;
        }
        let name = |index: &usize| {
            let chunk = self.chunk(*index);
            Value::from(format!("{}: {}", chunk.state, chunk.id))
        };
        let changed = Map::from_iter([("watch".into(), Value::List(changed.iter().map(name).collect()))]);
        self.call_with_retry(chunk, kind, CallOptions { watched: Some(&changed), ..options })
    }

    /// Calls a state until its result is the one that `retry` expects.
    fn call_with_retry(&self, chunk: &Chunk, kind: ItemKind, options: CallOptions<'_>) -> StepResult {
        let mut result = self.call_once(chunk, kind, options);
        let Some(retry) = chunk.arguments.get("retry").map(Retry::of).filter(|_| kind != ItemKind::DryRun) else {
            return result;
        };
        if self.options.test {
            result.verdict.comment = format!("{}  {}", result.verdict.comment, retry.dry_run_comment());
            return result;
        }
        let mut attempts = String::new();
        let mut attempt = 1;
        while result.verdict.result != Some(retry.until) && attempt < retry.attempts {
            let chance = self.machine.now().fract() * 997.0 % 1.0;
            let pause = retry.pause(chance);
            if self.machine.sleep(pause).is_err() {
                break;
            }
            attempts += &format!(
                "Attempt {attempt}: Returned a result of \"{}\", with the following comment: \"{}\"\n",
                Value::from(result.verdict.result),
                result.verdict.comment
            );
            let next = self.call_once(chunk, kind, options);
            let duration = result.duration + next.duration + pause * 1000.0;
            result = StepResult { started: result.started, duration, ..next };
            attempt += 1;
        }
        result.verdict.comment.insert_str(0, &attempts);
        result
    }

    fn call_once(&self, chunk: &Chunk, kind: ItemKind, options: CallOptions<'_>) -> StepResult {
        let started = self.machine.now();
        let verdict = self.call_state(chunk, options);
        self.log_step(chunk, options.test, started, &verdict);
        if kind == ItemKind::DryRun {
            return StepResult { verdict, ran: true, started, ..StepResult::default() };
        }
        let says = |name: &str| chunk.arguments.get(name).is_some_and(Value::truth);
        if says("reload_grains") {
            self.machine.refresh_grains();
        }
        if says("reload_pillar") {
            self.machine.refresh_pillar();
        }
        self.step_result(verdict, started, options.counted)
    }

    /// Logs the result of a step, without its comment and changes, which may show values of the pillar.
    fn log_step(&self, chunk: &Chunk, test: bool, started: f64, verdict: &Verdict) {
        let decision = match (verdict.result, verdict.changes.is_empty()) {
            (Some(true), true) => "nothing to do",
            (Some(true), false) => "changed",
            (Some(false), _) => "failed",
            (None, _) => "would change",
        };
        let (state, function, test) = (&chunk.state, &chunk.fun, if test { " (dry run)" } else { "" });
        let ms = ((self.machine.now() - started).max(0.0) * 1000.0) as u64;
        self.machine.log(
            LogLevel::Debug,
            "states",
            format_args!("{state}.{function}{} of {}{test}: {decision}, {ms} ms", plain_id(&chunk.id), chunk.sls),
        );
    }

    fn step_result(&self, verdict: Verdict, started: f64, counted: bool) -> StepResult {
        let duration = (self.machine.now() - started).max(0.0) * 1000.0;
        let number = if counted { self.next_number() } else { 0 };
        StepResult { verdict, ran: true, started, duration, number, parallel: false }
    }
}

/// Returns an id that is a name or a path. Others are left out: the id of a `cmd.run` may be a command line with a
/// password.
fn plain_id(id: &str) -> String {
    match id.chars().all(|c| c.is_alphanumeric() || "_-./@".contains(c)) {
        true => format!(" '{id}'"),
        false => String::new(),
    }
}
