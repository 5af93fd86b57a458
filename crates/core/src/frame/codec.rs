//! Encodes and decodes frames, without I/O. It is fuzzed.

use super::{Frame, MAX_FRAME, RequestId};

/// The size of the header: the length of what follows and the request's id, both big-endian.
const HEADER: usize = 8;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("a frame of {0} bytes is larger than the {MAX_FRAME} allowed")]
    TooLarge(usize),
    #[error("a frame has no readable message")]
    Malformed(#[source] minicbor::decode::Error),
}

/// Appends a frame. Leaves `out` unchanged if the frame is too large.
pub fn encode(frame: &Frame, out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&frame.id.to_be_bytes());
    // Writing into memory can't fail.
    let _ = minicbor::encode(&frame.message, &mut *out);
    let length = out.len() - start - 4;
    if length > MAX_FRAME {
        out.truncate(start);
        return Err(Error::TooLarge(length));
    }
    out[start..start + 4].copy_from_slice(&(length as u32).to_be_bytes());
    Ok(())
}

/// Decodes frames from a stream of bytes.
///
/// After an error the stream can't be decoded further: the link must be closed.
#[derive(Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    read: usize,
}

impl Decoder {
    pub fn new() -> Decoder {
        Decoder::default()
    }

    pub fn push(&mut self, bytes: &[u8]) {
        if self.read > 0 {
            self.buffer.drain(..self.read);
            self.read = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next frame, if it is complete.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, Error> {
        let rest = &self.buffer[self.read..];
        let Some((header, body)) = rest.split_at_checked(HEADER) else { return Ok(None) };
        let length = u32::from_be_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let id = RequestId::from_be_bytes([header[4], header[5], header[6], header[7]]);
        if !(HEADER - 4..=MAX_FRAME).contains(&length) {
            return Err(Error::TooLarge(length));
        }
        let Some(body) = body.get(..length - 4) else { return Ok(None) };
        let message = minicbor::decode(body).map_err(Error::Malformed)?;
        self.read += 4 + length;
        if self.read == self.buffer.len() {
            self.buffer.clear();
            self.read = 0;
            // A large frame must not occupy memory for the rest of the link's life.
            self.buffer.shrink_to(64 * 1024);
        }
        Ok(Some(Frame { id, message }))
    }
}
