//! [`RunningCalls`]: the running calls, each in its own thread.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rocksalt_core::call::{COMPILE_PILLAR, Call, KEPT, Problem, ProblemKind, RESUME, Return, STEP_OUTPUTS};
use rocksalt_core::frame::{Message, RequestId, Stream};
use rocksalt_core::log::LogLevel;
use rocksalt_core::{JobId, Map, Value};
use rocksalt_modules::catalog;
use rocksalt_modules::machine::{ActiveCall, Base, CallLog, HostSystem, Pipe, Probe, Signal, Sink, StopSignal};

use crate::controller_client::{ControllerClient, StreamSender};
use crate::kept_calls::{self, CallNote, CallStatus};
use crate::language::{self, ProgressListener};
use crate::link::AgentLink;

/// The limit of concurrent calls; no controller sends as many.
const MOST: usize = 256;

/// How long calls may take to end after the link was lost.
const GRACE: Duration = Duration::from_secs(2);

/// How often a call without a link checks whether it must end.
const POLL: Duration = Duration::from_millis(200);

pub struct RunningCalls {
    base: Arc<Base>,
    link: Arc<AgentLink>,
    running: Mutex<HashMap<RequestId, RunningCall>>,
}

#[derive(Clone)]
struct RunningCall {
    signal: Arc<Signal>,
    /// The note of a kept call.
    note: Arc<Mutex<Option<CallNote>>>,
    keep: bool,
}

impl RunningCalls {
    pub fn new(base: Arc<Base>, link: Arc<AgentLink>) -> RunningCalls {
        RunningCalls { base, link, running: Mutex::default() }
    }

    /// Starts a call; its result is sent when it ends, whatever happens.
    pub fn start(self: &Arc<RunningCalls>, id: RequestId, call: Call) {
        let mut running = self.running();
        if running.len() >= MOST || running.contains_key(&id) {
            let problem =
                Problem::new(ProblemKind::Refused, format!("{} calls run on this target already", running.len()));
            drop(running);
            self.link.send(id, Message::Return(Box::new(problem.into())));
            return;
        }
        let host = self.create_host(id, &call);
        let running_call = RunningCall { signal: host.signal(), note: Arc::default(), keep: call.keep };
        running.insert(id, running_call.clone());
        drop(running);
        let calls = Arc::clone(self);
        let started = std::thread::Builder::new()
            .name(call.function.clone())
            .spawn(move || calls.run(id, call, host, &running_call));
        if let Err(error) = started {
            let problem = Problem::new(ProblemKind::Failed, format!("could not start a thread: {error}"));
            self.finish(id, problem.into(), None);
        }
    }

    /// Sends SIGTERM or SIGKILL to the processes that the call started.
    pub fn stop(&self, id: RequestId, how: StopSignal) {
        if let Some(call) = self.running().get(&id) {
            call.signal.stop(how);
        }
    }

    /// Stops a call whose result nobody waits for, unless it is kept.
    pub fn abandon(&self, id: RequestId) {
        if let Some(call) = self.running().get(&id).filter(|call| !call.keep) {
            call.signal.stop(StopSignal::Term);
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<RequestId, RunningCall>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all calls have ended, once the controller is gone. Kept calls run to their end; all others are asked to
    /// end, and their processes are killed if they do not.
    pub fn drain(&self) {
        let end = Instant::now() + GRACE;
        let mut how = Some(StopSignal::Term);
        loop {
            let (kept, others): (Vec<RunningCall>, Vec<RunningCall>) =
                self.running().values().cloned().partition(|call| call.keep);
            if kept.is_empty() && (others.is_empty() || how.is_none()) {
                return;
            }
            if how == Some(StopSignal::Kill) && Instant::now() > end {
                others.iter().for_each(|call| call.signal.stop(StopSignal::Kill));
                how = None;
            }
            if how == Some(StopSignal::Term) {
                others.iter().for_each(|call| call.signal.stop(StopSignal::Term));
                how = Some(StopSignal::Kill);
            }
            for call in &kept {
                let note = call.note.lock().unwrap_or_else(PoisonError::into_inner);
                match note.as_ref().and_then(CallNote::requested_signal) {
                    Some(9) => call.signal.stop(StopSignal::Kill),
                    Some(_) => call.signal.stop(StopSignal::Term),
                    None => {}
                }
            }
            std::thread::sleep(if others.is_empty() || how.is_none() { POLL } else { Duration::from_millis(20) });
        }
    }

    fn create_host(&self, id: RequestId, call: &Call) -> Arc<HostSystem> {
        let running = ActiveCall {
            job: call.job,
            function: call.function.clone(),
            args: call.args.clone(),
            since: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64()),
        };
        let stream_sender =
            (call.stream || call.progress).then(|| Arc::new(Mutex::new(StreamSender::new(id, Arc::clone(&self.link)))));
        let shown = stream_sender.clone().filter(|_| call.progress);
        let sink = stream_sender.filter(|_| call.stream).map(|stream_sender| {
            Arc::new(move |pipe: Pipe, bytes: &[u8]| {
                let stream = match pipe {
                    Pipe::Stdout => Stream::Stdout,
                    Pipe::Stderr => Stream::Stderr,
                };
                // A listener that has gone must not stop the command.
                let _ = stream_sender.lock().unwrap_or_else(PoisonError::into_inner).write(stream, bytes);
            }) as Sink
        });
        let mut options = call.options.clone();
        // The controller says the id of every target; a call of a program that tests the agent may not.
        if !options.contains_key("id") {
            options.insert("id", call.target.as_str());
        }
        if let Some(events) = call.kwargs.get("state_events").filter(|_| catalog::is_run(&call.function)) {
            options.insert("state_events", events.truth());
        }
        let controller = Box::new(ControllerClient::new(id, Arc::clone(&self.link)));
        let link = Arc::clone(&self.link);
        let send_log = move |record| {
            link.send(id, Message::Log(record));
        };
        let log = call.log.map(|level| CallLog::new(level, send_log));
        let host = self.base.begin(running, options, controller, sink);
        let host = Arc::new(host.with_grains(call.grains.clone()).with_log(log));
        let no_pillar_yet = (call.function == COMPILE_PILLAR).then(Map::new);
        language::attach_services(&host, shown.map(progress_listener), no_pillar_yet);
        host
    }

    fn run(&self, id: RequestId, call: Call, host: Arc<HostSystem>, running_call: &RunningCall) {
        if let Some(job) = call.job.filter(|_| call.keep) {
            match CallNote::begin(job, &call.target, &call.function, call.function == RESUME) {
                Ok(note) => *running_call.note.lock().unwrap_or_else(PoisonError::into_inner) = note,
                Err(problem) => {
                    drop(host);
                    return self.finish(id, problem.into(), None);
                }
            }
        }
        let (function, started) = (call.function.clone(), Instant::now());
        // Logs only the number of arguments: their values may be secret.
        let count = call.args.len() + call.kwargs.len();
        host.log(LogLevel::Debug, "calls", format_args!("{function} starts, with {count} arguments"));
        let result = language::with_state_lock(&host, call, run_function).unwrap_or_else(|refused| refused);
        let ms = started.elapsed().as_millis();
        host.log(LogLevel::Debug, "calls", format_args!("{function} ended with code {} after {ms} ms", result.retcode));
        let note = running_call.note.lock().unwrap_or_else(PoisonError::into_inner).take();
        match language::announced_reboot(&host, &result) {
            // The note stays for the call that resumes.
            Some(announced) => self.reboot(id, result, announced, &host),
            None => {
                drop(host);
                self.finish(id, result, note);
            }
        }
    }

    /// Tells the controller that the machine reboots in the middle of a run, then reboots it.
    fn reboot(&self, id: RequestId, result: Return, announced: Map, host: &Arc<HostSystem>) {
        let message = announced.get("message").and_then(Value::as_str).map(str::to_owned);
        // Without this message the controller would not resume the run, so there is no reboot if it can't be sent.
        if self.link.send(id, Message::Return(Box::new(Return { value: announced.into(), ..result }))) {
            language::reboot(host, message.as_deref());
        }
        self.running().remove(&id);
        self.link.close(id);
    }

    fn finish(&self, id: RequestId, result: Return, note: Option<CallNote>) {
        // Written before it is sent: the controller soon answers that it can be removed.
        if let Some(note) = note {
            note.finish(&result);
        }
        // Removed first: the controller may reuse the number once it has the result.
        self.running().remove(&id);
        self.link.close(id);
        self.link.send(id, Message::Return(Box::new(result)));
    }
}

/// Runs the function that a call names.
fn run_function(call: Call, host: &Arc<HostSystem>) -> Return {
    let found = |map: Map| Return { value: map.into(), retcode: 0, problem: None };
    match call.function.as_str() {
        COMPILE_PILLAR => {
            language::compile_pillar(host, &call.kwargs).map_or_else(|error| error.problem().into(), found)
        }
        // Another target of the job asks for the outputs of a step.
        STEP_OUTPUTS => language::step_outputs(host, &call.args).map_or_else(|error| error.problem().into(), found),
        RESUME => language::resume(host, &call.kwargs),
        KEPT => kept_call(&call),
        _ => catalog::call(call, &**host),
    }
}

/// The status of a kept call, and its result if it has one.
fn kept_call(call: &Call) -> Return {
    let Some(job) = call.args.first().and_then(Value::as_str).and_then(|text| text.parse::<JobId>().ok()) else {
        return Problem::new(ProblemKind::Arguments, "the job's id is missing").into();
    };
    let mut map = Map::new();
    let state = match kept_calls::status(job, &call.target) {
        CallStatus::Done(bytes) => {
            map.insert("result", Value::Bytes(bytes));
            "done"
        }
        CallStatus::Running => {
            if let Some(signal) = call.kwargs.get("signal").and_then(Value::as_i64) {
                kept_calls::stop(job, &call.target, if signal == 9 { 9 } else { 15 });
            }
            "running"
        }
        CallStatus::Died => "died",
        CallStatus::Unknown => "unknown",
    };
    map.insert("state", state);
    Return { value: map.into(), retcode: 0, problem: None }
}

/// Returns a listener that sends the progress of a run over the link.
fn progress_listener(stream_sender: Arc<Mutex<StreamSender>>) -> ProgressListener {
    Box::new(move |update: &Map| {
        let text = rocksalt_core::json::compact(&Value::Map(update.clone()));
        // A listener that has gone must not stop the run.
        let _ = stream_sender.lock().unwrap_or_else(PoisonError::into_inner).write(Stream::Progress, text.as_bytes());
    })
}
