//! [`Guarded`]: a connection whose other end must do its part: say something at first, and take what it is sent.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

pub struct Guarded<T> {
    inner: T,
    /// Until the first byte has come.
    first: Option<Pin<Box<Sleep>>>,
    /// While it takes nothing of what we send.
    stalled: Option<Pin<Box<Sleep>>>,
    patience: Duration,
}

impl<T> Guarded<T> {
    pub fn new(inner: T, first: Duration, patience: Duration) -> Guarded<T> {
        Guarded { inner, first: Some(Box::pin(sleep(first))), stalled: None, patience }
    }

    /// An end that does not come is one that stalls.
    fn watch<R>(&mut self, outcome: Poll<io::Result<R>>, context: &mut Context<'_>) -> Poll<io::Result<R>> {
        if outcome.is_ready() {
            self.stalled = None;
            return outcome;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
        late(stalled, context, "it takes nothing of what is sent")
    }
}

fn late<R>(timer: &mut Pin<Box<Sleep>>, context: &mut Context<'_>, why: &'static str) -> Poll<io::Result<R>> {
    timer.as_mut().poll(context).map(|()| Err(io::Error::new(io::ErrorKind::TimedOut, why)))
}

impl<T: AsyncRead + Unpin> AsyncRead for Guarded<T> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let outcome = Pin::new(&mut this.inner).poll_read(context, buf);
        match (&mut this.first, outcome.is_ready()) {
            (_, true) => this.first = None,
            (Some(first), false) => return late(first, context, "it says nothing"),
            (None, false) => {}
        }
        outcome
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Guarded<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.watch(outcome, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.inner).poll_write_vectored(context, pieces);
        self.watch(outcome, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.inner).poll_flush(context);
        self.watch(outcome, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.inner).poll_shutdown(context);
        self.watch(outcome, context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn who_says_nothing_is_cut_off() {
        let (ours, _theirs) = duplex(64);
        let mut guarded = Guarded::new(ours, Duration::from_millis(20), Duration::from_secs(60));
        let error = guarded.read_u8().await.expect_err("nothing came");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn who_has_spoken_may_be_silent() {
        let (ours, mut theirs) = duplex(64);
        let mut guarded = Guarded::new(ours, Duration::from_millis(20), Duration::from_secs(60));
        theirs.write_u8(7).await.expect("there is room");
        assert_eq!(guarded.read_u8().await.expect("it came"), 7);
        let waiting = tokio::time::timeout(Duration::from_millis(80), guarded.read_u8()).await;
        assert!(waiting.is_err(), "it waits on: {waiting:?}");
    }

    #[tokio::test]
    async fn who_takes_nothing_is_cut_off() {
        let (ours, _theirs) = duplex(4);
        let mut guarded = Guarded::new(ours, Duration::from_secs(60), Duration::from_millis(20));
        let error = guarded.write_all(&[0; 16]).await.expect_err("nobody takes it");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
