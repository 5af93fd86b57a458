//! gRPC calls to etcd: one attempt at one member, and attempts at all members until one succeeds.

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

use super::members::{EtcdMembers, chain};
use crate::store::Error;

/// The largest response.
const MAX_RESPONSE: usize = 64 << 20;

/// Why a call failed.
#[derive(Debug)]
pub struct CallError {
    pub kind: CallErrorKind,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallErrorKind {
    /// No member was reached: certainly nothing was done.
    NotSent,
    /// The response was lost: the request was done, will be done, or not. A retry may get a response.
    NoAnswer,
    /// Refused for now; nothing was done.
    Busy,
    /// The response is larger than [`MAX_RESPONSE`].
    LargeAnswer,
    /// The revision was compacted.
    Compacted,
    LeaseGone,
    TooLarge,
    /// etcd's space quota is used up until somebody frees some. The request that used it up may have been done.
    Full,
    /// Anything else: a retry would fail again.
    Refused,
}

impl CallError {
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, CallErrorKind::NotSent | CallErrorKind::NoAnswer | CallErrorKind::Busy)
    }

    pub fn error(self, doing: &'static str) -> Error {
        match self.kind {
            CallErrorKind::LeaseGone => Error::LeaseGone,
            CallErrorKind::TooLarge => Error::TooLarge { what: self.why },
            CallErrorKind::Full => Error::Broken {
                doing,
                place: "etcd".into(),
                why: format!(
                    "{}; compact and defragment it (etcdctl compact, etcdctl defrag), then: etcdctl alarm disarm",
                    self.why
                ),
            },
            CallErrorKind::NotSent
            | CallErrorKind::NoAnswer
            | CallErrorKind::Busy
            | CallErrorKind::LargeAnswer
            | CallErrorKind::Compacted
            | CallErrorKind::Refused => Error::Unavailable { doing, why: self.why },
        }
    }

    fn from_status(status: &Status, member: &str) -> CallError {
        let text = status.message();
        let kind = match status.code() {
            Code::NotFound if text.contains("lease not found") => CallErrorKind::LeaseGone,
            Code::OutOfRange if text.contains("compacted") => CallErrorKind::Compacted,
            Code::OutOfRange if text.contains("length too large") => CallErrorKind::LargeAnswer,
            Code::InvalidArgument if text.contains("too large") || text.contains("too many op") => CallErrorKind::TooLarge,
            Code::ResourceExhausted if text.contains("larger than max") => CallErrorKind::TooLarge,
            Code::ResourceExhausted if text.contains("space exceeded") => CallErrorKind::Full,
            Code::ResourceExhausted if text.contains("too many requests") => CallErrorKind::Busy,
            Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled | Code::DeadlineExceeded
                if not_sent(status) =>
            {
                CallErrorKind::NotSent
            }
            Code::Unavailable
            | Code::Unknown
            | Code::Internal
            | Code::Cancelled
            | Code::DeadlineExceeded
            | Code::Aborted
            | Code::DataLoss
            // Otherwise it comes from the connection.
            | Code::ResourceExhausted => CallErrorKind::NoAnswer,
            _ => CallErrorKind::Refused,
        };
        let why = match std::error::Error::source(status) {
            Some(cause) => chain(cause),
            None => text.to_owned(),
        };
        let hint = match status.code() {
            Code::PermissionDenied | Code::Unauthenticated => " (etcd users are not supported: switch off etcd's auth)",
            _ => "",
        };
        CallError { kind, why: format!("{member}: {why}{hint}") }
    }
}

/// Whether the call failed while connecting.
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

impl EtcdMembers {
    /// Calls the current member once; if that fails, the next member becomes current.
    pub async fn call_once<Q, A>(&self, path: &'static str, request: Q, limit: Duration) -> Result<A, CallError>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let send = |mut grpc: Grpc<Channel>| async move {
            grpc.ready().await.map_err(|error| Status::from_error(Box::new(error)))?;
            let codec = ProstCodec::<Q, A>::default();
            grpc.unary(Request::new(request), PathAndQuery::from_static(path), codec).await
        };
        self.call_member(limit, send).await.map(tonic::Response::into_inner)
    }

    /// Opens a stream with the current member. The limit is only for opening it.
    pub async fn stream<Q, A>(
        &self,
        path: &'static str,
        requests: impl Stream<Item = Q> + Send + 'static,
        limit: Duration,
    ) -> Result<(usize, Streaming<A>), CallError>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let (index, _) = self.current();
        let send = |mut grpc: Grpc<Channel>| async move {
            grpc.ready().await.map_err(|error| Status::from_error(Box::new(error)))?;
            let mut request = Request::new(requests);
            // A member that has lost the cluster ends the stream instead of staying silent.
            request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
            let codec = ProstCodec::<Q, A>::default();
            grpc.streaming(request, PathAndQuery::from_static(path), codec).await
        };
        Ok((index, self.call_member(limit, send).await?.into_inner()))
    }

    async fn call_member<T, F>(&self, limit: Duration, send: impl FnOnce(Grpc<Channel>) -> F) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, Status>>,
    {
        let (index, channel) = self.current();
        let grpc = Grpc::new(channel).max_decoding_message_size(MAX_RESPONSE);
        let error = match tokio::time::timeout(limit, send(grpc)).await {
            Ok(Ok(response)) => return Ok(response),
            Ok(Err(status)) => self.call_error(index, &status),
            Err(_) => {
                self.failed(index, true);
                let why = format!("{}: no response within {:.1} seconds", self.name(index), limit.as_secs_f64());
                return Err(CallError { kind: CallErrorKind::NoAnswer, why });
            }
        };
        Err(error)
    }

    /// Classifies a status; moves on to another member if this one failed.
    pub fn call_error(&self, index: usize, status: &Status) -> CallError {
        let error = CallError::from_status(status, &self.name(index));
        if matches!(error.kind, CallErrorKind::NotSent | CallErrorKind::NoAnswer) {
            self.failed(index, false);
        }
        error
    }

    /// Retries until there is a response or the time limit is reached; only for idempotent requests.
    pub async fn call<Q, A>(&self, path: &'static str, request: Q) -> Result<A, CallError>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let mut budget = RetryBudget::new(self.time_limit);
        loop {
            match self.call_once(path, request.clone(), budget.attempt()).await {
                Err(error) if error.is_transient() => budget.wait_after(self, error).await?,
                response => return response,
            }
        }
    }
}

/// The time limit of a request with all its retries, and the pauses between them.
pub struct RetryBudget {
    limit: Duration,
    end: Instant,
    failed: u32,
}

impl RetryBudget {
    pub fn new(limit: Duration) -> RetryBudget {
        RetryBudget { limit, end: Instant::now() + limit, failed: 0 }
    }

    fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// Time limit of one attempt: a third of what is left, so that there is time for other members.
    pub fn attempt(&self) -> Duration {
        (self.left() / 3).max(Duration::from_millis(300)).min(self.left().max(Duration::from_millis(50)))
    }

    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// Waits after a failure; returns it when the time is over.
    pub async fn wait_after(&mut self, members: &EtcdMembers, error: CallError) -> Result<(), CallError> {
        self.failed += 1;
        // All other members first, without a pause.
        let rounds = self.failed / u32::try_from(members.count()).unwrap_or(1).max(1);
        if rounds > 0 {
            tokio::time::sleep(backoff(rounds).min(self.left())).await;
        }
        if !self.is_over() {
            return Ok(());
        }
        let why = format!("no response in {:.0} seconds, last {}", self.limit.as_secs_f64(), error.why);
        Err(CallError { why, ..error })
    }
}

/// Exponential backoff with jitter, up to two seconds.
pub fn backoff(rounds: u32) -> Duration {
    let longest = 50u64 << rounds.min(6);
    Duration::from_millis(longest / 2 + random() % (longest / 2).max(1)).min(Duration::from_secs(2))
}

/// Not cryptographic: for backoff and names.
pub fn random() -> u64 {
    RandomState::new().hash_one(0)
}
