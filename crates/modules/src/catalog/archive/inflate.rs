//! [`Inflater`]: decompresses "deflate" data (RFC 1951), piece by piece.

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};

use crate::{Error, Result};

/// The size of a decompressed piece; the last one can be smaller.
const PIECE: usize = 256 * 1024;

type Input<'a> = Box<dyn FnMut() -> Result<Vec<u8>> + 'a>;

/// Reads compressed bytes from `input` until that returns none.
pub struct Inflater<'a> {
    input: Input<'a>,
    buffer: Vec<u8>,
    position: usize,
    state: Box<InflateState>,
    ended: bool,
}

impl<'a> Inflater<'a> {
    pub fn new(input: impl FnMut() -> Result<Vec<u8>> + 'a) -> Inflater<'a> {
        let state = Box::new(InflateState::new(DataFormat::Raw));
        Inflater { input: Box::new(input), buffer: Vec::new(), position: 0, state, ended: false }
    }

    /// The next piece; an empty one at the end.
    pub fn piece(&mut self) -> Result<Vec<u8>> {
        let mut piece = vec![0; PIECE];
        let mut length = 0;
        while length < PIECE && !self.ended {
            if self.position == self.buffer.len() {
                self.buffer = (self.input)()?;
                self.position = 0;
            }
            let input = &self.buffer[self.position..];
            let done = inflate(&mut self.state, input, &mut piece[length..], MZFlush::None);
            self.position += done.bytes_consumed;
            length += done.bytes_written;
            // Without input left, "more is needed" is an error too.
            self.ended = done.status.map_err(|_| damaged())? == MZStatus::StreamEnd;
        }
        piece.truncate(length);
        Ok(piece)
    }
}

fn damaged() -> Error {
    Error::failed("the compressed data is damaged or cut off")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inflate(bytes: &[u8]) -> Result<Vec<u8>> {
        let mut left = bytes.to_vec();
        // One byte at a time, so that boundaries may be anywhere.
        let input = move || Ok(if left.is_empty() { Vec::new() } else { vec![left.remove(0)] });
        let mut inflater = Inflater::new(input);
        let mut whole = Vec::new();
        loop {
            let piece = inflater.piece()?;
            if piece.is_empty() {
                return Ok(whole);
            }
            whole.extend(piece);
        }
    }

    #[test]
    fn all_kinds_of_blocks_are_read() {
        // Stored, fixed codes (with a repetition), dynamic codes, all written by zlib.
        assert_eq!(inflate(&[1, 5, 0, 0xfa, 0xff, b'h', b'e', b'l', b'l', b'o']).expect("it is right"), b"hello");
        assert_eq!(inflate(&[0x4b, 0x4c, 0x44, 0x00, 0x00]).expect("it is right"), [b'a'; 12]);
        let dynamic = include_bytes!("testdata/squares.deflate");
        let squares: String = (0..200).map(|number| format!("{} {};", number * number, number % 7)).collect();
        assert_eq!(inflate(dynamic).expect("it is right"), squares.as_bytes());
        assert!(inflate(&[0x4b, 0x4c]).is_err() && inflate(&[7]).is_err() && inflate(&[]).is_err());
        assert!(inflate(&[1, 5, 0, 0, 0]).is_err());
    }
}
