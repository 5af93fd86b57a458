//! [`AgentLink`]: the agent's end of the link, shared by all threads.

use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use rocksalt_core::Return;
use rocksalt_core::call::{Problem, ProblemKind};
use rocksalt_core::frame::{self, FIRST_ASK, Frame, Message, RequestId};

pub struct AgentLink {
    output: Mutex<Box<dyn Write + Send>>,
    /// The receivers of answers, data and credits, by request or stream.
    listeners: Mutex<HashMap<RequestId, Sender<Message>>>,
    next_ask: AtomicU32,
    lost: AtomicBool,
    started: Instant,
    /// Milliseconds from `started` until the last message of the controller.
    heard: AtomicU64,
}

impl AgentLink {
    pub fn new(output: Box<dyn Write + Send>) -> AgentLink {
        AgentLink {
            output: Mutex::new(output),
            listeners: Mutex::default(),
            next_ask: AtomicU32::new(FIRST_ASK),
            lost: AtomicBool::new(false),
            started: Instant::now(),
            heard: AtomicU64::new(0),
        }
    }

    /// Returns false once the controller can't be reached any more.
    pub fn send(&self, id: RequestId, message: Message) -> bool {
        let mut bytes = Vec::new();
        if let Err(error) = frame::encode(&Frame::new(id, message), &mut bytes) {
            // Only a result can be that large. Its caller must still learn that there was one.
            let problem = Problem::new(ProblemKind::Failed, format!("the result can't be sent: {error}"))
                .hint("write it to a file on the target and fetch that with `rocksalt cp`");
            bytes.clear();
            let message = Message::Return(Box::new(Return::from(problem)));
            if frame::encode(&Frame::new(id, message), &mut bytes).is_err() {
                return false;
            }
        }
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = output.write_all(&bytes).and_then(|()| output.flush()).is_ok();
        if !sent {
            self.lost.store(true, Ordering::Relaxed);
        }
        sent
    }

    /// Returns the number of a new request and the receiver of its answers.
    pub fn open_ask(&self) -> (RequestId, Receiver<Message>) {
        let id = self.next_ask.fetch_add(1, Ordering::Relaxed) | FIRST_ASK;
        (id, self.listen(id))
    }

    pub fn listen(&self, id: RequestId) -> Receiver<Message> {
        let (sender, receiver) = mpsc::channel();
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).insert(id, sender);
        receiver
    }

    pub fn close(&self, id: RequestId) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    /// Delivers a message to its receiver; a late message has none and is dropped.
    pub fn deliver(&self, id: RequestId, message: Message) {
        if let Some(listener) = self.listeners.lock().unwrap_or_else(PoisonError::into_inner).get(&id) {
            let _ = listener.send(message);
        }
    }

    /// Marks the link as lost, and ends all waiting.
    pub fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub fn lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    pub fn hear(&self) {
        self.heard.store(self.started.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// Seconds since the last message of the controller.
    pub fn silence(&self) -> u64 {
        let heard = self.heard.load(Ordering::Relaxed);
        (self.started.elapsed().as_millis() as u64).saturating_sub(heard) / 1000
    }
}
