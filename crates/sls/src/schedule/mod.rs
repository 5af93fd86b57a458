//! [`Schedule`]: decides which step runs next, which is skipped, and which waits.
//!
//! It does no I/O: the caller reports the outcome of each step. Whatever the mode and the timing are, the same steps
//! run and the same are skipped; only the number of concurrent steps differs.

mod dependency;
mod item;
mod listen;
mod order;
mod requisite_status;
mod skipped;

use std::collections::BTreeSet;

use rocksalt_core::touches::Touches;

use crate::low::{Low, Requisite};
use requisite_status::{RequisiteStatus, combine};

#[cfg(test)]
mod tests;

pub use dependency::{Dependency, WaitReason};
pub use item::{ItemKind, ScheduleItem};
pub use listen::ListenError;
pub use skipped::{SkipReason, SkippedStep};

/// The order of steps, and how many may run at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderMode {
    /// One after another, in Salt's order. Also called `ordered`.
    #[default]
    Ansible,
    /// Every step starts as soon as its requisites allow.
    Justdoit,
    /// Steps that touch different things run at once, and steps of one kind are merged where possible.
    Genius,
}

impl OrderMode {
    pub const ALL: [OrderMode; 3] = [OrderMode::Ansible, OrderMode::Justdoit, OrderMode::Genius];

    pub fn name(self) -> &'static str {
        match self {
            OrderMode::Ansible => "ansible",
            OrderMode::Justdoit => "justdoit",
            OrderMode::Genius => "genius",
        }
    }

    /// Parses a name. `ansible` is Salt's own order and has the alias `ordered`.
    pub fn from_name(name: &str) -> Option<OrderMode> {
        if name == "ordered" {
            return Some(OrderMode::Ansible);
        }
        OrderMode::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct ScheduleOptions {
    pub mode: OrderMode,
    /// The largest number of concurrent steps, besides those that run alone.
    pub width: usize,
    /// Whether this is a dry run, which no failure ends early.
    pub test: bool,
    /// Whether the first failure ends the run.
    pub failhard: bool,
}

/// What the schedule knows about a chunk besides its requisites.
#[derive(Clone, Debug)]
pub struct ChunkInfo {
    pub touches: Touches,
    /// Steps with the same key can be merged.
    pub join: Option<String>,
}

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepOutcome {
    /// `None` if a dry run would change something.
    pub result: Option<bool>,
    pub changed: bool,
    pub ran: bool,
    /// Whether its dependents must not react to its changes.
    pub skip_requisites: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    Run(StepGroup),
    /// The step is skipped and needs no call of `finish`.
    Skip(SkippedStep),
    /// A running step must finish first.
    Wait,
    Done,
}

/// Steps to start now. Each must be [finished](Schedule::finish).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepGroup {
    /// One item, or several that can be merged.
    pub items: Vec<usize>,
    pub watch: WatchAction,
    /// Whether nothing else may start before the group has finished.
    pub exclusive: bool,
    /// Chunks whose arguments are merged into this one (Salt's `aggregate`); they still run as well.
    pub aggregate: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchAction {
    None,
    /// If the step changes nothing itself, its watch function runs for the changes of these chunks.
    Changed(Vec<usize>),
    /// Like `None`, and the comment says that the watch function was skipped.
    Skipped,
}

pub struct Schedule<'l> {
    low: &'l Low,
    infos: &'l [ChunkInfo],
    options: ScheduleOptions,
    items: Vec<ScheduleItem>,
    waits: Vec<Vec<Dependency>>,
    dependents: Vec<Vec<usize>>,
    /// For each item, the number of unfinished dependencies.
    blocked: Vec<usize>,
    outcomes: Vec<Option<StepOutcome>>,
    /// The outcome of each chunk's real run, and of its dry run if that was executed.
    chunks: Vec<Option<StepOutcome>>,
    dry_runs: Vec<Option<StepOutcome>>,
    ready: BTreeSet<usize>,
    running: BTreeSet<usize>,
    /// The step that ended the run: later ones are left out.
    stopped: Option<usize>,
    listening: bool,
    listen_errors: Vec<ListenError>,
}

impl<'l> Schedule<'l> {
    /// Creates the schedule. `infos` has one entry for each chunk; only `genius` needs them.
    pub fn new(low: &'l Low, infos: &'l [ChunkInfo], options: ScheduleOptions) -> Schedule<'l> {
        let mut schedule = Schedule {
            low,
            infos,
            options,
            items: Vec::new(),
            waits: Vec::new(),
            dependents: Vec::new(),
            blocked: Vec::new(),
            outcomes: Vec::new(),
            chunks: vec![None; low.chunks.len()],
            dry_runs: vec![None; low.chunks.len()],
            ready: BTreeSet::new(),
            running: BTreeSet::new(),
            stopped: None,
            listening: false,
            listen_errors: Vec::new(),
        };
        schedule.extend((0..low.steps.len()).map(|step| ScheduleItem::of_step(low, step, &options)).collect());
        schedule
    }

    /// Returns what to do now. Call it until it returns [`Next::Done`], and call [`Schedule::finish`] in between.
    #[allow(clippy::should_implement_trait, reason = "an iterator would end; this one waits")]
    pub fn next(&mut self) -> Next {
        loop {
            while let Some(item) = self.pick() {
                self.ready.remove(&item);
                if let Some(next) = self.start(item) {
                    return next;
                }
            }
            if !self.running.is_empty() {
                return Next::Wait;
            }
            if self.listening {
                return Next::Done;
            }
            self.listen();
        }
    }

    /// Records the outcome of a step that was started.
    pub fn finish(&mut self, item: usize, outcome: StepOutcome) {
        if !self.running.remove(&item) {
            return;
        }
        let Some(ScheduleItem { chunk, kind, .. }) = self.items.get(item).cloned() else { return };
        if kind == ItemKind::DryRun {
            self.dry_runs[chunk] = Some(outcome.clone());
        }
        self.record_outcome(item, outcome);
    }

    pub fn item(&self, item: usize) -> Option<&ScheduleItem> {
        self.items.get(item)
    }

    pub fn items(&self) -> &[ScheduleItem] {
        &self.items
    }

    /// The dependencies of an item, finished or not.
    pub fn why(&self, item: usize) -> &[Dependency] {
        self.waits.get(item).map_or(&[], Vec::as_slice)
    }

    /// Whether an item has finished or was skipped.
    pub fn is_over(&self, item: usize) -> bool {
        self.outcomes.get(item).is_some_and(Option::is_some)
    }

    /// The `listen` and `listen_in` that reference no state; complete when the run is done.
    pub fn listen_errors(&self) -> &[ListenError] {
        &self.listen_errors
    }

    /// The first ready item that may start now.
    fn pick(&self) -> Option<usize> {
        let full = self.running.len() >= self.options.width.max(1);
        if full && self.options.mode != OrderMode::Ansible {
            return None;
        }
        let just_do_it = self.options.mode == OrderMode::Justdoit;
        self.ready.iter().copied().find(|item| {
            let exclusive = self.is_alone(*item);
            let may_start = exclusive || !full;
            // The order is free in this mode, but some steps must not overlap: two package transactions fail, two
            // writers of a file lose lines, and a download cut off by a new firewall takes half a minute to fail.
            may_start && !(just_do_it && self.running.iter().any(|other| self.conflicts(*item, *other)))
        })
    }

    fn start(&mut self, item: usize) -> Option<Next> {
        let ScheduleItem { chunk, kind, .. } = self.items[item];
        if kind == ItemKind::Real
            && let Some(outcome) = self.chunks[chunk].clone()
        {
            // Its dry run has already shown that it can't run or doesn't need to.
            self.record_outcome(item, outcome);
            return None;
        }
        let skip = |why| Some(Next::Skip(SkippedStep { item, why }));
        let watch = match self.status(item) {
            RequisiteStatus::Met => WatchAction::None,
            RequisiteStatus::Change | RequisiteStatus::SkipWatch if kind == ItemKind::DryRun => WatchAction::None,
            RequisiteStatus::Change => WatchAction::Changed(self.changed_watch(item)),
            RequisiteStatus::SkipWatch => WatchAction::Skipped,
            RequisiteStatus::Fail => {
                if let Some(outcome) = self.dry_runs[chunk].clone().filter(|_| kind == ItemKind::Real) {
                    self.record_outcome(item, StepOutcome { changed: false, ..outcome });
                    return skip(SkipReason::DryRunStands);
                }
                let why = SkipReason::RequisitesFailed(self.failed(item));
                self.record_not_run(item, Some(false));
                return skip(why);
            }
            status => {
                self.record_not_run(item, Some(true));
                return skip(match status {
                    RequisiteStatus::SkipRequisites => SkipReason::RequisitesSkipped,
                    RequisiteStatus::Onfail => SkipReason::Onfail,
                    RequisiteStatus::Onchanges => SkipReason::Onchanges,
                    _ => SkipReason::NoChangesDetected,
                });
            }
        };
        let aggregate = self.aggregate(item);
        let mut items = vec![item];
        if watch == WatchAction::None && aggregate.is_empty() {
            self.join(&mut items);
        }
        for item in &items {
            self.ready.remove(item);
            self.running.insert(*item);
        }
        Some(Next::Run(StepGroup { items, watch, exclusive: self.is_alone(item), aggregate }))
    }

    fn status(&self, item: usize) -> RequisiteStatus {
        combine(self.needs(item).filter_map(|(requisite, on)| Some((requisite, self.outcomes[on].as_ref()?))))
    }

    /// The requisites of an item with the items they refer to. For a `prereq`, that is the dry run.
    fn needs(&self, item: usize) -> impl Iterator<Item = (Requisite, usize)> {
        self.waits[item].iter().filter_map(|wait| match wait.why {
            WaitReason::Requisite(requisite) => Some((requisite, wait.on)),
            _ => None,
        })
    }

    /// The failed steps among its requisites, each once.
    fn failed(&self, item: usize) -> Vec<String> {
        let mut failed = Vec::new();
        for (_, on) in self.needs(item) {
            let chunk = self.items[on].chunk;
            let outcome = self.dry_runs[chunk].as_ref().or(self.outcomes[on].as_ref());
            if outcome.is_some_and(|outcome| outcome.result == Some(false)) {
                let chunk = &self.low.chunks[chunk];
                let name = format!("{}.{}", chunk.sls, chunk.id);
                if !failed.contains(&name) {
                    failed.push(name);
                }
            }
        }
        failed
    }

    fn changed_watch(&self, item: usize) -> Vec<usize> {
        let changed = |on: &usize| self.outcomes[*on].as_ref().is_some_and(|outcome| outcome.changed);
        let watched = self.needs(item).filter(|(requisite, _)| *requisite == Requisite::Watch);
        watched.map(|(_, on)| on).filter(changed).map(|on| self.items[on].chunk).collect()
    }

    fn record_not_run(&mut self, item: usize, result: Option<bool>) {
        let outcome = StepOutcome { result, changed: false, ran: false, skip_requisites: false };
        // If a dry run is skipped, the state won't run either, and this is its result.
        let chunk = self.items[item].chunk;
        if self.items[item].kind != ItemKind::Listener {
            self.chunks[chunk] = Some(outcome.clone());
        }
        self.record_outcome(item, outcome);
    }

    fn record_outcome(&mut self, item: usize, outcome: StepOutcome) {
        let ScheduleItem { chunk, kind, failhard, .. } = self.items[item];
        if kind == ItemKind::Real {
            self.chunks[chunk] = Some(outcome.clone());
        }
        // The dry run of a prerequired state doesn't end the run, unless it decided the state's result.
        let counts = kind != ItemKind::DryRun || !outcome.ran;
        if failhard && counts && outcome.result == Some(false) {
            self.stopped = Some(self.stopped.map_or(item, |at| at.min(item)));
        }
        self.outcomes[item] = Some(outcome);
        for dependent in std::mem::take(&mut self.dependents[item]) {
            self.blocked[dependent] -= 1;
            if self.blocked[dependent] == 0 {
                self.ready.insert(dependent);
            }
        }
        if let Some(at) = self.stopped {
            self.ready.retain(|item| *item < at);
        }
    }

    /// The other chunks of an aggregate group, if this item is the first of the group to run.
    fn aggregate(&self, item: usize) -> Vec<usize> {
        let ScheduleItem { chunk, kind, .. } = self.items[item];
        let group = self.low.aggregates.iter().find(|group| kind == ItemKind::Real && group.contains(&chunk));
        let left: Vec<usize> =
            group.into_iter().flatten().copied().filter(|other| self.chunks[*other].is_none()).collect();
        let first = group.is_some_and(|group| group.iter().all(|other| *other == chunk || left.contains(other)));
        if first { left.into_iter().filter(|other| *other != chunk).collect() } else { Vec::new() }
    }

    /// Adds steps that can be merged with the first one: those that wait only for steps of the group.
    fn join(&self, items: &mut Vec<usize>) {
        let (Some(key), OrderMode::Genius) = (self.join_key(items[0]), self.options.mode) else { return };
        for other in items[0] + 1..self.items.len() {
            let free = || {
                self.waits[other].iter().all(|wait| {
                    self.is_over(wait.on) || items.contains(&wait.on) && matches!(wait.why, WaitReason::Touches(_))
                })
            };
            let waiting = !self.is_over(other) && !self.running.contains(&other);
            if waiting && self.join_key(other) == Some(key) && free() && self.status(other) == RequisiteStatus::Met {
                items.push(other);
            }
        }
    }

    fn join_key(&self, item: usize) -> Option<&str> {
        let ScheduleItem { chunk, kind, parallel, .. } = self.items[item];
        let settled = self.chunks[chunk].is_some();
        if kind != ItemKind::Real || parallel || settled {
            return None;
        }
        self.infos.get(chunk)?.join.as_deref()
    }

    fn is_alone(&self, item: usize) -> bool {
        self.options.mode == OrderMode::Ansible && !self.items[item].parallel
    }

    fn conflicts(&self, item: usize, other: usize) -> bool {
        let work = |item: usize| self.infos.get(self.items[item].chunk);
        work(item).zip(work(other)).is_some_and(|(one, other)| one.touches.disturbs(&other.touches))
    }

    fn listen(&mut self) {
        self.listening = true;
        self.stopped = None;
        self.ready.clear();
        let changed = |chunk: usize| self.chunks[chunk].as_ref().is_some_and(|outcome| outcome.changed);
        let (listeners, errors) = listen::listeners(self.low, changed);
        self.listen_errors = errors;
        let options = self.options;
        self.extend(listeners.into_iter().map(|chunk| ScheduleItem::of_listener(self.low, chunk, &options)).collect());
    }

    /// Appends items and computes their dependencies.
    fn extend(&mut self, items: Vec<ScheduleItem>) {
        let start = self.items.len();
        let waits = order::dependencies(self.low, self.infos, self.options.mode, &items, start);
        let all = start + items.len();
        self.items.extend(items);
        self.dependents.resize(all, Vec::new());
        self.outcomes.resize(all, None);
        for (index, waits) in (start..).zip(&waits) {
            self.blocked.push(waits.len());
            if waits.is_empty() {
                self.ready.insert(index);
            }
            for wait in waits {
                self.dependents[wait.on].push(index);
            }
        }
        self.waits.extend(waits);
    }
}
