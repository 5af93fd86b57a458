//! How `archive.extracted` extracts, and predicts the result for a dry run.

use std::path::Path;

use rocksalt_core::Value;

use super::super::Verdict;
use super::super::file;
use super::contents::ArchiveContents;
use super::extracted::{ArchiveState, ExtractPlan, Extracted, changes};
use super::{ArchiveFormat, tar, zip};
use crate::Result;
use crate::grains::look::is_directory;
use crate::machine::{Probe, System, accounts};

impl Extracted {
    /// The verdict of a dry run, with the changes of the run.
    pub(super) fn predicted(&self, machine: &dyn Probe, plan: &ExtractPlan, found: &ArchiveState) -> Verdict {
        let shown = file::redacted(&plan.source);
        let name = self.directory();
        if !found.extract {
            let text = "All files in archive are already present";
            return match found.foreign {
                false => Verdict::good(text),
                true => Verdict::would(format!("{text}. Ownership would be updated on one or more files/directories."))
                    .change("updated ownership", true),
            };
        }
        let there = is_directory(machine, &name);
        let created = (!there || self.clean_parent.0).then_some(name.as_str());
        let files = trimmed(self.names(machine, plan, found), plan.trim, plan.format);
        let removed = self.removals(machine, found);
        let changes = changes(removed.map(|(shown, _)| shown), created, &files, self.will_own(machine, found));
        let mut text = format!("Archive {shown} would be extracted to {name}");
        if self.clean.0 {
            text += ", after cleaning destination path(s)";
        }
        Verdict::would(text + because(found)).changes(changes)
    }

    pub(super) fn carry_out(
        &self,
        machine: &dyn System,
        plan: &ExtractPlan,
        found: &ArchiveState,
        archive: &Path,
    ) -> Result<Verdict> {
        let shown = file::redacted(&plan.source);
        let name = self.directory();
        if !found.extract {
            return self.own(machine, found, Verdict::good("All files in archive are already present"));
        }
        let mut removed = None;
        if let Some((told, paths)) = self.removals(machine, found) {
            for path in paths {
                match machine.remove(Path::new(path.trim_end_matches('/'))) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        let why = crate::error::reason(&error);
                        return Ok(Verdict::bad(format!(
                            "One or more paths could not be cleaned. The following errors were observed:\n\n- {why}: \
                             '{path}'"
                        )));
                    }
                    _ => {}
                }
            }
            removed = Some(told);
        }
        let created = !is_directory(machine, &name);
        if created {
            for path in file::make_all(machine, Path::new(&name), None)? {
                let _ = machine.set_owner(&path, file::uid(machine, &self.user), None, false);
            }
        }
        let done = self.extract(machine, plan, found, archive, Path::new(&name));
        let files = match done {
            Ok(files) => trimmed(files, plan.trim, plan.format),
            Err(error) => {
                if created {
                    // Removed only if it is still empty.
                    let _ = machine.remove_dir(Path::new(&name));
                }
                return Ok(Verdict::bad(format!("{shown} could not be extracted: {error}")).changes(changes(
                    removed,
                    None,
                    &[],
                    false,
                )));
            }
        };
        if files.is_empty() {
            return Ok(Verdict::bad(format!("No files were extracted from {shown}")));
        }
        let mut text = format!("{shown} extracted to {name}{}", because(found));
        if let Some(count) = plan.trim {
            text += &format!(". Output was trimmed to {count} number of lines");
        }
        let told = changes(removed, created.then_some(name.as_str()), &files, false);
        self.own(machine, found, Verdict::good(text).changes(told))
    }

    fn extract(
        &self,
        machine: &dyn System,
        plan: &ExtractPlan,
        found: &ArchiveState,
        archive: &Path,
        name: &Path,
    ) -> Result<Vec<String>> {
        match plan.format {
            ArchiveFormat::Zip if self.options.is_some() || self.use_cmd_unzip == Some(true) => {
                super::functions::unzip(machine, archive, name, self.options.as_deref(), &[], None)
            }
            ArchiveFormat::Zip => {
                let archive = super::place::Archive::File(archive.to_owned());
                let password = self.password.as_deref();
                zip::extract(
                    machine,
                    &archive,
                    name,
                    &zip::ExtractOptions { password, permissions: self.extract_perms.0, excludes: &[] },
                )
            }
            _ => {
                let printed = tar::extract(machine, archive, name, self.options.as_deref())?;
                Ok(if self.options.is_some() { printed } else { self.names(machine, plan, found) })
            }
        }
    }

    /// The names that will be reported as extracted.
    fn names(&self, machine: &dyn Probe, plan: &ExtractPlan, found: &ArchiveState) -> Vec<String> {
        let members = found.contents.members.iter();
        match plan.format {
            // The output of unzip itself is reported.
            ArchiveFormat::Zip if self.options.is_some() || self.use_cmd_unzip == Some(true) => Vec::new(),
            ArchiveFormat::Zip => zip::names(machine, plan.archive()).unwrap_or_default(),
            // tar prints the paths of the archive, for directories with a slash, without stripping.
            _ if self.options.is_some() => {
                let strip = super::extracted::strip(self.options.as_deref());
                let shown = |member: &super::contents::Member| match member.kind {
                    super::contents::MemberKind::Directory => format!("{}/", member.path),
                    _ => member.path.clone(),
                };
                let stays = |path: &String| path.splitn(strip + 1, '/').nth(strip).is_some_and(|rest| !rest.is_empty());
                members.map(shown).filter(stays).collect()
            }
            _ => members.map(|member| member.path.clone()).collect(),
        }
    }

    /// The paths to remove first, and Salt's report of them.
    fn removals(&self, machine: &dyn Probe, found: &ArchiveState) -> Option<(Value, Vec<String>)> {
        let name = self.directory();
        let there = |path: &String| matches!(machine.stat(Path::new(path.trim_end_matches('/')), false), Ok(Some(_)));
        if self.clean_parent.0 {
            let text = format!("Directory {name} was removed prior to the extraction");
            return there(&name).then(|| (text.into(), vec![name]));
        }
        let contents = &found.contents;
        let paths: Vec<&String> = match self.clean.0 {
            true => contents.top_level_dirs.iter().chain(&contents.top_level_files).collect(),
            false => found.in_the_way.iter().collect(),
        };
        let paths: Vec<String> = paths.into_iter().map(|path| format!("{name}{path}")).filter(there).collect();
        let shown = Value::List(paths.iter().map(|path| path.as_str().into()).collect());
        (!paths.is_empty()).then_some((shown, paths))
    }

    /// The paths whose owner is set, including everything below them.
    fn owned_paths(&self, contents: &ArchiveContents) -> Vec<String> {
        if let Some(path) = &self.enforce_ownership_on {
            return vec![path.clone()];
        }
        let lists = [&contents.top_level_dirs, &contents.top_level_files, &contents.top_level_links];
        let name = self.directory();
        lists.into_iter().flatten().map(|path| format!("{name}{}", path.trim_end_matches('/'))).collect()
    }

    fn owners(&self, machine: &dyn Probe) -> (Option<u32>, Option<u32>) {
        let user = self.user.truth().then(|| file::uid(machine, &self.user)).flatten();
        let group = self.group.truth().then(|| file::gid(machine, &self.group)).flatten();
        (user, group)
    }

    /// Whether an existing path has another owner or group than requested.
    pub(super) fn foreign(&self, machine: &dyn Probe, contents: &ArchiveContents) -> bool {
        let (uid, gid) = self.owners(machine);
        let mut foreign = false;
        for path in self.owned_paths(contents) {
            let _ = file::walk(machine, Path::new(&path), &mut |_, stat| {
                foreign |= uid.is_some_and(|uid| uid != stat.uid) || gid.is_some_and(|gid| gid != stat.gid);
                Ok(!foreign)
            });
        }
        foreign
    }

    /// Whether extracted paths will at first have another owner or group than requested.
    fn will_own(&self, machine: &dyn Probe, found: &ArchiveState) -> bool {
        let (uid, gid) = self.owners(machine);
        let own = accounts::own_uid(machine);
        let is = |request: Option<u32>, name: &str, number: &dyn Fn(&str) -> Option<u32>| {
            request.is_none() || (own == 0 && number(name) == request)
        };
        let fits = |owner: &Option<(String, String)>| match owner {
            Some((user, group)) => {
                is(uid, user, &|name| accounts::user(machine, name).map(|user| user.uid).or_else(|| name.parse().ok()))
                    && is(gid, group, &|name| {
                        accounts::group(machine, name).map(|group| group.gid).or_else(|| name.parse().ok())
                    })
            }
            None => uid.is_none_or(|uid| uid == own) && gid.is_none_or(|gid| gid == 0),
        };
        (uid.is_some() || gid.is_some()) && !found.contents.members.iter().all(|member| fits(&member.owner))
    }

    fn own(&self, machine: &dyn System, found: &ArchiveState, mut verdict: Verdict) -> Result<Verdict> {
        let (uid, gid) = self.owners(machine);
        if uid.is_none() && gid.is_none() {
            return Ok(verdict);
        }
        let (mut missing, mut failed, mut changed) = (Vec::new(), Vec::new(), false);
        for path in self.owned_paths(&found.contents) {
            if !matches!(machine.stat(Path::new(&path), false), Ok(Some(_))) {
                missing.push(path);
                continue;
            }
            let mut wrong = Vec::new();
            file::walk(machine, Path::new(&path), &mut |path, stat| {
                if uid.is_some_and(|uid| uid != stat.uid) || gid.is_some_and(|gid| gid != stat.gid) {
                    wrong.push(path.to_owned());
                }
                Ok(true)
            })?;
            for path in wrong {
                match machine.set_owner(&path, uid, gid, false) {
                    Ok(()) => changed = true,
                    Err(_) => failed.push(path.to_string_lossy().into_owned()),
                }
            }
        }
        if changed {
            let told = std::mem::take(&mut verdict.changes);
            let at = told.iter().filter(|(key, _)| key.as_str() == Some("removed"));
            let mut all: rocksalt_core::Map = at.map(|(key, value)| (key.clone(), value.clone())).collect();
            all.insert("updated ownership", true);
            all.extend(told.iter().map(|(key, value)| (key.clone(), value.clone())));
            verdict.changes = all;
        }
        for (paths, what) in [
            (&missing, "the following paths were missing"),
            (&failed, "Salt was unable to change ownership on the following paths"),
        ] {
            if !paths.is_empty() {
                let paths: String = paths.iter().map(|path| format!("\n- {path}")).collect();
                verdict.comment += &format!("\n\nWhile trying to enforce user/group ownership, {what}:\n{paths}");
                verdict.result = Some(false);
            }
        }
        Ok(verdict)
    }
}

/// The reason for extracting, for the comment.
fn because(found: &ArchiveState) -> &'static str {
    match (found.trigger, found.missing) {
        (true, _) => ", due to source_hash update",
        (false, true) => ", due to absence of one or more files/dirs",
        (false, false) => "",
    }
}

fn trimmed(mut files: Vec<String>, trim: Option<usize>, format: ArchiveFormat) -> Vec<String> {
    if let Some(count) = trim
        && files.len() > count
    {
        files.truncate(count);
        if format == ArchiveFormat::Zip {
            files.push(format!("List trimmed after {count} files."));
        }
    }
    files
}
