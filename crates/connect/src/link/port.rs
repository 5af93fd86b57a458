//! [`Port`]: one request's share of a link, wherever the link is.

use rocksalt_core::frame::{Frame, LINK, Message, RequestId};
use rocksalt_core::link::Failure;
use tokio::sync::mpsc;

/// Frames of one request. Number 0 is the request itself, others are the agent's questions.
pub struct Port {
    frames: mpsc::UnboundedReceiver<Frame>,
    outlet: Box<dyn Outlet>,
}

/// The other end of a port: a link in this process, or the keeper's socket.
pub trait Outlet: Send + Sync {
    fn send(&self, frame: Frame);

    /// The port is dropped.
    fn close(&self);

    /// Why nothing more comes.
    fn lost(&self) -> Failure;
}

impl Port {
    pub fn new(frames: mpsc::UnboundedReceiver<Frame>, outlet: Box<dyn Outlet>) -> Port {
        Port { frames, outlet }
    }

    /// The next frame; the failure says why there won't be one.
    pub async fn next(&mut self) -> Result<Frame, Failure> {
        match self.frames.recv().await {
            Some(frame) => Ok(frame),
            None => Err(self.outlet.lost()),
        }
    }

    /// Says something about the request itself.
    pub fn send(&self, message: Message) {
        self.outlet.send(Frame::new(LINK, message));
    }

    /// Says something about a question of the agent.
    pub fn answer(&self, ask: RequestId, message: Message) {
        self.outlet.send(Frame::new(ask, message));
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.outlet.close();
    }
}
