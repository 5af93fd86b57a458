//! `file.line`: one line of a file.

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::edit::{self, FileText};
use super::line_edit::{LineEdit as Edit, LineMode};
use super::permissions::{self, PermissionsSpec};
use super::{Action, Decision, Flag, Plan, State, Step, Touches, Verdict, look, writes};
use crate::Result;
use crate::machine::{Command, Probe};
use crate::text::{diff, digest};

/// Makes sure that a line is in a file, or is not.
///
/// ```yaml
/// update config:
///   file.line:
///     - name: /etc/myconfig.conf
///     - content: CFLAGS=-O2
///     - mode: ensure
///     - after: somekey.*?
/// ```
#[state("file.line", strict)]
pub struct Line {
    /// The file's path.
    name: String,
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
    /// Show what differs; switch it off for secrets.
    #[default(true)]
    show_changes: Flag,
    /// Keep the old content beside it, with the time in its name.
    backup: Flag,
    /// What is no file is no failure.
    quiet: Flag,
    /// Indent the line as its neighbour is.
    #[default(true)]
    indent: Flag,
    /// Make an empty file first if there is none.
    create: Flag,
    /// The user it belongs to.
    user: Value,
    /// The group it belongs to.
    group: Value,
    /// Its mode.
    file_mode: Value,
}

impl State for Line {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        Ok(self.decide(machine, step).unwrap_or_else(Decision::Settled))
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}

impl Line {
    fn decide(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision, Verdict> {
        let name = look::name(machine, &self.name);
        if name.is_empty() {
            return Err(Verdict::bad("Must provide name to file.line"));
        }
        let made = self.create.0 && !step.test && look::is_absolute(&name) && !look::exists(machine, &name);
        let mode = self.checked_mode(machine, &name, made)?;
        let text = if made { FileText::empty(&name) } else { FileText::read(machine, &name)? };
        let lines = self.edit(&mode)?.edit(&text.old).map_err(Verdict::bad)?;
        let new = lines.concat();
        // Owner and mode are only changed on an existing file.
        let request = PermissionsSpec {
            user: self.user.clone(),
            group: self.group.clone(),
            mode: permissions::mode(&self.file_mode),
            follow: true,
            ..PermissionsSpec::default()
        };
        let mut plan = Plan::brief(Verdict::good("No changes needed to be made").output("path", name.as_str()));
        let mut would = Verdict::good("No changes needed to be made");
        if new != text.old || made {
            if self.backup.0 && !made {
                plan = plan
                    .then(Action::Copy { from: text.path.clone(), to: format!("{}.{}", text.path, stamp(machine)) });
            }
            let content = text.bytes(&new);
            plan.done = plan.done.output("hash", digest::of(digest::DigestAlgorithm::Sha256, &content));
            let mode = request.mode.as_deref().and_then(permissions::bits);
            plan = plan.then(Action::Write { path: text.path.clone(), content, mode, parents: false });
        }
        if new != text.old {
            let shown: Value = match self.show_changes.0 {
                true => {
                    let new: Vec<&str> = lines.iter().map(String::as_str).collect();
                    diff::lines(&edit::lines(&text.old), &new, "", "").into()
                }
                false => true.into(),
            };
            plan.done.comment = "Changes were made".into();
            plan.done.changes.insert("diff", shown.clone());
            would = Verdict::would("Changes would be made").change("diff", shown);
        }
        let mended = match made {
            true => new_owner(machine, &name, &request).into_iter().collect(),
            false => request.look(machine, &name).actions,
        };
        if new == text.old && !made && mended.is_empty() {
            return Err(plan.done);
        }
        Ok(Decision::Change(plan.all(mended), would))
    }

    /// The mode, if there is a file to edit or one that is `made`.
    fn checked_mode(&self, machine: &dyn Probe, name: &str, made: bool) -> Result<String, Verdict> {
        if !made {
            edit::check_file(machine, name)?;
        }
        let mode = self.mode.as_deref().map(str::to_lowercase).filter(|mode| !mode.is_empty());
        let Some(mode) = mode else {
            return Err(Verdict::bad("Mode was not defined. How to process the file?"));
        };
        if mode != "delete" && self.content.is_none() {
            return Err(Verdict::bad("Content can only be empty if mode is ['delete']"));
        }
        if !made && !look::is_file(machine, name) {
            let text = format!("File \"{name}\" does not exists or is not a file.");
            let quiet = Verdict::good("No changes needed to be made");
            return Err(if self.quiet.0 { quiet } else { Verdict::bad(text) });
        }
        Ok(mode)
    }

    fn edit(&self, mode: &str) -> Result<Edit<'_>, Verdict> {
        Ok(Edit {
            content: self.content.as_deref().unwrap_or_default(),
            wanted: self.r#match.as_deref(),
            mode: LineMode::read(mode).ok_or_else(|| Verdict::bad(format!("Unknown mode: \"{mode}\"")))?,
            location: self.location.as_deref(),
            before: self.before.as_deref(),
            after: self.after.as_deref(),
            indent: self.indent.0,
        })
    }
}

/// Gives a new file away. Its mode is that with which it is written.
fn new_owner(machine: &dyn Probe, name: &str, request: &PermissionsSpec) -> Option<Action> {
    let (uid, gid) = permissions::numbers(machine, &request.user, &request.group);
    let failure = format!("Failed to change user to {}", request.user);
    let owner = Action::Owner { path: name.to_owned(), uid, gid, follow: true, failure };
    (uid.is_some() || gid.is_some()).then_some(owner)
}

/// The time in the format of Salt's backup names.
fn stamp(machine: &dyn Probe) -> String {
    let output = machine.query(&Command::new(["date", "+%Y-%m-%d-%H-%M-%S"])).ok().filter(|output| output.success());
    output.map_or_else(|| format!("{}", machine.now() as u64), |output| output.text().trim().to_owned())
}
