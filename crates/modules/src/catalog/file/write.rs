//! Functions that write files.

use rocksalt_core::Value;
use rocksalt_macros::function;

use super::Function;
use super::content::{bytes, replace, text};
use super::path::{absolute, followed, kind};
use crate::machine::System;
use crate::{Error, Result};

/// Writes lines to a file, in place of what was in it.
///
/// ```text
/// rocksalt '*' file.write /etc/motd "With all thine offerings thou shalt offer salt."
/// rocksalt '*' file.write /etc/motd args='["cheese", "bread"]'
/// ```
///
/// The write is atomic: readers see the old or the new content, never a part.
#[function("file.write", changes)]
pub struct Write {
    /// The file.
    path: String,
    /// The lines.
    args: Vec<String>,
}

impl Function for Write {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let path = followed(machine, &absolute(machine, &self.path)?);
        machine.write(&path, lines(&self.args).as_bytes(), None).map_err(|error| Error::io("write", &path, &error))?;
        Ok(format!("Wrote {} lines to \"{}\"", self.args.len(), self.path))
    }
}

/// Adds lines to the end of a file.
///
/// ```text
/// rocksalt '*' file.append /etc/motd "With all thine offerings thou shalt offer salt."
/// ```
///
/// If the last line lacks its end, it gets one first.
#[function("file.append", changes)]
pub struct Append {
    /// The file; it must be there.
    path: String,
    /// The lines.
    args: Vec<String>,
}

impl Function for Append {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let path = followed(machine, &absolute(machine, &self.path)?);
        let fault = |error| Error::io("add to", &path, &error);
        let Some(stat) = machine.stat(&path, true).map_err(fault)? else {
            return Err(Error::failed(format!("could not add to {}: No such file or directory", path.display()))
                .hint("`file.write` or `file.touch` makes it"));
        };
        let last = machine.read_at(&path, stat.size.saturating_sub(1), 1).map_err(fault)?;
        let start = if last.is_empty() || last == b"\n" { "" } else { "\n" };
        machine.append(&path, format!("{start}{}", lines(&self.args)).as_bytes()).map_err(fault)?;
        Ok(format!("Wrote {} lines to \"{}\"", self.args.len(), self.path))
    }
}

/// Adds lines to the start of a file.
///
/// ```text
/// rocksalt '*' file.prepend /etc/motd "With all thine offerings thou shalt offer salt."
/// ```
#[function("file.prepend", changes)]
pub struct Prepend {
    /// The file; it is made if it isn't there.
    path: String,
    /// The lines.
    args: Vec<String>,
}

impl Function for Prepend {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let path = absolute(machine, &self.path)?;
        let old = if kind(machine, &path).is_some() { text(machine, &path)? } else { String::new() };
        replace(machine, &path, &(lines(&self.args) + &old), None)?;
        Ok(format!("Prepended {} lines to \"{}\"", self.args.len(), self.path))
    }
}

/// Creates an empty file, or sets the times of one that is there.
///
/// ```text
/// rocksalt '*' file.touch /var/log/emptyfile
/// ```
#[function("file.touch", changes)]
pub struct Touch {
    /// The file.
    name: String,
    /// The time of access in seconds since 1970; now by default.
    atime: Option<f64>,
    /// The time of change in seconds since 1970; now by default.
    mtime: Option<f64>,
}

impl Function for Touch {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let path = followed(machine, &absolute(machine, &self.name)?);
        if kind(machine, &path).is_none() {
            machine.append(&path, b"").map_err(|error| Error::io("make", &path, &error))?;
        }
        let now = machine.now();
        let (atime, mtime) = match (self.atime, self.mtime) {
            (None, None) => (now, now),
            (atime, mtime) => (atime.or(mtime).unwrap_or(now), mtime.or(atime).unwrap_or(now)),
        };
        machine.set_times(&path, atime, mtime).map_err(|error| Error::io("set the times of", &path, &error))?;
        Ok(kind(machine, &path).is_some())
    }
}

/// Truncates a file, or extends it with zeros.
///
/// ```text
/// rocksalt '*' file.truncate /path/to/file 512
/// ```
#[function("file.truncate", changes)]
pub struct Truncate {
    /// The file.
    path: String,
    /// The new size in bytes.
    length: u64,
}

impl Function for Truncate {
    type Output = ();

    fn call(self, machine: &dyn System) -> Result<()> {
        let path = followed(machine, &absolute(machine, &self.path)?);
        let mut content = bytes(machine, &path)?;
        content.resize(fitting(self.length)?, 0);
        machine.write(&path, &content, None).map_err(|error| Error::io("write", &path, &error))
    }
}

/// Writes over part of a file, and returns the number of bytes written.
///
/// ```text
/// rocksalt '*' file.seek_write /path/to/file 'some data' 4096
/// ```
#[function("file.seek_write", changes)]
pub struct SeekWrite {
    /// The file.
    path: String,
    /// What to write.
    #[required]
    data: Value,
    /// From here on.
    offset: u64,
}

impl Function for SeekWrite {
    type Output = usize;

    fn call(self, machine: &dyn System) -> Result<usize> {
        let path = followed(machine, &absolute(machine, &self.path)?);
        let mut content = bytes(machine, &path)?;
        let data = match self.data {
            Value::Bytes(bytes) => bytes,
            other => other.to_string().into_bytes(),
        };
        let start = fitting(self.offset)?;
        let end = start + data.len();
        if content.len() < end {
            content.resize(end, 0);
        }
        content[start..end].copy_from_slice(&data);
        machine.write(&path, &content, None).map_err(|error| Error::io("write", &path, &error))?;
        Ok(data.len())
    }
}

/// The limit up to which a file can be rewritten as a whole.
fn fitting(size: u64) -> Result<usize> {
    const LIMIT: u64 = 1 << 30;
    match size {
        0..=LIMIT => Ok(size as usize),
        _ => Err(Error::arguments(format!("{size} bytes are too many")).hint("`cmd.run 'truncate …'` can do that")),
    }
}

fn lines(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{}\n", line.strip_suffix('\n').unwrap_or(line))).collect()
}
