//! The shared engine of states that define a whole file: difference, atomic write, permissions.

use std::path::Path;

use rocksalt_core::Map;

use super::super::path::{canonical, octal};
use super::difference::{self, Ignored};
use super::missing_directories;
use super::permissions::{self, Mending, PermissionsSpec, bits};
use super::{Action, Decision, Plan, Verdict, backup, look};
use crate::catalog::plan::ContentCheck;
use crate::machine::{FileKind, Probe};
use crate::text::digest;

/// A file as specified.
pub struct FileInstall<'a> {
    pub name: &'a str,
    /// `None` accepts any content; a new file is empty.
    pub content: Option<Vec<u8>>,
    /// Salt first creates a file from a source without permissions, others with the default ones.
    pub from_source: bool,
    pub request: PermissionsSpec,
    pub makedirs: bool,
    pub dir_mode: Option<String>,
    /// Keep the old content in the target's cache.
    pub backup: bool,
    pub show_changes: bool,
    pub new_file_diff: bool,
    pub ignored: Ignored,
    /// A command, the directory of the file that it checks, and the suffix of that file's name.
    pub check: Option<(String, Option<String>, String)>,
}

/// The second and third line of Salt's comment in each dry run of a file.
pub const NOTE: &str = "\nNote: No changes made, actual changes may\nbe different due to other states.";

impl FileInstall<'_> {
    pub fn decide(self, machine: &dyn Probe, test: bool) -> Decision {
        if let Some(text) = look::planted(machine, self.name).filter(|_| self.request.follow) {
            return Decision::Settled(Verdict::bad(text));
        }
        if look::is_file(machine, self.name) || look::is_link(machine, self.name) {
            self.update(machine)
        } else {
            self.create(machine, test)
        }
    }

    fn create(mut self, machine: &dyn Probe, test: bool) -> Decision {
        let name = self.name;
        let above = look::above(name);
        let missing = if look::is_directory(machine, above) { Vec::new() } else { missing_directories(machine, above) };
        if !missing.is_empty() && !self.makedirs && !test {
            return Decision::Settled(Verdict::bad("Parent directory not present"));
        }
        let content = self.content.take();
        let mut changes = Map::new();
        let mut comment = format!("File {name} updated");
        let difference = match &content {
            Some(content) if self.new_file_diff => difference::shown(machine, b"", content, self.show_changes),
            _ => "New file".into(),
        };
        match &content {
            Some(_) => changes.insert("diff", difference.as_str()),
            None => {
                comment = "Empty file".into();
                changes.insert("new", format!("file {name} created"))
            }
        };
        let bytes = content.unwrap_or_default();
        let hash = digest::of(digest::DigestAlgorithm::Sha256, &bytes);
        let creation = self.creation(machine, missing, bytes);
        changes.extend(creation.changes);
        let mut done = Verdict::good(comment).changes(changes).output("path", name).output("hash", hash);
        if self.ignored.any() {
            done.further.insert("skip_req", true);
        }
        let plan = Plan::brief(done).or("Unable to manage file: ").all(creation.actions);
        let newfile = match self.new_file_diff {
            true => Map::from_iter([("diff".into(), difference.into())]),
            false => Map::from_iter([("newfile".into(), name.into())]),
        };
        Decision::Change(plan, would_change(name).changes(newfile))
    }

    /// Makes the missing directories and the file, with owner and mode. The changes are the attributes that differ from
    /// those that any new file gets.
    fn creation(&mut self, machine: &dyn Probe, missing: Vec<String>, content: Vec<u8>) -> Mending {
        let name = self.name;
        let mut creation = Mending::default();
        let mask = look::umask(machine);
        let fresh = if self.from_source || self.request.mode.is_some() { 0o600 } else { 0o666 & !mask };
        let mode = self.request.mode.clone().unwrap_or_else(|| octal(0o666 & !mask));
        if mode != octal(fresh) {
            creation.changes.insert("mode", mode.as_str());
        }
        let (uid, gid) = permissions::numbers(machine, &self.request.user, &self.request.group);
        let own = machine_owner(machine, look::above(name));
        for (wanted, number, own, key) in
            [(&self.request.user, uid, own.0, "user"), (&self.request.group, gid, own.1, "group")]
        {
            if number.is_some_and(|number| number != own) {
                creation.changes.insert(key, wanted.clone());
            }
        }
        for path in missing {
            let mode = self.directory_mode().as_deref().and_then(bits).unwrap_or(0o777 & !mask);
            creation.actions.push(Action::MakeDirectory { path, mode, uid, gid });
        }
        creation.actions.extend(self.check_action(&content));
        let given_away = uid.is_some() || gid.is_some();
        // Nobody else may read the content before the final owner is set.
        let first = if given_away { Some(0o600) } else { bits(&mode) };
        creation.actions.push(Action::Write { path: name.to_owned(), content, mode: first, parents: false });
        if given_away {
            let failure = format!("Failed to change user to {}", self.request.user);
            creation.actions.push(Action::Owner { path: name.to_owned(), uid, gid, follow: false, failure });
        }
        if given_away || first.is_none() {
            creation.actions.push(permissions::set_mode(name, &mode));
        }
        // Flags and labels of a new file are set without comparing.
        creation.actions.extend(self.late_attributes());
        creation.actions.extend(self.request.selinux.set(name));
        creation
    }

    fn update(mut self, machine: &dyn Probe) -> Decision {
        let name = self.name;
        let is_link = look::is_link(machine, name);
        let replaces_link = is_link && !self.request.follow;
        let real = match is_link && self.request.follow {
            true => canonical(machine, Path::new(name)).to_string_lossy().into_owned(),
            false => name.to_owned(),
        };
        let old =
            if is_link && !look::is_file(machine, name) { Ok(Vec::new()) } else { machine.read(Path::new(&real)) };
        let old = match old {
            Ok(old) => old,
            Err(error) => {
                let text = crate::catalog::plan::errno_text(&error, &real);
                return Decision::Settled(Verdict::bad(format!("Unable to manage file: {text}")));
            }
        };
        let content = self.content.take();
        let mut changes = Map::new();
        let difference = content.as_ref().map(|new| difference::shown(machine, &old, new, self.show_changes));
        let differs = difference.as_ref().is_some_and(|difference| !difference.is_empty()) || replaces_link;
        let mut dry = Map::new();
        if differs {
            let link = || "Replace symbolic link with regular file".to_owned();
            let difference = difference.filter(|difference| !difference.is_empty()).unwrap_or_else(link);
            changes.insert("diff", difference.as_str());
            dry.insert("diff", difference);
        }
        let counts = content.as_ref().is_some_and(|new| self.ignored.any() && self.ignored.differ(&old, new));
        let mending = self.mending(machine, replaces_link);
        changes.extend(mending.changes.clone());
        dry.extend(dry_changes(&mending, &self.request));
        let bytes = content.unwrap_or(old);
        let hash = digest::of(digest::DigestAlgorithm::Sha256, &bytes);
        let finished = |verdict: Verdict| verdict.output("path", name).output("hash", hash.as_str());
        if let Some(fault) = mending.faults.first() {
            return Decision::Settled(Verdict::bad(fault.as_str()));
        }
        if changes.is_empty() {
            return Decision::Settled(finished(Verdict::good(format!("File {name} is in the correct state"))));
        }
        let mut plan = Plan::brief(Verdict::default()).or("Failed to commit change: ");
        plan = plan.all(self.check_action(&bytes));
        let mode = self.mode_after_owner(&mending.changes).filter(|_| differs);
        if differs {
            plan = plan.all(self.overwrite(machine, real, bytes, replaces_link, &mending.changes));
        }
        plan = plan.all(mending.actions).all(mode);
        let mut done = finished(Verdict::good(format!("File {name} updated")).changes(changes));
        let mut would = match dry.is_empty() {
            true => Verdict::good(format!("The file {name} is in the correct state")),
            false => would_change(name).changes(dry),
        };
        if self.ignored.any() && !counts {
            done.further.insert("skip_req", true);
            would.further.insert("skip_req", true);
        }
        plan.done = done;
        Decision::Change(plan, would)
    }

    /// Writes the new content. If the owner changes too, only the old one may read it at first.
    fn overwrite(
        &self,
        machine: &dyn Probe,
        real: String,
        content: Vec<u8>,
        replaces_link: bool,
        mended: &Map,
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.backup && look::exists(machine, &real) {
            actions.extend(backup::actions(machine, &real));
        }
        let wanted = self.request.mode.as_deref().and_then(bits);
        let given_away = mended.contains_key("user");
        let mode = if given_away { wanted.map(|mode| mode & 0o700) } else { wanted };
        let fresh = replaces_link.then(|| look::found(machine, self.name).map_or(0o600, |stat| stat.mode));
        actions.push(Action::Write { path: real, content, mode: mode.or(fresh), parents: false });
        actions
    }

    /// The mode that the file had before it was written for its old owner alone.
    fn mode_after_owner(&self, mended: &Map) -> Option<Action> {
        let mode = self.request.mode.as_deref().and_then(bits)?;
        let failure = format!("Failed to change mode to {mode:04o}");
        let missing = mended.contains_key("user") && !mended.contains_key("mode");
        missing.then(|| Action::Mode { path: self.name.to_owned(), mode, failure })
    }

    /// The required changes of owner, mode, flags and label.
    fn mending(&self, machine: &dyn Probe, replaces_link: bool) -> Mending {
        let target = look::found(machine, self.name);
        match target.filter(|_| replaces_link) {
            // The new file replaces a link, and takes over the attributes of its target.
            Some(mut target) => {
                target.kind = FileKind::File;
                let request = PermissionsSpec { follow: true, ..self.request.clone() };
                request.compare(machine, self.name, &target)
            }
            None => self.request.look(machine, self.name),
        }
    }

    /// The mode of new directories: that of the file, with execute permission wherever it has read permission.
    fn directory_mode(&self) -> Option<String> {
        let enter = |mode: &String| {
            let digits: Vec<char> = mode.chars().rev().take(3).collect();
            let digit = |digit: &char| match digit.to_digit(8) {
                Some(0) | None => *digit,
                Some(bits) => char::from_digit(bits | 1, 8).unwrap_or(*digit),
            };
            digits.iter().rev().map(digit).collect()
        };
        self.dir_mode.clone().or_else(|| self.request.mode.as_ref().map(enter))
    }

    fn check_action(&mut self, content: &[u8]) -> Option<Action> {
        let (command, directory, ending) = self.check.take()?;
        Some(Action::Check(ContentCheck { command, content: content.to_vec(), directory, ending }))
    }

    fn late_attributes(&self) -> Option<Action> {
        let attrs = self.request.attrs.as_ref().filter(|attrs| !attrs.is_empty())?;
        let failure = format!("Failed to change attributes to {attrs}");
        Some(Action::Attributes { path: self.name.to_owned(), flags: format!("+{attrs}"), failure })
    }
}

fn would_change(name: &str) -> Verdict {
    Verdict::would(format!("The file {name} is set to be changed{NOTE}"))
}

/// A dry run only reports flags.
fn dry_changes(mending: &Mending, request: &PermissionsSpec) -> Map {
    let mut changes = mending.changes.clone();
    if changes.contains_key("attrs") {
        changes.insert("attrs", request.attrs.clone());
    }
    changes
}

/// The owner of a new file in a directory: this program's user, and its group unless the directory is setgid.
fn machine_owner(machine: &dyn Probe, directory: &str) -> (u32, u32) {
    let own = crate::machine::accounts::own_uid(machine);
    let group = crate::machine::accounts::user(machine, &own.to_string()).map_or(own, |user| user.gid);
    let handed = look::found(machine, directory).filter(|stat| stat.mode & 0o2000 != 0).map(|stat| stat.gid);
    (own, handed.unwrap_or(group))
}
