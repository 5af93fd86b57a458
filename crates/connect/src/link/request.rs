//! [`Request`]: a call on a link, from its start to its result.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use rocksalt_core::call::{Call, Problem, ProblemKind, Return};
use rocksalt_core::frame::{Answer, Ask, CHUNK, Data, Message, RequestId, Stream, Window};
use rocksalt_core::link::Failure;
use rocksalt_core::{JobId, Value};
use tokio::sync::mpsc;

use super::Port;

/// What the controller answers when an agent asks.
#[async_trait]
pub trait Answers: Send + Sync {
    /// A simple question.
    async fn answer(&self, ask: Ask) -> Result<Value, Problem>;

    /// A question whose answer is a stream: sent piece by piece, and then the value.
    async fn stream(&self, ask: Ask, pieces: mpsc::Sender<Vec<u8>>) -> Result<Value, Problem>;

    /// The agent sends a stream.
    async fn receive(&self, ask: Ask, upload: Upload) -> Result<Value, Problem>;
}

/// A stream that the agent sends: piece by piece, complete only if it ends with `Ok(None)`.
pub struct Upload {
    pieces: mpsc::UnboundedReceiver<Vec<u8>>,
    credits: mpsc::UnboundedSender<u32>,
}

impl Upload {
    /// The next piece; `None` at the proper end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        match self.pieces.recv().await {
            Some(piece) if piece.is_empty() => Ok(None),
            Some(piece) => {
                let _ = self.credits.send(piece.len() as u32);
                Ok(Some(piece))
            }
            None => Err(Problem::new(ProblemKind::Failed, "the target stopped sending")),
        }
    }
}

/// For calls whose functions ask nothing.
pub struct NoAnswers;

#[async_trait]
impl Answers for NoAnswers {
    async fn answer(&self, _: Ask) -> Result<Value, Problem> {
        Err(Problem::new(ProblemKind::Refused, "this caller answers no questions"))
    }

    async fn stream(&self, ask: Ask, _: mpsc::Sender<Vec<u8>>) -> Result<Value, Problem> {
        self.answer(ask).await
    }

    async fn receive(&self, ask: Ask, _: Upload) -> Result<Value, Problem> {
        self.answer(ask).await
    }
}

/// Questions of one call at a time.
const MOST_QUESTIONS: usize = 1024;

pub struct Request {
    port: Port,
    answers: Arc<dyn Answers>,
    /// Open questions: where credits and data of theirs go.
    asks: HashMap<RequestId, Asked>,
    /// How many are open in all.
    open: usize,
    say: mpsc::UnboundedSender<(RequestId, Message)>,
    said: mpsc::UnboundedReceiver<(RequestId, Message)>,
}

/// A target keeps the result of a call until it hears that it is stored.
pub struct Receipt {
    port: Port,
    job: JobId,
    target: String,
}

impl Receipt {
    pub fn stored(self) {
        self.port.send(Message::Stored { job: self.job, target: self.target.clone() });
    }
}

enum Asked {
    Sending(mpsc::UnboundedSender<u32>),
    Receiving(mpsc::UnboundedSender<Vec<u8>>),
}

impl Request {
    /// Sends the call. Dropping the request cancels it, unless the target is to keep its result.
    pub fn start(port: Port, call: Call, answers: Arc<dyn Answers>) -> Request {
        port.send(Message::Call(Box::new(call)));
        let (say, said) = mpsc::unbounded_channel();
        Request { port, answers, asks: HashMap::new(), open: 0, say, said }
    }

    /// Asks the target to stop; the result still comes, and says that it was cancelled.
    pub fn cancel(&self) {
        self.port.send(Message::Cancel);
    }

    /// As [`Request::cancel`], and what the call started is killed.
    pub fn kill(&self) {
        self.port.send(Message::Kill);
    }

    /// To be told when the result is stored, once it is there.
    pub fn into_receipt(self, job: JobId, target: String) -> Receipt {
        Receipt { port: self.port, job, target }
    }

    /// Runs to the result. `output` sees what a command prints, as it comes.
    pub async fn finish(&mut self, output: &mut (dyn FnMut(Stream, &[u8]) + Send)) -> Result<Return, Failure> {
        loop {
            tokio::select! {
                frame = self.port.next() => {
                    let frame = frame?;
                    match frame.message {
                        Message::Return(result) => return Ok(*result),
                        Message::Ask(_, ask) => self.asked(frame.id, ask),
                        Message::Credit(bytes) => {
                            if let Some(Asked::Sending(credits)) = self.asks.get(&frame.id) {
                                let _ = credits.send(bytes);
                            }
                        }
                        Message::Data(data) => match self.asks.get(&frame.id) {
                            Some(Asked::Receiving(pieces)) => drop(pieces.send(data.bytes)),
                            Some(Asked::Sending(_)) => {}
                            None => {
                                output(data.stream, &data.bytes);
                                self.port.send(Message::Credit(data.bytes.len() as u32));
                            }
                        },
                        _ => {}
                    }
                }
                Some((ask, message)) = self.said.recv() => {
                    if matches!(message, Message::Answer(_)) {
                        self.asks.remove(&ask);
                        self.open = self.open.saturating_sub(1);
                    }
                    self.port.answer(ask, message);
                }
            }
        }
    }

    /// Works on a question beside the call; it ends with an answer whatever happens.
    fn asked(&mut self, id: RequestId, ask: Ask) {
        // Threads that wait for an answer ask nothing else; whoever has so many open floods us (F17).
        if self.open >= MOST_QUESTIONS {
            let problem = Problem::new(ProblemKind::Refused, "too many questions are open");
            return self.port.answer(id, Message::Answer(Answer::Problem(problem)));
        }
        self.open += 1;
        let answers = Arc::clone(&self.answers);
        let say = self.say.clone();
        let settle = |result: Result<Value, Problem>| {
            Message::Answer(match result {
                Ok(value) => Answer::Ok(value),
                Err(problem) => Answer::Problem(problem),
            })
        };
        match ask {
            Ask::Push { .. } => {
                let (sender, pieces) = mpsc::unbounded_channel();
                let (credits, mut granted) = mpsc::unbounded_channel();
                self.asks.insert(id, Asked::Receiving(sender));
                tokio::spawn(async move {
                    let receiving = answers.receive(ask, Upload { pieces, credits });
                    tokio::pin!(receiving);
                    loop {
                        tokio::select! {
                            result = &mut receiving => {
                                let _ = say.send((id, settle(result)));
                                return;
                            }
                            Some(bytes) = granted.recv() => drop(say.send((id, Message::Credit(bytes)))),
                        }
                    }
                });
            }
            Ask::File { .. } | Ask::Url { .. } => {
                let (credits, granted) = mpsc::unbounded_channel();
                self.asks.insert(id, Asked::Sending(credits));
                let (sender, pieces) = mpsc::channel(4);
                let sent = tokio::spawn(send_pieces(id, pieces, granted, say.clone()));
                tokio::spawn(async move {
                    let result = answers.stream(ask, sender).await;
                    // The answer comes behind the last piece.
                    let _ = sent.await;
                    let _ = say.send((id, settle(result)));
                });
            }
            _ => {
                tokio::spawn(async move {
                    let result = answers.answer(ask).await;
                    let _ = say.send((id, settle(result)));
                });
            }
        }
    }
}

async fn send_pieces(
    id: RequestId,
    mut pieces: mpsc::Receiver<Vec<u8>>,
    mut granted: mpsc::UnboundedReceiver<u32>,
    say: mpsc::UnboundedSender<(RequestId, Message)>,
) {
    let mut window = Window::default();
    while let Some(piece) = pieces.recv().await {
        let mut rest = piece.as_slice();
        while !rest.is_empty() {
            let count = window.take(rest.len().min(CHUNK));
            if count == 0 {
                match granted.recv().await {
                    Some(bytes) => window.grant(bytes),
                    None => return,
                }
                continue;
            }
            let data = Data { stream: Stream::File, bytes: rest[..count].to_vec() };
            if say.send((id, Message::Data(data))).is_err() {
                return;
            }
            rest = &rest[count..];
        }
    }
}
