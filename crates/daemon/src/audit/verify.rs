//! Checks a log from its first entry to its last, and against what the store has seen.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::entry::{Link, NOTHING};
use super::file::Head;

/// Lines are short; what is longer is none of ours.
const LONGEST: u64 = 1 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many entries are in order.
    pub entries: u64,
    /// The numbers of the first and the last of them.
    pub first: u64,
    pub last: u64,
    /// The first thing that is wrong.
    pub fault: Option<Fault>,
    /// Half a line at the end: the daemon died while it wrote, or is writing now.
    pub unfinished: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub file: PathBuf,
    pub line: u64,
    /// The entry, where its number is known.
    pub entry: Option<u64>,
    pub why: String,
}

/// The files in their order; `head` is what the store has seen.
pub fn verify(files: &[PathBuf], head: Option<&Head>) -> io::Result<Report> {
    let mut report = Report::default();
    let mut before: Option<Link> = None;
    let mut seen = false;
    for (index, file) in files.iter().enumerate() {
        let mut reader = BufReader::new(File::open(file)?);
        let mut bytes = Vec::new();
        let mut line = 0;
        loop {
            bytes.clear();
            if io::Read::take(&mut reader, LONGEST).read_until(b'\n', &mut bytes)? == 0 {
                break;
            }
            line += 1;
            let fault = |entry, why: String| Some(Fault { file: file.clone(), line, entry, why });
            let Some(text) = bytes.strip_suffix(b"\n") else {
                report.unfinished = index + 1 == files.len();
                if !report.unfinished {
                    report.fault = fault(None, "it has no end".into());
                    return Ok(report);
                }
                break;
            };
            let expected = before.as_ref().map(|link| link.number + 1);
            let read = std::str::from_utf8(text).map_err(|_| "it is no text".to_owned()).and_then(Link::read);
            let link = match read {
                Ok(link) => link,
                Err(why) => {
                    report.fault = fault(expected, why);
                    return Ok(report);
                }
            };
            let why = match &before {
                None if link.number == 1 && link.before != NOTHING => {
                    Some("the first entry names one before it".into())
                }
                None => None,
                Some(before) if link.number != before.number + 1 => Some(format!(
                    "entry {} comes behind entry {}: what was between them is missing",
                    link.number, before.number
                )),
                Some(before) if link.before != before.hash => {
                    Some(format!("it does not name entry {} as it stands here", before.number))
                }
                Some(_) => None,
            };
            if let Some(why) = why {
                report.fault = fault(Some(link.number), why);
                return Ok(report);
            }
            if let Some(head) = head.filter(|head| head.number == link.number) {
                seen = true;
                if head.hash != link.hash {
                    report.fault = fault(Some(link.number), "the store has seen another one in its place".into());
                    return Ok(report);
                }
            }
            if report.entries == 0 {
                report.first = link.number;
            }
            report.entries += 1;
            report.last = link.number;
            before = Some(link);
        }
    }
    if let Some(head) = head.filter(|head| !seen && head.number > report.last) {
        let file = files.last().map_or_else(|| Path::new(super::file::NAME).to_owned(), PathBuf::clone);
        let why = format!("the log ends with entry {}, and the store has seen {}", report.last, head.number);
        report.fault = Some(Fault { file, line: 0, entry: Some(report.last + 1), why });
    }
    Ok(report)
}
