//! Functions that replace the matches of a regular expression.

use rocksalt_core::Value;
use rocksalt_core::pattern::{Flags, Pattern, ReplacementTemplate};
use rocksalt_macros::function;

use super::Function;
use super::content::{self, backup_ending};
use super::path::{absolute, kind};
use super::pattern_flags;
use crate::machine::{FileKind, System};
use crate::text::diff;
use crate::{Error, Result};

/// Replaces what a regular expression matches in a file, and returns the difference.
///
/// ```text
/// rocksalt '*' file.replace /etc/httpd/httpd.conf pattern='LogLevel warn' repl='LogLevel info'
/// rocksalt '*' file.replace /some/file pattern='before' repl='after' flags='[MULTILINE, IGNORECASE]'
/// ```
///
/// Regular expression and replacement are Python's. If nothing changes, nothing is written.
#[function("file.replace", changes)]
pub struct Replace {
    /// The file.
    path: String,
    /// The regular expression.
    pattern: String,
    /// What to put in its place; may use `\1` and `\g<name>`.
    repl: String,
    /// At most this many matches; 0 for all.
    #[default]
    count: u64,
    /// Names of Python's `re` flags, or their number; `MULTILINE` by default.
    #[default(pattern_flags::standard())]
    flags: Value,
    /// Accepted and ignored: the file is always searched as a whole.
    #[allow(dead_code, reason = "the file is searched as a whole")]
    bufsize: Value,
    /// If nothing matches, add the content at the end, unless it is there already.
    append_if_not_found: bool,
    /// If nothing matches, add the content at the start, unless it is there already.
    prepend_if_not_found: bool,
    /// What to add then, in place of `repl`.
    not_found_content: Option<String>,
    /// The ending of the old content's copy, or `False` for none.
    #[default(".bak")]
    backup: Value,
    /// Only return what would change.
    dry_run: bool,
    /// Only return whether something matches.
    search_only: bool,
    /// Return the difference, not only whether there is one.
    #[default(true)]
    show_changes: bool,
    /// A missing file is no error.
    ignore_if_missing: bool,
    /// Accepted and ignored: the new file always takes the old one's place as a whole.
    #[allow(dead_code, reason = "nobody may see half a file")]
    preserve_inode: Value,
    /// Treat backslashes in the replacement literally.
    backslash_literal: bool,
    /// Files are UTF-8; only that is taken.
    encoding: Option<String>,
}

impl Function for Replace {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let path = absolute(machine, &self.path)?;
        if self.encoding.as_deref().is_some_and(|name| !matches!(&*name.to_ascii_lowercase(), "utf-8" | "utf8")) {
            return Err(Error::arguments("encoding: only utf-8 is supported"));
        }
        if self.append_if_not_found && self.prepend_if_not_found {
            return Err(Error::arguments("Only one of append and prepend_if_not_found is permitted"));
        }
        if self.search_only && (self.append_if_not_found || self.prepend_if_not_found) {
            return Err(Error::arguments("search_only cannot be used with append/prepend_if_not_found"));
        }
        match kind(machine, &path) {
            None if self.ignore_if_missing => {
                return Ok(if self.search_only || !self.show_changes { false.into() } else { "".into() });
            }
            None => return Err(Error::failed(format!("File not found: {}", path.display()))),
            Some(FileKind::File) => {}
            Some(_) => return Err(Error::failed(format!("{} is no file", path.display()))),
        }
        let old = content::text(machine, &path)?;
        let pattern = Pattern::new(&self.pattern, pattern_flags::read(&self.flags)?)?;
        if self.search_only {
            return Ok(Value::Bool(pattern.matches(&old)?));
        }
        let template = match self.backslash_literal {
            true => ReplacementTemplate::literal(&self.repl),
            false => ReplacementTemplate::parse(&self.repl)
                .map_err(|error| Error::from(error).hint("backslash_literal=True takes the text as it stands"))?,
        };
        let (mut new, count) = pattern.replace(&old, &template, usize::try_from(self.count).unwrap_or(0))?;
        if count == 0 && (self.append_if_not_found || self.prepend_if_not_found) {
            new = self.with_content(&old);
        }
        let changed = new != old;
        if changed && !self.dry_run {
            content::replace(machine, &path, &new, backup_ending(&self.backup).as_deref())?;
        }
        Ok(if self.show_changes { diff::unified(&old, &new, "", "").into() } else { changed.into() })
    }
}

impl Replace {
    fn with_content(&self, old: &str) -> String {
        let content = self.not_found_content.as_deref().unwrap_or(&self.repl);
        let wrapped = |text: &str| format!("\n{}\n", text.trim_end_matches('\n'));
        let present = wrapped(old).contains(&wrapped(content));
        if present {
            return old.to_owned();
        }
        let content = content.strip_suffix('\n').unwrap_or(content);
        if self.prepend_if_not_found {
            return format!("{content}\n{old}");
        }
        let gap = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
        format!("{old}{gap}{content}\n")
    }
}

/// Comments lines out or uncomments them, and returns the difference; `False` if no line matches.
///
/// ```text
/// rocksalt '*' file.comment_line /etc/modules '^pcspkr$'
/// rocksalt '*' file.comment_line /etc/modules '^pcspkr$' cmnt=False
/// ```
#[function("file.comment_line", changes)]
pub struct CommentLine {
    /// The file.
    path: String,
    /// A regular expression for the lines, as they are without the comment sign.
    regex: String,
    /// The comment sign.
    #[default("#")]
    char: String,
    /// Comment out; `False` uncomments.
    #[default(true)]
    cmnt: bool,
    /// The ending of the old content's copy, or `False` for none.
    #[default(".bak")]
    backup: Value,
}

impl Function for CommentLine {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        comment(machine, &self.path, &self.regex, &self.char, self.cmnt, &self.backup)
    }
}

/// Comments lines out; `file.comment_line` can do both.
///
/// ```text
/// rocksalt '*' file.comment /etc/modules '^pcspkr$'
/// ```
#[function("file.comment", changes)]
pub struct Comment {
    /// The file.
    path: String,
    /// A regular expression for the lines.
    regex: String,
    /// The comment sign.
    #[default("#")]
    char: String,
    /// The ending of the old content's copy, or `False` for none.
    #[default(".bak")]
    backup: Value,
}

impl Function for Comment {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        comment(machine, &self.path, &self.regex, &self.char, true, &self.backup)
    }
}

/// Uncomments lines; `file.comment_line` can do both.
///
/// ```text
/// rocksalt '*' file.uncomment /etc/hosts.deny 'ALL: PARANOID'
/// ```
#[function("file.uncomment", changes)]
pub struct Uncomment {
    /// The file.
    path: String,
    /// A regular expression for the lines, as they are without the comment sign.
    regex: String,
    /// The comment sign.
    #[default("#")]
    char: String,
    /// The ending of the old content's copy, or `False` for none.
    #[default(".bak")]
    backup: Value,
}

impl Function for Uncomment {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        comment(machine, &self.path, &self.regex, &self.char, false, &self.backup)
    }
}

fn comment(machine: &dyn System, path: &str, regex: &str, sign: &str, out: bool, backup: &Value) -> Result<Value> {
    let path = absolute(machine, path)?;
    if kind(machine, &path) != Some(FileKind::File) {
        return Err(Error::failed(format!("File not found: {}", path.display())));
    }
    let old = content::text(machine, &path)?;
    let bare = regex.trim_start_matches('^').trim_end_matches('$');
    let (start, end) = (if regex.starts_with('^') { "" } else { ".*?" }, if regex.ends_with('$') { "" } else { ".*" });
    let quoted = quoted(sign);
    // Anchors refer to the line without the comment sign.
    let whole = if out {
        Pattern::new(&format!("^(?!{quoted})({start}{bare}{end})$"), Flags::NONE)?
    } else {
        Pattern::new(&format!("^{quoted}({start}{bare}{end})$"), Flags::NONE)?
    };
    let mut new = String::with_capacity(old.len());
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for line in old.split_inclusive('\n') {
        let text = line.trim_end_matches(['\n', '\r']);
        let changed = match whole.matches(text)? {
            true if out => format!("{sign}{line}"),
            true => line.strip_prefix(sign).unwrap_or(line).to_owned(),
            false => line.to_owned(),
        };
        if changed != line {
            before.push(line.to_owned());
            after.push(changed.clone());
        }
        new.push_str(&changed);
    }
    if before.is_empty() {
        return Ok(false.into());
    }
    content::replace(machine, &path, &new, backup_ending(backup).as_deref())?;
    // Salt compares only the changed lines, as if they were the whole file.
    Ok(diff::unified(&before.concat(), &after.concat(), "", "").into())
}

/// A regular expression that matches exactly this text.
pub fn quoted(text: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || letter.is_whitespace() || letter == '_';
    text.chars().map(|letter| if plain(letter) { letter.to_string() } else { format!("\\{letter}") }).collect()
}
