//! [`Log`]: the file itself: only ever appended to, cut only where a crash has left half a line.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::entry::{Entry, Link, NOTHING};

pub const NAME: &str = "audit.log";

/// A file that is larger gets a name of its own, and a new one is begun.
const LARGEST: u64 = 64 << 20;

/// Enough for the last line, however long.
const TAIL: u64 = 64 << 10;

pub struct Log {
    directory: PathBuf,
    file: File,
    /// How much of the file is whole lines of ours.
    length: u64,
    /// The first entry in the file, if there is one.
    first: Option<u64>,
    pub head: Head,
    /// Something is written that is not on the disk for sure.
    pub dirty: bool,
}

/// The newest entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub number: u64,
    pub hash: String,
}

impl Default for Head {
    fn default() -> Head {
        Head { number: 0, hash: NOTHING.to_owned() }
    }
}

/// What was found when a log was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Half a line at its end, of so many bytes: a crash.
    pub torn: u64,
    /// What no crash explains.
    pub fault: Option<String>,
}

impl Log {
    /// `known` is what the store has seen last. It is written there only after the file is on the disk, so that a crash
    /// can leave more in the file than the store knows, and never less.
    pub fn open(directory: &Path, known: Option<&Head>) -> io::Result<(Log, Found)> {
        let path = directory.join(NAME);
        let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&path)?;
        let metadata = file.metadata()?;
        if metadata.mode() & 0o077 != 0 {
            let text = format!("{} is open to others; chmod 600 it", path.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        let mut found = Found::default();
        let size = metadata.len();
        let tail = tail(&mut file, size)?;
        let whole = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        found.torn = (tail.len() - whole) as u64;
        let length = size - found.torn;
        if found.torn > 0 {
            file.set_len(length)?;
        }
        let mut head = match last(&tail[..whole]) {
            Some(Ok(link)) => Head { number: link.number, hash: link.hash },
            Some(Err(why)) => {
                found.fault = Some(format!("the last entry of {}: {why}", path.display()));
                Head::default()
            }
            None => match newest_closed(directory)? {
                Some(closed) => {
                    let mut file = File::open(&closed)?;
                    let size = file.metadata()?.len();
                    match last(&self::tail(&mut file, size)?) {
                        Some(Ok(link)) => Head { number: link.number, hash: link.hash },
                        _ => {
                            found.fault = Some(format!("the last entry of {} can't be read", closed.display()));
                            Head::default()
                        }
                    }
                }
                None => Head::default(),
            },
        };
        if let Some(known) = known {
            let differs = known.number == head.number && known.hash != head.hash;
            if known.number > head.number || differs {
                found.fault.get_or_insert_with(|| match differs {
                    true => format!("entry {} is not the one that the store has seen", head.number),
                    false => format!("it ends with entry {}, and the store has seen {}", head.number, known.number),
                });
                // What is missing stays missing: the next entry goes on behind what the store has seen.
                head = known.clone();
            }
        }
        let first = first(&path)?;
        Ok((Log { directory: directory.to_owned(), file, length, first, head, dirty: false }, found))
    }

    /// Writes entries, all or none of them; the number of the first one.
    pub fn append(&mut self, entries: &[(Entry, u64)]) -> io::Result<u64> {
        if self.length > LARGEST {
            self.turn_over()?;
        }
        let first = self.head.number + 1;
        let mut head = self.head.clone();
        let mut text = String::new();
        for (entry, micros) in entries {
            let (line, hash) = entry.line(head.number + 1, *micros, &head.hash);
            head = Head { number: head.number + 1, hash };
            text.push_str(&line);
        }
        // What an earlier failure left behind.
        if self.file.metadata()?.len() != self.length {
            self.file.set_len(self.length)?;
        }
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            let _ = self.file.set_len(self.length);
            return Err(error);
        }
        self.length += text.len() as u64;
        self.first.get_or_insert(first);
        self.head = head;
        self.dirty = true;
        Ok(first)
    }

    pub fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        self.dirty = false;
        Ok(())
    }

    /// Whether the file that we write to is still the one that people read. If it was moved, replaced or removed, a new
    /// one goes on behind it, and says so.
    pub fn follow(&mut self) -> io::Result<Option<String>> {
        let path = self.directory.join(NAME);
        let ours = self.file.metadata()?;
        if fs::metadata(&path).is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())) {
            return Ok(None);
        }
        let (log, found) = Log::open(&self.directory, Some(&self.head))?;
        *self = log;
        let why = "the file was moved, replaced or removed while the daemon ran";
        Ok(Some(found.fault.map_or_else(|| why.to_owned(), |fault| format!("{why}: {fault}"))))
    }

    /// The file gets the name of its first entry, and a new one goes on with the chain.
    fn turn_over(&mut self) -> io::Result<()> {
        let Some(first) = self.first else { return Ok(()) };
        self.sync()?;
        let path = self.directory.join(NAME);
        fs::rename(&path, self.directory.join(closed_name(first)))?;
        self.file = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(&path)?;
        File::open(&self.directory)?.sync_all()?;
        self.length = 0;
        self.first = None;
        Ok(())
    }
}

/// All files of a log, the oldest first.
pub fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all = closed(directory)?;
    let current = directory.join(NAME);
    if current.exists() {
        all.push(current);
    }
    Ok(all)
}

fn closed_name(first: u64) -> String {
    format!("audit-{first:016}.log")
}

fn closed(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let is_closed = |name: &str| {
        let number = name.strip_prefix("audit-").and_then(|name| name.strip_suffix(".log"));
        number.is_some_and(|number| number.len() == 16 && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut all = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_closed) {
            all.push(entry.path());
        }
    }
    all.sort();
    Ok(all)
}

fn newest_closed(directory: &Path) -> io::Result<Option<PathBuf>> {
    Ok(closed(directory)?.pop())
}

fn tail(file: &mut File, size: u64) -> io::Result<Vec<u8>> {
    let start = size.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail)?;
    Ok(tail)
}

/// The last line of whole lines.
fn last(text: &[u8]) -> Option<Result<Link, String>> {
    let text = text.strip_suffix(b"\n")?;
    let start = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line = std::str::from_utf8(&text[start..]).map_err(|_| "it is no text".to_owned());
    Some(line.and_then(Link::read))
}

fn first(path: &Path) -> io::Result<Option<u64>> {
    use std::io::BufRead;
    let mut line = String::new();
    // A first line that is no text is no entry; the check of the whole log says so.
    let read = io::BufReader::new(File::open(path)?).take(TAIL).read_line(&mut line);
    Ok(read.ok().and_then(|_| Link::read(line.trim_end()).ok()).map(|link| link.number))
}
