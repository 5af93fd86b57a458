//! `file.recurse`: a directory of the controller's tree, with its content.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::directory::Directory;
use super::managed::Managed;
use super::missing_directories;
use super::symlink::Symlink;
use super::tree_files::{self, TreeQuery};
use super::walk::{self, Patterns};
use super::{Action, Decision, Flag, Plan, State, Step, Touches, Verdict, keep, look, permissions, writes};
use crate::machine::Probe;
use crate::{Error, Result};

/// Makes sure that a directory has in it what one of the controller's tree has.
///
/// ```yaml
/// /opt/code/flask:
///   file.recurse:
///     - source: salt://code/flask
///     - include_empty: True
/// ```
#[state("file.recurse", required("source"))]
pub struct Recurse {
    /// The directory's path.
    name: String,
    /// `salt://…`; of a list, the first that there is.
    source: Value,
    /// Accepted and ignored: nothing of the source stays behind.
    #[allow(dead_code, reason = "nothing of the source stays behind")]
    keep_source: Value,
    /// Remove what the source doesn't have, nor a required `file` state has put there.
    clean: Flag,
    /// The user that all of it belongs to.
    user: Value,
    /// The group that all of it belongs to.
    group: Value,
    /// The mode of directories.
    dir_mode: Value,
    /// The mode of files, or `keep` for those of the source.
    file_mode: Value,
    /// The mode of directories that are made for links.
    sym_mode: Value,
    /// `jinja` if the files are templates.
    template: Value,
    /// Variables of the templates.
    context: Value,
    /// Change the content of files that are there.
    #[default(true)]
    replace: Flag,
    /// Variables of the templates that `context` doesn't name.
    defaults: Value,
    /// Make directories with nothing in them, too.
    include_empty: Flag,
    /// `minion` keeps old contents in the target's cache.
    backup: Value,
    /// Only what matches: a shell pattern, or `E@` and a regular expression.
    include_pat: Value,
    /// Not what matches.
    exclude_pat: Value,
    /// Go down at most so many levels.
    maxdepth: Option<u64>,
    /// Links of the source stay links.
    keep_symlinks: Flag,
    /// Such links replace files that are in the way.
    force_symlinks: Flag,
    /// Take the files of all sources, those of the first one first.
    merge: Flag,
    /// Not an argument of this state; said so where it is given.
    mode: Value,
    /// Show what differs; switch it off for secrets.
    #[default(true)]
    show_changes: Flag,
}

impl State for Recurse {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        Ok(match self.checked(machine, step) {
            Err(verdict) => Decision::Settled(verdict),
            Ok((name, sources)) => self.decide(machine, step, &name, &sources)?,
        })
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}

/// The combined verdict of the parts so far.
struct CombinedVerdict {
    result: Option<bool>,
    changes: Map,
    comments: Vec<(String, Vec<String>)>,
    actions: Vec<Action>,
    test: bool,
}

impl CombinedVerdict {
    fn add(&mut self, path: &str, decision: Decision) {
        let verdict = match decision {
            Decision::Settled(verdict) => verdict,
            Decision::Change(_, verdict) if self.test => verdict,
            Decision::Change(plan, _) => {
                let done = plan.done.clone();
                self.actions.extend(plan.into_actions());
                done
            }
        };
        if verdict.result == Some(false) || self.result == Some(true) {
            self.result = verdict.result;
        }
        if verdict.result != Some(true) && !verdict.comment.is_empty() {
            self.comment(path, vec![verdict.comment]);
        }
        if !verdict.changes.is_empty() {
            self.changes.insert(path, verdict.changes);
        }
    }

    fn comment(&mut self, path: &str, texts: Vec<String>) {
        match self.comments.iter_mut().find(|(known, _)| known == path) {
            Some((_, known)) => known.extend(texts),
            None => self.comments.push((path.to_owned(), texts)),
        }
    }
}

impl Recurse {
    fn checked(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<(String, Vec<String>), Verdict> {
        let name = look::name(machine, &self.name);
        if !self.mode.is_null() {
            return Err(Verdict::bad(
                "'mode' is not allowed in 'file.recurse'. Please use 'file_mode' and 'dir_mode'.",
            ));
        }
        if let Some(fault) = permissions::check_owners(machine, &self.user, &self.group, step.test) {
            return Err(Verdict::bad(fault));
        }
        if !look::is_absolute(&name) {
            return Err(Verdict::bad(format!("Specified file {name} is not an absolute path")));
        }
        let sources = tree_files::sources(machine, &self.source, step.saltenv)
            .map_err(|text| Verdict::bad(format!("Recurse failed: {text}")))?;
        if !look::is_directory(machine, &name) && look::exists(machine, &name) {
            return Err(Verdict::bad(format!("The path {name} exists and is not a directory")));
        }
        Ok((name, sources))
    }

    fn decide(&self, machine: &dyn Probe, step: &Step<'_>, name: &str, sources: &[String]) -> Result<Decision> {
        let mut sum = CombinedVerdict {
            result: Some(true),
            changes: Map::new(),
            comments: Vec::new(),
            actions: Vec::new(),
            test: step.test,
        };
        let is_new = !look::is_directory(machine, name);
        if is_new {
            let (uid, gid) = permissions::numbers(machine, &self.user, &self.group);
            let mode = permissions::mode(&self.dir_mode).as_deref().and_then(permissions::bits);
            let mode = mode.unwrap_or(0o777 & !look::umask(machine));
            let make = |path| Action::MakeDirectory { path, mode, uid, gid };
            sum.actions.extend(missing_directories(machine, name).into_iter().map(make));
        }
        let found = tree_files::wanted(machine, &self.wanted(name, sources, step)?)?;
        for path in &found.directories {
            // A new top directory has been made by then, and Salt doesn't report it.
            if !(is_new && path == name && !step.test) {
                self.directory(machine, step, path, &mut sum)?;
            }
            if path == name && is_new && step.test && self.include_empty.0 {
                // Salt's dry run reports the directory itself in this form too.
                self.directory(machine, step, &look::join(name, "."), &mut sum)?;
            }
        }
        for (path, source) in &found.files {
            self.file(machine, step, path, source, &mut sum)?;
        }
        for (path, target) in in_order(&found.links) {
            let arguments = self.arguments(&[
                ("name", path.as_str().into()),
                ("target", target.as_str().into()),
                ("makedirs", true.into()),
                ("force", self.force_symlinks.0.into()),
                ("mode", self.sym_mode.clone()),
            ]);
            let decision = read::<Symlink>(arguments)?.plan(machine, step)?;
            sum.add(&path, decision);
        }
        if self.clean.0 {
            let mut keep = found.keep();
            keep.extend(keep::required(machine, step, name)?);
            let patterns = Patterns::read(&Value::Null, &self.exclude_pat)?;
            let levels = walk::levels(machine, name, None)?;
            self.clean(walk::stray(machine, name, &keep, &patterns, &levels), &levels, &patterns, name, &mut sum);
        }
        Ok(finish(name, sum))
    }

    fn wanted<'a>(&self, name: &'a str, sources: &'a [String], step: &'a Step<'_>) -> Result<TreeQuery<'a>> {
        Ok(TreeQuery {
            name,
            sources: if self.merge.0 { sources } else { &sources[..sources.len().min(1)] },
            saltenv: step.saltenv,
            patterns: Patterns::read(&self.include_pat, &self.exclude_pat)?,
            max_depth: self.maxdepth,
            include_empty: self.include_empty.0,
            keep_links: self.keep_symlinks.0,
        })
    }

    /// The arguments that all parts share, and further ones.
    fn arguments(&self, more: &[(&str, Value)]) -> Map {
        let mut arguments = Map::from_iter([("user".into(), self.user.clone()), ("group".into(), self.group.clone())]);
        for (key, value) in more {
            arguments.insert(*key, value.clone());
        }
        arguments
    }

    fn directory(&self, machine: &dyn Probe, step: &Step<'_>, path: &str, sum: &mut CombinedVerdict) -> Result<()> {
        if self.clean.0 && look::exists(machine, path) && !look::is_directory(machine, path) {
            let replaced = Plan::brief(Verdict::good("").change("diff", "Replaced file with a directory"));
            let would = Verdict::would(format!("Replacing {path} with a directory"));
            sum.add(path, Decision::Change(replaced.then(Action::Remove(path.to_owned())), would));
            if !step.test {
                let (uid, gid) = permissions::numbers(machine, &self.user, &self.group);
                let mode = permissions::mode(&self.dir_mode).as_deref().and_then(permissions::bits);
                let mode = mode.unwrap_or(0o777 & !look::umask(machine));
                sum.actions.push(Action::MakeDirectory { path: path.to_owned(), mode, uid, gid });
                let new = Map::from_iter([("directory".into(), "new".into())]);
                sum.changes.insert(path, Map::from_iter([(path.into(), new.into())]));
            }
            return Ok(());
        }
        let arguments =
            self.arguments(&[("name", path.into()), ("dir_mode", self.dir_mode.clone()), ("makedirs", true.into())]);
        let decision = read::<Directory>(arguments)?.plan(machine, step)?;
        sum.add(path, decision);
        Ok(())
    }

    fn file(
        &self,
        machine: &dyn Probe,
        step: &Step<'_>,
        path: &str,
        source: &str,
        sum: &mut CombinedVerdict,
    ) -> Result<()> {
        let arguments = self.arguments(&[
            ("name", path.into()),
            ("source", source.into()),
            ("mode", self.file_mode.clone()),
            ("template", self.template.clone()),
            ("makedirs", true.into()),
            ("replace", self.replace.0.into()),
            ("context", self.context.clone()),
            ("defaults", self.defaults.clone()),
            ("backup", self.backup.clone()),
            ("show_changes", self.show_changes.0.into()),
        ]);
        if self.clean.0 && self.replace.0 && look::is_directory(machine, path) {
            let replaced = Plan::brief(Verdict::good("").change("diff", "Replaced directory with a new file"));
            let would = Verdict::would(format!("Replacing directory {path} with a file"));
            sum.add(path, Decision::Change(replaced.then(Action::Remove(path.to_owned())), would));
            if step.test {
                return Ok(());
            }
            let managed = Managed { removed: true, ..read::<Managed>(arguments)? };
            sum.add(path, managed.plan(machine, step)?);
            return Ok(());
        }
        let decision = read::<Managed>(arguments)?.plan(machine, step)?;
        sum.add(path, decision);
        Ok(())
    }

    fn clean(
        &self,
        stray: Vec<String>,
        levels: &[walk::Level],
        patterns: &Patterns,
        root: &str,
        sum: &mut CombinedVerdict,
    ) {
        if stray.is_empty() {
            return;
        }
        if sum.test {
            if sum.result == Some(true) {
                sum.result = None;
            }
            // A dry run also reports the content of a removed directory.
            let mut removed: Vec<String> = levels
                .iter()
                .flat_map(|level| {
                    level.directories.iter().chain(&level.files).map(|name| look::join(&level.path, name))
                })
                .filter(|path| stray.iter().any(|gone| Path::new(path).starts_with(gone)))
                .filter(|path| patterns.take(path.strip_prefix(root).unwrap_or(path).trim_start_matches('/')))
                .collect();
            removed.sort();
            sum.comment("removed", removed);
        } else {
            sum.changes.insert("removed", stray.clone());
            sum.actions.extend(stray.into_iter().map(Action::Remove));
        }
    }
}

/// The paths that such a step creates.
pub fn kept(machine: &dyn Probe, low: &Map, step: &Step<'_>) -> Result<BTreeSet<String>> {
    let fields = <Recurse as crate::catalog::arguments::Arguments>::NAMES;
    let own = low.iter().filter(|(key, _)| key.as_str().is_some_and(|key| fields.contains(&key)));
    let recurse: Recurse = read(own.map(|(key, value)| (key.clone(), value.clone())).collect())?;
    let name = look::name(machine, &recurse.name);
    let Ok(sources) = tree_files::sources(machine, &recurse.source, step.saltenv) else { return Ok(BTreeSet::new()) };
    Ok(tree_files::wanted(machine, &recurse.wanted(&name, &sources, step)?)?.keep())
}

fn read<S: crate::catalog::arguments::Arguments>(arguments: Map) -> Result<S> {
    crate::catalog::arguments::read(arguments).map_err(|error| Error::arguments(format!("file.recurse: {error}")))
}

/// Orders links so that each follows the link to which it points.
fn in_order(links: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let mut left: Vec<(String, String)> = links.iter().map(|(path, target)| (path.clone(), target.clone())).collect();
    let mut ordered = Vec::new();
    while !left.is_empty() {
        let waits: Vec<bool> = left
            .iter()
            .map(|(path, target)| {
                let leads = super::super::path::normal(&Path::new(look::above(path)).join(target));
                left.iter().any(|(other, _)| Path::new(other) == leads && other != path)
            })
            .collect();
        let ready = waits.iter().position(|waits| !waits).unwrap_or(0);
        ordered.push(left.remove(ready));
    }
    ordered
}

fn finish(name: &str, sum: CombinedVerdict) -> Decision {
    let texts = sum.comments.iter().map(|(path, texts)| format!("\n#### {path} ####\n{}", texts.join("\n")));
    let mut comment = texts.collect::<Vec<_>>().join("\n").trim().to_owned();
    if comment.is_empty() {
        comment = format!("Recursively updated {name}");
    }
    if sum.changes.is_empty() && sum.result == Some(true) {
        comment = format!("The directory {name} is in the correct state");
    }
    let verdict = Verdict { result: sum.result, comment, changes: sum.changes, ..Verdict::default() };
    let verdict = verdict.output("path", name);
    if sum.test || sum.actions.is_empty() {
        return Decision::Settled(verdict);
    }
    Decision::Change(Plan::brief(verdict.clone()).all(sum.actions), verdict)
}
