//! [`Fleet`]: simulated targets, with links that can break and agents that can die.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use rocksalt_backends::store::{
    self, Committed, KeyRange, Lease, Pair, RangeResult, Revision, Store, StoreWatch, Transaction, TransactionLimits,
};
use rocksalt_backends::{files, pillar};
use rocksalt_connect::link::{FrameSink, RequestChannel};
use rocksalt_connect::links::{LinkHandle, Links, Progress};
use rocksalt_controller::Controller;
use rocksalt_controller::grains_cache::GrainsCache;
use rocksalt_controller::jobs::{self, JobService};
use rocksalt_controller::ledger::{Ledger, Settings};
use rocksalt_controller::peer::Rules;
use rocksalt_controller::pillar::{Compiler, Pillar};
use rocksalt_core::call::{KEPT, Problem, ProblemKind, Return};
use rocksalt_core::frame::{Ask, FIRST_ASK, Frame, LINK, Message};
use rocksalt_core::link::{AgentKind, Info, LinkFailure, Stage};
use rocksalt_core::request::RunRequest;
use rocksalt_core::roster::{Roster, RosterEntry};
use rocksalt_core::{Call, Event, JobId, Map, Value};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc, watch};

/// Functions: `test.ping` answers; `test.sleep`, `cmd.run` and `state.apply` wait until they are released; `event.send`
/// sends an event under its first argument.
pub struct Fleet {
    targets: Mutex<HashMap<String, Target>>,
    /// Targets outlive the controller.
    runtime: Handle,
}

pub struct Target {
    up: bool,
    /// Changes whenever the links break.
    links: watch::Sender<u64>,
    /// Changes whenever the agent dies.
    agent: watch::Sender<u64>,
    released: Arc<Semaphore>,
    notes: HashMap<JobId, Noted>,
    /// The jobs that were begun here.
    pub begun: Vec<JobId>,
    /// The arguments of each call that was begun here.
    pub kwargs: Vec<Map>,
    /// The current number of runs of states, and the maximum.
    applying: usize,
    pub overlapped: usize,
}

#[derive(Clone)]
enum Noted {
    Running,
    Died,
    Done(Return),
    /// The controller was told that the call never began.
    Never,
}

impl Fleet {
    pub fn new(ids: &[&str]) -> Arc<Fleet> {
        let target = || Target {
            up: true,
            links: watch::Sender::new(0),
            agent: watch::Sender::new(0),
            released: Arc::new(Semaphore::new(0)),
            notes: HashMap::new(),
            begun: Vec::new(),
            kwargs: Vec::new(),
            applying: 0,
            overlapped: 0,
        };
        let targets = ids.iter().map(|id| ((*id).to_owned(), target())).collect();
        Arc::new(Fleet { targets: Mutex::new(targets), runtime: Handle::current() })
    }

    fn targets(&self) -> MutexGuard<'_, HashMap<String, Target>> {
        self.targets.lock().expect("no panics")
    }

    pub fn on<T>(&self, id: &str, act: impl FnOnce(&mut Target) -> T) -> T {
        act(self.targets().get_mut(id).expect("a target"))
    }

    /// Lets this many calls of a target end.
    pub fn release(&self, id: &str, count: usize) {
        self.on(id, |target| target.released.add_permits(count));
    }

    pub fn break_links(&self, id: &str) {
        self.on(id, |target| target.links.send_modify(|number| *number += 1));
    }

    pub fn set_up(&self, id: &str, up: bool) {
        self.on(id, |target| target.up = up);
    }

    /// Ends the agent as `kill -9` does.
    pub fn kill_agent(&self, id: &str) {
        self.on(id, |target| {
            target.agent.send_modify(|number| *number += 1);
            target.links.send_modify(|number| *number += 1);
            for note in target.notes.values_mut().filter(|note| matches!(note, Noted::Running)) {
                *note = Noted::Died;
            }
        });
    }

    /// The number of kept results on a target.
    pub fn kept(&self, id: &str) -> usize {
        self.on(id, |target| target.notes.values().filter(|note| !matches!(note, Noted::Never)).count())
    }

    pub fn controller(self: &Arc<Fleet>) -> Arc<Controller> {
        self.controller_of(&Alive::default())
    }

    /// A controller that can die.
    pub fn controller_of(self: &Arc<Fleet>, alive: &Alive) -> Arc<Controller> {
        let links: Arc<dyn Links> = Arc::new(Playing(Arc::clone(self), alive.clone()));
        let mut ids: Vec<String> = self.targets().keys().cloned().collect();
        ids.sort();
        let files: Arc<dyn files::FileBackend> = files::open("roots", &Map::new()).expect("files").into();
        let external = pillar::ExternalPillars::new(&Value::List(Vec::new()), &pillar::Settings::default());
        let compiler = Compiler { links: Arc::clone(&links), options: Map::new() };
        Arc::new(Controller {
            roster: Roster { entries: ids.iter().map(|id| RosterEntry::new(id, id)).collect(), ..Roster::default() },
            nodegroups: Default::default(),
            links,
            files: Arc::clone(&files),
            options: Map::new(),
            pillar: Pillar { files, external: Arc::new(external), compiler: Arc::new(compiler) },
            grains_cache: GrainsCache { directory: "/nonexistent".into(), fresh: Duration::ZERO },
            peer: Rules::parse(&Map::new()).expect("rules"),
            receive: None,
            agent_kind: |_| AgentKind::Whole,
            local_answer: |_| None,
            user: "test".into(),
        })
    }

    /// The life of a call on a target.
    async fn live(self: Arc<Fleet>, id: String, call: Call, mut stop: watch::Receiver<&'static str>) -> Option<Return> {
        let (released, mut agent) = self.on(&id, |target| (Arc::clone(&target.released), target.agent.subscribe()));
        let applies = call.function == "state.apply";
        if applies {
            self.on(&id, |target| {
                target.applying += 1;
                target.overlapped = target.overlapped.max(target.applying);
            });
        }
        let result = tokio::select! {
            permit = released.acquire() => {
                permit.expect("open").forget();
                Return { value: format!("{} on {id}", call.function).into(), retcode: 0, problem: None }
            }
            stopped = stop.wait_for(|how| !how.is_empty()) => {
                let how = stopped.map_or("gone", |how| *how);
                Problem::new(ProblemKind::Cancelled, how).into()
            }
            _ = agent.changed() => return None,
        };
        self.on(&id, |target| {
            if applies {
                target.applying -= 1;
            }
            if let Some(job) = call.job.filter(|_| call.keep) {
                target.notes.insert(job, Noted::Done(result.clone()));
            }
        });
        Some(result)
    }

    fn known(&self, id: &str, call: &Call) -> Return {
        let job: JobId = call.args[0].as_str().expect("a text").parse().expect("a job");
        let note = self.on(id, |target| target.notes.entry(job).or_insert(Noted::Never).clone());
        let mut map = Map::new();
        map.insert(
            "state",
            match &note {
                Noted::Running => "running",
                Noted::Died => "died",
                Noted::Done(_) => "done",
                Noted::Never => "unknown",
            },
        );
        if let Noted::Done(result) = note {
            map.insert("result", Value::Bytes(result.to_bytes()));
        }
        Return { value: map.into(), retcode: 0, problem: None }
    }

    /// Notes that a call begins, unless the controller gave it up.
    fn begin(&self, id: &str, call: &Call) -> Result<(), Problem> {
        let job = call.job.expect("a job");
        let known = self.on(id, |target| match target.notes.get(&job) {
            None => {
                target.begun.push(job);
                target.kwargs.push(call.kwargs.clone());
                if call.keep {
                    target.notes.insert(job, Noted::Running);
                }
                None
            }
            known => known.cloned(),
        });
        match known {
            None => Ok(()),
            Some(Noted::Never) => Err(Problem::new(ProblemKind::Refused, "given up")),
            Some(_) => panic!("{job} was sent to {id} a second time"),
        }
    }

    /// The agent's end of a channel.
    async fn serve(
        self: Arc<Fleet>,
        id: String,
        mut asked: mpsc::UnboundedReceiver<Message>,
        answers: mpsc::UnboundedSender<Frame>,
    ) {
        let mut links = self.on(&id, |target| target.links.subscribe());
        let Some(Message::Call(call)) = asked.recv().await else { return };
        let fine = |value: Value| Return { value, retcode: 0, problem: None };
        let say = |result: Return| drop(answers.send(Frame::new(LINK, Message::Return(Box::new(result)))));
        match call.function.as_str() {
            "test.ping" => return say(fine(true.into())),
            KEPT => say(self.known(&id, &call)),
            "event.send" => {
                send_event(&call, &mut asked, &answers).await;
                return say(fine(true.into()));
            }
            _ => {}
        }
        let (stop, stopped) = watch::channel("");
        let mut life = None;
        if call.function != KEPT {
            if let Err(problem) = self.begin(&id, &call) {
                return say(problem.into());
            }
            life = Some(tokio::spawn(Arc::clone(&self).live(id.clone(), (*call).clone(), stopped)));
        }
        loop {
            let ended = async {
                match &mut life {
                    Some(life) => life.await.ok().flatten(),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                result = ended => {
                    life = None;
                    match result {
                        Some(result) => say(result),
                        None => return,
                    }
                }
                message = asked.recv() => match message {
                    Some(Message::Cancel) => drop(stop.send_replace("term")),
                    Some(Message::Kill) => drop(stop.send_replace("kill")),
                    Some(Message::Abandon) if !call.keep => drop(stop.send_replace("abandoned")),
                    Some(Message::Stored { job, .. }) => self.on(&id, |target| {
                        target.notes.retain(|id, note| *id != job || matches!(note, Noted::Never));
                    }),
                    Some(_) => {}
                    None => break,
                },
                _ = links.changed() => break,
            }
        }
        // Continues without a link, for kept calls.
        drop(answers);
        if let Some(life) = life {
            if !call.keep {
                stop.send_replace("gone");
            }
            let _ = life.await;
        }
    }
}

/// Sends an event under the call's first argument, and waits until it is taken.
async fn send_event(call: &Call, asked: &mut mpsc::UnboundedReceiver<Message>, answers: &mpsc::UnboundedSender<Frame>) {
    let tag = call.args[0].as_str().expect("a tag").to_owned();
    let ask = Ask::Event(Event { tag, data: Map::new() });
    let _ = answers.send(Frame::new(FIRST_ASK, Message::Ask(1, ask)));
    while !matches!(asked.recv().await, Some(Message::Answer(_)) | None) {}
}

/// Whether a controller lives. A killed one has no effects any more, however its tasks end.
#[derive(Clone)]
pub struct Alive(Arc<AtomicBool>);

impl Default for Alive {
    fn default() -> Alive {
        Alive(Arc::new(AtomicBool::new(true)))
    }
}

impl Alive {
    pub fn end(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    pub fn is(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    async fn or_never(&self) {
        if !self.is() {
            std::future::pending().await
        }
    }
}

/// The store as one controller sees it.
pub struct Seen(pub Arc<dyn Store>, pub Alive);

#[async_trait]
impl Store for Seen {
    async fn get(&self, key: &str) -> Result<Option<Pair>, store::Error> {
        self.1.or_never().await;
        self.0.get(key).await
    }

    async fn range(&self, range: &KeyRange) -> Result<RangeResult, store::Error> {
        self.1.or_never().await;
        self.0.range(range).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed, store::Error> {
        self.1.or_never().await;
        let committed = self.0.commit(transaction).await;
        // The controller may die before it learns the result.
        self.1.or_never().await;
        committed
    }

    async fn lease(&self, time_to_live: Duration) -> Result<Lease, store::Error> {
        self.0.lease(time_to_live).await
    }

    async fn watch(&self, prefix: &str, after: Revision) -> Result<StoreWatch, store::Error> {
        self.0.watch(prefix, after).await
    }

    async fn compact(&self, before: Revision) -> Result<(), store::Error> {
        self.0.compact(before).await
    }

    fn limits(&self) -> TransactionLimits {
        self.0.limits()
    }
}

struct Playing(Arc<Fleet>, Alive);

#[async_trait]
impl Links for Playing {
    async fn open(
        &self,
        entry: &RosterEntry,
        _: AgentKind,
        _: bool,
        _: Option<&Progress>,
    ) -> Result<Arc<dyn LinkHandle>, LinkFailure> {
        self.1.or_never().await;
        match self.0.on(&entry.id, |target| target.up) {
            true => Ok(Arc::new(PlayedLine(Arc::clone(&self.0), entry.id.clone(), self.1.clone()))),
            false => Err(LinkFailure::new(Stage::Connect, "it is down")),
        }
    }

    async fn secondary_agent(&self, _: &RosterEntry) -> Option<Arc<dyn LinkHandle>> {
        None
    }

    async fn list(&self) -> Result<Vec<Info>, LinkFailure> {
        Ok(Vec::new())
    }

    async fn close(&self, _: &[String], _: bool) -> Result<usize, LinkFailure> {
        Ok(0)
    }
}

struct PlayedLine(Arc<Fleet>, String, Alive);

impl LinkHandle for PlayedLine {
    fn open_channel(&self, _: &str) -> Result<RequestChannel, LinkFailure> {
        let (answers, frames) = mpsc::unbounded_channel();
        let (say, asked) = mpsc::unbounded_channel();
        let fleet = Arc::clone(&self.0);
        self.0.runtime.spawn(fleet.serve(self.1.clone(), asked, answers));
        Ok(RequestChannel::new(frames, Box::new(Said(say, self.2.clone()))))
    }
}

struct Said(mpsc::UnboundedSender<Message>, Alive);

impl FrameSink for Said {
    fn send(&self, frame: Frame) {
        if self.1.is() {
            let _ = self.0.send(frame.message);
        }
    }

    fn close(&self) {
        self.send(Frame::new(LINK, Message::Abandon));
    }

    fn lost(&self) -> LinkFailure {
        LinkFailure::new(Stage::Link, "the link broke")
    }
}

pub async fn memory() -> Arc<dyn Store> {
    store::open("memory", &store::Settings::default()).await.expect("a store")
}

pub fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64)
}

/// A job service whose targets keep results.
pub async fn keeper(store: &Arc<dyn Store>, recall: Duration) -> Arc<JobService> {
    let ledger = Ledger::open(Arc::clone(store), Settings::new(now, "me")).await.expect("a ledger");
    Arc::new(JobService::with(Arc::new(ledger), jobs::Settings { recall: Some(recall) }))
}

pub fn run(function: &str, target: &str) -> RunRequest {
    RunRequest { function: function.into(), target: target.into(), target_kind: "list".into(), ..RunRequest::default() }
}

/// Waits until a condition holds, with a time limit.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never: {what}");
}
