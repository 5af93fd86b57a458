//! The shared engine of states that edit a file: the text before, the text after.

use std::path::Path;

use rocksalt_core::Value;
use rocksalt_core::pattern::{Flags, Pattern};

use super::super::content::backup_ending;
use super::super::path::canonical;
use super::{Action, Decision, Plan, Verdict, difference, look};
use crate::machine::Probe;
use crate::text::{diff, digest};

/// The text of a file to edit.
pub struct FileText {
    pub path: String,
    pub old: String,
    /// The file isn't UTF-8: each byte was decoded as one character, and is encoded likewise.
    bytewise: bool,
}

/// Salt's first checks of a file to edit.
pub fn check_file(machine: &dyn Probe, name: &str) -> Result<(), Verdict> {
    if !look::is_absolute(name) {
        return Err(Verdict::bad(format!("Specified file {name} is not an absolute path")));
    }
    if !look::exists(machine, name) {
        return Err(Verdict::bad(format!("{name}: file not found")));
    }
    Ok(())
}

impl FileText {
    /// Reads a file; a verdict if that fails.
    pub fn read(machine: &dyn Probe, name: &str) -> Result<FileText, Verdict> {
        if let Some(text) = look::planted(machine, name) {
            return Err(Verdict::bad(text));
        }
        let path = canonical(machine, Path::new(name));
        let content =
            machine.read(&path).map_err(|error| Verdict::bad(crate::catalog::plan::errno_text(&error, name)))?;
        let path = path.to_string_lossy().into_owned();
        if difference::is_binary(&content) {
            return Err(Verdict::bad(format!("Cannot perform string replacements on a binary file: {path}")));
        }
        Ok(FileText::new(path, content))
    }

    /// A file that doesn't exist yet.
    pub fn empty(path: &str) -> FileText {
        FileText::new(path.to_owned(), Vec::new())
    }

    fn new(path: String, content: Vec<u8>) -> FileText {
        match String::from_utf8(content) {
            Ok(old) => FileText { path, old, bytewise: false },
            Err(error) => {
                let old = error.into_bytes().into_iter().map(char::from).collect();
                FileText { path, old, bytewise: true }
            }
        }
    }

    pub fn bytes(&self, text: &str) -> Vec<u8> {
        if !self.bytewise {
            return text.as_bytes().to_vec();
        }
        // New characters beyond a single byte are encoded as UTF-8.
        let mut bytes = Vec::with_capacity(text.len());
        for letter in text.chars() {
            match u8::try_from(letter) {
                Ok(byte) => bytes.push(byte),
                Err(_) => bytes.extend(letter.to_string().bytes()),
            }
        }
        bytes
    }

    /// Whether an expression matches any line.
    pub fn has(&self, expression: &str) -> Result<bool, Verdict> {
        let pattern = Pattern::new(expression, Flags::MULTI_LINE).map_err(|error| Verdict::bad(error.to_string()))?;
        pattern.matches(&self.old).map_err(|error| Verdict::bad(error.to_string()))
    }

    /// The difference to a new text.
    pub fn difference(&self, new: &str) -> String {
        diff::lines(&lines(&self.old), &lines(new), "", "")
    }
}

/// The lines with their ends, of any of the three kinds.
pub fn lines(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = match rest.find(['\n', '\r']) {
            Some(at) if rest[at..].starts_with("\r\n") => at + 2,
            Some(at) => at + 1,
            None => rest.len(),
        };
        let (line, after) = rest.split_at(end);
        found.push(line);
        rest = after;
    }
    found
}

/// A decided change.
pub struct TextChange<'a> {
    pub text: &'a FileText,
    pub new: String,
    /// The reported change: a difference, or only that there is one.
    pub shown: Value,
    pub backup: &'a Value,
    pub would: &'a str,
    pub done: &'a str,
}

impl TextChange<'_> {
    pub fn decide(self, machine: &dyn Probe) -> Decision {
        let content = self.text.bytes(&self.new);
        let path = &self.text.path;
        let hash = digest::of(digest::DigestAlgorithm::Sha256, &content);
        let done = Verdict::good(self.done).change("diff", self.shown.clone());
        let mut plan = Plan::brief(done.output("path", path.as_str()).output("hash", hash));
        if let Some(ending) = backup_ending(self.backup).filter(|_| look::exists(machine, path)) {
            plan = plan.then(Action::Copy { from: path.clone(), to: format!("{path}{ending}") });
        }
        plan = plan.then(Action::Write { path: path.clone(), content, mode: None, parents: false });
        Decision::Change(plan, Verdict::would(self.would).change("diff", self.shown))
    }
}

/// The difference in Salt's form, or only that there is one.
pub fn shown(text: &FileText, new: &str, show_changes: bool) -> Value {
    if show_changes { text.difference(new).into() } else { true.into() }
}
