//! [`Inflater`]: takes "deflate" compression back (RFC 1951), piece by piece.

use crate::{Error, Result};

/// How much comes out at once, about.
const PIECE: usize = 256 * 1024;
/// How far back a repetition may reach.
const WINDOW: usize = 32 * 1024;

type Input<'a> = Box<dyn FnMut() -> Result<Vec<u8>> + 'a>;

/// Pulls compressed bytes from `input` until that gives none.
pub struct Inflater<'a> {
    input: Input<'a>,
    buffer: Vec<u8>,
    position: usize,
    bits: u32,
    count: u32,
    out: Vec<u8>,
    /// What of `out` was given away already, and is only kept to repeat it.
    given: usize,
    block: Block,
    last: bool,
}

enum Block {
    None,
    Stored(usize),
    Coded(Box<Code>, Box<Code>),
    Done,
}

/// A Huffman code: how many codes there are of each length, and what they stand for, in order.
struct Code {
    counts: [u16; 16],
    symbols: Vec<u16>,
}

const LENGTHS: [(u16, u8); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];
const DISTANCES: [(u16, u8); 30] = [
    (1, 0),
    (2, 0),
    (3, 0),
    (4, 0),
    (5, 1),
    (7, 1),
    (9, 2),
    (13, 2),
    (17, 3),
    (25, 3),
    (33, 4),
    (49, 4),
    (65, 5),
    (97, 5),
    (129, 6),
    (193, 6),
    (257, 7),
    (385, 7),
    (513, 8),
    (769, 8),
    (1025, 9),
    (1537, 9),
    (2049, 10),
    (3073, 10),
    (4097, 11),
    (6145, 11),
    (8193, 12),
    (12289, 12),
    (16385, 13),
    (24577, 13),
];

impl<'a> Inflater<'a> {
    pub fn new(input: impl FnMut() -> Result<Vec<u8>> + 'a) -> Inflater<'a> {
        let input: Input<'a> = Box::new(input);
        let (buffer, out) = (Vec::new(), Vec::new());
        Inflater { input, buffer, position: 0, bits: 0, count: 0, out, given: 0, block: Block::None, last: false }
    }

    /// The next piece; an empty one at the end.
    pub fn piece(&mut self) -> Result<Vec<u8>> {
        if self.out.len() > WINDOW {
            let old = self.out.len() - WINDOW;
            self.out.drain(..old);
        }
        self.given = self.out.len();
        while self.out.len() - self.given < PIECE {
            match std::mem::replace(&mut self.block, Block::None) {
                Block::Done => {
                    self.block = Block::Done;
                    break;
                }
                Block::None if self.last => self.block = Block::Done,
                Block::None => self.block = self.begin()?,
                Block::Stored(0) => {}
                Block::Stored(left) => {
                    let byte = self.byte()?;
                    self.out.push(byte);
                    self.block = Block::Stored(left - 1);
                }
                Block::Coded(literals, distances) => {
                    if self.symbols(&literals, &distances)? {
                        self.block = Block::Coded(literals, distances);
                    }
                }
            }
        }
        Ok(self.out[self.given..].to_vec())
    }

    fn begin(&mut self) -> Result<Block> {
        self.last = self.take(1)? == 1;
        match self.take(2)? {
            0 => {
                // The rest of the byte means nothing.
                (self.bits, self.count) = (0, 0);
                let length = u16::from_le_bytes([self.byte()?, self.byte()?]);
                let check = u16::from_le_bytes([self.byte()?, self.byte()?]);
                if length != !check { Err(damaged()) } else { Ok(Block::Stored(usize::from(length))) }
            }
            1 => {
                let mut lengths = [8_u8; 288];
                lengths[144..256].fill(9);
                lengths[256..280].fill(7);
                Ok(Block::Coded(Box::new(Code::new(&lengths)), Box::new(Code::new(&[5; 30]))))
            }
            2 => self.dynamic(),
            _ => Err(damaged()),
        }
    }

    fn dynamic(&mut self) -> Result<Block> {
        const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
        let literals = self.take(5)? as usize + 257;
        let distances = self.take(5)? as usize + 1;
        let codes = self.take(4)? as usize + 4;
        let mut lengths = [0_u8; 19];
        for place in &ORDER[..codes] {
            lengths[*place] = self.take(3)? as u8;
        }
        let code = Code::new(&lengths);
        let mut lengths = Vec::with_capacity(literals + distances);
        while lengths.len() < literals + distances {
            let (length, times) = match self.symbol(&code)? {
                symbol @ 0..16 => (symbol as u8, 1),
                16 => (*lengths.last().ok_or_else(damaged)?, 3 + self.take(2)?),
                17 => (0, 3 + self.take(3)?),
                _ => (0, 11 + self.take(7)?),
            };
            lengths.extend(std::iter::repeat_n(length, times as usize));
        }
        if lengths.len() != literals + distances {
            return Err(damaged());
        }
        let (literals, distances) = lengths.split_at(literals);
        Ok(Block::Coded(Box::new(Code::new(literals)), Box::new(Code::new(distances))))
    }

    /// Decodes until a piece is full; false at the end of the block.
    fn symbols(&mut self, literals: &Code, distances: &Code) -> Result<bool> {
        while self.out.len() - self.given < PIECE {
            let symbol = self.symbol(literals)?;
            match symbol {
                0..256 => self.out.push(symbol as u8),
                256 => return Ok(false),
                _ => {
                    let (base, extra) = *LENGTHS.get(usize::from(symbol) - 257).ok_or_else(damaged)?;
                    let length = usize::from(base) + self.take(u32::from(extra))? as usize;
                    let symbol = self.symbol(distances)?;
                    let (base, extra) = *DISTANCES.get(usize::from(symbol)).ok_or_else(damaged)?;
                    let distance = usize::from(base) + self.take(u32::from(extra))? as usize;
                    let start = self.out.len().checked_sub(distance).ok_or_else(damaged)?;
                    for index in start..start + length {
                        self.out.push(self.out[index]);
                    }
                }
            }
        }
        Ok(true)
    }

    fn symbol(&mut self, code: &Code) -> Result<u16> {
        let (mut value, mut first, mut index) = (0_i32, 0_i32, 0_i32);
        for count in &code.counts[1..] {
            value |= self.take(1)? as i32;
            let count = i32::from(*count);
            if value - count < first {
                let place = usize::try_from(index + value - first).map_err(|_| damaged())?;
                return code.symbols.get(place).copied().ok_or_else(damaged);
            }
            index += count;
            first = (first + count) << 1;
            value <<= 1;
        }
        Err(damaged())
    }

    fn take(&mut self, count: u32) -> Result<u32> {
        while self.count < count {
            self.bits |= u32::from(self.byte()?) << self.count;
            self.count += 8;
        }
        let taken = self.bits & ((1 << count) - 1);
        self.bits >>= count;
        self.count -= count;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8> {
        if self.position == self.buffer.len() {
            self.buffer = (self.input)()?;
            self.position = 0;
        }
        let byte = *self.buffer.get(self.position).ok_or_else(damaged)?;
        self.position += 1;
        Ok(byte)
    }
}

impl Code {
    fn new(lengths: &[u8]) -> Code {
        let mut counts = [0_u16; 16];
        for length in lengths {
            counts[usize::from(*length & 15)] += 1;
        }
        let mut offsets = [0_u16; 16];
        for length in 1..15 {
            offsets[length + 1] = offsets[length] + counts[length];
        }
        let mut symbols = vec![0; lengths.len()];
        for (symbol, length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
            let offset = &mut offsets[usize::from(*length & 15)];
            symbols[usize::from(*offset)] = symbol as u16;
            *offset += 1;
        }
        counts[0] = 0;
        Code { counts, symbols }
    }
}

fn damaged() -> Error {
    Error::failed("the compressed data is damaged or cut off")
}

/// The checksum that zip archives have (CRC-32).
pub struct Crc(u32);

impl Crc {
    pub fn new() -> Crc {
        Crc(!0)
    }

    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = crc_step(self.0, *byte);
        }
    }

    pub fn end(&self) -> u32 {
        !self.0
    }
}

/// One byte more.
pub fn crc_step(sum: u32, byte: u8) -> u32 {
    const TABLE: [u32; 256] = table();
    TABLE[((sum ^ u32::from(byte)) & 0xff) as usize] ^ (sum >> 8)
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut sum = index as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 { 0xedb8_8320 ^ (sum >> 1) } else { sum >> 1 };
            bit += 1;
        }
        table[index] = sum;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inflate(bytes: &[u8]) -> Result<Vec<u8>> {
        let mut left = bytes.to_vec();
        // A byte at a time, so that borders are nowhere special.
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
        // Stored, fixed codes (with a repetition), dynamic codes: as zlib writes them.
        assert_eq!(inflate(&[1, 5, 0, 0xfa, 0xff, b'h', b'e', b'l', b'l', b'o']).expect("it is right"), b"hello");
        assert_eq!(inflate(&[0x4b, 0x4c, 0x44, 0x00, 0x00]).expect("it is right"), [b'a'; 12]);
        let dynamic = include_bytes!("testdata/squares.deflate");
        let squares: String = (0..200).map(|number| format!("{} {};", number * number, number % 7)).collect();
        assert_eq!(inflate(dynamic).expect("it is right"), squares.as_bytes());
        assert!(inflate(&[0x4b, 0x4c]).is_err() && inflate(&[7]).is_err() && inflate(&[]).is_err());
        assert!(inflate(&[1, 5, 0, 0, 0]).is_err());
    }

    #[test]
    fn checksums_are_those_of_zip() {
        let mut crc = Crc::new();
        crc.add(b"123456789");
        assert_eq!(crc.end(), 0xcbf4_3926);
    }
}
