//! [`Calls`]: the calls that run, each in a thread of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rocksalt_core::call::{COMPILE_PILLAR, Call, Problem, ProblemKind, Return, STEP_OUTPUTS};
use rocksalt_core::frame::{Message, RequestId, Stream};
use rocksalt_core::{Map, Value};
use rocksalt_modules::catalog;
use rocksalt_modules::machine::{Base, Host, Pipe, Probe, Running, Signal, Sink, Stop};

use crate::language;
use crate::link::Link;
use crate::states;
use crate::tree::{Progress, RunTree};
use crate::upward::{Controller, Outlet};

/// More at once than a controller ever asks for; beyond it something is wrong.
const MOST: usize = 256;

/// How long calls may take to end after the link was lost.
const GRACE: Duration = Duration::from_secs(2);

pub struct Calls {
    base: Arc<Base>,
    link: Arc<Link>,
    running: Mutex<HashMap<RequestId, Arc<Signal>>>,
}

impl Calls {
    pub fn new(base: Arc<Base>, link: Arc<Link>) -> Calls {
        Calls { base, link, running: Mutex::default() }
    }

    /// Starts a call; its result is sent when it ends, whatever happens.
    pub fn start(self: &Arc<Calls>, id: RequestId, call: Call) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.len() >= MOST || running.contains_key(&id) {
            let problem =
                Problem::new(ProblemKind::Refused, format!("{} calls run on this target already", running.len()));
            drop(running);
            self.link.send(id, Message::Return(Box::new(problem.into())));
            return;
        }
        let host = self.host(id, &call);
        running.insert(id, host.signal());
        drop(running);
        let calls = Arc::clone(self);
        let started = std::thread::Builder::new().name(call.function.clone()).spawn(move || calls.run(id, call, host));
        if let Err(error) = started {
            let problem = Problem::new(ProblemKind::Failed, format!("could not start a thread: {error}"));
            self.finish(id, problem.into());
        }
    }

    pub fn cancel(&self, id: RequestId) {
        if let Some(signal) = self.running.lock().unwrap_or_else(PoisonError::into_inner).get(&id) {
            signal.stop(Stop::Term);
        }
    }

    /// Asks all calls to end, and kills what they started if they don't.
    pub fn stop_all(&self) {
        let end = Instant::now() + GRACE;
        let mut how = Stop::Term;
        loop {
            let running: Vec<_> =
                self.running.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
            if running.is_empty() {
                return;
            }
            if Instant::now() > end {
                running.iter().for_each(|signal| signal.stop(Stop::Kill));
                return;
            }
            if how == Stop::Term {
                running.iter().for_each(|signal| signal.stop(how));
                how = Stop::Kill;
            }
            std::thread::sleep(Duration::from_millis(20));
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
        let controller = Box::new(Controller::new(id, Arc::clone(&self.link)));
        let host = Arc::new(self.base.begin(running, options, controller, sink).with_grains(call.grains.clone()));
        let no_pillar_yet = (call.function == COMPILE_PILLAR).then(Map::new);
        RunTree::plant(&host, shown.map(progress), no_pillar_yet);
        host
    }

    fn run(&self, id: RequestId, call: Call, host: Arc<Host>) {
        let result = match call.function == COMPILE_PILLAR {
            true => language::pillar(&host, &call.kwargs).map_or_else(
                |error| error.problem().into(),
                |pillar| Return { value: pillar.into(), retcode: 0, problem: None },
            ),
            false if call.function == STEP_OUTPUTS => step_outputs(&call, &host),
            false => catalog::call(call, &*host),
        };
        drop(host);
        self.finish(id, result);
    }

    fn finish(&self, id: RequestId, result: Return) {
        // First out of the list: the controller may use the number again once it has the result.
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        self.link.close(id);
        self.link.send(id, Message::Return(Box::new(result)));
    }
}

/// Another target of the job wants to know what a step here gave.
fn step_outputs(call: &Call, host: &Host) -> Return {
    let text = |place: usize| call.args.get(place).and_then(Value::as_str).unwrap_or_default();
    let id = host.options().get("id").map(ToString::to_string).unwrap_or_default();
    match states::shared::wait_for(host, text(0), &id, text(1)) {
        Ok(outputs) => Return { value: outputs.into(), retcode: 0, problem: None },
        Err(error) => error.problem().into(),
    }
}

/// Sends how far a run is.
fn progress(outlet: Arc<Mutex<Outlet>>) -> Progress {
    Box::new(move |news: &Map| {
        let text = rocksalt_core::json::compact(&Value::Map(news.clone()));
        // A listener that is gone must not stop the run.
        let _ = outlet.lock().unwrap_or_else(PoisonError::into_inner).write(Stream::Progress, text.as_bytes());
    })
}
