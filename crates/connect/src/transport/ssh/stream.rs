//! A TCP stream that never waits for Nagle or a delayed acknowledgement.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// sshd leaves Nagle's algorithm on until a session is interactive, so its small packets wait for
/// our acknowledgement, which Linux delays by 40 ms. Asking for a quick one at each read (the
/// kernel forgets the wish) took the first command of a login from 45 to 3 ms.
pub struct Prompt {
    pub stream: TcpStream,
    pub heard: Heard,
}

/// The first bytes that a server said: its greeting, or why it won't have us.
#[derive(Clone, Default)]
pub struct Heard(Arc<Mutex<Vec<u8>>>);

/// More than any greeting has.
const FIRST: usize = 255;

impl Heard {
    pub fn first_line(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).lines().next().unwrap_or_default().trim().to_owned()
    }

    /// Ends if nothing at all was said for so long; never ends otherwise.
    pub async fn silence(&self, limit: Duration) {
        tokio::time::sleep(limit).await;
        if !self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
            std::future::pending::<()>().await;
        }
    }

    fn note(&self, bytes: &[u8]) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = FIRST.saturating_sub(first.len());
        first.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

impl AsyncRead for Prompt {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if result.is_ready() {
            self.heard.note(&buffer.filled()[before..]);
            // Only a matter of speed: a kernel that can't do it works as well.
            let _ = rustix::net::sockopt::set_tcp_quickack(&self.stream, true);
        }
        result
    }
}

impl AsyncWrite for Prompt {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
