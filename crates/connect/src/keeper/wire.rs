//! Encodes messages for the keeper's socket: a length, then CBOR.

use std::io;
use std::marker::PhantomData;

use minicbor::{Decode, Encode};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// The largest message: a frame plus the fields around it.
const MAX_MESSAGE: usize = rocksalt_core::frame::MAX_FRAME + 64 * 1024;
/// Messages that are ready are written together, up to about this many bytes.
const BATCH: usize = 256 * 1024;

/// Reads messages of one type.
pub struct Reader<R, T> {
    pipe: R,
    buffer: Vec<u8>,
    start: usize,
    kind: PhantomData<fn() -> T>,
}

impl<R: AsyncRead + Unpin, T: for<'b> Decode<'b, ()>> Reader<R, T> {
    pub fn new(pipe: R) -> Reader<R, T> {
        Reader { pipe, buffer: Vec::new(), start: 0, kind: PhantomData }
    }

    /// The next message; `None` at the end of the stream.
    pub async fn next(&mut self) -> io::Result<Option<T>> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(Some(message));
            }
            self.buffer.drain(..self.start);
            self.start = 0;
            self.buffer.reserve(16 * 1024);
            if self.pipe.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }

    fn take(&mut self) -> io::Result<Option<T>> {
        let rest = &self.buffer[self.start..];
        let Some((length, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > MAX_MESSAGE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too large"));
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let message =
            minicbor::decode(body).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        self.start += 4 + length;
        Ok(Some(message))
    }
}

/// Writes messages until all senders are gone or the other side is closed.
pub async fn write<T: Encode<()>>(mut pipe: impl AsyncWrite + Unpin, mut messages: mpsc::UnboundedReceiver<T>) {
    let mut bytes = Vec::new();
    while let Some(message) = messages.recv().await {
        bytes.clear();
        append(&message, &mut bytes);
        while bytes.len() < BATCH {
            match messages.try_recv() {
                Ok(message) => append(&message, &mut bytes),
                Err(_) => break,
            }
        }
        if pipe.write_all(&bytes).await.is_err() {
            return;
        }
    }
    let _ = pipe.shutdown().await;
}

fn append<T: Encode<()>>(message: &T, bytes: &mut Vec<u8>) {
    let start = bytes.len();
    bytes.extend_from_slice(&[0; 4]);
    // Writing to memory can't fail.
    let _ = minicbor::encode(message, &mut *bytes);
    let length = (bytes.len() - start - 4) as u32;
    bytes[start..start + 4].copy_from_slice(&length.to_be_bytes());
}
