//! [`StateRecorder`]: collects the results of a run, sends events, and reports progress.

use rocksalt_core::frame::Ask;
use rocksalt_core::sort::sort_by_key;
use rocksalt_core::{Event, Map, Value};
use rocksalt_modules::catalog::Verdict;
use rocksalt_sls::Chunk;
use rocksalt_sls::schedule::{ItemKind, ListenError, OrderMode, Schedule, SkipReason, SkippedStep, StepGroup};

use super::RunUpdate;
use super::run_progress::RunProgress;
use super::runner::{StepReport, StepRunner};
use super::step_result::StepResult;

pub struct StateRecorder<'r> {
    pub progress: RunProgress,
    /// The tags of the running steps.
    running: Vec<String>,
    runner: &'r StepRunner<'r>,
}

impl<'r> StateRecorder<'r> {
    pub fn new(runner: &'r StepRunner<'r>, progress: RunProgress) -> StateRecorder<'r> {
        StateRecorder { progress, running: Vec::new(), runner }
    }

    /// Records the states that `state.disable` switched off.
    pub fn record_disabled(&mut self) {
        for disabled in &self.runner.low.disabled {
            let function = disabled.chunk.function();
            let pattern = &disabled.pattern;
            let mut result = Map::new();
            result.insert("changes", Map::new());
            result.insert("result", false);
            result.insert(
                "comment",
                format!(
                    "The state function \"{function}\" is currently disabled by \"{pattern}\", to re-enable, \
                     run state.enable {pattern}."
                ),
            );
            let number = self.runner.next_number();
            result.insert("__run_num__", number);
            result.insert("__sls__", &*disabled.chunk.sls);
            self.progress.results.push((number, disabled.chunk.tag(), result));
        }
    }

    pub fn record_start(&mut self, schedule: &Schedule<'_>, group: &StepGroup) {
        for item in group.items.iter().filter_map(|item| schedule.item(*item)) {
            let tag = tag(self.runner.chunk(item.chunk), item.kind);
            if let Some(trace) = &self.runner.trace {
                trace.begun(&tag);
            }
            self.running.push(tag);
        }
        self.report_progress(None);
    }

    /// Records the results of steps, and reports them to the schedule.
    pub fn record_report(&mut self, schedule: &mut Schedule<'_>, report: StepReport) {
        for (index, mut result) in report {
            let Some(item) = schedule.item(index).copied() else { continue };
            let chunk = self.runner.chunk(item.chunk);
            let tag = tag(chunk, item.kind);
            if let Some(at) = self.running.iter().position(|running| *running == tag) {
                self.running.remove(at);
            }
            let outcome = result.outcome();
            self.progress.outcomes.insert(index, outcome.clone());
            if item.kind == ItemKind::DryRun {
                self.progress.dry_runs.insert(item.chunk, result);
            } else {
                self.runner.outputs.record(chunk, &result.verdict, self.runner.options.test);
                self.record_result(index, chunk, item.kind, &mut result);
            }
            schedule.finish(index, outcome);
        }
    }

    pub fn record_skipped(&mut self, schedule: &Schedule<'_>, skip: SkippedStep) {
        let Some(item) = schedule.item(skip.item).copied() else { return };
        let number = self.runner.next_number();
        let mut result = match (&skip.why, self.progress.dry_runs.remove(&item.chunk)) {
            (SkipReason::DryRunStands, Some(mut dry_run)) => {
                dry_run.verdict.changes = Map::new();
                StepResult { number, ..dry_run }
            }
            (why, _) => {
                let verdict = Verdict { result: why.result(), comment: why.comment(), ..Verdict::default() };
                StepResult { verdict, started: self.runner.machine.now(), number, ..StepResult::default() }
            }
        };
        self.record_result(skip.item, self.runner.chunk(item.chunk), item.kind, &mut result);
    }

    fn record_result(&mut self, index: usize, chunk: &Chunk, kind: ItemKind, result: &mut StepResult) {
        if self.runner.options.mode != OrderMode::Ansible {
            // Numbered in declared order, so that each run has the same numbers.
            result.number = self.runner.low.disabled.len() + index;
        }
        let id = match kind {
            ItemKind::Listener => format!("listener_{}", chunk.id),
            ItemKind::DryRun | ItemKind::Real => chunk.id.clone(),
        };
        let map = result.to_map(chunk, &id, &self.runner.clock);
        let tag = tag(chunk, kind);
        self.fire_event(chunk, &map);
        if let Some(trace) = &self.runner.trace {
            trace.ended(&tag, result.verdict.result);
        }
        self.progress.recorded.insert(index);
        self.progress.results.push((result.number, tag, map));
        self.report_progress(self.progress.results.last());
    }

    /// Sends the result as an event, if the state says `fire_event`.
    fn fire_event(&self, chunk: &Chunk, result: &Map) {
        let Some(fire_event) = chunk.arguments.get("fire_event").filter(|value| value.truth()) else { return };
        let machine = self.runner.machine;
        let grains = machine.grains();
        let id = machine.options().get("id").or_else(|| grains.get("id")).map(ToString::to_string).unwrap_or_default();
        let name = fire_event.as_str().map_or_else(|| chunk.name.clone(), str::to_owned);
        let tag = format!("salt/state_result/{}/{id}/{name}", self.runner.options.job);
        let data = Map::from_iter([("ret".into(), Value::Map(result.clone()))]);
        // If this fails, the event is lost and the run continues.
        let _ = machine.controller().ask(Ask::Event(Event { tag, data }));
    }

    pub fn record_listen_error(&mut self, error: &ListenError, number: usize) {
        let mut result = Map::new();
        result.insert("comment", error.comment());
        result.insert("name", error.name());
        result.insert("result", false);
        result.insert("changes", Map::new());
        result.insert("__run_num__", number);
        self.progress.results.push((number, error.tag(), result));
    }

    fn report_progress(&self, last: Option<&(usize, String, Map)>) {
        let low = self.runner.low;
        (self.runner.listener)(&RunUpdate {
            done: self.progress.results.len(),
            total: (low.chunks.len() + low.disabled.len()).max(self.progress.results.len()),
            running: &self.running,
            last: last.map(|(_, tag, result)| (tag.as_str(), result)),
        });
    }

    /// The results by tag, in the order of their numbers.
    pub fn into_results(mut self) -> Map {
        sort_by_key(&mut self.progress.results, |(number, _, _)| *number);
        self.progress.results.into_iter().map(|(_, tag, result)| (tag.into(), result.into())).collect()
    }
}

fn tag(chunk: &Chunk, kind: ItemKind) -> String {
    match kind {
        ItemKind::Listener => format!("{}_|-listener_{}_|-{}_|-mod_watch", chunk.state, chunk.id, chunk.name),
        ItemKind::DryRun | ItemKind::Real => chunk.tag(),
    }
}
