//! [`RequestChannel`]: the frames of one request, over a link of this process or of the keeper.

use rocksalt_core::frame::{Frame, LINK, Message, RequestId};
use rocksalt_core::link::LinkFailure;
use tokio::sync::mpsc;

/// The frames of one request. Id 0 is the request itself, other ids are requests of the agent.
pub struct RequestChannel {
    frames: mpsc::UnboundedReceiver<Frame>,
    sink: Box<dyn FrameSink>,
}

/// Where a channel sends its frames: a link of this process, or the socket of the keeper.
pub trait FrameSink: Send + Sync {
    fn send(&self, frame: Frame);

    /// The channel is dropped.
    fn close(&self);

    /// Why no more frames arrive.
    fn lost(&self) -> LinkFailure;
}

impl RequestChannel {
    pub fn new(frames: mpsc::UnboundedReceiver<Frame>, sink: Box<dyn FrameSink>) -> RequestChannel {
        RequestChannel { frames, sink }
    }

    /// The next frame, or the reason why there is none.
    pub async fn next(&mut self) -> Result<Frame, LinkFailure> {
        match self.frames.recv().await {
            Some(frame) => Ok(frame),
            None => Err(self.sink.lost()),
        }
    }

    /// Sends a message about the request itself.
    pub fn send(&self, message: Message) {
        self.sink.send(Frame::new(LINK, message));
    }

    /// Sends a message about a request of the agent.
    pub fn answer(&self, ask: RequestId, message: Message) {
        self.sink.send(Frame::new(ask, message));
    }
}

impl Drop for RequestChannel {
    fn drop(&mut self) {
        self.sink.close();
    }
}
