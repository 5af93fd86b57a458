//! [`AuditFile`]: the log file. It is only appended to, and truncated only after a crash left a partial line.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::entry::{AuditEntry, ChainLink, NO_HASH};

pub const NAME: &str = "audit.log";

/// A larger file is rotated.
const MAX_FILE_SIZE: u64 = 64 << 20;

/// Bytes read from the end to find the last line.
const TAIL_SIZE: u64 = 64 << 10;

pub struct AuditFile {
    directory: PathBuf,
    file: File,
    /// The length of the complete lines.
    length: u64,
    /// The number of the first entry in the file.
    first: Option<u64>,
    pub head: ChainHead,
    /// There are writes that are not synced.
    pub dirty: bool,
}

/// The newest entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainHead {
    pub number: u64,
    pub hash: String,
}

impl Default for ChainHead {
    fn default() -> ChainHead {
        ChainHead { number: 0, hash: NO_HASH.to_owned() }
    }
}

/// What was wrong with a log when it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenFaults {
    /// The size of a partial line at the end, left by a crash.
    pub torn: u64,
    /// A fault that a crash doesn't explain.
    pub fault: Option<String>,
}

impl AuditFile {
    /// `known` is the head in the store. It is stored only after the file is synced, so after a crash the file can have
    /// more entries than the store knows, but never fewer.
    pub fn open(directory: &Path, known: Option<&ChainHead>) -> io::Result<(AuditFile, OpenFaults)> {
        let path = directory.join(NAME);
        let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&path)?;
        let metadata = file.metadata()?;
        if metadata.mode() & 0o077 != 0 {
            let text = format!("other users can access {}; run: chmod 600", path.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        let mut faults = OpenFaults::default();
        let size = metadata.len();
        let tail = tail(&mut file, size)?;
        let whole = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        faults.torn = (tail.len() - whole) as u64;
        let length = size - faults.torn;
        if faults.torn > 0 {
            file.set_len(length)?;
        }
        let mut head = match last_link(&tail[..whole]) {
            Some(Ok(link)) => ChainHead { number: link.number, hash: link.hash },
            Some(Err(why)) => {
                faults.fault = Some(format!("the last entry of {}: {why}", path.display()));
                ChainHead::default()
            }
            None => match newest_rotated(directory)? {
                Some(rotated) => {
                    let mut file = File::open(&rotated)?;
                    let size = file.metadata()?.len();
                    match last_link(&self::tail(&mut file, size)?) {
                        Some(Ok(link)) => ChainHead { number: link.number, hash: link.hash },
                        _ => {
                            faults.fault = Some(format!("the last entry of {} can't be read", rotated.display()));
                            ChainHead::default()
                        }
                    }
                }
                None => ChainHead::default(),
            },
        };
        if let Some(known) = known {
            let differs = known.number == head.number && known.hash != head.hash;
            if known.number > head.number || differs {
                faults.fault.get_or_insert_with(|| match differs {
                    true => format!("entry {} differs from the one that the store knows", head.number),
                    false => format!("it ends with entry {}, and the store knows entry {}", head.number, known.number),
                });
                // The gap stays visible: the next entry continues after the store's head.
                head = known.clone();
            }
        }
        let first = first_number(&path)?;
        Ok((AuditFile { directory: directory.to_owned(), file, length, first, head, dirty: false }, faults))
    }

    /// Appends all entries or none; returns the number of the first.
    pub fn append(&mut self, entries: &[(AuditEntry, u64)]) -> io::Result<u64> {
        if self.length > MAX_FILE_SIZE {
            self.rotate()?;
        }
        let first = self.head.number + 1;
        let mut head = self.head.clone();
        let mut text = String::new();
        for (entry, micros) in entries {
            let (line, hash) = entry.line(head.number + 1, *micros, &head.hash);
            head = ChainHead { number: head.number + 1, hash };
            text.push_str(&line);
        }
        // Remove what an earlier failure left behind.
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

    /// Checks that the open file is still the one at the path. If it was moved, replaced or removed, continues the chain in
    /// a new file and returns the reason.
    pub fn reopen_if_moved(&mut self) -> io::Result<Option<String>> {
        let path = self.directory.join(NAME);
        let ours = self.file.metadata()?;
        if fs::metadata(&path).is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())) {
            return Ok(None);
        }
        let (log, faults) = AuditFile::open(&self.directory, Some(&self.head))?;
        *self = log;
        let why = "the file was moved, replaced or removed while the daemon was running";
        Ok(Some(faults.fault.map_or_else(|| why.to_owned(), |fault| format!("{why}: {fault}"))))
    }

    /// Renames the file after its first entry and continues the chain in a new one.
    fn rotate(&mut self) -> io::Result<()> {
        let Some(first) = self.first else { return Ok(()) };
        self.sync()?;
        let path = self.directory.join(NAME);
        fs::rename(&path, self.directory.join(rotated_name(first)))?;
        self.file = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(&path)?;
        File::open(&self.directory)?.sync_all()?;
        self.length = 0;
        self.first = None;
        Ok(())
    }
}

/// All files of a log, oldest first.
pub fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all = rotated(directory)?;
    let current = directory.join(NAME);
    if current.exists() {
        all.push(current);
    }
    Ok(all)
}

fn rotated_name(first: u64) -> String {
    format!("audit-{first:016}.log")
}

fn rotated(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let is_rotated = |name: &str| {
        let number = name.strip_prefix("audit-").and_then(|name| name.strip_suffix(".log"));
        number.is_some_and(|number| number.len() == 16 && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut all = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_rotated) {
            all.push(entry.path());
        }
    }
    all.sort();
    Ok(all)
}

fn newest_rotated(directory: &Path) -> io::Result<Option<PathBuf>> {
    Ok(rotated(directory)?.pop())
}

fn tail(file: &mut File, size: u64) -> io::Result<Vec<u8>> {
    let start = size.saturating_sub(TAIL_SIZE);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    file.take(TAIL_SIZE).read_to_end(&mut tail)?;
    Ok(tail)
}

/// Parses the last of complete lines.
fn last_link(text: &[u8]) -> Option<Result<ChainLink, String>> {
    let text = text.strip_suffix(b"\n")?;
    let start = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line = std::str::from_utf8(&text[start..]).map_err(|_| "it is not UTF-8".to_owned());
    Some(line.and_then(ChainLink::read))
}

fn first_number(path: &Path) -> io::Result<Option<u64>> {
    use std::io::BufRead;
    let mut line = String::new();
    // A malformed first line is reported when the whole log is verified.
    let read = io::BufReader::new(File::open(path)?).take(TAIL_SIZE).read_line(&mut line);
    Ok(read.ok().and_then(|_| ChainLink::read(line.trim_end()).ok()).map(|link| link.number))
}
