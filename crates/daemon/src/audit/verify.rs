//! Verifies a log from its first entry to its last, and against the head in the store.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::entry::{ChainLink, NO_HASH};
use super::file::ChainHead;

/// The longest line that is read; entries are shorter.
const MAX_LINE: u64 = 1 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// The number of valid entries.
    pub entries: u64,
    /// The numbers of the first and the last of them.
    pub first: u64,
    pub last: u64,
    /// The first fault.
    pub fault: Option<ChainFault>,
    /// A partial line at the end: the daemon died while writing, or is writing now.
    pub unfinished: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainFault {
    pub file: PathBuf,
    pub line: u64,
    /// The entry, if its number is known.
    pub entry: Option<u64>,
    pub why: String,
}

/// Verifies the files in order; `head` is the head in the store.
pub fn verify(files: &[PathBuf], head: Option<&ChainHead>) -> io::Result<VerifyReport> {
    let mut verifier = Verifier { head, report: VerifyReport::default(), previous: None, head_seen: false };
    for (index, file) in files.iter().enumerate() {
        verifier.read_file(file, index + 1 == files.len())?;
        if verifier.report.fault.is_some() {
            return Ok(verifier.report);
        }
    }
    let mut report = verifier.report;
    if let Some(head) = head.filter(|head| !verifier.head_seen && head.number > report.last) {
        let file = files.last().map_or_else(|| Path::new(super::file::NAME).to_owned(), PathBuf::clone);
        let why = format!("the log ends with entry {}, and the store knows entry {}", report.last, head.number);
        report.fault = Some(ChainFault { file, line: 0, entry: Some(report.last + 1), why });
    }
    Ok(report)
}

struct Verifier<'a> {
    head: Option<&'a ChainHead>,
    report: VerifyReport,
    previous: Option<ChainLink>,
    head_seen: bool,
}

impl Verifier<'_> {
    /// Verifies the lines of a file, up to the first fault.
    fn read_file(&mut self, file: &Path, is_last: bool) -> io::Result<()> {
        let mut reader = BufReader::new(File::open(file)?);
        let mut bytes = Vec::new();
        let mut line = 0;
        loop {
            bytes.clear();
            if io::Read::take(&mut reader, MAX_LINE).read_until(b'\n', &mut bytes)? == 0 {
                return Ok(());
            }
            line += 1;
            let checked = match bytes.strip_suffix(b"\n") {
                Some(text) => self.check_line(text),
                None if is_last => {
                    self.report.unfinished = true;
                    return Ok(());
                }
                None => Err((None, "the line is incomplete".into())),
            };
            if let Err((entry, why)) = checked {
                self.report.fault = Some(ChainFault { file: file.to_owned(), line, entry, why });
                return Ok(());
            }
        }
    }

    /// Verifies a line; the error has the entry's number, if it is known.
    fn check_line(&mut self, text: &[u8]) -> Result<(), (Option<u64>, String)> {
        let expected = self.previous.as_ref().map(|link| link.number + 1);
        let text = std::str::from_utf8(text).map_err(|_| (expected, "it is not UTF-8".to_owned()))?;
        let link = ChainLink::read(text).map_err(|why| (expected, why))?;
        self.check_link(&link).map_err(|why| (Some(link.number), why))?;
        if self.report.entries == 0 {
            self.report.first = link.number;
        }
        self.report.entries += 1;
        self.report.last = link.number;
        self.previous = Some(link);
        Ok(())
    }

    fn check_link(&mut self, link: &ChainLink) -> Result<(), String> {
        match &self.previous {
            None if link.number == 1 && link.before != NO_HASH => {
                return Err("the first entry has a previous hash".into());
            }
            None => {}
            Some(previous) if link.number != previous.number + 1 => {
                return Err(format!(
                    "entry {} follows entry {}: the entries between are missing",
                    link.number, previous.number
                ));
            }
            Some(previous) if link.before != previous.hash => {
                return Err(format!("its previous hash is not that of entry {}", previous.number));
            }
            Some(_) => {}
        }
        if let Some(head) = self.head.filter(|head| head.number == link.number) {
            self.head_seen = true;
            if head.hash != link.hash {
                return Err("the store knows another entry with this number".into());
            }
        }
        Ok(())
    }
}
