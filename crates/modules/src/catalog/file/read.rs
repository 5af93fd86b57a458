//! Functions that read the content of files.

use rocksalt_core::pattern::{Flags, Pattern};
use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::Function;
use super::content::{bytes, sum_of, text_or_bytes};
use super::path::{expand, kind};
use super::pattern_flags;
use crate::machine::{Command, FileKind, System};
use crate::text::{diff, digest, glob};
use crate::{Error, Result};

/// The content of a file.
///
/// ```text
/// rocksalt '*' file.read /path/to/file
/// ```
#[function("file.read", reads)]
pub struct Read {
    /// The file.
    path: String,
    /// As bytes, even if it is text.
    binary: bool,
}

impl Function for Read {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let content = bytes(machine, &expand(machine, &self.path))?;
        Ok(if self.binary { Value::Bytes(content) } else { text_or_bytes(content) })
    }
}

/// Part of the content of a file.
///
/// ```text
/// rocksalt '*' file.seek_read /path/to/file 4096 0
/// ```
#[function("file.seek_read", reads)]
pub struct SeekRead {
    /// The file.
    path: String,
    /// At most this many bytes.
    size: u64,
    /// From here on.
    offset: u64,
}

impl Function for SeekRead {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let path = expand(machine, &self.path);
        let content = machine.read_at(&path, self.offset, usize::try_from(self.size).unwrap_or(usize::MAX));
        Ok(text_or_bytes(content.map_err(|error| Error::io("read", &path, &error))?))
    }
}

/// Whether a file contains a text.
///
/// ```text
/// rocksalt '*' file.contains /etc/crontab 'mymaintenance.sh'
/// ```
#[function("file.contains", reads)]
pub struct Contains {
    /// The file; if there is none, it has no text.
    path: String,
    /// The text; white space around it doesn't count.
    text: String,
}

impl Function for Contains {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let content = machine.read(&expand(machine, &self.path)).unwrap_or_default();
        Ok(!content.is_empty() && String::from_utf8_lossy(&content).contains(self.text.trim()))
    }
}

/// Whether a regular expression matches a line of a file.
///
/// ```text
/// rocksalt '*' file.contains_regex /etc/crontab '^@reboot'
/// ```
#[function("file.contains_regex", reads)]
pub struct ContainsRegex {
    /// The file; if there is none, nothing matches.
    path: String,
    /// The regular expression.
    regex: String,
    /// Letters to cut off the front of each line first.
    #[default]
    lchar: String,
}

impl Function for ContainsRegex {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let pattern = Pattern::new(&self.regex, Flags::NONE)?;
        let content = machine.read(&expand(machine, &self.path)).unwrap_or_default();
        for line in String::from_utf8_lossy(&content).split_inclusive('\n') {
            if pattern.matches(line.trim_start_matches(|letter| self.lchar.contains(letter)))? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a shell pattern matches a file's content as a whole.
///
/// ```text
/// rocksalt '*' file.contains_glob /etc/foobar '*cheese*'
/// ```
#[function("file.contains_glob", reads)]
pub struct ContainsGlob {
    /// The file; if there is none, nothing matches.
    path: String,
    /// The shell pattern.
    glob_expr: String,
}

impl Function for ContainsGlob {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let content = machine.read(&expand(machine, &self.path));
        Ok(content.is_ok_and(|content| glob::matches(&self.glob_expr, &String::from_utf8_lossy(&content))))
    }
}

/// Whether a regular expression matches somewhere in a file.
///
/// ```text
/// rocksalt '*' file.search /etc/crontab 'mymaintenance.sh'
/// ```
#[function("file.search", reads)]
pub struct Search {
    /// The file.
    path: String,
    /// The regular expression.
    pattern: String,
    /// Names of Python's `re` flags, or their number; `MULTILINE` by default.
    #[default(pattern_flags::standard())]
    flags: Value,
    /// Accepted and ignored: the file is always searched as a whole.
    #[allow(dead_code, reason = "the file is searched as a whole")]
    bufsize: Value,
    /// A missing file is no match, and no error.
    ignore_if_missing: bool,
    /// Add the flag `MULTILINE`.
    multiline: bool,
}

impl Function for Search {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let path = expand(machine, &self.path);
        if self.ignore_if_missing && kind(machine, &path).is_none() {
            return Ok(false);
        }
        let mut flags = pattern_flags::read(&self.flags)?;
        flags.multi_line |= self.multiline;
        Ok(Pattern::new(&self.pattern, flags)?.matches(&String::from_utf8_lossy(&bytes(machine, &path)?))?)
    }
}

/// Searches a file with the target's `grep`.
///
/// ```text
/// rocksalt '*' file.grep /etc/passwd nobody
/// rocksalt '*' file.grep /etc/sysconfig/network-scripts/ifcfg-eth0 ipaddr -i
/// ```
///
/// The result is that of `cmd.run_all`.
#[function("file.grep", reads)]
pub struct Grep {
    /// The file.
    path: String,
    /// What to look for.
    pattern: String,
    /// Options for `grep`, one word each.
    args: Vec<String>,
}

impl Function for Grep {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let path = expand(machine, &self.path);
        if let Some(wrong) = self.args.iter().find(|option| option.contains(char::is_whitespace)) {
            return Err(Error::arguments(format!("'{wrong}' is more than one word"))
                .hint("give each option for itself: file.grep PATH PATTERN -i -A2"));
        }
        let words = self.args.iter().map(String::as_str);
        let words = ["grep"].into_iter().chain(words).chain(["-e", &*self.pattern, "--"]);
        let argv = words.map(str::to_owned).chain([path.to_string_lossy().into_owned()]);
        let output = machine.query(&Command::new(argv))?;
        let text = |bytes: &[u8]| Value::from(String::from_utf8_lossy(bytes).trim_end());
        Ok(Map::from_iter([
            ("pid".into(), output.pid.into()),
            ("retcode".into(), output.code.into()),
            ("stdout".into(), text(&output.stdout)),
            ("stderr".into(), text(&output.stderr)),
        ]))
    }

    fn retcode(output: &Map) -> i32 {
        output.get("retcode").and_then(Value::as_i64).unwrap_or_default() as i32
    }
}

/// The checksum of a file.
///
/// ```text
/// rocksalt '*' file.get_hash /etc/shadow sha512
/// ```
#[function("file.get_hash", reads, also("file.hash"))]
pub struct GetHash {
    /// The file.
    path: String,
    /// md5, sha1, sha224, sha256, sha384 or sha512.
    #[default("sha256")]
    form: String,
    /// Accepted and ignored.
    #[allow(dead_code, reason = "how it is read is our own affair")]
    chunk_size: Value,
}

impl Function for GetHash {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        sum_of(machine, &expand(machine, &self.path), digest_kind(&self.form)?)
    }
}

/// The checksum of a file, or the text `File not found`.
///
/// ```text
/// rocksalt '*' file.get_sum /etc/passwd sha512
/// ```
#[function("file.get_sum", reads)]
pub struct GetSum {
    /// The file.
    path: String,
    /// md5, sha1, sha224, sha256, sha384 or sha512.
    #[default("sha256")]
    form: String,
}

impl Function for GetSum {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let path = expand(machine, &self.path);
        if kind(machine, &path) != Some(FileKind::File) {
            return Ok("File not found".into());
        }
        sum_of(machine, &path, digest_kind(&self.form)?)
    }
}

/// Whether a file has a checksum.
///
/// ```text
/// rocksalt '*' file.check_hash /etc/fstab md5:d41d8cd98f00b204e9800998ecf8427e
/// ```
#[function("file.check_hash", reads)]
pub struct CheckHash {
    /// The file.
    path: String,
    /// `md5=…`, `sha256:…`, or the bare digits: their number says the kind.
    file_hash: String,
}

impl Function for CheckHash {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let (kind, digits) = match self.file_hash.split_once(['=', ':']) {
            Some((name, digits)) => (digest_kind(name)?, digits),
            None => {
                let length = self.file_hash.len();
                let kind = digest::DigestAlgorithm::of_length(length).ok_or_else(|| {
                    Error::arguments(format!(
                        "Hash {} (length: {length}) could not be matched to a supported hash type. \
                         The supported hash types and lengths are: {}",
                        self.file_hash,
                        digest::DigestAlgorithm::list()
                    ))
                })?;
                (kind, self.file_hash.as_str())
            }
        };
        Ok(sum_of(machine, &expand(machine, &self.path), kind)?.eq_ignore_ascii_case(digits))
    }
}

/// The difference between two files of the target.
///
/// ```text
/// rocksalt '*' file.get_diff /home/fred/.vimrc /home/users/fred/.vimrc
/// ```
#[function("file.get_diff", reads)]
pub struct GetDiff {
    /// The file before.
    file1: String,
    /// The file after: a path on the target, or `salt://…`.
    file2: String,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
    /// Put the files' names into the head.
    #[default(true)]
    show_filenames: bool,
    /// Show the difference, not only that there is one.
    #[default(true)]
    show_changes: bool,
}

impl Function for GetDiff {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let content = |name: &str| {
            let path = expand(machine, name).to_string_lossy().into_owned();
            crate::catalog::cp::source::content(machine, &path, self.saltenv.as_deref())?
                .ok_or_else(|| Error::failed(format!("there is no {name}")))
        };
        let (before, after) = (content(&self.file1)?, content(&self.file2)?);
        if before == after {
            return Ok(String::new());
        }
        if !self.show_changes {
            return Ok("<show_changes=False>".into());
        }
        let (Ok(before), Ok(after)) = (String::from_utf8(before), String::from_utf8(after)) else {
            return Ok("Replace binary file".into());
        };
        let (from, to) = if self.show_filenames { (&*self.file1, &*self.file2) } else { ("", "") };
        Ok(diff::unified(&before, &after, from, to))
    }
}

pub fn digest_kind(name: &str) -> Result<digest::DigestAlgorithm> {
    digest::DigestAlgorithm::named(&name.to_ascii_lowercase()).ok_or_else(|| {
        Error::arguments(format!("Invalid hash type: {name}"))
            .hint(format!("known are {}", digest::DigestAlgorithm::list()))
    })
}
