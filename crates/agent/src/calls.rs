//! [`Calls`]: the calls that run, each in a thread of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rocksalt_core::call::{COMPILE_PILLAR, Call, KEPT, Problem, ProblemKind, RESUME, RUNS, Return, STEP_OUTPUTS};
use rocksalt_core::frame::{Message, RequestId, Stream};
use rocksalt_core::{JobId, Map, Value};
use rocksalt_modules::catalog;
use rocksalt_modules::machine::{Base, Host, Pipe, Running, Signal, Sink, Stop};

use crate::kept::{self, Found, Note};
use crate::language::{self, ProgressListener};
use crate::link::Link;
use crate::upward::{Controller, Outlet};

/// More at once than a controller ever asks for; beyond it something is wrong.
const MOST: usize = 256;

/// How long calls may take to end after the link was lost.
const GRACE: Duration = Duration::from_secs(2);

/// How often it is looked whether somebody wants a call to end that goes on without a link.
const LOOK: Duration = Duration::from_millis(200);

pub struct Calls {
    base: Arc<Base>,
    link: Arc<Link>,
    running: Mutex<HashMap<RequestId, Ongoing>>,
}

#[derive(Clone)]
struct Ongoing {
    signal: Arc<Signal>,
    /// The note of a call that goes on without its controller.
    note: Arc<Mutex<Option<Note>>>,
    keep: bool,
}

impl Calls {
    pub fn new(base: Arc<Base>, link: Arc<Link>) -> Calls {
        Calls { base, link, running: Mutex::default() }
    }

    /// Starts a call; its result is sent when it ends, whatever happens.
    pub fn start(self: &Arc<Calls>, id: RequestId, call: Call) {
        let mut running = self.running();
        if running.len() >= MOST || running.contains_key(&id) {
            let problem =
                Problem::new(ProblemKind::Refused, format!("{} calls run on this target already", running.len()));
            drop(running);
            self.link.send(id, Message::Return(Box::new(problem.into())));
            return;
        }
        let host = self.host(id, &call);
        let ongoing = Ongoing { signal: host.signal(), note: Arc::default(), keep: call.keep };
        running.insert(id, ongoing.clone());
        drop(running);
        let calls = Arc::clone(self);
        let started =
            std::thread::Builder::new().name(call.function.clone()).spawn(move || calls.run(id, call, host, &ongoing));
        if let Err(error) = started {
            let problem = Problem::new(ProblemKind::Failed, format!("could not start a thread: {error}"));
            self.finish(id, problem.into(), None);
        }
    }

    /// What the call started gets SIGTERM, or SIGKILL.
    pub fn stop(&self, id: RequestId, how: Stop) {
        if let Some(call) = self.running().get(&id) {
            call.signal.stop(how);
        }
    }

    /// Nobody waits for the result any more.
    pub fn abandon(&self, id: RequestId) {
        if let Some(call) = self.running().get(&id).filter(|call| !call.keep) {
            call.signal.stop(Stop::Term);
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<RequestId, Ongoing>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The controller is gone. Calls that are kept go on to their end; all others are asked to end, and what they started
    /// is killed if they don't.
    pub fn leave(&self) {
        let end = Instant::now() + GRACE;
        let mut how = Some(Stop::Term);
        loop {
            let (kept, others): (Vec<Ongoing>, Vec<Ongoing>) =
                self.running().values().cloned().partition(|call| call.keep);
            if kept.is_empty() && (others.is_empty() || how.is_none()) {
                return;
            }
            if how == Some(Stop::Kill) && Instant::now() > end {
                others.iter().for_each(|call| call.signal.stop(Stop::Kill));
                how = None;
            }
            if how == Some(Stop::Term) {
                others.iter().for_each(|call| call.signal.stop(Stop::Term));
                how = Some(Stop::Kill);
            }
            for call in &kept {
                let note = call.note.lock().unwrap_or_else(PoisonError::into_inner);
                match note.as_ref().and_then(Note::wish) {
                    Some(9) => call.signal.stop(Stop::Kill),
                    Some(_) => call.signal.stop(Stop::Term),
                    None => {}
                }
            }
            std::thread::sleep(if others.is_empty() || how.is_none() { LOOK } else { Duration::from_millis(20) });
        }
    }

    fn host(&self, id: RequestId, call: &Call) -> Arc<Host> {
        let running = Running {
            job: call.job,
            function: call.function.clone(),
            args: call.args.clone(),
            since: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64()),
        };
        let outlet =
            (call.stream || call.progress).then(|| Arc::new(Mutex::new(Outlet::new(id, Arc::clone(&self.link)))));
        let shown = outlet.clone().filter(|_| call.progress);
        let sink = outlet.filter(|_| call.stream).map(|outlet| {
            Arc::new(move |pipe: Pipe, bytes: &[u8]| {
                let stream = match pipe {
                    Pipe::Stdout => Stream::Stdout,
                    Pipe::Stderr => Stream::Stderr,
                };
                // A listener that is gone must not stop the command.
                let _ = outlet.lock().unwrap_or_else(PoisonError::into_inner).write(stream, bytes);
            }) as Sink
        });
        let mut options = call.options.clone();
        if !options.contains_key("id") {
            options.insert("id", call.target.as_str());
        }
        if let Some(wish) = call.kwargs.get("state_events").filter(|_| RUNS.contains(&call.function.as_str())) {
            options.insert("state_events", wish.truth());
        }
        let controller = Box::new(Controller::new(id, Arc::clone(&self.link)));
        let host = Arc::new(self.base.begin(running, options, controller, sink).with_grains(call.grains.clone()));
        let no_pillar_yet = (call.function == COMPILE_PILLAR).then(Map::new);
        language::attach_services(&host, shown.map(progress), no_pillar_yet);
        host
    }

    fn run(&self, id: RequestId, call: Call, host: Arc<Host>, ongoing: &Ongoing) {
        if let Some(job) = call.job.filter(|_| call.keep) {
            match Note::begin(job, &call.target, &call.function, call.function == RESUME) {
                Ok(note) => *ongoing.note.lock().unwrap_or_else(PoisonError::into_inner) = note,
                Err(problem) => {
                    drop(host);
                    return self.finish(id, problem.into(), None);
                }
            }
        }
        let result = language::alone(&host, call, work).unwrap_or_else(|refused| refused);
        let note = ongoing.note.lock().unwrap_or_else(PoisonError::into_inner).take();
        match language::reboot(&host, &result) {
            // The note stays, and is found by who goes on.
            Some(announced) => self.reboot(id, result, announced, &host),
            None => {
                drop(host);
                self.finish(id, result, note);
            }
        }
    }

    /// Tells the controller that the machine restarts in the middle of a run, then restarts it.
    fn reboot(&self, id: RequestId, result: Return, announced: Map, host: &Arc<Host>) {
        let message = announced.get("message").and_then(Value::as_str).map(str::to_owned);
        // Who does not hear of it could not go on: then nothing is restarted.
        if self.link.send(id, Message::Return(Box::new(Return { value: announced.into(), ..result }))) {
            language::restart(host, message.as_deref());
        }
        self.running().remove(&id);
        self.link.close(id);
    }

    fn finish(&self, id: RequestId, result: Return, note: Option<Note>) {
        // Kept before it is sent: who hears of it says soon that it can be forgotten.
        if let Some(note) = note {
            note.end(&result);
        }
        // First out of the list: the controller may use the number again once it has the result.
        self.running().remove(&id);
        self.link.close(id);
        self.link.send(id, Message::Return(Box::new(result)));
    }
}

/// What a call comes to.
fn work(call: Call, host: &Arc<Host>) -> Return {
    let found = |map: Map| Return { value: map.into(), retcode: 0, problem: None };
    match call.function.as_str() {
        COMPILE_PILLAR => language::pillar(host, &call.kwargs).map_or_else(|error| error.problem().into(), found),
        // Another target of the job wants to know what a step here gave.
        STEP_OUTPUTS => language::outputs(host, &call.args).map_or_else(|error| error.problem().into(), found),
        RESUME => language::resume(host, &call.kwargs),
        KEPT => known(&call),
        _ => catalog::call(call, &**host),
    }
}

/// What is known here of a job.
fn known(call: &Call) -> Return {
    let Some(job) = call.args.first().and_then(Value::as_str).and_then(|text| text.parse::<JobId>().ok()) else {
        return Problem::new(ProblemKind::Arguments, "which job?").into();
    };
    let mut map = Map::new();
    let state = match kept::find(job, &call.target) {
        Found::Done(bytes) => {
            map.insert("result", Value::Bytes(bytes));
            "done"
        }
        Found::Running => {
            if let Some(signal) = call.kwargs.get("signal").and_then(Value::as_i64) {
                kept::stop(job, &call.target, if signal == 9 { 9 } else { 15 });
            }
            "running"
        }
        Found::Died => "died",
        Found::Unknown => "unknown",
    };
    map.insert("state", state);
    Return { value: map.into(), retcode: 0, problem: None }
}

/// Sends how far a run is.
fn progress(outlet: Arc<Mutex<Outlet>>) -> ProgressListener {
    Box::new(move |news: &Map| {
        let text = rocksalt_core::json::compact(&Value::Map(news.clone()));
        // A listener that is gone must not stop the run.
        let _ = outlet.lock().unwrap_or_else(PoisonError::into_inner).write(Stream::Progress, text.as_bytes());
    })
}
