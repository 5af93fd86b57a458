//! Reads the directory at the end of a zip archive.

use super::place::Archive;
use crate::machine::Probe;
use crate::{Error, Result};

/// A member of a zip archive.
#[derive(Clone, Debug)]
pub struct ZipEntry {
    pub name: String,
    /// 0: stored; 8: deflated.
    pub method: u16,
    pub encrypted: bool,
    pub crc: u32,
    pub compressed: u64,
    /// The expected first byte after decrypting the header, if the member is encrypted.
    pub check: u8,
    /// File type and permissions from the system that made the archive; 0 if it had none.
    pub mode: u32,
    pub offset: u64,
}

const END: usize = 22;
/// The limit of members; no real archive for a server has more.
const MOST: u64 = 4_000_000;

impl ZipEntry {
    pub fn is_directory(&self) -> bool {
        self.name.ends_with('/') || self.mode & 0o170_000 == 0o040_000
    }

    pub fn is_link(&self) -> bool {
        self.mode & 0o170_000 == 0o120_000
    }
}

pub fn entries(machine: &dyn Probe, archive: &Archive) -> Result<Vec<ZipEntry>> {
    let length = archive.length(machine)?;
    let tail = length.min(END as u64 + 0xffff);
    let bytes = archive.read(machine, length - tail, tail as usize)?;
    let at = (0..bytes.len().saturating_sub(END - 1)).rev().find(|at| bytes[*at..].starts_with(b"PK\x05\x06"));
    let end = &bytes[at.ok_or_else(no_zip)?..];
    let (mut count, mut size, mut start) =
        (u64::from(half(end, 10)?), u64::from(word(end, 12)?), u64::from(word(end, 16)?));
    if count == 0xffff || size == 0xffff_ffff || start == 0xffff_ffff {
        let place = length - tail + at.unwrap_or_default() as u64;
        if let Some(locator) = place.checked_sub(20) {
            let locator = archive.read(machine, locator, 20)?;
            if locator.starts_with(b"PK\x06\x07") {
                let record = archive.read(machine, long(&locator, 8)?, 56)?;
                (count, size, start) = (long(&record, 32)?, long(&record, 40)?, long(&record, 48)?);
            }
        }
    }
    if count > MOST || start.checked_add(size).is_none_or(|end| end > length) {
        return Err(no_zip());
    }
    let directory = archive.read(machine, start, usize::try_from(size).map_err(|_| no_zip())?)?;
    let mut found = Vec::new();
    let mut rest = directory.as_slice();
    for _ in 0..count {
        let (entry, after) = entry(rest)?;
        found.push(entry);
        rest = after;
    }
    Ok(found)
}

fn entry(bytes: &[u8]) -> Result<(ZipEntry, &[u8])> {
    if !bytes.starts_with(b"PK\x01\x02") {
        return Err(no_zip());
    }
    let flags = half(bytes, 8)?;
    let (name, extra, comment) = (half(bytes, 28)? as usize, half(bytes, 30)? as usize, half(bytes, 32)? as usize);
    let slice = |from: usize, length: usize| bytes.get(from..from + length).ok_or_else(no_zip);
    let mut entry = ZipEntry {
        name: String::from_utf8_lossy(slice(46, name)?).into_owned(),
        method: half(bytes, 10)? as u16,
        encrypted: flags & 1 == 1,
        crc: word(bytes, 16)?,
        compressed: u64::from(word(bytes, 20)?),
        // A writer that doesn't know the checksum in advance uses the time instead.
        check: if flags & 8 == 8 { (half(bytes, 12)? >> 8) as u8 } else { (word(bytes, 16)? >> 24) as u8 },
        mode: word(bytes, 38)? >> 16,
        offset: u64::from(word(bytes, 42)?),
    };
    let plain = word(bytes, 24)?;
    large(&mut entry, plain, slice(46 + name, extra)?)?;
    let rest = bytes.get(46 + name + extra + comment..).ok_or_else(no_zip)?;
    Ok((entry, rest))
}

/// Numbers that don't fit into 32 bits are in a separate field, in this order.
fn large(entry: &mut ZipEntry, plain: u32, mut extra: &[u8]) -> Result<()> {
    while extra.len() >= 4 {
        let (kind, length) = (half(extra, 0)?, half(extra, 2)? as usize);
        let field = extra.get(4..4 + length).ok_or_else(no_zip)?;
        if kind == 1 {
            let mut place = if plain == u32::MAX { 8 } else { 0 };
            if entry.compressed == u64::from(u32::MAX) {
                entry.compressed = long(field, place)?;
                place += 8;
            }
            if entry.offset == u64::from(u32::MAX) {
                entry.offset = long(field, place)?;
            }
        }
        extra = &extra[4 + length..];
    }
    Ok(())
}

/// Finds the start of a member's data, after its own header.
pub fn data(machine: &dyn Probe, archive: &Archive, entry: &ZipEntry) -> Result<u64> {
    let header = archive.read(machine, entry.offset, 30)?;
    if !header.starts_with(b"PK\x03\x04") {
        return Err(no_zip());
    }
    Ok(entry.offset + 30 + u64::from(half(&header, 26)?) + u64::from(half(&header, 28)?))
}

fn half(bytes: &[u8], at: usize) -> Result<u32> {
    let bytes = bytes.get(at..at + 2).and_then(|bytes| bytes.try_into().ok()).ok_or_else(no_zip)?;
    Ok(u32::from(u16::from_le_bytes(bytes)))
}

fn word(bytes: &[u8], at: usize) -> Result<u32> {
    Ok(u32::from_le_bytes(bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).ok_or_else(no_zip)?))
}

fn long(bytes: &[u8], at: usize) -> Result<u64> {
    Ok(u64::from_le_bytes(bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).ok_or_else(no_zip)?))
}

fn no_zip() -> Error {
    Error::failed("is not a ZIP file")
}
