//! `file.replace`: replaces the matches of a regular expression.

use rocksalt_core::Value;
use rocksalt_core::pattern::{Pattern, ReplacementTemplate};
use rocksalt_macros::state;

use super::super::pattern_flags;
use super::super::replace::quoted;
use super::edit::{self, FileText, TextChange};
use super::{Decision, Flag, State, Step, Touches, Verdict, look, writes};
use crate::Result;
use crate::machine::Probe;

/// Replaces what a regular expression matches in a file.
///
/// ```yaml
/// ssh only with keys:
///   file.replace:
///     - name: /etc/ssh/sshd_config
///     - pattern: '^#?PasswordAuthentication .*$'
///     - repl: 'PasswordAuthentication no'
///     - append_if_not_found: True
/// ```
#[state("file.replace", strict, required("pattern", "repl"))]
pub struct Replace {
    /// The file's path.
    name: String,
    /// The regular expression.
    #[default]
    pattern: String,
    /// What to put in its place; may use `\1` and `\g<name>`.
    repl: Value,
    /// At most this many matches; 0 for all.
    #[default]
    count: u32,
    /// Names of Python's `re` flags, or their number; `MULTILINE` by default.
    #[default(pattern_flags::standard())]
    flags: Value,
    /// Accepted and ignored: the file is always searched as a whole.
    #[allow(dead_code, reason = "the file is searched as a whole")]
    bufsize: Value,
    /// If nothing matches, add the content at the end, unless it is there already.
    append_if_not_found: Flag,
    /// If nothing matches, add the content at the start, unless it is there already.
    prepend_if_not_found: Flag,
    /// What to add then, in place of `repl`.
    not_found_content: Option<String>,
    /// The ending of the old content's copy, or `False` for none.
    #[default(".bak")]
    backup: Value,
    /// Show what differs; switch it off for secrets.
    #[default(true)]
    show_changes: Flag,
    /// No file is no failure.
    ignore_if_missing: Flag,
    /// Treat backslashes in the replacement literally.
    backslash_literal: Flag,
    /// Accepted for compatibility with Salt: files that are no UTF-8 keep their other bytes.
    #[allow(dead_code, reason = "bytes that are no text stay as they are")]
    encoding: Option<String>,
}

impl State for Replace {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(self.decide(machine).unwrap_or_else(Decision::Settled))
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}

impl Replace {
    fn decide(&self, machine: &dyn Probe) -> Result<Decision, Verdict> {
        let name = look::name(machine, &self.name);
        if name.is_empty() {
            return Err(Verdict::bad("Must provide name to file.replace"));
        }
        if let Err(verdict) = edit::check_file(machine, &name) {
            let missing = self.ignore_if_missing.0 && verdict.comment.contains("file not found");
            return Err(if missing { Verdict::good("No changes needed to be made") } else { verdict });
        }
        if self.append_if_not_found.0 && self.prepend_if_not_found.0 {
            return Err(Verdict::bad("Only one of append and prepend_if_not_found is permitted"));
        }
        let text = FileText::read(machine, &name)?;
        let new = self.edit(&text.old).map_err(|error| Verdict::bad(error.to_string()))?;
        if new == text.old {
            return Err(Verdict::good("No changes needed to be made").output("path", name));
        }
        let change = TextChange {
            shown: edit::shown(&text, &new, self.show_changes.0),
            text: &text,
            new,
            backup: &self.backup,
            would: "Changes would have been made",
            done: "Changes were made",
        };
        Ok(change.decide(machine))
    }

    fn edit(&self, old: &str) -> Result<String> {
        let flags = pattern_flags::read(&self.flags)?;
        let pattern = Pattern::new(&self.pattern, flags)?;
        let repl = self.repl.to_string();
        let template = if self.backslash_literal.0 {
            ReplacementTemplate::literal(&repl)
        } else {
            ReplacementTemplate::parse(&repl)?
        };
        let (mut new, count) = pattern.replace(old, &template, self.count as usize)?;
        if count > 0 || !(self.append_if_not_found.0 || self.prepend_if_not_found.0) {
            return Ok(new);
        }
        let content = self.not_found_content.as_deref().unwrap_or(&repl);
        let searched = if content.is_empty() { &repl } else { content };
        let there = Pattern::new(&format!("^{}($|(?=\r\n))", quoted(searched)), flags)?;
        if there.matches(old)? {
            return Ok(new);
        }
        if self.prepend_if_not_found.0 {
            return Ok(format!("{content}\n{new}"));
        }
        if !new.is_empty() && !new.ends_with('\n') {
            new.push('\n');
        }
        Ok(format!("{new}{content}\n"))
    }
}
