//! Uploads the agent, no faster than the target reads it.

use std::time::Duration;

use rocksalt_core::link::{LinkFailure, Stage};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::timeout;

use super::SILENCE_LIMIT;
use crate::agents::{Agent, Check};

/// The agent to send, its encoding and its destination.
pub struct AgentUpload<'a> {
    pub agent: &'a Agent,
    pub check: Check,
    pub compress: bool,
    pub directory: &'a str,
}

/// The size of one write: one packet of SSH.
const PIECE: usize = 32 * 1024;

/// The number of bytes in flight to a near target.
///
/// sshd's buffer for bytes that the command hasn't read yet grows in small steps, and each step copies all of it: three
/// megabytes at full speed cost 57 ms of CPU time, paced like this 7 ms. sshd adjusts the window after a bit less than
/// 100 kB, so this must be more.
const IN_FLIGHT: u32 = 192 * 1024;

/// Sending continues if the window was not adjusted for this long.
const WINDOW_TIMEOUT: Duration = Duration::from_millis(20);

/// The pause if the transport does not report its window.
const PAUSE: Duration = Duration::from_millis(1);

impl AgentUpload<'_> {
    pub async fn send(
        &self,
        stdin: &mut (dyn AsyncWrite + Send + Unpin),
        room: Option<watch::Receiver<u32>>,
    ) -> Result<(), LinkFailure> {
        let fault = |error: std::io::Error| {
            let directory = self.directory;
            LinkFailure::new(Stage::Upload, format!("the link broke while the agent was sent to {directory}: {error}"))
                .hint("try again; nothing that is incomplete is ever run")
        };
        let (format, bytes) =
            if self.compress { ("gz", self.agent.compressed()) } else { ("raw", self.agent.binary()) };
        let header = format!("{format} {} {} {}\n", bytes.len(), self.agent.hash, self.agent.sum(self.check));
        stdin.write_all(header.as_bytes()).await.map_err(fault)?;
        let mut pace = Pace { room, largest: 0, in_flight: 0 };
        for piece in bytes.chunks(PIECE) {
            match timeout(SILENCE_LIMIT, stdin.write_all(piece)).await {
                Ok(written) => written.map_err(fault)?,
                Err(_) => return Err(fault(std::io::ErrorKind::TimedOut.into())),
            }
            // A network for which compression pays off is slower than any target.
            if !self.compress {
                pace.wait_for_room(u32::try_from(piece.len()).unwrap_or(u32::MAX)).await;
            }
        }
        stdin.flush().await.map_err(fault)
    }
}

/// Estimates how many bytes are in flight. A wrong estimate only costs time: the window of SSH limits them in any case.
struct Pace {
    room: Option<watch::Receiver<u32>>,
    /// The largest window seen, assumed to be that of an idle connection.
    largest: u32,
    in_flight: u32,
}

impl Pace {
    /// Counts `sent` bytes, and waits until more may be sent.
    async fn wait_for_room(&mut self, sent: u32) {
        self.in_flight = self.in_flight.saturating_add(sent);
        // Lets the connection send the bytes, so that its queue stays short.
        tokio::task::yield_now().await;
        while self.in_flight >= IN_FLIGHT {
            let Some(room) = &mut self.room else {
                tokio::time::sleep(PAUSE).await;
                self.in_flight = 0;
                return;
            };
            match timeout(WINDOW_TIMEOUT, room.changed()).await {
                Ok(Ok(())) => {
                    let now = *room.borrow_and_update();
                    self.largest = self.largest.max(now);
                    self.in_flight = self.largest - now;
                }
                // The target is silent, or the connection is closed and the next write fails.
                Ok(Err(_)) | Err(_) => self.in_flight = 0,
            }
        }
        // Accounts for an adjustment that arrived meanwhile.
        if let Some(room) = &mut self.room
            && room.has_changed().unwrap_or(false)
        {
            let now = *room.borrow_and_update();
            self.largest = self.largest.max(now);
            self.in_flight = self.largest - now;
        }
    }
}
