//! [`StepRunner`]: the loop of a run. Asks the schedule for the next steps, runs them, and reports how they ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::Scope;

use rocksalt_modules::catalog::Verdict;
use rocksalt_modules::machine::{RebootRequest, Reboots, System};
use rocksalt_sls::schedule::{Next, OrderMode, Schedule, ScheduleItem, ScheduleOptions, StepGroup};
use rocksalt_sls::{Chunk, Low};

use super::journal::trace::Trace;
use super::outputs::Outputs;
use super::recorder::StateRecorder;
use super::run_progress::RunProgress;
use super::step_result::{Clock, StepResult};
use super::{RebootPause, RunResult, RunUpdate, RunnerOptions, arguments, shared_outputs};

pub struct StepRunner<'r> {
    pub(super) low: &'r Low,
    pub(super) options: &'r RunnerOptions<'r>,
    pub(super) machine: &'r dyn System,
    pub(super) outputs: Arc<Outputs>,
    pub(super) listener: &'r (dyn Fn(&RunUpdate<'_>) + Sync),
    pub(super) clock: Clock,
    pub(super) trace: Option<Trace>,
    /// The number of calls so far.
    calls: AtomicUsize,
}

/// The results of steps, by their index in the schedule.
pub(super) type StepReport = Vec<(usize, StepResult)>;

impl<'r> StepRunner<'r> {
    /// Runs the steps of `low`, except for those that ran before a reboot (`before`).
    pub fn run(
        low: &'r Low,
        machine: &'r dyn System,
        options: &'r RunnerOptions<'r>,
        listener: &'r (dyn Fn(&RunUpdate<'_>) + Sync),
        before: RunProgress,
    ) -> RunResult {
        let outputs = Arc::<Outputs>::default();
        outputs.restore(&before.outputs);
        let id = machine.options().get("id").map(ToString::to_string).unwrap_or_default();
        shared_outputs::register(options.job, &id, &outputs);
        let trace = if options.test { None } else { Trace::begin(options.job, &id, low.chunks.len()) };
        let calls = AtomicUsize::new(before.calls);
        let runner = StepRunner { low, options, machine, outputs, listener, clock: Clock::of(machine), trace, calls };
        // A nested run can't pause for a reboot: the state or function that started it would not be resumed.
        let can_pause = !options.test && !options.job.is_empty();
        let reboots = Some(machine.run_notes().reboots()).filter(|reboots| can_pause && reboots.offer());
        let result = runner.run_schedule(&before, reboots);
        if let Some(reboots) = reboots {
            reboots.withdraw();
        }
        if result.reboot.is_none() {
            runner.outputs.end();
        }
        result
    }

    fn run_schedule(&self, before: &RunProgress, reboots: Option<&Reboots>) -> RunResult {
        let infos: Vec<_> = match self.options.mode {
            OrderMode::Ansible => Vec::new(),
            OrderMode::Justdoit | OrderMode::Genius => self.low.chunks.iter().map(arguments::chunk_info).collect(),
        };
        let RunnerOptions { mode, width, test, failhard, .. } = *self.options;
        let mut schedule = Schedule::new(self.low, &infos, ScheduleOptions { mode, width, test, failhard });
        let mut recorder = StateRecorder::new(self, before.clone());
        if before.results.is_empty() {
            recorder.record_disabled();
        }
        let requested = || reboots.and_then(Reboots::requested);
        std::thread::scope(|scope| {
            let (sender, reports) = mpsc::channel::<StepReport>();
            loop {
                let stop = self.machine.cancelled() || requested().is_some();
                match schedule.next() {
                    Next::Run(mut group) => {
                        skip_finished(&mut group, &mut schedule, before);
                        if group.items.is_empty() {
                            continue;
                        }
                        if stop {
                            break;
                        }
                        self.start_group(group, &mut schedule, &mut recorder, scope, &sender);
                    }
                    Next::Skip(skip) if before.recorded.contains(&skip.item) => {}
                    Next::Skip(skip) => recorder.record_skipped(&schedule, skip),
                    Next::Wait => match reports.recv() {
                        Ok(report) => recorder.record_report(&mut schedule, report),
                        Err(_) => break,
                    },
                    Next::Done => break,
                }
            }
            // After a cancel, running steps end by themselves, and their results count.
            drop(sender);
            for report in reports {
                recorder.record_report(&mut schedule, report);
            }
        });
        match requested() {
            Some(request) => self.pause(request, recorder),
            None => self.finish(&schedule, recorder),
        }
    }

    /// Runs a group in this thread if it must run alone, otherwise in a new thread.
    fn start_group<'scope, 'env>(
        &'env self,
        group: StepGroup,
        schedule: &mut Schedule<'_>,
        recorder: &mut StateRecorder<'_>,
        scope: &'scope Scope<'scope, 'env>,
        sender: &mpsc::Sender<StepReport>,
    ) {
        recorder.record_start(schedule, &group);
        let items: Vec<_> = group.items.iter().filter_map(|item| schedule.item(*item).copied()).collect();
        if group.exclusive {
            let report = self.run_group(&group, &items, true);
            recorder.record_report(schedule, report);
            return;
        }
        let guard = ReportGuard { sender: sender.clone(), report: self.lost_report(&group, &items) };
        // The guard reports when the thread ends, even by a panic, and also if the thread never starts.
        let work = move || {
            let mut guard = guard;
            guard.set_report(self.run_group(&group, &items, false));
        };
        let _ = std::thread::Builder::new().spawn_scoped(scope, work);
    }

    fn pause(&self, request: RebootRequest, mut recorder: StateRecorder<'_>) -> RunResult {
        let tag = recorder.progress.results.last().map(|(_, tag, _)| tag.clone()).unwrap_or_default();
        recorder.progress.outputs = self.outputs.to_value();
        recorder.progress.calls = self.calls.load(Ordering::Relaxed);
        let progress = recorder.progress.clone();
        RunResult { results: recorder.into_results(), reboot: Some(RebootPause { request, progress, tag }) }
    }

    fn finish(&self, schedule: &Schedule<'_>, mut recorder: StateRecorder<'_>) -> RunResult {
        let items = schedule.items().len();
        for (offset, error) in schedule.listen_errors().iter().enumerate() {
            let number = match self.options.mode {
                OrderMode::Ansible => self.next_number(),
                _ => self.low.disabled.len() + items + offset,
            };
            recorder.record_listen_error(error, number);
        }
        RunResult { results: recorder.into_results(), reboot: None }
    }

    /// The report for a thread that dies. Its numbers are taken at the start.
    fn lost_report(&self, group: &StepGroup, items: &[ScheduleItem]) -> StepReport {
        let result = |item: &ScheduleItem| StepResult {
            verdict: Verdict::bad("Parallel process failed to return"),
            ran: true,
            started: self.machine.now(),
            number: self.next_number(),
            parallel: item.parallel,
            ..StepResult::default()
        };
        group.items.iter().copied().zip(items.iter().map(result)).collect()
    }

    /// The number of the next call: Salt's `__run_num__`.
    pub(super) fn next_number(&self) -> usize {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn chunk(&self, index: usize) -> &'r Chunk {
        &self.low.chunks[index]
    }
}

/// Removes the steps that ran before the reboot: their outcome is known.
fn skip_finished(group: &mut StepGroup, schedule: &mut Schedule<'_>, before: &RunProgress) {
    group.items.retain(|item| match before.outcomes.get(item) {
        Some(outcome) => {
            schedule.finish(*item, outcome.clone());
            false
        }
        None => true,
    });
}

/// Sends its report when it is dropped, so that a thread that panics reports too.
struct ReportGuard {
    sender: mpsc::Sender<StepReport>,
    report: StepReport,
}

impl ReportGuard {
    /// Replaces the report, but keeps the numbers taken at the start.
    fn set_report(&mut self, mut report: StepReport) {
        for ((_, result), (_, started)) in report.iter_mut().zip(&self.report) {
            result.number = started.number;
        }
        self.report = report;
    }
}

impl Drop for ReportGuard {
    fn drop(&mut self) {
        // There is no receiver only if the run itself has panicked.
        let _ = self.sender.send(std::mem::take(&mut self.report));
    }
}
