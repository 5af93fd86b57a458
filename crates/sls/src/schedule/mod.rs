//! [`Schedule`]: what is to run next, what need not, and what must wait (decision D9).
//!
//! Pure: it is told how each step ended, and says what follows. Whatever the mode and the timing,
//! the same steps run, are skipped and are left out; only how many run at once differs.

mod item;
mod judge;
mod listen;
mod order;
mod skipped;
mod why;

use std::collections::BTreeSet;

use rocksalt_core::touches::Touches;

use crate::low::{Low, Requisite};
use judge::{Status, judge};

#[cfg(test)]
mod tests;

pub use item::{Item, Kind};
pub use listen::ListenError;
pub use skipped::{Skip, Skipped};
pub use why::{Wait, Why};

/// In which order, and how many at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// One after another in Salt's order.
    #[default]
    Ansible,
    /// All that the requisites allow.
    Justdoit,
    /// All that can't be at odds; steps of one kind become one where they can.
    Genius,
}

impl Mode {
    pub const ALL: [Mode; 3] = [Mode::Ansible, Mode::Justdoit, Mode::Genius];

    pub fn name(self) -> &'static str {
        match self {
            Mode::Ansible => "ansible",
            Mode::Justdoit => "justdoit",
            Mode::Genius => "genius",
        }
    }

    pub fn from_name(name: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub mode: Mode,
    /// How many steps may run at once, besides those that run alone.
    pub width: usize,
    /// A dry run: nothing ends it early.
    pub test: bool,
    /// The first failure ends the run.
    pub failhard: bool,
}

/// What is known of a chunk besides its requisites.
#[derive(Clone, Debug)]
pub struct Work {
    pub touches: Touches,
    /// Steps with the same key can be done as one.
    pub join: Option<String>,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// `None`: a dry run that would change something.
    pub result: Option<bool>,
    pub changed: bool,
    pub ran: bool,
    /// Its dependents shall not act on what it changed.
    pub skip_requisites: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    Run(Run),
    /// Decided; there is nothing to finish.
    Skip(Skip),
    /// Something that runs must finish first.
    Wait,
    Done,
}

/// Steps to start now; each is to be [finished](Schedule::finish).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// One, or several that can be done as one.
    pub items: Vec<usize>,
    pub how: How,
    /// Nothing else starts before it has finished.
    pub alone: bool,
    /// Chunks whose work this one does too (Salt's `aggregate`); they run nonetheless.
    pub aggregate: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    Plainly,
    /// If it changes nothing itself, it shall act on these chunks' changes: those of `watch`.
    Watching(Vec<usize>),
    /// As `Plainly`, and the comment says that nothing is done about what it watches.
    WatchSkipped,
}

pub struct Schedule<'l> {
    low: &'l Low,
    works: &'l [Work],
    settings: Settings,
    items: Vec<Item>,
    waits: Vec<Vec<Wait>>,
    dependents: Vec<Vec<usize>>,
    /// How many waits of each are not over.
    blocked: Vec<usize>,
    outcomes: Vec<Option<Outcome>>,
    /// By chunk: how it ended for real, and the outcome of its dry run if that was really called.
    chunks: Vec<Option<Outcome>>,
    dry_runs: Vec<Option<Outcome>>,
    ready: BTreeSet<usize>,
    running: BTreeSet<usize>,
    /// The step that ended the run: what comes after it is left out.
    stopped: Option<usize>,
    listening: bool,
    listen_errors: Vec<ListenError>,
}

impl<'l> Schedule<'l> {
    /// `works` has one entry for each chunk; only `genius` needs any.
    pub fn new(low: &'l Low, works: &'l [Work], settings: Settings) -> Schedule<'l> {
        let mut schedule = Schedule {
            low,
            works,
            settings,
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
        schedule.extend((0..low.steps.len()).map(|step| Item::of_step(low, step, &settings)).collect());
        schedule
    }

    /// What to do now. To be called until it says [`Next::Done`], with [`Schedule::finish`] in between.
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

    /// A step that was to run has ended so.
    pub fn finish(&mut self, item: usize, outcome: Outcome) {
        if !self.running.remove(&item) {
            return;
        }
        let Some(Item { chunk, kind, .. }) = self.items.get(item).cloned() else { return };
        if kind == Kind::DryRun {
            self.dry_runs[chunk] = Some(outcome.clone());
        }
        self.settle(item, outcome);
    }

    pub fn item(&self, item: usize) -> Option<&Item> {
        self.items.get(item)
    }

    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// What a step waits for, or had to wait for.
    pub fn why(&self, item: usize) -> &[Wait] {
        self.waits.get(item).map_or(&[], Vec::as_slice)
    }

    /// Whether an item has ended.
    pub fn is_over(&self, item: usize) -> bool {
        self.outcomes.get(item).is_some_and(Option::is_some)
    }

    /// `listen` and `listen_in` that name nothing; complete when all is done.
    pub fn listen_errors(&self) -> &[ListenError] {
        &self.listen_errors
    }

    /// The first ready step that may start now.
    fn pick(&self) -> Option<usize> {
        let full = self.running.len() >= self.settings.width.max(1);
        if full && self.settings.mode != Mode::Ansible {
            return None;
        }
        let just_do_it = self.settings.mode == Mode::Justdoit;
        self.ready.iter().copied().find(|item| {
            let alone = self.is_alone(*item);
            let may_start = alone || !full;
            // Any order will do, but two package transactions at once fail, two writers of a file lose lines, and a
            // download that a new firewall cuts off is only given up after half a minute.
            may_start && !(just_do_it && self.running.iter().any(|other| self.disturb(*item, *other)))
        })
    }

    fn start(&mut self, item: usize) -> Option<Next> {
        let Item { chunk, kind, .. } = self.items[item];
        if kind == Kind::Real
            && let Some(outcome) = self.chunks[chunk].clone()
        {
            // Its dry run has shown already that it can't or need not run.
            self.settle(item, outcome);
            return None;
        }
        let skip = |why| Some(Next::Skip(Skip { item, why }));
        let how = match self.status(item) {
            Status::Met => How::Plainly,
            Status::Change | Status::SkipWatch if kind == Kind::DryRun => How::Plainly,
            Status::Change => How::Watching(self.changed_watch(item)),
            Status::SkipWatch => How::WatchSkipped,
            Status::Fail => {
                if let Some(outcome) = self.dry_runs[chunk].clone().filter(|_| kind == Kind::Real) {
                    self.settle(item, Outcome { changed: false, ..outcome });
                    return skip(Skipped::DryRunStands);
                }
                let why = Skipped::RequisitesFailed(self.failed(item));
                self.settle_not_run(item, Some(false));
                return skip(why);
            }
            status => {
                self.settle_not_run(item, Some(true));
                return skip(match status {
                    Status::SkipRequisites => Skipped::RequisitesSkipped,
                    Status::Onfail => Skipped::Onfail,
                    Status::Onchanges => Skipped::Onchanges,
                    _ => Skipped::NoChangesDetected,
                });
            }
        };
        let aggregate = self.aggregate(item);
        let mut items = vec![item];
        if how == How::Plainly && aggregate.is_empty() {
            self.join(&mut items);
        }
        for item in &items {
            self.ready.remove(item);
            self.running.insert(*item);
        }
        Some(Next::Run(Run { items, how, alone: self.is_alone(item), aggregate }))
    }

    fn status(&self, item: usize) -> Status {
        judge(self.needs(item).filter_map(|(requisite, on)| Some((requisite, self.outcomes[on].as_ref()?))))
    }

    /// The items it needs by requisites. The chunk that a `prereq` names is judged by its dry run.
    fn needs(&self, item: usize) -> impl Iterator<Item = (Requisite, usize)> {
        self.waits[item].iter().filter_map(|wait| match wait.why {
            Why::Requisite(requisite) => Some((requisite, wait.on)),
            _ => None,
        })
    }

    /// Whatever failed among all that it needs, each once.
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

    fn settle_not_run(&mut self, item: usize, result: Option<bool>) {
        let outcome = Outcome { result, changed: false, ran: false, skip_requisites: false };
        // Also of a dry run: then the state itself will not run either, and this is its result.
        let chunk = self.items[item].chunk;
        if self.items[item].kind != Kind::Listener {
            self.chunks[chunk] = Some(outcome.clone());
        }
        self.settle(item, outcome);
    }

    fn settle(&mut self, item: usize, outcome: Outcome) {
        let Item { chunk, kind, failhard, .. } = self.items[item];
        if kind == Kind::Real {
            self.chunks[chunk] = Some(outcome.clone());
        }
        // The dry run of a prerequired state ends nothing, unless it settled the state itself.
        let counts = kind != Kind::DryRun || !outcome.ran;
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

    /// Chunks that the first of an aggregate group does the work of.
    fn aggregate(&self, item: usize) -> Vec<usize> {
        let Item { chunk, kind, .. } = self.items[item];
        let group = self.low.aggregates.iter().find(|group| kind == Kind::Real && group.contains(&chunk));
        let left: Vec<usize> =
            group.into_iter().flatten().copied().filter(|other| self.chunks[*other].is_none()).collect();
        let first = group.is_some_and(|group| group.iter().all(|other| *other == chunk || left.contains(other)));
        if first { left.into_iter().filter(|other| *other != chunk).collect() } else { Vec::new() }
    }

    /// Adds what can be done as one with the first: all that wait for nothing but each other.
    fn join(&self, items: &mut Vec<usize>) {
        let (Some(key), Mode::Genius) = (self.join_key(items[0]), self.settings.mode) else { return };
        for other in items[0] + 1..self.items.len() {
            let free = || {
                self.waits[other].iter().all(|wait| {
                    self.is_over(wait.on) || items.contains(&wait.on) && matches!(wait.why, Why::Touches(_))
                })
            };
            let waiting = !self.is_over(other) && !self.running.contains(&other);
            if waiting && self.join_key(other) == Some(key) && free() && self.status(other) == Status::Met {
                items.push(other);
            }
        }
    }

    fn join_key(&self, item: usize) -> Option<&str> {
        let Item { chunk, kind, beside, .. } = self.items[item];
        let settled = self.chunks[chunk].is_some();
        if kind != Kind::Real || beside || settled {
            return None;
        }
        self.works.get(chunk)?.join.as_deref()
    }

    fn is_alone(&self, item: usize) -> bool {
        self.settings.mode == Mode::Ansible && !self.items[item].beside
    }

    fn disturb(&self, item: usize, other: usize) -> bool {
        let work = |item: usize| self.works.get(self.items[item].chunk);
        work(item).zip(work(other)).is_some_and(|(one, other)| one.touches.disturbs(&other.touches))
    }

    fn listen(&mut self) {
        self.listening = true;
        self.stopped = None;
        self.ready.clear();
        let changed = |chunk: usize| self.chunks[chunk].as_ref().is_some_and(|outcome| outcome.changed);
        let (listeners, errors) = listen::listeners(self.low, changed);
        self.listen_errors = errors;
        let settings = self.settings;
        self.extend(listeners.into_iter().map(|chunk| Item::of_listener(self.low, chunk, &settings)).collect());
    }

    /// Lays further items out after those that there are.
    fn extend(&mut self, items: Vec<Item>) {
        let start = self.items.len();
        let waits = order::lay_out(self.low, self.works, self.settings.mode, &items, start);
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
