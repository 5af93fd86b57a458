//! `file.line`: adds, replaces or removes one line of a file.

use rocksalt_core::Value;
use rocksalt_core::pattern::{Flags, Pattern};
use rocksalt_macros::function;

use super::Function;
use super::content::{self, backup_ending};
use super::path::{absolute, kind};
use crate::machine::{FileKind, System};
use crate::text::diff;
use crate::{Error, Result};

/// Puts a line into a file, replaces it or removes it, and returns the difference; `False` if nothing changes.
///
/// ```text
/// rocksalt '*' file.line /etc/nsswitch.conf 'networks: files dns' mode=ensure after='hosts:.*'
/// rocksalt '*' file.line /etc/motd 'Welcome' mode=insert location=start
/// rocksalt '*' file.line /etc/hosts match='old.example.com' mode=delete
/// ```
#[function("file.line", changes)]
pub struct Line {
    /// The file.
    path: String,
    /// The line.
    content: Option<String>,
    /// What the line to replace or delete has in it: a text, or a regular expression. Else it is `content`.
    r#match: Option<String>,
    /// `ensure` that it is there, `insert` it, `replace` the first match by it, or `delete` what matches.
    mode: Option<String>,
    /// For `insert`: `start` or `end` of the file.
    location: Option<String>,
    /// A regular expression for the line that it stands before.
    before: Option<String>,
    /// A regular expression for the line that it stands after.
    after: Option<String>,
    /// Return the difference, not only whether there is one.
    #[default(true)]
    show_changes: bool,
    /// The ending of the old content's copy; `True` means `.bak`.
    backup: Value,
    /// A missing file is no error.
    quiet: bool,
    /// Indent the line as its neighbour is.
    #[default(true)]
    indent: bool,
}

impl Function for Line {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let path = absolute(machine, &self.path)?;
        if kind(machine, &path) != Some(FileKind::File) {
            return match self.quiet {
                true => Ok(false.into()),
                false => Err(Error::failed(format!("File \"{}\" does not exists or is not a file.", self.path))),
            };
        }
        let old = content::text(machine, &path)?;
        let lines: Vec<&str> = old.lines().collect();
        let Some(lines) = self.edit(&lines)? else { return Ok(false.into()) };
        let mut new = lines.join("\n");
        if !new.is_empty() && (old.ends_with('\n') || old.is_empty()) {
            new.push('\n');
        }
        if new == old {
            return Ok(false.into());
        }
        content::replace(machine, &path, &new, backup_ending(&self.backup).as_deref())?;
        Ok(if self.show_changes { diff::unified(&old, &new, "", "").into() } else { true.into() })
    }
}

impl Line {
    /// The edited lines; `None` if nothing changes.
    fn edit(&self, lines: &[&str]) -> Result<Option<Vec<String>>> {
        let mode = self.mode.as_deref().map(str::to_ascii_lowercase);
        let Some(mode) = mode else {
            return Err(Error::arguments("Mode was not defined. How to process the file?")
                .hint("mode is one of ensure, insert, replace and delete"));
        };
        let content = self.content.as_deref().unwrap_or_default().trim_end_matches('\n');
        if content.is_empty() && mode != "delete" && ["ensure", "insert", "replace"].contains(&&*mode) {
            return Err(Error::arguments("Content can only be empty if mode is \"delete\""));
        }
        match mode.as_str() {
            "delete" | "replace" => self.change(lines, content, mode == "delete"),
            "insert" => self.insert(lines, content),
            "ensure" => self.ensure(lines, content),
            _ => Err(Error::arguments(format!("Unknown mode: \"{mode}\""))
                .hint("it is one of ensure, insert, replace and delete")),
        }
    }

    fn change(&self, lines: &[&str], content: &str, delete: bool) -> Result<Option<Vec<String>>> {
        let wanted = self.r#match.as_deref().unwrap_or(content);
        let Some(found) = Finder::new(wanted)?.first(lines)? else { return Ok(None) };
        let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        if delete {
            // All lines equal to the first match.
            let gone = lines[found].clone();
            lines.retain(|line| *line != gone);
        } else {
            lines[found] = self.indented(content, &lines[found].clone());
        }
        Ok(Some(lines))
    }

    fn insert(&self, lines: &[&str], content: &str) -> Result<Option<Vec<String>>> {
        if let Some(location) = &self.location {
            return Ok(match location.as_str() {
                "start" if lines.first().is_none_or(|line| *line != content) => Some(spliced(lines, 0, content)),
                "end" if lines.last().is_none_or(|line| *line != content) => Some(spliced(lines, lines.len(), content)),
                "start" | "end" => None,
                other => {
                    return Err(Error::arguments(format!("location: '{other}' is neither start nor end")));
                }
            });
        }
        let after = self.neighbour(lines, "after", self.after.as_deref())?;
        let before = self.neighbour(lines, "before", self.before.as_deref())?;
        if self.after.is_none() && self.before.is_none() {
            return Err(Error::arguments("On insert either \"location\" or \"before/after\" conditions are required."));
        }
        let (place, like) = match (after, before) {
            (Some(after), Some(before)) if after < before => (before, before),
            (Some(_), Some(_)) => return Err(Error::failed("the line of \"after\" stands behind that of \"before\"")),
            (_, Some(before)) => (before, before),
            (Some(after), None) => (after + 1, after),
            (None, None) => return Err(Error::failed("Neither before or after was found in file")),
        };
        let line = self.indented(content, lines[like]);
        let next_to = if before.is_some() { place.checked_sub(1) } else { Some(place) };
        if next_to.and_then(|index| lines.get(index)).is_some_and(|there| there.trim() == line.trim()) {
            return Ok(None);
        }
        Ok(Some(spliced(lines, place, &line)))
    }

    fn ensure(&self, lines: &[&str], content: &str) -> Result<Option<Vec<String>>> {
        let after = self.neighbour(lines, "after", self.after.as_deref())?;
        let before = self.neighbour(lines, "before", self.before.as_deref())?;
        let same = |index: usize| lines.get(index).is_some_and(|line| line.trim() == content.trim());
        match (after, before) {
            (Some(after), Some(before)) => match before.checked_sub(after + 1) {
                Some(0) => Ok(Some(spliced(lines, before, &self.indented(content, lines[after])))),
                Some(1) if same(after + 1) => Ok(None),
                Some(1) => {
                    let mut all: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
                    all[after + 1] = self.indented(content, lines[after + 1]);
                    Ok(Some(all))
                }
                Some(_) => Err(Error::failed("Found more than one line between boundaries \"before\" and \"after\".")),
                None => Err(Error::failed("the line of \"after\" stands behind that of \"before\"")),
            },
            (Some(after), None) if self.before.is_none() => Ok(match same(after + 1) {
                true => None,
                false => Some(spliced(lines, after + 1, &self.indented(content, lines[after]))),
            }),
            (None, Some(before)) if self.after.is_none() => Ok(match before > 0 && same(before - 1) {
                true => None,
                false => Some(spliced(lines, before, &self.indented(content, lines[before]))),
            }),
            _ => Err(Error::failed(
                "Wrong conditions? Unable to ensure line without knowing where to put it before and/or after.",
            )),
        }
    }

    /// The single line that matches an expression.
    fn neighbour(&self, lines: &[&str], name: &str, expression: Option<&str>) -> Result<Option<usize>> {
        let Some(expression) = expression else { return Ok(None) };
        let finder = Finder::new(expression)?;
        let mut found = None;
        for (index, line) in lines.iter().enumerate() {
            if finder.fits(line)? {
                if found.is_some() {
                    return Err(Error::failed(format!(
                        "Found more than expected occurrences in \"{name}\" expression"
                    )));
                }
                found = Some(index);
            }
        }
        Ok(found)
    }

    fn indented(&self, content: &str, like: &str) -> String {
        if !self.indent {
            return content.to_owned();
        }
        let blanks = &like[..like.len() - like.trim_start().len()];
        format!("{blanks}{}", content.trim_start())
    }
}

/// A text or a regular expression to find in a line.
struct Finder<'a>(&'a str, Option<Pattern>);

impl<'a> Finder<'a> {
    fn new(text: &'a str) -> Result<Finder<'a>> {
        // An invalid regular expression may still be a text to find.
        Ok(Finder(text, Pattern::new(text, Flags::NONE).ok()))
    }

    fn fits(&self, line: &str) -> Result<bool> {
        if self.0.is_empty() {
            return Ok(false);
        }
        Ok(line.contains(self.0) || self.1.as_ref().map_or(Ok(false), |pattern| pattern.matches(line))?)
    }

    fn first(&self, lines: &[&str]) -> Result<Option<usize>> {
        for (index, line) in lines.iter().enumerate() {
            if self.fits(line)? {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }
}

fn spliced(lines: &[&str], place: usize, line: &str) -> Vec<String> {
    let mut all: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    all.insert(place.min(all.len()), line.to_owned());
    all
}
