//! The agent on its way to a target: no faster than the target takes it in.

use std::time::Duration;

use rocksalt_core::link::{Failure, Stage};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::timeout;

use super::SILENCE;
use crate::agents::{Agent, Check};

/// What is sent, how, and where to.
pub struct Upload<'a> {
    pub agent: &'a Agent,
    pub check: Check,
    pub compress: bool,
    pub directory: &'a str,
}

/// It is sent in such pieces: a packet of SSH each.
const PIECE: usize = 32 * 1024;

/// So much may be under way to a near target.
///
/// sshd's buffer for what a command hasn't read yet grows in small steps, each of which copies all
/// of it: three megabytes at full speed cost it 57 ms of processor time, so paced they cost 7. It
/// tells what it took after a bit less than 100 kB, so this must be more.
const UNDER_WAY: u32 = 192 * 1024;

/// A target that tells nothing for so long gets more.
const PATIENCE: Duration = Duration::from_millis(20);

/// Where the way there tells nothing at all, a breath is made now and then.
const BREATH: Duration = Duration::from_millis(1);

impl Upload<'_> {
    pub async fn send(
        &self,
        stdin: &mut (dyn AsyncWrite + Send + Unpin),
        room: Option<watch::Receiver<u32>>,
    ) -> Result<(), Failure> {
        let fault = |error: std::io::Error| {
            let directory = self.directory;
            Failure::new(Stage::Upload, format!("the link broke while the agent was sent to {directory}: {error}"))
                .hint("try again; nothing that is incomplete is ever run")
        };
        let (format, bytes) =
            if self.compress { ("gz", self.agent.compressed()) } else { ("raw", self.agent.binary()) };
        let header = format!("{format} {} {} {}\n", bytes.len(), self.agent.hash, self.agent.sum(self.check));
        stdin.write_all(header.as_bytes()).await.map_err(fault)?;
        let mut pace = Pace { room, most: 0, under_way: 0 };
        for piece in bytes.chunks(PIECE) {
            match timeout(SILENCE, stdin.write_all(piece)).await {
                Ok(written) => written.map_err(fault)?,
                Err(_) => return Err(fault(std::io::ErrorKind::TimedOut.into())),
            }
            // The network is slower than any target if it is worth compressing for.
            if !self.compress {
                pace.keep(u32::try_from(piece.len()).unwrap_or(u32::MAX)).await;
            }
        }
        stdin.flush().await.map_err(fault)
    }
}

/// Knows about how much is under way. An error makes it slower or dearer, no more: SSH's own window holds in any case.
struct Pace {
    room: Option<watch::Receiver<u32>>,
    /// The most room there ever was: then nothing was under way.
    most: u32,
    under_way: u32,
}

impl Pace {
    /// So much was sent: waits until more may be.
    async fn keep(&mut self, sent: u32) {
        self.under_way = self.under_way.saturating_add(sent);
        // Lets the connection send it, so that what waits there stays small.
        tokio::task::yield_now().await;
        while self.under_way >= UNDER_WAY {
            let Some(room) = &mut self.room else {
                tokio::time::sleep(BREATH).await;
                self.under_way = 0;
                return;
            };
            match timeout(PATIENCE, room.changed()).await {
                Ok(Ok(())) => {
                    let now = *room.borrow_and_update();
                    self.most = self.most.max(now);
                    self.under_way = self.most - now;
                }
                // It is silent, or there is nobody left: then the next write fails.
                Ok(Err(_)) | Err(_) => self.under_way = 0,
            }
        }
        // What was said meanwhile counts as well.
        if let Some(room) = &mut self.room
            && room.has_changed().unwrap_or(false)
        {
            let now = *room.borrow_and_update();
            self.most = self.most.max(now);
            self.under_way = self.most - now;
        }
    }
}
