//! `file.append`: lines at the end of a file.

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::additions::{self, airy};
use super::difference::HIDDEN;
use super::texts::SourceArguments;
use super::{Action, Decision, Flag, Plan, State, Step, Touches, Verdict, lines, look, writes};
use crate::Result;
use crate::machine::Probe;
use crate::text::digest;

/// Adds lines to the end of a file, unless they are in it.
///
/// ```yaml
/// /etc/motd:
///   file.append:
///     - text: |
///         Thou hadst better eat salt with the Philosophers of Greece,
///         than sugar with the Courtiers of Italy.
/// ```
///
/// A file that isn't there is made.
#[state("file.append", strict)]
pub struct Append {
    /// The file's path.
    name: String,
    /// A text, or a list of them.
    text: Value,
    /// Create parent directories.
    makedirs: Value,
    /// Where the text comes from: `salt://…`, an address or a path.
    source: Value,
    #[flatten]
    templates: SourceArguments,
    /// Lines that differ in space only are the same.
    #[default(true)]
    ignore_whitespace: Flag,
    /// Show what differs; switch it off for secrets.
    #[default(true)]
    show_changes: Flag,
}

impl State for Append {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        Ok(self.decide(machine, step).unwrap_or_else(Decision::Settled))
    }

    fn touches(&self) -> Touches {
        super::reading(writes(&self.name), &self.source)
    }
}

impl Append {
    fn decide(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision, Verdict> {
        let name = look::name(machine, &self.name);
        if name.is_empty() {
            return Err(Verdict::bad("Must provide name to file.append"));
        }
        let sources = self.templates.sources(&self.source);
        let prepared = additions::prepare(machine, step, &name, &self.makedirs, &self.text, &sources)?;
        let mut added = Vec::new();
        for chunk in &prepared.chunks {
            let there = if self.ignore_whitespace.0 { prepared.has(chunk)? } else { prepared.text.has(chunk)? };
            if !there {
                added.extend(lines::bare(chunk));
            }
        }
        let old = &prepared.text.old;
        let gap = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
        let new = format!("{old}{gap}{}", added.iter().map(|line| format!("{line}\n")).collect::<String>());
        let settled = format!("File {name} is in correct state");
        if added.is_empty() && look::exists(machine, &name) {
            return Err(Verdict::good(settled).output("path", name));
        }
        let shown = if self.show_changes.0 { airy(old, &new) } else { HIDDEN.to_owned() };
        let (mut done, mut would) = (
            Verdict::good(format!("Appended {} lines", added.len())),
            Verdict::would(format!("File {name} is set to be updated")),
        );
        if added.is_empty() {
            done.comment = settled;
        } else {
            done = done.change("diff", shown.as_str());
            would = would.change("diff", shown);
        }
        let content = prepared.text.bytes(&new);
        let hash = digest::of(digest::DigestAlgorithm::Sha256, &content);
        let write = Action::Write { path: prepared.text.path, content, mode: None, parents: false };
        let plan = Plan::brief(done.output("path", name).output("hash", hash)).all(prepared.actions).then(write);
        Ok(Decision::Change(plan, would))
    }
}
