//! Questions to the controller, and streams in both directions.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use rocksalt_core::frame::{Answer, Ask, Data, Message, RequestId, Stream, Window};
use rocksalt_core::{Problem, Value, call::ProblemKind};
use rocksalt_modules::machine::Upward;
use rocksalt_modules::{Error, Result};

use crate::link::Link;

/// The controller, as the call `parent` sees it.
pub struct Controller {
    parent: RequestId,
    link: Arc<Link>,
}

impl Controller {
    pub fn new(parent: RequestId, link: Arc<Link>) -> Controller {
        Controller { parent, link }
    }
}

impl Upward for Controller {
    fn ask(&self, ask: Ask) -> Result<Value> {
        self.fetch(ask, &mut |_| Ok(()))
    }

    fn fetch(&self, ask: Ask, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<Value> {
        let question = Question::open(self, ask)?;
        loop {
            match question.next()? {
                Message::Data(data) => {
                    sink(&data.bytes)?;
                    self.link.send(question.id, Message::Credit(data.bytes.len() as u32));
                }
                Message::Answer(answer) => return settle(answer),
                _ => {}
            }
        }
    }

    fn send(&self, ask: Ask, source: &mut dyn FnMut() -> Result<Vec<u8>>) -> Result<Value> {
        let question = Question::open(self, ask)?;
        let mut window = Window::default();
        loop {
            let piece = source()?;
            let mut rest = piece.as_slice();
            while !rest.is_empty() {
                let count = window.take(rest.len());
                if count > 0 {
                    let data = Data { stream: Stream::File, bytes: rest[..count].to_vec() };
                    self.link.send(question.id, Message::Data(data));
                    rest = &rest[count..];
                    continue;
                }
                match question.next()? {
                    Message::Credit(bytes) => window.grant(bytes),
                    // An answer before the end is a refusal.
                    Message::Answer(answer) => return settle(answer),
                    _ => {}
                }
            }
            if piece.is_empty() {
                // An empty piece says that this was all.
                self.link.send(question.id, Message::Data(Data { stream: Stream::File, bytes: Vec::new() }));
                break;
            }
        }
        loop {
            if let Message::Answer(answer) = question.next()? {
                return settle(answer);
            }
        }
    }
}

fn settle(answer: Answer) -> Result<Value> {
    match answer {
        Answer::Ok(value) => Ok(value),
        Answer::Problem(problem) => Err(problem.into()),
    }
}

struct Question<'a> {
    id: RequestId,
    messages: Receiver<Message>,
    link: &'a Link,
}

impl Question<'_> {
    fn open<'a>(controller: &'a Controller, ask: Ask) -> Result<Question<'a>> {
        let (id, messages) = controller.link.open_ask();
        let question = Question { id, messages, link: &controller.link };
        if controller.link.send(id, Message::Ask(controller.parent, ask)) { Ok(question) } else { Err(lost()) }
    }

    fn next(&self) -> Result<Message> {
        self.messages.recv().map_err(|_| lost())
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        self.link.close(self.id);
    }
}

fn lost() -> Error {
    Problem::new(ProblemKind::Failed, "the link to the controller was lost").into()
}

/// A call's stream to the controller.
pub struct Outlet {
    id: RequestId,
    link: Arc<Link>,
    credits: Receiver<Message>,
    window: Window,
}

impl Outlet {
    pub fn new(id: RequestId, link: Arc<Link>) -> Outlet {
        let credits = link.listen(id);
        Outlet { id, link, credits, window: Window::default() }
    }

    /// Waits while the receiver is behind. An error once nobody listens any more.
    pub fn write(&mut self, stream: Stream, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let count = self.window.take(bytes.len());
            if count == 0 {
                match self.credits.recv() {
                    Ok(Message::Credit(credit)) => self.window.grant(credit),
                    Ok(_) => {}
                    Err(_) => return Err(lost()),
                }
                continue;
            }
            if !self.link.send(self.id, Message::Data(Data { stream, bytes: bytes[..count].to_vec() })) {
                return Err(lost());
            }
            bytes = &bytes[count..];
        }
        Ok(())
    }
}
