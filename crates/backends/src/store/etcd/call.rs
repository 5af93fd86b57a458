//! One question to one member, and the same question to one after the other until there is an answer.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use prost::Message;
use tokio::time::Instant;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::tokio_stream::Stream;
use tonic::metadata::MetadataValue;
use tonic::transport::Channel;
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

use super::members::{Members, chain};
use crate::store::Error;

/// The largest answer.
const LARGEST: usize = 64 << 20;

/// Why there is no answer.
#[derive(Debug)]
pub struct Trouble {
    pub kind: Kind,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nobody was reached: surely nothing was done.
    NotSent,
    /// The answer is lost: it was done, or will be, or not. Another member, or the same one later, may answer.
    NoAnswer,
    /// It was refused for now, and nothing was done.
    Busy,
    /// The answer would be larger than we take.
    LargeAnswer,
    /// What was asked for is thrown away.
    Compacted,
    LeaseGone,
    TooLarge,
    /// It's full, and takes nothing before somebody looks after it. What filled it may have been done nevertheless.
    Full,
    /// Anything else: the same will fail again.
    Refused,
}

impl Trouble {
    pub fn passes(&self) -> bool {
        matches!(self.kind, Kind::NotSent | Kind::NoAnswer | Kind::Busy)
    }

    pub fn error(self, doing: &'static str) -> Error {
        match self.kind {
            Kind::LeaseGone => Error::LeaseGone,
            Kind::TooLarge => Error::TooLarge { what: self.why },
            Kind::Full => Error::Broken {
                doing,
                place: "etcd".into(),
                why: format!(
                    "{}; compact and defragment it (etcdctl compact, etcdctl defrag), then: etcdctl alarm disarm",
                    self.why
                ),
            },
            Kind::NotSent | Kind::NoAnswer | Kind::Busy | Kind::LargeAnswer | Kind::Compacted | Kind::Refused => {
                Error::Away { doing, why: self.why }
            }
        }
    }

    fn of(status: &Status, member: &str) -> Trouble {
        let text = status.message();
        let kind = match status.code() {
            Code::NotFound if text.contains("lease not found") => Kind::LeaseGone,
            Code::OutOfRange if text.contains("compacted") => Kind::Compacted,
            Code::OutOfRange if text.contains("length too large") => Kind::LargeAnswer,
            Code::InvalidArgument if text.contains("too large") || text.contains("too many op") => Kind::TooLarge,
            Code::ResourceExhausted if text.contains("larger than max") => Kind::TooLarge,
            Code::ResourceExhausted if text.contains("space exceeded") => Kind::Full,
            Code::ResourceExhausted if text.contains("too many requests") => Kind::Busy,
            Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled | Code::DeadlineExceeded
                if not_sent(status) =>
            {
                Kind::NotSent
            }
            Code::Unavailable
            | Code::Unknown
            | Code::Internal
            | Code::Cancelled
            | Code::DeadlineExceeded
            | Code::Aborted
            | Code::DataLoss
            // Else it comes from the connection.
            | Code::ResourceExhausted => Kind::NoAnswer,
            _ => Kind::Refused,
        };
        let why = match std::error::Error::source(status) {
            Some(cause) => chain(cause),
            None => text.to_owned(),
        };
        let hint = match status.code() {
            Code::PermissionDenied | Code::Unauthenticated => " (etcd's own users aren't used: switch its auth off)",
            _ => "",
        };
        Trouble { kind, why: format!("{member}: {why}{hint}") }
    }
}

/// Whether it failed while connecting.
fn not_sent(status: &Status) -> bool {
    let mut cause = std::error::Error::source(status);
    while let Some(error) = cause {
        if error.is::<tonic::ConnectError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

impl Members {
    /// Asks the current member once; if it fails the next one is current afterwards.
    pub async fn ask<Q, A>(&self, path: &'static str, question: Q, limit: Duration) -> Result<A, Trouble>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let asked = |mut grpc: Grpc<Channel>| async move {
            grpc.ready().await.map_err(|error| Status::from_error(Box::new(error)))?;
            let codec = ProstCodec::<Q, A>::default();
            grpc.unary(Request::new(question), PathAndQuery::from_static(path), codec).await
        };
        self.once(limit, asked).await.map(tonic::Response::into_inner)
    }

    /// Opens a stream of questions and answers with the current member. The answers may take as long as they like.
    pub async fn stream<Q, A>(
        &self,
        path: &'static str,
        questions: impl Stream<Item = Q> + Send + 'static,
        limit: Duration,
    ) -> Result<(usize, Streaming<A>), Trouble>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let (index, _) = self.current();
        let asked = |mut grpc: Grpc<Channel>| async move {
            grpc.ready().await.map_err(|error| Status::from_error(Box::new(error)))?;
            let mut request = Request::new(questions);
            // A member that has lost the others ends the stream, instead of being silent.
            request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
            let codec = ProstCodec::<Q, A>::default();
            grpc.streaming(request, PathAndQuery::from_static(path), codec).await
        };
        Ok((index, self.once(limit, asked).await?.into_inner()))
    }

    async fn once<T, F>(&self, limit: Duration, ask: impl FnOnce(Grpc<Channel>) -> F) -> Result<T, Trouble>
    where
        F: Future<Output = Result<T, Status>>,
    {
        let (index, channel) = self.current();
        let grpc = Grpc::new(channel).max_decoding_message_size(LARGEST);
        let trouble = match tokio::time::timeout(limit, ask(grpc)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(status)) => self.trouble(index, &status),
            Err(_) => {
                self.failed(index, true);
                let why = format!("{}: no answer within {:.1} seconds", self.name(index), limit.as_secs_f64());
                return Err(Trouble { kind: Kind::NoAnswer, why });
            }
        };
        Err(trouble)
    }

    /// What a status means; turns to another member if this one is to blame.
    pub fn trouble(&self, index: usize, status: &Status) -> Trouble {
        let trouble = Trouble::of(status, &self.name(index));
        if matches!(trouble.kind, Kind::NotSent | Kind::NoAnswer) {
            self.failed(index, false);
        }
        trouble
    }

    /// Asks until there is an answer, or the time is over; only for what may be done twice.
    pub async fn insist<Q, A>(&self, path: &'static str, question: Q) -> Result<A, Trouble>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let mut patience = Patience::new(self.time_limit);
        loop {
            match self.ask(path, question.clone(), patience.attempt()).await {
                Err(trouble) if trouble.passes() => patience.after(self, trouble).await?,
                answer => return answer,
            }
        }
    }
}

/// How long to go on, and how long to wait between two attempts.
pub struct Patience {
    limit: Duration,
    end: Instant,
    failed: u32,
}

impl Patience {
    pub fn new(limit: Duration) -> Patience {
        Patience { limit, end: Instant::now() + limit, failed: 0 }
    }

    fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// How long one attempt may take: a third of what is left, so that there is time to ask other members.
    pub fn attempt(&self) -> Duration {
        (self.left() / 3).max(Duration::from_millis(300)).min(self.left().max(Duration::from_millis(50)))
    }

    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// Waits after a failure; gives it back when the time is over.
    pub async fn after(&mut self, members: &Members, trouble: Trouble) -> Result<(), Trouble> {
        self.failed += 1;
        // All others first, without a pause.
        let rounds = self.failed / u32::try_from(members.count()).unwrap_or(1).max(1);
        if rounds > 0 {
            tokio::time::sleep(backoff(rounds).min(self.left())).await;
        }
        if !self.is_over() {
            return Ok(());
        }
        let why = format!("nobody answered in {:.0} seconds, last {}", self.limit.as_secs_f64(), trouble.why);
        Err(Trouble { why, ..trouble })
    }
}

/// Longer with each round, up to two seconds; never the same, so that not all come back at once.
pub fn backoff(rounds: u32) -> Duration {
    let longest = 50u64 << rounds.min(6);
    Duration::from_millis(longest / 2 + random() % (longest / 2).max(1)).min(Duration::from_secs(2))
}

/// Good enough for waiting times and names.
pub fn random() -> u64 {
    RandomState::new().hash_one(0)
}
