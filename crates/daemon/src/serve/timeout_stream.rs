//! [`TimeoutStream`]: a connection with time limits for the first byte and for stalled writes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

pub struct TimeoutStream<T> {
    inner: T,
    /// Runs until the first byte arrives.
    first: Option<Pin<Box<Sleep>>>,
    /// Runs while the peer accepts no data.
    stalled: Option<Pin<Box<Sleep>>>,
    stall_timeout: Duration,
}

impl<T> TimeoutStream<T> {
    pub fn new(inner: T, first: Duration, stall_timeout: Duration) -> TimeoutStream<T> {
        TimeoutStream { inner, first: Some(Box::pin(sleep(first))), stalled: None, stall_timeout }
    }

    /// Fails a write that is pending too long.
    fn check_stall<R>(&mut self, outcome: Poll<io::Result<R>>, context: &mut Context<'_>) -> Poll<io::Result<R>> {
        if outcome.is_ready() {
            self.stalled = None;
            return outcome;
        }
        let stall_timeout = self.stall_timeout;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(stall_timeout)));
        poll_timer(stalled, context, "the peer accepts no data")
    }
}

fn poll_timer<R>(timer: &mut Pin<Box<Sleep>>, context: &mut Context<'_>, why: &'static str) -> Poll<io::Result<R>> {
    timer.as_mut().poll(context).map(|()| Err(io::Error::new(io::ErrorKind::TimedOut, why)))
}

impl<T: AsyncRead + Unpin> AsyncRead for TimeoutStream<T> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let outcome = Pin::new(&mut this.inner).poll_read(context, buf);
        match (&mut this.first, outcome.is_ready()) {
            (_, true) => this.first = None,
            (Some(first), false) => return poll_timer(first, context, "the peer sends nothing"),
            (None, false) => {}
        }
        outcome
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.check_stall(outcome, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.inner).poll_write_vectored(context, pieces);
        self.check_stall(outcome, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.inner).poll_flush(context);
        self.check_stall(outcome, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.inner).poll_shutdown(context);
        self.check_stall(outcome, context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn a_silent_peer_is_disconnected() {
        let (ours, _theirs) = duplex(64);
        let mut stream = TimeoutStream::new(ours, Duration::from_millis(20), Duration::from_secs(60));
        let error = stream.read_u8().await.expect_err("nothing came");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_peer_may_be_silent_after_the_first_byte() {
        let (ours, mut theirs) = duplex(64);
        let mut stream = TimeoutStream::new(ours, Duration::from_millis(20), Duration::from_secs(60));
        theirs.write_u8(7).await.expect("there is room");
        assert_eq!(stream.read_u8().await.expect("it came"), 7);
        let waiting = tokio::time::timeout(Duration::from_millis(80), stream.read_u8()).await;
        assert!(waiting.is_err(), "it waits on: {waiting:?}");
    }

    #[tokio::test]
    async fn a_stalled_peer_is_disconnected() {
        let (ours, _theirs) = duplex(4);
        let mut stream = TimeoutStream::new(ours, Duration::from_secs(60), Duration::from_millis(20));
        let error = stream.write_all(&[0; 16]).await.expect_err("nobody takes it");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
