//! `file.directory`: a directory, and the owners and modes of its content.

use std::collections::BTreeSet;

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::missing_directories;
use super::permissions::{self, PermissionsSpec, bits};
use super::walk::{self, Level, Patterns};
use super::{Action, Decision, Flag, Plan, State, Step, Touches, Verdict, keep, look, writes};
use crate::Result;
use crate::machine::Probe;

/// Makes sure that a directory is there, with an owner and a mode, and if asked all that is below it.
///
/// ```yaml
/// /srv/stuff/substuf:
///   file.directory:
///     - user: fred
///     - group: users
///     - dir_mode: '0755'
///     - file_mode: '0644'
///     - makedirs: True
///     - recurse:
///       - user
///       - group
///       - mode
/// ```
#[state("file.directory")]
pub struct Directory {
    /// The directory's path.
    name: String,
    /// The user it belongs to.
    user: Value,
    /// Salt's wrong word for `user`, taken too.
    owner: Value,
    /// The group it belongs to.
    group: Value,
    /// What is to hold for all below it: `user`, `group`, `mode`; `ignore_files`, `ignore_dirs` and `silent` restrict it.
    recurse: Value,
    /// Go down at most so many levels.
    max_depth: Option<u64>,
    /// The mode of directories.
    dir_mode: Value,
    /// The same as `dir_mode`.
    mode: Value,
    /// The mode of files, with `recurse: [mode]`; that of directories by default.
    file_mode: Value,
    /// Create parent directories.
    makedirs: Flag,
    /// Remove what no required `file` state has put there.
    clean: Flag,
    /// What to leave there all the same: shell patterns, or `E@` and a regular expression.
    exclude_pat: Value,
    /// Whether owner and mode are those of what a link leads to.
    follow_symlinks: Flag,
    /// Replace a file that is in the way.
    force: Flag,
    /// Rename a file that is in the way.
    backupname: Option<String>,
    /// A link to a directory is one.
    #[default(true)]
    allow_symlink: Flag,
    /// Only what is below it, not the directory itself.
    children_only: Flag,
}

const RECURSE: [&str; 6] = ["user", "group", "mode", "ignore_files", "ignore_dirs", "silent"];

impl State for Directory {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        self.decide(machine, step).map(|decided| decided.unwrap_or_else(Decision::Settled))
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}

/// The result of comparing everything in the directory.
struct DirectoryState {
    /// Changes by path, as a dry run shows them.
    changes: Map,
    stray: Vec<String>,
    levels: Vec<Level>,
}

impl Directory {
    fn decide(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Result<Decision, Verdict>> {
        let mut name = look::name(machine, &self.name);
        if name.is_empty() {
            return Ok(Err(Verdict::bad("Must provide name to file.directory")));
        }
        if name.ends_with('/') && name != "/" {
            name.pop();
        }
        if self.max_depth.is_some() && self.clean.0 {
            return Ok(Err(Verdict::bad("Cannot specify both max_depth and clean")));
        }
        let user = if self.user.truth() { &self.user } else { &self.owner };
        if let Some(fault) = permissions::check_owners(machine, user, &self.group, step.test) {
            return Ok(Err(Verdict::bad(fault)));
        }
        if !look::is_absolute(&name) {
            return Ok(Err(Verdict::bad(format!("Specified file {name} is not an absolute path"))));
        }
        let mut plan = Plan::brief(Verdict::good(""));
        let mut changes = Map::new();
        let is_link = look::is_link(machine, &name);
        let in_the_way = look::is_file(machine, &name) || (is_link && (!self.allow_symlink || self.force.0));
        if in_the_way {
            match self.clear_way(machine, &name, step.test, &mut changes) {
                Ok(actions) => plan = plan.all(actions),
                Err(verdict) => return Ok(Err(verdict)),
            }
        }
        let recurse = match self.recurse_set() {
            Ok(recurse) => recurse,
            Err(text) => return Ok(Err(Verdict::bad(text))),
        };
        let gone = in_the_way && !step.test;
        let looked = self.look(machine, step, &name, user, &recurse, gone)?;
        changes.extend(looked.changes.clone());
        let would = dry(&name, &looked.changes).changes(changes.clone());
        if changes.is_empty() {
            return Ok(Ok(Decision::Settled(would.output("path", name))));
        }
        if step.test {
            return Ok(Ok(Decision::Change(plan, would)));
        }
        if gone || !look::is_directory(machine, &name) {
            return Ok(Ok(self.create(machine, &name, user, plan, changes, would)));
        }
        Ok(Ok(Decision::Change(self.mend(machine, &name, user, &recurse, &looked, plan, changes), would)))
    }

    /// Removes or backs up another type of file in place of the directory.
    fn clear_way(
        &self,
        machine: &dyn Probe,
        name: &str,
        test: bool,
        changes: &mut Map,
    ) -> Result<Vec<Action>, Verdict> {
        let mut actions = Vec::new();
        if let Some(backup) = &self.backupname {
            if look::exists_itself(machine, backup) {
                if !self.force {
                    let text = format!("File exists where the backup target {backup} should go");
                    return Err(Verdict::bad(text));
                }
                if test {
                    changes.insert("forced", format!("Existing file at backup path {backup} would be removed"));
                }
                actions.push(Action::Remove(backup.clone()));
            }
            if test {
                changes.insert("backup", format!("{name} would be renamed to {backup}"));
                changes.insert(name, new());
                let text = format!("{name} would be backed up and replaced with a new directory");
                return Err(Verdict::would(text).changes(changes.clone()));
            }
            actions.push(Action::Rename { from: name.to_owned(), to: backup.clone() });
            return Ok(actions);
        }
        let is_file = look::is_file(machine, name);
        if self.force.0 {
            let what = if is_file { "File" } else { "Symlink" };
            let verb = if test { "would be" } else { "was" };
            changes.insert("forced", format!("{what} {verb} forcibly replaced"));
            actions.push(Action::Remove(name.to_owned()));
            return Ok(actions);
        }
        let what = if is_file { "file" } else { "symlink" };
        Err(Verdict::bad(format!("Specified location {name} exists and is a {what}")))
    }

    fn recurse_set(&self) -> Result<BTreeSet<String>, String> {
        if !self.recurse.truth() {
            return Ok(BTreeSet::new());
        }
        let Some(list) = self.recurse.as_list() else {
            return Err("\"recurse\" must be formed as a list of strings".into());
        };
        let set: BTreeSet<String> = list.iter().map(ToString::to_string).collect();
        if set.iter().any(|word| !RECURSE.contains(&word.as_str())) {
            let known: Vec<String> = RECURSE.iter().map(|word| format!("\"{word}\"")).collect();
            return Err(format!("Types for \"recurse\" limited to {}.", known.join(", ")));
        }
        if set.contains("ignore_files") && set.contains("ignore_dirs") {
            return Err(
                "Must not specify \"recurse\" options \"ignore_files\" and \"ignore_dirs\" at the same time.".into()
            );
        }
        Ok(set)
    }

    fn directory_mode(&self) -> Option<String> {
        permissions::mode(if self.dir_mode.truth() { &self.dir_mode } else { &self.mode })
    }

    fn request(&self, user: &Value, mode: Option<String>) -> PermissionsSpec {
        PermissionsSpec {
            user: user.clone(),
            group: self.group.clone(),
            mode,
            follow: self.follow_symlinks.0,
            ..PermissionsSpec::default()
        }
    }

    /// The requested attributes of directories and files below, by `recurse`.
    fn wishes_below(&self, user: &Value, recurse: &BTreeSet<String>) -> (PermissionsSpec, PermissionsSpec) {
        let mut directories = self.request(user, self.directory_mode());
        if !recurse.contains("user") {
            directories.user = Value::Null;
        }
        if !recurse.contains("group") {
            directories.group = Value::Null;
        }
        let mut files = directories.clone();
        if self.file_mode.truth() {
            files.mode = permissions::mode(&self.file_mode);
        }
        if !recurse.contains("mode") {
            (directories.mode, files.mode) = (None, None);
        }
        (directories, files)
    }

    fn look(
        &self,
        machine: &dyn Probe,
        step: &Step<'_>,
        name: &str,
        user: &Value,
        recurse: &BTreeSet<String>,
        gone: bool,
    ) -> Result<DirectoryState> {
        let mut looked = DirectoryState { changes: Map::new(), stray: Vec::new(), levels: Vec::new() };
        if gone {
            looked.changes.insert(name, new());
            return Ok(looked);
        }
        if !recurse.is_empty() || self.clean.0 {
            looked.levels = walk::levels(machine, name, self.max_depth)?;
        }
        let (directories, files) = self.wishes_below(user, recurse);
        if !recurse.is_empty() {
            for (path, request) in below(&looked.levels, recurse, &directories, &files) {
                let changes = request.look(machine, &path).changes;
                if !changes.is_empty() {
                    looked.changes.insert(path, changes);
                }
            }
        }
        if !self.children_only {
            let request = if recurse.is_empty() { self.request(user, self.directory_mode()) } else { directories };
            let there = look::exists_itself(machine, name);
            let changes = if there { request.look(machine, name).changes } else { new() };
            if !changes.is_empty() {
                looked.changes.insert(name, changes);
            }
        }
        if self.clean.0 {
            let keep = keep::required(machine, step, name)?;
            let patterns = Patterns::read(&Value::Null, &self.exclude_pat)?;
            looked.stray = walk::stray(machine, name, &keep, &patterns, &looked.levels);
            for level in &looked.levels {
                for path in level.files.iter().chain(&level.directories).map(|name| look::join(&level.path, name)) {
                    let gone = looked.stray.iter().any(|gone| std::path::Path::new(&path).starts_with(gone));
                    let relative = path.strip_prefix(name).unwrap_or(&path).trim_start_matches('/');
                    if gone && patterns.take(relative) {
                        let changes = Map::from_iter([("removed".into(), "Removed due to clean".into())]);
                        looked.changes.insert(path, changes);
                    }
                }
            }
        }
        if !look::is_directory(machine, name) {
            looked.changes.insert(name, new());
        }
        Ok(looked)
    }

    fn create(
        &self,
        machine: &dyn Probe,
        name: &str,
        user: &Value,
        mut plan: Plan,
        mut changes: Map,
        would: Verdict,
    ) -> Decision {
        if look::exists_itself(machine, name) && !look::is_file(machine, name) && !look::is_link(machine, name) {
            return Decision::Settled(Verdict::bad(format!("Failed to create directory {name}")).changes(changes));
        }
        let mut missing = vec![name.to_owned()];
        let above = look::above(name);
        if !look::is_directory(machine, above) {
            if !self.makedirs {
                return Decision::Settled(Verdict::bad(format!("No directory to create {name} in")).changes(changes));
            }
            missing = missing_directories(machine, name);
            if missing.last().is_none_or(|last| last != name) {
                missing.push(name.to_owned());
            }
        }
        let (uid, gid) = permissions::numbers(machine, user, &self.group);
        let mode = self.directory_mode().as_deref().and_then(bits).unwrap_or(0o777 & !look::umask(machine));
        for path in missing {
            plan = plan.then(Action::MakeDirectory { path, mode, uid, gid });
        }
        changes.insert(name, new());
        plan.done = Verdict::good("").changes(changes).output("path", name);
        Decision::Change(plan.or("Failed to create directory: "), would)
    }

    #[allow(clippy::too_many_arguments, reason = "all that was found out on the way")]
    fn mend(
        &self,
        machine: &dyn Probe,
        name: &str,
        user: &Value,
        recurse: &BTreeSet<String>,
        looked: &DirectoryState,
        mut plan: Plan,
        mut changes: Map,
    ) -> Plan {
        let mut comment = String::new();
        let mut result = Some(true);
        if !self.children_only {
            let mending = self.request(user, self.directory_mode()).look(machine, name);
            changes.extend(mending.changes);
            plan = plan.all(mending.actions);
        }
        for (word, value) in [("user", user), ("group", &self.group)] {
            if recurse.contains(word) && !value.truth() && value.as_i64().is_none() {
                result = Some(false);
                comment =
                    format!("{word} not specified, but configured as a target for recursive ownership management");
            }
        }
        if recurse.contains("silent") {
            changes = Map::from_iter([("recursion".into(), "Changes silenced".into())]);
        }
        let (directories, files) = self.wishes_below(user, recurse);
        let gone = |path: &str| looked.stray.iter().any(|gone| std::path::Path::new(path).starts_with(gone));
        if !recurse.is_empty() {
            for (path, request) in below(&looked.levels, recurse, &directories, &files) {
                let mending = request.look(machine, &path);
                changes.extend(mending.changes);
                // A path that is removed anyway needs no new mode.
                plan = plan.all(mending.actions.into_iter().filter(|_| !gone(&path)));
            }
        }
        if !looked.stray.is_empty() {
            plan = plan.all(looked.stray.iter().cloned().map(Action::Remove));
            changes.insert("removed", looked.stray.clone());
            comment = format!("Files cleaned from directory {name}");
        }
        if comment.is_empty() {
            comment = match self.children_only.0 {
                true => format!("Directory {name}/* updated"),
                false => format!("Directory {name} updated"),
            };
        }
        plan.done = Verdict { result, ..Verdict::good(comment) }.changes(changes).output("path", name);
        plan
    }
}

/// All paths below, with the requested attributes of each.
fn below<'a>(
    levels: &'a [Level],
    recurse: &BTreeSet<String>,
    directories: &'a PermissionsSpec,
    files: &'a PermissionsSpec,
) -> Vec<(String, &'a PermissionsSpec)> {
    let mut all = Vec::new();
    for level in levels {
        if !recurse.contains("ignore_files") {
            all.extend(level.files.iter().map(|name| (look::join(&level.path, name), files)));
        }
        if !recurse.contains("ignore_dirs") {
            all.extend(level.directories.iter().map(|name| (look::join(&level.path, name), directories)));
        }
    }
    all
}

fn new() -> Map {
    Map::from_iter([("directory".into(), "new".into())])
}

fn dry(name: &str, changes: &Map) -> Verdict {
    if changes.is_empty() {
        return Verdict::good(format!("The directory {name} is in the correct state"));
    }
    let mut comment = String::from("The following files will be changed:\n");
    for (path, what) in changes.iter() {
        for (key, value) in what.as_map().into_iter().flat_map(Map::iter) {
            comment.push_str(&format!("{path}: {key} - {value}\n"));
        }
    }
    Verdict::would(comment)
}
