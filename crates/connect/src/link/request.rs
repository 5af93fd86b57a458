//! [`RemoteCall`]: a call on a link, from its start to its result.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use rocksalt_core::call::{Call, Problem, ProblemKind, Return};
use rocksalt_core::frame::{Answer, Ask, CHUNK, Data, Message, RequestId, Stream, Window};
use rocksalt_core::link::LinkFailure;
use rocksalt_core::{JobId, Value};
use tokio::sync::mpsc;

use super::RequestChannel;
use crate::log;

/// Answers requests of the agent.
#[async_trait]
pub trait Answers: Send + Sync {
    /// Answers a request with a value.
    async fn answer(&self, ask: Ask) -> Result<Value, Problem>;

    /// Answers a request with a stream of pieces and then a value.
    async fn stream(&self, ask: Ask, pieces: mpsc::Sender<Vec<u8>>) -> Result<Value, Problem>;

    /// Receives a stream that the agent sends.
    async fn receive(&self, ask: Ask, upload: IncomingStream) -> Result<Value, Problem>;
}

/// A stream that the agent sends; complete only if it ends with `Ok(None)`.
pub struct IncomingStream {
    pieces: mpsc::UnboundedReceiver<Vec<u8>>,
    credits: mpsc::UnboundedSender<u32>,
}

impl IncomingStream {
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

/// For calls of functions that make no requests.
pub struct NoAnswers;

#[async_trait]
impl Answers for NoAnswers {
    async fn answer(&self, _: Ask) -> Result<Value, Problem> {
        Err(Problem::new(ProblemKind::Refused, "this caller answers no questions"))
    }

    async fn stream(&self, ask: Ask, _: mpsc::Sender<Vec<u8>>) -> Result<Value, Problem> {
        self.answer(ask).await
    }

    async fn receive(&self, ask: Ask, _: IncomingStream) -> Result<Value, Problem> {
        self.answer(ask).await
    }
}

/// The maximum of unanswered requests of one call.
const MAX_OPEN_QUESTIONS: usize = 1024;

pub struct RemoteCall {
    channel: RequestChannel,
    answers: Arc<dyn Answers>,
    /// Open requests that have a stream.
    asks: HashMap<RequestId, OpenQuestion>,
    /// The number of all open requests.
    open: usize,
    outgoing: mpsc::UnboundedSender<(RequestId, Message)>,
    replies: mpsc::UnboundedReceiver<(RequestId, Message)>,
}

/// Confirms to the target that the result is stored: until then the target keeps it.
pub struct Receipt {
    channel: RequestChannel,
    job: JobId,
    target: String,
}

impl Receipt {
    pub fn stored(self) {
        self.channel.send(Message::Stored { job: self.job, target: self.target.clone() });
    }
}

enum OpenQuestion {
    Sending(mpsc::UnboundedSender<u32>),
    Receiving(mpsc::UnboundedSender<Vec<u8>>),
}

impl RemoteCall {
    /// Sends the call. Dropping the request cancels it, unless the target keeps its result.
    ///
    /// The agent sends its diagnostic lines if there is a listener in this process.
    pub fn start(channel: RequestChannel, mut call: Call, answers: Arc<dyn Answers>) -> RemoteCall {
        call.log = log::level();
        channel.send(Message::Call(Box::new(call)));
        let (outgoing, replies) = mpsc::unbounded_channel();
        RemoteCall { channel, answers, asks: HashMap::new(), open: 0, outgoing, replies }
    }

    /// Cancels the call. Its result still arrives, and says that it was cancelled.
    pub fn cancel(&self) {
        self.channel.send(Message::Cancel);
    }

    /// Cancels as [`RemoteCall::cancel`] does, and kills the processes that the call started.
    pub fn kill(&self) {
        self.channel.send(Message::Kill);
    }

    /// Used after the result has arrived, to confirm that it is stored.
    pub fn into_receipt(self, job: JobId, target: String) -> Receipt {
        Receipt { channel: self.channel, job, target }
    }

    /// Waits for the result. `output` gets the output of a command as it arrives.
    pub async fn finish(&mut self, output: &mut (dyn FnMut(Stream, &[u8]) + Send)) -> Result<Return, LinkFailure> {
        loop {
            tokio::select! {
                frame = self.channel.next() => {
                    let frame = frame?;
                    match frame.message {
                        Message::Return(result) => return Ok(*result),
                        Message::Log(record) => log::emit_agent(record),
                        Message::Ask(_, ask) => self.handle_question(frame.id, ask),
                        Message::Credit(bytes) => {
                            if let Some(OpenQuestion::Sending(credits)) = self.asks.get(&frame.id) {
                                let _ = credits.send(bytes);
                            }
                        }
                        Message::Data(data) => match self.asks.get(&frame.id) {
                            Some(OpenQuestion::Receiving(pieces)) => drop(pieces.send(data.bytes)),
                            Some(OpenQuestion::Sending(_)) => {}
                            None => {
                                output(data.stream, &data.bytes);
                                self.channel.send(Message::Credit(data.bytes.len() as u32));
                            }
                        },
                        _ => {}
                    }
                }
                Some((ask, message)) = self.replies.recv() => {
                    if matches!(message, Message::Answer(_)) {
                        self.asks.remove(&ask);
                        self.open = self.open.saturating_sub(1);
                    }
                    self.channel.answer(ask, message);
                }
            }
        }
    }

    /// Starts a task that answers a request of the agent.
    fn handle_question(&mut self, id: RequestId, ask: Ask) {
        // A thread that waits for an answer makes no other request: only a hostile agent has so many open ones
        // (docs/faults.md#f17).
        if self.open >= MAX_OPEN_QUESTIONS {
            let problem = Problem::new(ProblemKind::Refused, "too many questions are open");
            return self.channel.answer(id, Message::Answer(Answer::Problem(problem)));
        }
        self.open += 1;
        let answers = Arc::clone(&self.answers);
        let outgoing = self.outgoing.clone();
        let to_answer = |result: Result<Value, Problem>| {
            Message::Answer(match result {
                Ok(value) => Answer::Ok(value),
                Err(problem) => Answer::Problem(problem),
            })
        };
        match ask {
            Ask::Push { .. } => {
                let (sender, pieces) = mpsc::unbounded_channel();
                let (credits, mut granted) = mpsc::unbounded_channel();
                self.asks.insert(id, OpenQuestion::Receiving(sender));
                tokio::spawn(async move {
                    let receiving = answers.receive(ask, IncomingStream { pieces, credits });
                    tokio::pin!(receiving);
                    loop {
                        tokio::select! {
                            result = &mut receiving => {
                                let _ = outgoing.send((id, to_answer(result)));
                                return;
                            }
                            Some(bytes) = granted.recv() => drop(outgoing.send((id, Message::Credit(bytes)))),
                        }
                    }
                });
            }
            Ask::File { .. } | Ask::Url { .. } => {
                let (credits, granted) = mpsc::unbounded_channel();
                self.asks.insert(id, OpenQuestion::Sending(credits));
                let (sender, pieces) = mpsc::channel(4);
                let sent = tokio::spawn(send_pieces(id, pieces, granted, outgoing.clone()));
                tokio::spawn(async move {
                    let result = answers.stream(ask, sender).await;
                    // The answer must follow the last piece.
                    let _ = sent.await;
                    let _ = outgoing.send((id, to_answer(result)));
                });
            }
            _ => {
                tokio::spawn(async move {
                    let result = answers.answer(ask).await;
                    let _ = outgoing.send((id, to_answer(result)));
                });
            }
        }
    }
}

async fn send_pieces(
    id: RequestId,
    mut pieces: mpsc::Receiver<Vec<u8>>,
    mut granted: mpsc::UnboundedReceiver<u32>,
    outgoing: mpsc::UnboundedSender<(RequestId, Message)>,
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
            if outgoing.send((id, Message::Data(data))).is_err() {
                return;
            }
            rest = &rest[count..];
        }
    }
}
