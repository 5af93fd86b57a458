//! [`Calls`]: the calls that run, each in a thread of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rocksalt_core::call::{COMPILE_PILLAR, Call, Problem, ProblemKind, RESUME, Return, STEP_OUTPUTS};
use rocksalt_core::frame::{Message, RequestId, Stream};
use rocksalt_core::{Map, Value};
use rocksalt_modules::catalog;
use rocksalt_modules::machine::{Base, Host, Pipe, Running, Signal, Sink, Stop};

use crate::language::{self, Progress};
use crate::link::Link;
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
        language::give(&host, shown.map(progress), no_pillar_yet);
        host
    }

    fn run(&self, id: RequestId, call: Call, host: Arc<Host>) {
        let found = |map: Map| Return { value: map.into(), retcode: 0, problem: None };
        let result = match call.function.as_str() {
            COMPILE_PILLAR => language::pillar(&host, &call.kwargs).map_or_else(|error| error.problem().into(), found),
            // Another target of the job wants to know what a step here gave.
            STEP_OUTPUTS => language::outputs(&host, &call.args).map_or_else(|error| error.problem().into(), found),
            RESUME => language::resume(&host, &call.kwargs),
            _ => catalog::call(call, &*host),
        };
        match language::reboot(&host, &result) {
            Some(announced) => self.reboot(id, result, announced, &host),
            None => {
                drop(host);
                self.finish(id, result);
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
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        self.link.close(id);
    }

    fn finish(&self, id: RequestId, result: Return) {
        // First out of the list: the controller may use the number again once it has the result.
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        self.link.close(id);
        self.link.send(id, Message::Return(Box::new(result)));
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
