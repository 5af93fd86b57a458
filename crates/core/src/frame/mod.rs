//! The protocol between controller and agent, over one pair of pipes (`docs/decisions/0002-frames-are-cbor.md`).
//!
//! A frame belongs to a request. The controller numbers its calls from 1, the agent its requests from [`FIRST_ASK`]; 0
//! is the link itself. Credits limit the bytes of a stream, so that a slow reader blocks only its own writer.

mod codec;
mod message;
mod window;

pub use codec::{Decoder, Error, encode};
pub use message::{Answer, Ask, Data, Hello, Message, Stream};
pub use window::{CHUNK, WINDOW, Window};

/// The request that a frame belongs to.
pub type RequestId = u32;

/// The id for the link itself: greetings, pings.
pub const LINK: RequestId = 0;

/// The first id of the agent's requests.
pub const FIRST_ASK: RequestId = 1 << 31;

/// The protocol version, which both sides must share; the error of the greeting names both versions.
pub const PROTOCOL: u32 = 1;

/// The largest frame. A larger result is an error of its call, not of the link.
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
