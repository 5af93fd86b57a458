//! `file.prepend`: lines at the start of a file.

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::additions;
use super::difference::HIDDEN;
use super::texts::SourceArguments;
use super::{Action, Decision, Flag, Plan, State, Step, Touches, Verdict, lines, look, writes};
use crate::Result;
use crate::machine::Probe;
use crate::text::digest;

/// Adds lines before all others of a file, unless they are in it.
///
/// ```yaml
/// /etc/motd:
///   file.prepend:
///     - text: |
///         This machine is looked after by Rocksalt.
/// ```
///
/// A file that isn't there is made.
#[state("file.prepend", strict)]
pub struct Prepend {
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
    /// The text must stand at the very start, not just anywhere.
    header: Flag,
    /// Show what differs; switch it off for secrets.
    #[default(true)]
    show_changes: Flag,
}

impl State for Prepend {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        Ok(self.decide(machine, step).unwrap_or_else(Decision::Settled))
    }

    fn touches(&self) -> Touches {
        super::reading(writes(&self.name), &self.source)
    }
}

impl Prepend {
    fn decide(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision, Verdict> {
        let name = look::name(machine, &self.name);
        if name.is_empty() {
            return Err(Verdict::bad("Must provide name to file.prepend"));
        }
        let sources = self.templates.sources(&self.source);
        let prepared = additions::prepare(machine, step, &name, &self.makedirs, &self.text, &sources)?;
        let old = &prepared.text.old;
        let mut added = Vec::new();
        for chunk in &prepared.chunks {
            if self.header.0 || !prepared.has(chunk)? {
                added.extend(lines::bare(chunk));
            }
        }
        // Salt's dry run doesn't check whether the header exists.
        if self.header.0 && !step.test && lines::bare(old).starts_with(&added) {
            added.clear();
        }
        let settled = format!("File {name} is in correct state");
        if added.is_empty() && look::exists(machine, &name) {
            return Err(Verdict::good(settled).output("path", name));
        }
        let new = format!("{}{old}", added.iter().map(|line| format!("{line}\n")).collect::<String>());
        let shown = if self.show_changes.0 { prepared.text.difference(&new) } else { HIDDEN.to_owned() };
        let (mut done, mut would) = (
            Verdict::good(format!("Prepended {} lines", added.len())),
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
