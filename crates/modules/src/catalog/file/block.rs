//! A block between two markers.

use rocksalt_core::Value;
use rocksalt_core::pattern::{Flags, Pattern};
use rocksalt_macros::function;

use super::Function;
use super::content::{self, backup_ending};
use super::path::{absolute, kind};
use crate::machine::{FileKind, System};
use crate::text::diff;
use crate::{Error, Result};

/// Replaces the block between two markers in a file, and returns the difference.
///
/// ```text
/// rocksalt '*' file.blockreplace /etc/hosts '#-- start managed zone --' '#-- end managed zone --' '10.0.1.2 www' append_if_not_found=True
/// ```
#[function("file.blockreplace", changes)]
pub struct Blockreplace {
    /// The file.
    path: String,
    /// A text in the line before the block.
    #[default("#-- start managed zone --")]
    marker_start: String,
    /// A text in the line after the block.
    #[default("#-- end managed zone --")]
    marker_end: String,
    /// The content between them.
    #[default]
    content: String,
    /// If there are no markers, add them and the content at the end.
    append_if_not_found: bool,
    /// If there are no markers, add them and the content at the start.
    prepend_if_not_found: bool,
    /// The ending of the old content's copy, or `False` for none.
    #[default(".bak")]
    backup: Value,
    /// Only return what would change.
    dry_run: bool,
    /// Return the difference, not only whether there is one.
    #[default(true)]
    show_changes: bool,
    /// Accepted for compatibility with Salt: the content always ends its own last line.
    #[allow(dead_code, reason = "without it the end marker would stand behind the content")]
    append_newline: Value,
    /// If there are no markers, add all before the first line that this regular expression matches.
    insert_before_match: Option<String>,
    /// If there are no markers, add all after the first line that this regular expression matches.
    insert_after_match: Option<String>,
}

impl Function for Blockreplace {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let path = absolute(machine, &self.path)?;
        if kind(machine, &path) != Some(FileKind::File) {
            return Err(Error::failed(format!("File not found: {}", path.display())));
        }
        let choices = [
            self.append_if_not_found,
            self.prepend_if_not_found,
            self.insert_before_match.is_some(),
            self.insert_after_match.is_some(),
        ];
        if choices.iter().filter(|choice| **choice).count() > 1 {
            return Err(Error::arguments(
                "Only one of append_if_not_found, prepend_if_not_found, insert_before_match, and \
                 insert_after_match is permitted",
            ));
        }
        let old = content::text(machine, &path)?;
        let new = self.edit(&old)?;
        let changed = new != old;
        if changed && !self.dry_run {
            content::replace(machine, &path, &new, backup_ending(&self.backup).as_deref())?;
        }
        Ok(if self.show_changes { diff::unified(&old, &new, "", "").into() } else { changed.into() })
    }
}

impl Blockreplace {
    fn edit(&self, old: &str) -> Result<String> {
        let lines: Vec<&str> = old.split_inclusive('\n').collect();
        let mut block = self.content.clone();
        if !block.is_empty() && !block.ends_with('\n') {
            block.push('\n');
        }
        let Some(first) = lines.iter().position(|line| line.contains(&self.marker_start)) else {
            return self.add(&lines, &block);
        };
        let rest = &lines[first + 1..];
        let Some(last) = rest.iter().position(|line| line.contains(&self.marker_end)) else {
            return Err(Error::failed("Unterminated marked block. End of file reached before marker_end."));
        };
        Ok(format!("{}{block}{}", lines[..=first].concat(), rest[last..].concat()))
    }

    fn add(&self, lines: &[&str], block: &str) -> Result<String> {
        let place = if self.append_if_not_found {
            lines.len()
        } else if self.prepend_if_not_found {
            0
        } else {
            let (expression, shift) = match (&self.insert_before_match, &self.insert_after_match) {
                (Some(before), _) => (before, 0),
                (_, Some(after)) => (after, 1),
                _ => {
                    return Err(Error::failed("Cannot edit marked block. Markers were not found in file.")
                        .hint("append_if_not_found=True adds them"));
                }
            };
            let pattern = Pattern::new(expression, Flags::NONE)?;
            let mut found = None;
            for (index, line) in lines.iter().enumerate() {
                if pattern.matches(line)? {
                    found = Some(index + shift);
                    break;
                }
            }
            found.ok_or_else(|| {
                Error::failed("Cannot edit marked block. Markers were not found in file.")
                    .hint(format!("and no line matches '{expression}'"))
            })?
        };
        let (above, below) = (lines[..place].concat(), lines[place..].concat());
        let gap = if above.is_empty() || above.ends_with('\n') { "" } else { "\n" };
        Ok(format!("{above}{gap}{}\n{block}{}\n{below}", self.marker_start, self.marker_end))
    }
}
