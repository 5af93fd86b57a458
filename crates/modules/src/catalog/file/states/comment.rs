//! `file.comment`: comments out lines.

use rocksalt_core::Value;
use rocksalt_core::pattern::{Flags, Pattern};
use rocksalt_macros::state;

use super::edit::{self, FileText, TextChange};
use super::{Decision, Flag, Plan, State, Step, Touches, Verdict, look, writes};
use crate::Result;
use crate::machine::Probe;

/// Makes sure that lines are commented out.
///
/// ```yaml
/// /etc/fstab:
///   file.comment:
///     - regex: ^bind 127.0.0.1
/// ```
#[state("file.comment", strict, required("regex"))]
pub struct Comment {
    /// The file's path.
    name: String,
    /// A regular expression for the lines, as they are without the comment sign.
    #[default]
    regex: String,
    /// The comment sign.
    #[default("#")]
    char: String,
    /// The ending of the old content's copy, or `False` for none.
    #[default(".bak")]
    backup: Value,
    /// No such line is no failure.
    ignore_missing: Flag,
}

impl State for Comment {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(self.decide(machine).unwrap_or_else(Decision::Settled))
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}

impl Comment {
    fn decide(&self, machine: &dyn Probe) -> Result<Decision, Verdict> {
        let name = look::name(machine, &self.name);
        if name.is_empty() {
            return Err(Verdict::bad("Must provide name to file.comment"));
        }
        edit::check_file(machine, &name)?;
        let text = FileText::read(machine, &name)?;
        let (bare, sign) = (without_anchors(&self.regex), &self.char);
        let commented = format!("{sign}{bare}");
        if !text.has(&format!("^(?!\\s*{sign})\\s*{bare}"))? {
            return Err(match () {
                () if text.has(&commented)? => Verdict::good("Pattern already commented").output("path", name),
                () if self.ignore_missing.0 => Verdict::good("Pattern not found and ignore_missing set to True"),
                () => Verdict::bad(format!("{bare}: Pattern not found")),
            });
        }
        let new = changed(&text, &self.regex, sign, true)?;
        finish(
            machine,
            &name,
            &text,
            new,
            &self.backup,
            &commented,
            ["Commented lines successfully", "Expected commented lines not found"],
        )
    }
}

/// The expression without anchors, and without inline flags at its start.
fn without_anchors(regex: &str) -> &str {
    let flags = ["(?i)", "(?L)", "(?m)", "(?s)", "(?u)", "(?x)"];
    let bare = flags.iter().find_map(|flag| regex.strip_prefix(flag)).unwrap_or(regex);
    let bare = bare.strip_prefix('^').unwrap_or(bare);
    bare.strip_suffix('$').unwrap_or(bare)
}

/// The text with the matching lines commented out, or uncommented.
pub fn changed(text: &FileText, regex: &str, sign: &str, out: bool) -> Result<String, Verdict> {
    let (start, end) = (if regex.starts_with('^') { "^" } else { "" }, if regex.ends_with('$') { "$" } else { "" });
    let bare = regex.trim_start_matches('^').trim_end_matches('$');
    let expression = if out { format!("{start}({bare}){end}") } else { format!("^{sign}\\s*({bare}){end}") };
    let fault = |error: rocksalt_core::pattern::Error| Verdict::bad(error.to_string());
    let pattern = Pattern::at_start(&expression, Flags::NONE).map_err(fault)?;
    let mut new = String::with_capacity(text.old.len() + sign.len());
    for line in text.old.split_inclusive('\n') {
        match pattern.matches(line).map_err(fault)? {
            false => new.push_str(line),
            true if out => new.push_str(&format!("{sign}{line}")),
            true => new.push_str(line.trim_start_matches(|letter| sign.contains(letter))),
        }
    }
    Ok(new)
}

/// The decision, by which lines the new text contains.
pub fn finish(
    machine: &dyn Probe,
    name: &str,
    text: &FileText,
    new: String,
    backup: &Value,
    expected: &str,
    [good, bad]: [&str; 2],
) -> Result<Decision, Verdict> {
    let fault = |error: rocksalt_core::pattern::Error| Verdict::bad(error.to_string());
    let found = Pattern::new(expected, Flags::MULTI_LINE).and_then(|pattern| pattern.matches(&new)).map_err(fault)?;
    let would = Verdict::would(format!("File {name} is set to be updated")).change(name, "updated");
    if new == text.old {
        let verdict = if found { Verdict::good(good) } else { Verdict::bad(bad) };
        return Ok(Decision::Change(Plan::brief(verdict), would));
    }
    let shown = edit::shown(text, &new, true);
    let decision =
        TextChange { text, new, shown, backup, would: "", done: if found { good } else { bad } }.decide(machine);
    Ok(match decision {
        Decision::Change(mut plan, _) => {
            plan.done.result = Some(found);
            Decision::Change(plan, would)
        }
        settled => settled,
    })
}
