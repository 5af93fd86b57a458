//! The protocol between controller and agent, over one pair of pipes (`docs/decisions/0002-frames-are-cbor.md`).
//!
//! A frame belongs to a request. The controller numbers its calls from 1, the agent its questions
//! from [`FIRST_ASK`]; 0 is the link itself. Bytes of a request's stream are paid for with credits,
//! so that a slow reader stops only its own writer.

mod codec;
mod message;
mod window;

pub use codec::{Decoder, Error, encode};
pub use message::{Answer, Ask, Data, Hello, Message, Stream};
pub use window::{CHUNK, WINDOW, Window};

/// Which request a frame belongs to.
pub type RequestId = u32;

/// The link itself: greetings, pings.
pub const LINK: RequestId = 0;

/// Questions of the agent are numbered from here.
pub const FIRST_ASK: RequestId = 1 << 31;

/// Both sides must speak the same; the greeting's error names both.
pub const PROTOCOL: u32 = 1;

/// No frame is larger. A larger result is an error of its call, not of the link.
pub const MAX_FRAME: usize = 16 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub id: RequestId,
    pub message: Message,
}

impl Frame {
    pub fn new(id: RequestId, message: Message) -> Frame {
        Frame { id, message }
    }
}
