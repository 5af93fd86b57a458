//! `file.blockreplace`: a block between two markers.

use rocksalt_core::Value;
use rocksalt_core::pattern::{Flags, Pattern};
use rocksalt_macros::state;

use super::edit::{self, FileText, TextChange};
use super::texts::SourceArguments;
use super::{Decision, Flag, State, Step, Touches, Verdict, accumulated, look, writes};
use crate::machine::Probe;
use crate::{Error, Result};

/// Makes sure that a text stands between two markers in a file.
///
/// ```yaml
/// /etc/hosts:
///   file.blockreplace:
///     - marker_start: "# BLOCK TOP : managed by rocksalt"
///     - marker_end: "# BLOCK BOTTOM"
///     - content: |
///         10.0.0.1 one
///         10.0.0.2 two
///     - append_if_not_found: True
/// ```
#[state("file.blockreplace", strict)]
pub struct Blockreplace {
    /// The file's path.
    name: String,
    /// A text in the line before the block.
    #[default("#-- start managed zone --")]
    marker_start: String,
    /// A text in the line after the block.
    #[default("#-- end managed zone --")]
    marker_end: String,
    /// Where more content comes from: `salt://…`, an address or a path.
    source: Value,
    #[flatten]
    templates: SourceArguments,
    /// What is to stand between the markers.
    content: Value,
    /// If there are no markers, add them and the content at the end.
    append_if_not_found: Flag,
    /// If there are no markers, add them and the content at the start.
    prepend_if_not_found: Flag,
    /// The ending of the old content's copy, or `False` for none.
    #[default(".bak")]
    backup: Value,
    /// Show what differs; switch it off for secrets.
    #[default(true)]
    show_changes: Flag,
    /// End the content's last line; only if it lacks its end, by default.
    append_newline: Option<Flag>,
    /// If there are no markers, add all before the first line that this regular expression matches.
    insert_before_match: Option<String>,
    /// If there are no markers, add all after the first line that this regular expression matches.
    insert_after_match: Option<String>,
}

impl State for Blockreplace {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        Ok(self.decide(machine, step).unwrap_or_else(Decision::Settled))
    }

    fn touches(&self) -> Touches {
        super::reading(writes(&self.name), &self.source)
    }
}

impl Blockreplace {
    fn decide(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision, Verdict> {
        let name = look::name(machine, &self.name);
        if name.is_empty() {
            return Err(Verdict::bad("Must provide name to file.blockreplace"));
        }
        let sources = self.templates.sources(&self.source);
        let list = sources.list()?;
        edit::check_file(machine, &name)?;
        let mut content = if self.content.is_null() { String::new() } else { self.content.to_string() };
        for texts in accumulated::texts(machine, &name).iter().filter_map(Value::as_map).flat_map(|map| map.values()) {
            for text in texts.as_list().unwrap_or_default() {
                let gap = if content.is_empty() { "" } else { "\n" };
                content = format!("{content}{gap}{text}");
            }
        }
        for text in sources.texts(machine, step, &list)? {
            content.push_str(&text);
        }
        let failed = |reason: String| {
            Verdict::bad(format!("Encountered error managing block: {reason}. See the log for details."))
        };
        let text = FileText::read(machine, &name).map_err(|verdict| failed(verdict.comment))?;
        let new = self.edit(&text.old, &content).map_err(|error| failed(error.to_string()))?;
        if new == text.old {
            return Err(Verdict::good("No changes needed to be made").output("path", name));
        }
        let change = TextChange {
            shown: edit::shown(&text, &new, self.show_changes.0),
            text: &text,
            new,
            backup: &self.backup,
            would: "Changes would be made",
            done: "Changes were made",
        };
        Ok(change.decide(machine))
    }

    fn edit(&self, old: &str, content: &str) -> Result<String> {
        let choices = [
            self.append_if_not_found.0,
            self.prepend_if_not_found.0,
            self.insert_before_match.as_deref().is_some_and(|text| !text.is_empty()),
            self.insert_after_match.as_deref().is_some_and(|text| !text.is_empty()),
        ];
        if choices.iter().filter(|choice| **choice).count() > 1 {
            return Err(Error::arguments(
                "Only one of append_if_not_found, prepend_if_not_found, insert_before_match, and insert_after_match \
                 is permitted",
            ));
        }
        let lines = edit::lines(old);
        let ending = if lines.first().is_some_and(|line| line.ends_with("\r\n")) { "\r\n" } else { "\n" };
        let mut new: Vec<String> = Vec::new();
        let (mut inside, mut found) = (false, false);
        for line in &lines {
            if line.contains(&self.marker_start) {
                inside = true;
                new.push((*line).to_owned());
            } else if inside {
                if let Some(at) = line.find(&self.marker_end) {
                    (inside, found) = (false, true);
                    new.push(self.block(content, ending, &line[at..]));
                }
            } else {
                new.push((*line).to_owned());
            }
        }
        if inside {
            return Err(Error::failed("Unterminated marked block. End of file reached before marker_end."));
        }
        if found {
            return Ok(new.concat());
        }
        let missing = || Error::failed("Cannot edit marked block. Markers were not found in file.");
        let block = format!("{}{ending}{}", self.marker_start, self.block(content, ending, &self.marker_end));
        if self.prepend_if_not_found.0 {
            return Ok(block + old);
        }
        if self.append_if_not_found.0 {
            let gap = if old.is_empty() || old.ends_with(ending) { "" } else { ending };
            return Ok(format!("{old}{gap}{block}"));
        }
        let (expression, shift) = match (&self.insert_before_match, &self.insert_after_match) {
            (Some(before), _) if !before.is_empty() => (before, 0),
            (_, Some(after)) if !after.is_empty() => (after, 1),
            _ => return Err(missing()),
        };
        let pattern = Pattern::new(expression, Flags::NONE)?;
        for (index, line) in lines.iter().enumerate() {
            if pattern.matches(line)? {
                let place = index + shift;
                return Ok(format!("{}{block}{}", lines[..place].concat(), lines[place..].concat()));
            }
        }
        Err(missing())
    }

    /// The content with the line that ends it.
    fn block(&self, content: &str, ending: &str, last: &str) -> String {
        let own_line = self.append_newline.map_or(!content.ends_with('\n'), |flag| flag.0);
        let last = format!("{}{ending}", last.trim_end_matches(['\r', '\n']));
        let unix = content.replace("\r\n", "\n");
        let parts: Vec<&str> = unix.split('\n').collect();
        let gap = if own_line { ending } else { "" };
        format!("{}{gap}{last}", parts.join(ending))
    }
}
