//! Shared code of `file.append` and `file.prepend`: the file, and whether it contains a text already.

use rocksalt_core::Value;

use super::super::replace::quoted;
use super::edit::FileText;
use super::missing_directories;
use super::texts::{self, TextSources};
use super::{Action, Step, Verdict, look, touch};
use crate::machine::Probe;
use crate::text::diff;

/// The file to add to, and the texts to add.
pub struct Prepared {
    pub text: FileText,
    pub chunks: Vec<String>,
    /// Actions to run first: making directories for a new file.
    pub actions: Vec<Action>,
}

pub fn prepare(
    machine: &dyn Probe,
    step: &Step<'_>,
    name: &str,
    makedirs: &Value,
    given: &Value,
    sources: &TextSources<'_>,
) -> Result<Prepared, Verdict> {
    let list = sources.list()?;
    let mut actions = Vec::new();
    let above = look::above(name);
    let there = look::is_absolute(name) && look::exists(machine, name);
    if !there && step.test {
        return Err(touch::dry(machine, name, &Value::Null, &Value::Null));
    }
    if !there {
        if !look::is_absolute(name) {
            return Err(Verdict::bad(format!("Specified file {name} is not an absolute path")));
        }
        if !look::is_directory(machine, above) {
            if !makedirs.truth() {
                return Err(Verdict::bad(format!("{name}: file not found")));
            }
            let mode = 0o777 & !look::umask(machine);
            let make = |path| Action::MakeDirectory { path, mode, uid: None, gid: None };
            actions.extend(missing_directories(machine, above).into_iter().map(make));
        }
    }
    let chunks = if list.is_empty() { texts::strings(given) } else { sources.texts(machine, step, &list)? };
    let text = if there { FileText::read(machine, name)? } else { FileText::empty(name) };
    Ok(Prepared { text, chunks, actions })
}

impl Prepared {
    /// Whether the file contains the lines of a text, with any white space between their words.
    pub fn has(&self, chunk: &str) -> Result<bool, Verdict> {
        let lines = super::lines::bare(chunk);
        let line = |line: &&str| {
            let parts: Vec<String> = words(chunk, line).iter().map(|word| quoted(word)).collect();
            format!("(?:[\\s]+)?{}(?:[\\s]+)?", parts.join("(?:[\\s]+)?"))
        };
        let expression: String = lines.iter().map(line).collect();
        self.text.has(&format!("^{expression}$"))
    }
}

/// Splits at white space. If the text has both kinds of quotes, double quotes group words.
fn words<'a>(chunk: &str, line: &'a str) -> Vec<&'a str> {
    if !(chunk.contains('\'') && chunk.contains('"')) {
        return line.split_whitespace().collect();
    }
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let end = match rest.strip_prefix('"').and_then(|inner| inner.find('"')) {
            Some(end) => end + 2,
            None => rest.find(char::is_whitespace).unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after.trim_start();
    }
    words
}

/// A diff of lines without their ends, as `file.append` shows it: with a blank line after each header line.
pub fn airy(old: &str, new: &str) -> String {
    let ended = |text: &str| super::lines::bare(text).iter().map(|line| format!("{line}\n")).collect::<Vec<_>>();
    let (old, new) = (ended(old), ended(new));
    let old: Vec<&str> = old.iter().map(String::as_str).collect();
    let new: Vec<&str> = new.iter().map(String::as_str).collect();
    let mut shown = String::new();
    for (index, line) in diff::lines(&old, &new, "", "").split_inclusive('\n').enumerate() {
        shown.push_str(line);
        if index < 2 || line.starts_with("@@") {
            shown.push('\n');
        }
    }
    if shown.ends_with('\n') {
        shown.pop();
    }
    shown
}
