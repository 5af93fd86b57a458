//! [`ControllerClient`]: requests of a call to the controller, and streams in both directions.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use rocksalt_core::frame::{Answer, Ask, Data, Message, RequestId, Stream, Window};
use rocksalt_core::{Problem, Value, call::ProblemKind};
use rocksalt_modules::machine::Upward;
use rocksalt_modules::{Error, Result};

use crate::link::AgentLink;

/// Sends the requests of the call `parent`.
pub struct ControllerClient {
    parent: RequestId,
    link: Arc<AgentLink>,
}

impl ControllerClient {
    pub fn new(parent: RequestId, link: Arc<AgentLink>) -> ControllerClient {
        ControllerClient { parent, link }
    }
}

impl Upward for ControllerClient {
    fn ask(&self, ask: Ask) -> Result<Value> {
        self.fetch(ask, &mut |_| Ok(()))
    }

    fn fetch(&self, ask: Ask, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<Value> {
        let pending = PendingAsk::open(self, ask)?;
        loop {
            match pending.next()? {
                Message::Data(data) => {
                    sink(&data.bytes)?;
                    self.link.send(pending.id, Message::Credit(data.bytes.len() as u32));
                }
                Message::Answer(answer) => return into_result(answer),
                _ => {}
            }
        }
    }

    fn send(&self, ask: Ask, source: &mut dyn FnMut() -> Result<Vec<u8>>) -> Result<Value> {
        let pending = PendingAsk::open(self, ask)?;
        let mut window = Window::default();
        loop {
            let piece = source()?;
            let mut rest = piece.as_slice();
            while !rest.is_empty() {
                let count = window.take(rest.len());
                if count > 0 {
                    let data = Data { stream: Stream::File, bytes: rest[..count].to_vec() };
                    self.link.send(pending.id, Message::Data(data));
                    rest = &rest[count..];
                    continue;
                }
                match pending.next()? {
                    Message::Credit(bytes) => window.grant(bytes),
                    // An answer before the end is a refusal.
                    Message::Answer(answer) => return into_result(answer),
                    _ => {}
                }
            }
            if piece.is_empty() {
                // An empty piece marks the end.
                self.link.send(pending.id, Message::Data(Data { stream: Stream::File, bytes: Vec::new() }));
                break;
            }
        }
        loop {
            if let Message::Answer(answer) = pending.next()? {
                return into_result(answer);
            }
        }
    }
}

fn into_result(answer: Answer) -> Result<Value> {
    match answer {
        Answer::Ok(value) => Ok(value),
        Answer::Problem(problem) => Err(problem.into()),
    }
}

struct PendingAsk<'a> {
    id: RequestId,
    messages: Receiver<Message>,
    link: &'a AgentLink,
}

impl PendingAsk<'_> {
    fn open<'a>(controller: &'a ControllerClient, ask: Ask) -> Result<PendingAsk<'a>> {
        let (id, messages) = controller.link.open_ask();
        let pending = PendingAsk { id, messages, link: &controller.link };
        if controller.link.send(id, Message::Ask(controller.parent, ask)) { Ok(pending) } else { Err(link_lost()) }
    }

    fn next(&self) -> Result<Message> {
        self.messages.recv().map_err(|_| link_lost())
    }
}

impl Drop for PendingAsk<'_> {
    fn drop(&mut self) {
        self.link.close(self.id);
    }
}

fn link_lost() -> Error {
    Problem::new(ProblemKind::Failed, "the link to the controller was lost").into()
}

/// A call's stream to the controller.
pub struct StreamSender {
    id: RequestId,
    link: Arc<AgentLink>,
    credits: Receiver<Message>,
    window: Window,
}

impl StreamSender {
    pub fn new(id: RequestId, link: Arc<AgentLink>) -> StreamSender {
        let credits = link.listen(id);
        StreamSender { id, link, credits, window: Window::default() }
    }

    /// Blocks while the receiver is behind. Fails once there is no receiver any more.
    pub fn write(&mut self, stream: Stream, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let count = self.window.take(bytes.len());
            if count == 0 {
                match self.credits.recv() {
                    Ok(Message::Credit(credit)) => self.window.grant(credit),
                    Ok(_) => {}
                    Err(_) => return Err(link_lost()),
                }
                continue;
            }
            if !self.link.send(self.id, Message::Data(Data { stream, bytes: bytes[..count].to_vec() })) {
                return Err(link_lost());
            }
            bytes = &bytes[count..];
        }
        Ok(())
    }
}
