//! Zip archives: listed and extracted without tools on the target.

use std::path::{Path, PathBuf};

use super::cipher::Cipher;
use super::contents::{ArchiveContents, Member, MemberKind};
use super::crc::Crc;
use super::entries::{ZipEntry, data, entries};
use super::inflate::Inflater;
use super::place::Archive;
use crate::machine::{self, Probe, System};
use crate::{Error, Result};

const PIECE: usize = 256 * 1024;

pub fn is_encrypted(machine: &dyn Probe, archive: &Archive) -> Result<bool> {
    Ok(entries(machine, archive)?.iter().any(|entry| entry.encrypted))
}

/// Lists the members. As in Salt, directories that only occur in the paths of files count too.
pub fn list(machine: &dyn Probe, archive: &Archive, password: Option<&str>) -> Result<ArchiveContents> {
    let mut members: Vec<Member> = Vec::new();
    let mut implied = std::collections::BTreeSet::new();
    for entry in entries(machine, archive)? {
        let path = entry.name.trim_end_matches('/').to_owned();
        let kind = if entry.is_link() {
            let target = content(machine, archive, &entry, password)?;
            MemberKind::Link(String::from_utf8_lossy(&target).into_owned())
        } else if entry.is_directory() {
            MemberKind::Directory
        } else {
            if let Some((above, _)) = path.rsplit_once('/') {
                implied.insert(above.to_owned());
            }
            MemberKind::File
        };
        members.push(Member { path, kind, owner: None });
    }
    for member in members.iter().filter(|member| member.kind == MemberKind::Directory) {
        implied.remove(&member.path);
    }
    members.extend(implied.into_iter().map(|path| Member { path, kind: MemberKind::Directory, owner: None }));
    Ok(ArchiveContents::new(members, 0))
}

/// The names in the archive, in its order.
pub fn names(machine: &dyn Probe, archive: &Archive) -> Result<Vec<String>> {
    Ok(entries(machine, archive)?.into_iter().map(|entry| entry.name).collect())
}

/// Options for writing members.
pub struct ExtractOptions<'a> {
    pub password: Option<&'a str>,
    /// Apply the permissions in the archive.
    pub permissions: bool,
    pub excludes: &'a [String],
}

/// Extracts the archive and returns the names. No member may lead out of the directory.
pub fn extract(
    machine: &dyn System,
    archive: &Archive,
    to: &Path,
    request: &ExtractOptions<'_>,
) -> Result<Vec<String>> {
    if let Some(text) = list(machine, archive, request.password)?.escape() {
        return Err(Error::failed(format!("the archive is refused: {text}")));
    }
    let mut names = Vec::new();
    for entry in entries(machine, archive)? {
        if request.excludes.contains(&entry.name) {
            continue;
        }
        if machine.cancelled() {
            return Err(Error::cancelled());
        }
        write(machine, archive, &entry, to, request)?;
        names.push(entry.name);
    }
    Ok(names)
}

fn write(
    machine: &dyn System,
    archive: &Archive,
    entry: &ZipEntry,
    to: &Path,
    request: &ExtractOptions<'_>,
) -> Result<()> {
    let path = to.join(entry.name.trim_end_matches('/'));
    let mode = Some(entry.mode & 0o7777).filter(|mode| request.permissions && *mode != 0);
    if entry.is_directory() && !entry.is_link() {
        super::super::file::make_all(machine, &path, None)?;
        if let Some(mode) = mode {
            machine.set_mode(&path, mode).map_err(|error| Error::io("set the mode of", &path, &error))?;
        }
        return Ok(());
    }
    if let Some(above) = path.parent() {
        super::super::file::make_all(machine, above, None)?;
    }
    if entry.is_link() {
        let target = content(machine, archive, entry, request.password)?;
        if matches!(machine.stat(&path, false), Ok(Some(stat)) if stat.kind != machine::FileKind::Directory) {
            machine.remove(&path).map_err(|error| Error::io("replace", &path, &error))?;
        }
        let target = PathBuf::from(String::from_utf8_lossy(&target).into_owned());
        return machine.symlink(&target, &path).map_err(|error| Error::io("make the link", &path, &error));
    }
    let mut pieces = Pieces::new(machine, archive, entry, request.password)?;
    machine.write_stream(&path, Some(mode.unwrap_or(0o644)), &mut || pieces.next())
}

fn content(machine: &dyn Probe, archive: &Archive, entry: &ZipEntry, password: Option<&str>) -> Result<Vec<u8>> {
    let mut pieces = Pieces::new(machine, archive, entry, password)?;
    let mut whole = Vec::new();
    loop {
        let piece = pieces.next()?;
        if piece.is_empty() {
            return Ok(whole);
        }
        whole.extend(piece);
    }
}

/// The content of a member, piece by piece, with the checksum verified at the end.
struct Pieces<'a> {
    reading: Reading<'a>,
    entry: &'a ZipEntry,
    crc: Crc,
    ended: bool,
}

enum Reading<'a> {
    Stored(Box<dyn FnMut() -> Result<Vec<u8>> + 'a>),
    Deflated(Inflater<'a>),
}

impl<'a> Pieces<'a> {
    fn new(
        machine: &'a dyn Probe,
        archive: &'a Archive,
        entry: &'a ZipEntry,
        password: Option<&str>,
    ) -> Result<Pieces<'a>> {
        let (mut offset, mut left) = (data(machine, archive, entry)?, entry.compressed);
        let mut cipher = None;
        if entry.encrypted {
            let (cipher, name) = (cipher.insert(Cipher::new(password.unwrap_or_default().as_bytes())), &entry.name);
            if entry.method == 99 {
                return Err(Error::failed(format!("'{name}' is encrypted with AES, which can't be read here"))
                    .hint("extract it with `cmd.run` and a tool that can"));
            }
            let mut head = archive.read(machine, offset, 12)?;
            cipher.decrypt(&mut head);
            if head.len() < 12 || head[11] != entry.check {
                return Err(Error::failed(format!("Bad password for file '{name}'")));
            }
            (offset, left) = (offset + 12, left.saturating_sub(12));
        }
        let input = move || {
            let length = left.min(PIECE as u64) as usize;
            let mut piece = archive.read(machine, offset, length)?;
            if piece.len() < length {
                return Err(Error::failed("the archive is cut off"));
            }
            offset += length as u64;
            left -= length as u64;
            cipher.iter_mut().for_each(|cipher| cipher.decrypt(&mut piece));
            Ok(piece)
        };
        let reading = match entry.method {
            0 => Reading::Stored(Box::new(input)),
            8 => Reading::Deflated(Inflater::new(input)),
            other => {
                return Err(Error::failed(format!(
                    "'{}' is compressed by method {other}, which is not known",
                    entry.name
                ))
                .hint("set use_cmd_unzip, or extract it with another tool"));
            }
        };
        Ok(Pieces { reading, entry, crc: Crc::new(), ended: false })
    }

    fn next(&mut self) -> Result<Vec<u8>> {
        if self.ended {
            return Ok(Vec::new());
        }
        let piece = match &mut self.reading {
            Reading::Stored(input) => input()?,
            Reading::Deflated(inflater) => inflater.piece()?,
        };
        self.crc.add(&piece);
        if piece.is_empty() {
            self.ended = true;
            if self.crc.end() != self.entry.crc {
                return Err(Error::failed(format!("Bad CRC-32 for file '{}'", self.entry.name)));
            }
        }
        Ok(piece)
    }
}
