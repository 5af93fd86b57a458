//! The loop of a run: asks the schedule what is next, does it, and says how it ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use rocksalt_core::frame::Ask;
use rocksalt_core::sort::sort_by_key;
use rocksalt_core::{Event, Map, Value};
use rocksalt_modules::catalog::Verdict;
use rocksalt_modules::machine::{Reboots, System};
use rocksalt_sls::schedule::{How, Item, Kind, ListenError, Mode, Next, Run, Schedule, Settings, Skip, Skipped};
use rocksalt_sls::{Chunk, Low};

use super::attempt::{Calling, Manner};
use super::journal::trace::Trace;
use super::outputs::Outputs;
use super::past::Past;
use super::result::{Clock, Ended};
use super::retry::Retry;
use super::shared;
use super::{Pause, Progress, Ran, RunOptions, arguments, joined};

pub struct Runner<'r> {
    low: &'r Low,
    options: &'r RunOptions<'r>,
    progress: &'r (dyn Fn(&Progress<'_>) + Sync),
    machine: &'r dyn System,
    outputs: Arc<Outputs>,
    clock: Clock,
    /// How many calls there were.
    calls: AtomicUsize,
    trace: Option<Trace>,
}

/// What has come about so far.
struct Book<'r> {
    past: Past,
    running: Vec<String>,
    runner: &'r Runner<'r>,
}

/// What a thread reports.
type Report = Vec<(usize, Ended)>;

impl<'r> Runner<'r> {
    pub fn new(
        low: &'r Low,
        machine: &'r dyn System,
        options: &'r RunOptions<'r>,
        progress: &'r (dyn Fn(&Progress<'_>) + Sync),
        past: Option<&Past>,
    ) -> Runner<'r> {
        let (outputs, calls) = (Arc::<Outputs>::default(), AtomicUsize::new(past.map_or(0, |past| past.calls)));
        if let Some(past) = past {
            outputs.restore(&past.outputs);
        }
        let id = machine.options().get("id").map(ToString::to_string).unwrap_or_default();
        shared::share(options.job, &id, &outputs);
        let trace = if options.test { None } else { Trace::begin(options.job, &id, low.chunks.len()) };
        Runner { low, options, progress, machine, outputs, clock: Clock::of(machine), calls, trace }
    }

    /// Whoever waits for a step of it waits no longer.
    pub fn end(&self) {
        self.outputs.end();
    }

    /// `past` is what was done before a restart; empty for a run that begins.
    pub fn run(&self, past: Past) -> Ran {
        // A run within a run can't leave off: what calls it would be lost.
        let reboots = match self.options.test || self.options.job.is_empty() {
            true => None,
            false => Some(self.machine.run_notes().reboots()).filter(|reboots| reboots.offer()),
        };
        let ran = self.run_through(past, reboots);
        if let Some(reboots) = reboots {
            reboots.withdraw();
        }
        ran
    }

    fn run_through(&self, before: Past, reboots: Option<&Reboots>) -> Ran {
        let works: Vec<_> = match self.options.mode {
            Mode::Ansible => Vec::new(),
            Mode::Justdoit | Mode::Genius => self.low.chunks.iter().map(arguments::work).collect(),
        };
        let settings = Settings {
            mode: self.options.mode,
            width: self.options.width,
            test: self.options.test,
            failhard: self.options.failhard,
        };
        let mut schedule = Schedule::new(self.low, &works, settings);
        let mut book = Book { past: before.clone(), running: Vec::new(), runner: self };
        if before.results.is_empty() {
            book.disabled();
        }
        let wished = || reboots.and_then(Reboots::requested);
        std::thread::scope(|scope| {
            let (sender, reports) = mpsc::channel::<Report>();
            loop {
                let stop = self.machine.cancelled() || wished().is_some();
                match schedule.next() {
                    Next::Run(mut run) => {
                        // What ran before the restart has ended as it ended then.
                        run.items.retain(|item| match before.outcomes.get(item) {
                            Some(outcome) => {
                                schedule.finish(*item, outcome.clone());
                                false
                            }
                            None => true,
                        });
                        if run.items.is_empty() {
                            continue;
                        }
                        if stop {
                            break;
                        }
                        book.begin(&schedule, &run);
                        let items: Vec<_> = run.items.iter().filter_map(|item| schedule.item(*item).copied()).collect();
                        if run.alone {
                            let report = self.perform(&run, &items, true);
                            book.take(&mut schedule, report);
                            continue;
                        }
                        let sending = Sending { sender: sender.clone(), report: self.lost(&run, &items) };
                        // The report goes out when the thread ends, however it ends; also if it never began.
                        let work = move || {
                            let mut sending = sending;
                            sending.numbered(self.perform(&run, &items, false));
                        };
                        let _ = std::thread::Builder::new().spawn_scoped(scope, work);
                    }
                    Next::Skip(skip) if before.recorded.contains(&skip.item) => {}
                    Next::Skip(skip) => book.skip(&schedule, skip),
                    Next::Wait => match reports.recv() {
                        Ok(report) => book.take(&mut schedule, report),
                        Err(_) => break,
                    },
                    Next::Done => break,
                }
            }
            // After a cancel: what runs ends by itself, and its results count.
            drop(sender);
            for report in reports {
                book.take(&mut schedule, report);
            }
        });
        if let Some(wish) = wished() {
            let tag = book.past.results.last().map(|(_, tag, _)| tag.clone()).unwrap_or_default();
            book.past.outputs = self.outputs.keep();
            book.past.calls = self.calls.load(Ordering::Relaxed);
            let past = book.past.clone();
            return Ran { results: book.into_map(), reboot: Some(Pause { wish, past, tag }) };
        }
        let items = schedule.items().len();
        for (offset, error) in schedule.listen_errors().iter().enumerate() {
            let number = match self.options.mode {
                Mode::Ansible => self.number(),
                _ => self.low.disabled.len() + items + offset,
            };
            book.listen_error(error, number);
        }
        Ran { results: book.into_map(), reboot: None }
    }

    /// Does one step, or several as one. `counted`: each call has a number of its own.
    fn perform(&self, run: &Run, items: &[Item], counted: bool) -> Report {
        let calling = Calling { machine: self.machine, outputs: &self.outputs, chunks: &self.low.chunks, counted };
        let chunk = |index: usize| &self.low.chunks[index];
        let others: Vec<&Chunk> = run.aggregate.iter().map(|index| chunk(*index)).collect();
        let with = joined::own_of(&others);
        let chunks: Vec<&Chunk> = items.iter().map(|item| chunk(item.chunk)).collect();
        let mut ends = Vec::with_capacity(items.len());
        while ends.len() < items.len() {
            let at = ends.len();
            let count = joined::longest(&chunks[at..]);
            let started = self.machine.now();
            if count > 1
                && let Some(verdicts) = joined::call(&calling, &chunks[at..at + count], self.options.test)
            {
                ends.extend(verdicts.into_iter().map(|verdict| self.ended(verdict, started, counted)));
                continue;
            }
            for item in &items[at..at + count] {
                let test = self.options.test || item.kind == Kind::DryRun;
                let ended = self.watch(&calling, chunk(item.chunk), item.kind, &run.how, test, &with);
                ends.push(Ended { beside: item.beside, ..ended });
            }
        }
        run.items.iter().copied().zip(ends).collect()
    }

    /// Calls a state, and once more if it is to act on what changed.
    fn watch(&self, calling: &Calling<'_>, chunk: &Chunk, kind: Kind, how: &How, test: bool, with: &[Map]) -> Ended {
        let plainly = Manner { test, watched: None, with };
        match (kind, how) {
            (Kind::Listener, _) => {
                let nothing = Map::new();
                self.tries(calling, chunk, kind, Manner { watched: Some(&nothing), ..plainly })
            }
            (_, How::Plainly) => self.tries(calling, chunk, kind, plainly),
            (_, How::WatchSkipped) => {
                let mut ended = self.tries(calling, chunk, kind, plainly);
                ended.verdict.comment += " mod_watch was not run because requisites were skipped by another state";
                ended
            }
            (_, How::Watching(changed)) => {
                let ended = self.tries(calling, chunk, kind, plainly);
                let skip = ended.verdict.further.get("skip_watch").is_some_and(Value::truth);
                if skip || !ended.verdict.changes.is_empty() {
                    return ended;
                }
                let name = |index: &usize| {
                    let chunk = &self.low.chunks[*index];
                    Value::from(format!("{}: {}", chunk.state, chunk.id))
                };
                let changed = Map::from_iter([("watch".into(), Value::List(changed.iter().map(name).collect()))]);
                self.tries(calling, chunk, kind, Manner { watched: Some(&changed), ..plainly })
            }
        }
    }

    /// Calls a state until it is as `retry` wants it.
    fn tries(&self, calling: &Calling<'_>, chunk: &Chunk, kind: Kind, manner: Manner<'_>) -> Ended {
        let mut ended = self.once(calling, chunk, kind, manner);
        let Some(retry) = chunk.arguments.get("retry").map(Retry::of).filter(|_| kind != Kind::DryRun) else {
            return ended;
        };
        if self.options.test {
            ended.verdict.comment = format!("{}  {}", ended.verdict.comment, retry.would());
            return ended;
        }
        let mut attempts = String::new();
        let mut attempt = 1;
        while ended.verdict.result != Some(retry.until) && attempt < retry.attempts {
            let chance = self.machine.now().fract() * 997.0 % 1.0;
            let pause = retry.pause(chance);
            if self.machine.sleep(pause).is_err() {
                break;
            }
            attempts += &format!(
                "Attempt {attempt}: Returned a result of \"{}\", with the following comment: \"{}\"\n",
                Value::from(ended.verdict.result),
                ended.verdict.comment
            );
            let next = self.once(calling, chunk, kind, manner);
            let duration = ended.duration + next.duration + pause * 1000.0;
            ended = Ended { started: ended.started, duration, ..next };
            attempt += 1;
        }
        ended.verdict.comment.insert_str(0, &attempts);
        ended
    }

    fn once(&self, calling: &Calling<'_>, chunk: &Chunk, kind: Kind, manner: Manner<'_>) -> Ended {
        let started = self.machine.now();
        let verdict = calling.call(chunk, manner);
        if kind == Kind::DryRun {
            return Ended { verdict, ran: true, started, ..Ended::default() };
        }
        let says = |name: &str| chunk.arguments.get(name).is_some_and(Value::truth);
        if says("reload_grains") {
            self.machine.refresh_grains();
        }
        if says("reload_pillar") {
            self.machine.refresh_pillar();
        }
        self.ended(verdict, started, calling.counted)
    }

    fn ended(&self, verdict: Verdict, started: f64, counted: bool) -> Ended {
        let duration = (self.machine.now() - started).max(0.0) * 1000.0;
        let number = if counted { self.number() } else { 0 };
        Ended { verdict, ran: true, started, duration, number, beside: false }
    }

    /// What stands for a thread that never comes to its end. Its numbers say when it began.
    fn lost(&self, run: &Run, items: &[Item]) -> Report {
        let ended = |item: &Item| Ended {
            verdict: Verdict::bad("Parallel process failed to return"),
            ran: true,
            started: self.machine.now(),
            number: self.number(),
            beside: item.beside,
            ..Ended::default()
        };
        run.items.iter().copied().zip(items.iter().map(ended)).collect()
    }

    fn number(&self) -> usize {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    fn tag(&self, chunk: &Chunk, kind: Kind) -> String {
        match kind {
            Kind::Listener => format!("{}_|-listener_{}_|-{}_|-mod_watch", chunk.state, chunk.id, chunk.name),
            Kind::DryRun | Kind::Real => chunk.tag(),
        }
    }
}

/// Reports when it is dropped, so that a thread that breaks off reports too.
struct Sending {
    sender: mpsc::Sender<Report>,
    report: Report,
}

impl Sending {
    /// The real report, under the numbers that were given when it began.
    fn numbered(&mut self, mut report: Report) {
        for ((_, ended), (_, began)) in report.iter_mut().zip(&self.report) {
            ended.number = began.number;
        }
        self.report = report;
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        // Nobody listens any more only if the run itself has broken off.
        let _ = self.sender.send(std::mem::take(&mut self.report));
    }
}

impl Book<'_> {
    fn disabled(&mut self) {
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
            let number = self.runner.number();
            result.insert("__run_num__", number);
            result.insert("__sls__", &*disabled.chunk.sls);
            self.past.results.push((number, disabled.chunk.tag(), result));
        }
    }

    fn begin(&mut self, schedule: &Schedule<'_>, run: &Run) {
        for item in run.items.iter().filter_map(|item| schedule.item(*item)) {
            let tag = self.runner.tag(&self.runner.low.chunks[item.chunk], item.kind);
            if let Some(trace) = &self.runner.trace {
                trace.begun(&tag);
            }
            self.running.push(tag);
        }
        self.show(None);
    }

    fn take(&mut self, schedule: &mut Schedule<'_>, report: Report) {
        for (index, mut ended) in report {
            let Some(item) = schedule.item(index).copied() else { continue };
            let chunk = &self.runner.low.chunks[item.chunk];
            let tag = self.runner.tag(chunk, item.kind);
            if let Some(at) = self.running.iter().position(|running| *running == tag) {
                self.running.remove(at);
            }
            let outcome = ended.outcome();
            self.past.outcomes.insert(index, outcome.clone());
            if item.kind == Kind::DryRun {
                self.past.dry_runs.insert(item.chunk, ended);
            } else {
                self.runner.outputs.note(chunk, &ended.verdict, self.runner.options.test);
                self.record(index, chunk, item.kind, &mut ended);
            }
            schedule.finish(index, outcome);
        }
    }

    fn skip(&mut self, schedule: &Schedule<'_>, skip: Skip) {
        let Some(item) = schedule.item(skip.item).copied() else { return };
        let chunk = &self.runner.low.chunks[item.chunk];
        let number = self.runner.number();
        let mut ended = match (&skip.why, self.past.dry_runs.remove(&item.chunk)) {
            (Skipped::DryRunStands, Some(mut dry_run)) => {
                dry_run.verdict.changes = Map::new();
                Ended { number, ..dry_run }
            }
            (why, _) => {
                let verdict = Verdict { result: why.result(), comment: why.comment(), ..Verdict::default() };
                Ended { verdict, started: self.runner.machine.now(), number, ..Ended::default() }
            }
        };
        self.record(skip.item, chunk, item.kind, &mut ended);
    }

    fn record(&mut self, index: usize, chunk: &Chunk, kind: Kind, ended: &mut Ended) {
        if self.runner.options.mode != Mode::Ansible {
            // In the declared order, so that the same run reads the same each time.
            ended.number = self.runner.low.disabled.len() + index;
        }
        let id = match kind {
            Kind::Listener => format!("listener_{}", chunk.id),
            Kind::DryRun | Kind::Real => chunk.id.clone(),
        };
        let result = ended.to_map(chunk, &id, &self.runner.clock);
        let tag = self.runner.tag(chunk, kind);
        self.fire(chunk, &result);
        if let Some(trace) = &self.runner.trace {
            trace.ended(&tag, ended.verdict.result);
        }
        self.past.recorded.insert(index);
        self.past.results.push((ended.number, tag, result));
        self.show(self.past.results.last());
    }

    /// Tells the controller, if the state wants that.
    fn fire(&self, chunk: &Chunk, result: &Map) {
        let Some(wish) = chunk.arguments.get("fire_event").filter(|wish| wish.truth()) else { return };
        let machine = self.runner.machine;
        let grains = machine.grains();
        let id = machine.options().get("id").or_else(|| grains.get("id")).map(ToString::to_string).unwrap_or_default();
        let name = wish.as_str().map_or_else(|| chunk.name.clone(), str::to_owned);
        let tag = format!("salt/state_result/{}/{id}/{name}", self.runner.options.job);
        let data = Map::from_iter([("ret".into(), Value::Map(result.clone()))]);
        // Nobody hears it where there is no controller; the run goes on all the same.
        let _ = machine.controller().ask(Ask::Event(Event { tag, data }));
    }

    fn listen_error(&mut self, error: &ListenError, number: usize) {
        let mut result = Map::new();
        result.insert("comment", error.comment());
        result.insert("name", error.name());
        result.insert("result", false);
        result.insert("changes", Map::new());
        result.insert("__run_num__", number);
        self.past.results.push((number, error.tag(), result));
    }

    fn show(&self, last: Option<&(usize, String, Map)>) {
        (self.runner.progress)(&Progress {
            done: self.past.results.len(),
            total: (self.runner.low.chunks.len() + self.runner.low.disabled.len()).max(self.past.results.len()),
            running: &self.running,
            last: last.map(|(_, tag, result)| (tag.as_str(), result)),
        });
    }

    fn into_map(mut self) -> Map {
        sort_by_key(&mut self.past.results, |(number, _, _)| *number);
        self.past.results.into_iter().map(|(_, tag, result)| (tag.into(), result.into())).collect()
    }
}
