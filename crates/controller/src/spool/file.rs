//! A job's file: a head of fixed size, the record, then each return as it arrives.
//!
//! The head contains the state and the process, and is overwritten at the end. The record and the returns follow, each
//! with its length; an incomplete one at the end of the file is ignored.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rocksalt_core::JobId;
use rocksalt_core::record::{JobRecord, JobState, ReturnRecord};

use super::process::Process;
use crate::ledger;

const MAGIC: &[u8; 8] = b"RSJOB\0\0\x01";
const HEAD: usize = 32;
/// The largest record; a file with a larger length is not valid.
const LARGEST: usize = 256 << 20;

/// How much of a file to read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Job,
    All,
}

/// The file of a job that runs.
#[derive(Debug)]
pub struct JobFile {
    pub job: JobRecord,
    file: File,
    process: Process,
    largest_return: usize,
}

impl JobFile {
    pub fn create(
        directory: &Path,
        mut job: JobRecord,
        may_rename: bool,
        largest_return: usize,
    ) -> io::Result<JobFile> {
        let mut options = OpenOptions::new();
        // O_EXCL doesn't follow links either.
        options.write(true).create_new(true).mode(0o600);
        let mut micros = job.started;
        let mut file = loop {
            match options.open(directory.join(job.id.as_str())) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && may_rename => {
                    micros += 1;
                    job.id = JobId::at(micros);
                }
                other => break other?,
            }
        };
        let process = Process::own();
        let mut bytes = head(&job, process).to_vec();
        bytes.extend(framed(&job));
        file.write_all(&bytes)?;
        Ok(JobFile { job, file, process, largest_return })
    }

    pub fn returned(&mut self, record: &ReturnRecord) -> io::Result<()> {
        let bytes = framed(record);
        if bytes.len() <= self.largest_return {
            return self.file.write_all(&bytes);
        }
        let (outcome, cut_from) = ledger::cut(record.outcome.clone(), self.largest_return);
        self.file.write_all(&framed(&ReturnRecord { outcome, cut_from, ..record.clone() }))
    }

    pub fn set_state(&mut self, state: JobState) -> io::Result<()> {
        self.job.state = state;
        self.file.write_all_at(&head(&self.job, self.process), 0)
    }

    pub fn end(mut self, state: JobState, ended: u64) -> io::Result<()> {
        self.job.state = state;
        self.job.ended = Some(ended);
        self.file.write_all_at(&head(&self.job, self.process), 0)
    }
}

/// Reads a file: the record with its current state. `None` if the file does not exist or is incomplete.
pub fn read(path: &Path, part: Part) -> io::Result<Option<(JobRecord, Vec<ReturnRecord>, Process)>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut head = [0; HEAD];
    if file.read_exact(&mut head).is_err() {
        return Ok(None);
    }
    let Some((state, ended, process)) = parse(&head) else { return Ok(None) };
    let Some(mut job) = next::<JobRecord>(&mut file)? else { return Ok(None) };
    job.state = state;
    job.ended = (ended > 0).then_some(ended);
    let mut returns = Vec::new();
    if part == Part::All {
        let mut rest = io::BufReader::new(file);
        while let Some(record) = next::<ReturnRecord>(&mut rest)? {
            returns.push(record);
        }
    }
    Ok(Some((job, returns, process)))
}

/// Magic, end time, start time and id of the process, state.
fn head(job: &JobRecord, process: Process) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(MAGIC);
    head[8..16].copy_from_slice(&job.ended.unwrap_or(0).to_be_bytes());
    head[16..24].copy_from_slice(&process.start.to_be_bytes());
    head[24..28].copy_from_slice(&process.id.to_be_bytes());
    head[28] = job.state as u8;
    head
}

fn parse(head: &[u8; HEAD]) -> Option<(JobState, u64, Process)> {
    let number = |from: usize| head[from..from + 8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    if &head[..8] != MAGIC {
        return None;
    }
    let states = [JobState::Queued, JobState::Running, JobState::Done, JobState::Cancelled, JobState::Lost];
    let state = states.into_iter().find(|state| *state as u8 == head[28])?;
    Some((state, number(8), Process { id: (number(24) >> 32) as u32, start: number(16) }))
}

fn framed<T: minicbor::Encode<()>>(record: &T) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    // Writing to memory can't fail.
    let _ = minicbor::encode(record, &mut bytes);
    let length = (bytes.len() - 4) as u32;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    bytes
}

fn next<T: for<'b> minicbor::Decode<'b, ()>>(file: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    if !fill(file, &mut length)? {
        return Ok(None);
    }
    let length = u32::from_be_bytes(length) as usize;
    if length > LARGEST {
        return Ok(None);
    }
    // Grows with the data: a wrong length must not allocate memory.
    let mut bytes = Vec::new();
    file.take(length as u64).read_to_end(&mut bytes)?;
    Ok((bytes.len() == length).then(|| minicbor::decode(&bytes).ok()).flatten())
}

fn fill(file: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
