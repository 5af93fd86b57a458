//! Functions that read a repository.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::options::{CommandOptions, RunAs};
use super::run::Fault;
use super::{Function, look, read, sound};
use crate::machine::System;
use crate::{Error, Result};

/// The result, or the error unless errors are ignored.
pub fn forgiven(done: Result<String, Fault>, ignore: bool) -> Result<String> {
    match done {
        Err(_) if ignore => Ok(String::new()),
        done => Ok(done?),
    }
}

/// The branch that is checked out; `HEAD` if it is none.
///
/// ```text
/// rocksalt '*' git.current_branch /srv/app
/// ```
#[function("git.current_branch", reads)]
pub struct CurrentBranch {
    /// The repository.
    cwd: String,
    #[flatten]
    run_as: RunAs,
}

impl Function for CurrentBranch {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let git = self.run_as.git(machine, &self.cwd);
        forgiven(git.output(&["rev-parse", "--abbrev-ref", "HEAD"]), self.run_as.ignore_retcode)
    }
}

/// The tag that a commit has, or the nearest one before it; the commit itself if there is none.
///
/// ```text
/// rocksalt '*' git.describe /srv/app rev=main
/// ```
#[function("git.describe", reads)]
pub struct Describe {
    /// The repository.
    cwd: String,
    /// The branch, tag or commit.
    rev: Option<String>,
    #[flatten]
    run_as: RunAs,
}

impl Function for Describe {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let git = self.run_as.git(machine, &self.cwd);
        let rev = sound::name("rev", self.rev.as_deref().unwrap_or("HEAD"))?;
        forgiven(git.output(&["describe", "--always", rev]), self.run_as.ignore_retcode)
    }
}

/// The local branches, or those of remote repositories.
///
/// ```text
/// rocksalt '*' git.list_branches /srv/app remote=True
/// ```
#[function("git.list_branches", reads)]
pub struct ListBranches {
    /// The repository.
    cwd: String,
    /// Those of remote repositories.
    remote: bool,
    #[flatten]
    run_as: RunAs,
}

impl Function for ListBranches {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let git = self.run_as.git(machine, &self.cwd);
        let below = if self.remote { "refs/remotes/" } else { "refs/heads/" };
        let found =
            forgiven(git.output(&["for-each-ref", "--format", "%(refname:short)", below]), self.run_as.ignore_retcode)?;
        Ok(found.lines().map(str::to_owned).collect())
    }
}

/// The tags.
///
/// ```text
/// rocksalt '*' git.list_tags /srv/app
/// ```
#[function("git.list_tags", reads)]
pub struct ListTags {
    /// The repository.
    cwd: String,
    #[flatten]
    run_as: RunAs,
}

impl Function for ListTags {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let git = self.run_as.git(machine, &self.cwd);
        let words = ["for-each-ref", "--format", "%(refname:short)", "refs/tags/"];
        Ok(forgiven(git.output(&words), self.run_as.ignore_retcode)?.lines().map(str::to_owned).collect())
    }
}

/// The commit that a branch, tag or short commit stands for.
///
/// ```text
/// rocksalt '*' git.revision /srv/app main short=True
/// ```
#[function("git.revision", reads)]
pub struct Revision {
    /// The repository.
    cwd: String,
    /// The branch, tag or commit.
    rev: Option<String>,
    /// Its first digits only.
    short: bool,
    #[flatten]
    run_as: RunAs,
}

impl Function for Revision {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let git = self.run_as.git(machine, &self.cwd);
        let rev = sound::name("rev", self.rev.as_deref().unwrap_or("HEAD"))?;
        let short = self.short.then_some("--short");
        let words: Vec<&str> = ["rev-parse"].into_iter().chain(short).chain([rev]).collect();
        forgiven(git.output(&words), self.run_as.ignore_retcode)
    }
}

/// The output of `git rev-parse`, with any options.
///
/// ```text
/// rocksalt '*' git.rev_parse /srv/app rev=HEAD opts='--verify'
/// ```
#[function("git.rev_parse", changes)]
pub struct RevParse {
    /// The repository.
    cwd: String,
    /// The branch, tag or commit.
    rev: Option<String>,
    #[flatten]
    options: CommandOptions,
}

impl Function for RevParse {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let git = self.options.git(machine, &self.cwd);
        let rev = self.rev.as_deref().map(|rev| sound::name("rev", rev)).transpose()?;
        let words = self.options.line(&["rev-parse"], rev.as_slice())?;
        forgiven(git.output(&words), self.options.run_as.ignore_retcode)
    }
}

/// The files that differ from the last commit, by what happened to them.
///
/// ```text
/// rocksalt '*' git.status /srv/app
/// ```
#[function("git.status", reads)]
pub struct Status {
    /// The repository.
    cwd: String,
    #[flatten]
    run_as: RunAs,
}

impl Function for Status {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let git = self.run_as.git(machine, &self.cwd);
        Ok(read::status(&forgiven(git.output(&["status", "-z", "--porcelain"]), self.run_as.ignore_retcode)?))
    }
}

/// The ref that a symbolic ref points to; sets it if there is a value.
///
/// ```text
/// rocksalt '*' git.symbolic_ref /srv/app HEAD
/// ```
#[function("git.symbolic_ref", changes)]
pub struct SymbolicRef {
    /// The repository.
    cwd: String,
    /// The ref.
    #[rename("ref")]
    reference: String,
    /// The ref that it is to point to.
    value: Option<String>,
    #[flatten]
    options: CommandOptions,
}

impl Function for SymbolicRef {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let git = self.options.git(machine, &self.cwd);
        let mut rest = vec![sound::name("ref", &self.reference)?];
        rest.extend(self.value.as_deref().map(|value| sound::name("value", value)).transpose()?);
        let words = self.options.line(&["symbolic-ref"], &rest)?;
        forgiven(git.output(&words), self.options.run_as.ignore_retcode)
    }
}

/// The difference between two commits, or between a commit and the working tree.
///
/// ```text
/// rocksalt '*' git.diff /srv/app HEAD~1 HEAD paths=README
/// ```
#[function("git.diff", changes)]
pub struct Diff {
    /// The repository.
    cwd: String,
    /// The first commit.
    item1: Option<String>,
    /// The second one.
    item2: Option<String>,
    /// Compare two paths that are in no repository.
    no_index: bool,
    /// Compare with what would be committed.
    cached: bool,
    /// Only these paths: a list, or a comma-separated text.
    paths: Vec<String>,
    #[flatten]
    options: CommandOptions,
}

impl Function for Diff {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let git = self.options.git(machine, &self.cwd);
        if self.no_index && self.cached {
            return Err(Error::arguments("The 'no_index' and 'cached' options cannot be used together"));
        }
        let mut rest = Vec::new();
        if self.no_index {
            rest.push("--no-index");
        } else {
            rest.extend(self.cached.then_some("--cached"));
            let items = [self.item1.as_deref(), self.item2.as_deref().filter(|_| !self.cached)];
            for item in items.into_iter().flatten() {
                rest.push(sound::name("item", item)?);
            }
        }
        let paths: Vec<&str> = self.paths.iter().flat_map(|paths| paths.split(',')).collect();
        if !paths.is_empty() {
            rest.push("--");
            rest.extend(paths);
        }
        let words = self.options.line(&["diff"], &rest)?;
        if self.no_index {
            return Ok(git.end(&words)?.text().trim_end().to_owned());
        }
        Ok(git.merged(&words)?)
    }
}

/// The best common ancestor of commits, or whether the first is an ancestor of the second.
///
/// ```text
/// rocksalt '*' git.merge_base /srv/app '[main, dev]' is_ancestor=True
/// ```
#[function("git.merge_base", changes)]
pub struct MergeBase {
    /// The repository.
    cwd: String,
    /// The commits: a list, or a comma-separated text.
    refs: Vec<String>,
    /// The best common commit of all of them.
    octopus: bool,
    /// Only return whether the first is an ancestor of the second.
    is_ancestor: bool,
    /// Only those that can't be reached from any other.
    independent: bool,
    /// The point where a branch forked from this one.
    fork_point: Option<String>,
    /// All of them, not only the best one.
    all: bool,
    #[flatten]
    options: CommandOptions,
}

impl Function for MergeBase {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let git = self.options.git(machine, &self.cwd);
        let refs: Vec<&str> = self.refs.iter().flat_map(|refs| refs.split(',')).map(str::trim).collect();
        for name in refs.iter().copied().chain(self.fork_point.as_deref()) {
            sound::name("refs", name)?;
        }
        let kinds = [self.octopus, self.is_ancestor, self.independent, self.fork_point.is_some()];
        if kinds.iter().filter(|kind| **kind).count() > 1 {
            let text = "Only one of 'octopus', 'independent', 'is_ancestor', and 'fork_point' is permitted";
            return Err(Error::arguments(text));
        }
        if self.is_ancestor && refs.len() != 2 {
            return Err(Error::arguments("Two refs/commits are required if 'is_ancestor' is True"));
        }
        let mut rest = Vec::new();
        rest.extend(self.all.then_some("--all"));
        rest.extend(self.octopus.then_some("--octopus"));
        rest.extend(self.is_ancestor.then_some("--is-ancestor"));
        rest.extend(self.independent.then_some("--independent"));
        if let Some(point) = &self.fork_point {
            rest.extend(["--fork-point", point]);
        }
        rest.extend(refs);
        let words = self.options.line(&["merge-base"], &rest)?;
        if self.is_ancestor {
            return Ok(Value::Bool(git.end(&words)?.code == 0));
        }
        let found: Vec<String> =
            forgiven(git.output(&words), self.options.run_as.ignore_retcode)?.lines().map(str::to_owned).collect();
        Ok(if self.all { Value::from(found) } else { found.into_iter().next().unwrap_or_default().into() })
    }
}

/// Whether a directory is a linked working tree of a repository.
///
/// ```text
/// rocksalt '*' git.is_worktree /srv/app
/// ```
#[function("git.is_worktree", reads)]
pub struct IsWorktree {
    /// The directory.
    cwd: String,
    /// The user to run git as.
    user: Option<String>,
}

impl Function for IsWorktree {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let cwd = sound::directory(machine, &self.cwd, self.user.as_deref());
        Ok(look::is_worktree(machine, &cwd.to_string_lossy(), self.user.as_deref()))
    }
}

/// The version of the target's git; `unknown` if it has none.
///
/// ```text
/// rocksalt '*' git.version
/// ```
#[function("git.version", reads)]
pub struct Version {
    /// As a list of numbers.
    versioninfo: bool,
}

impl Function for Version {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let text = super::run::Git::looking(machine, "/", None).output(&["--version"]).unwrap_or_default();
        let version = text.split('(').next().unwrap_or_default().split_whitespace().last().unwrap_or("unknown");
        if !self.versioninfo {
            return Ok(version.into());
        }
        let part = |part: &str| part.parse::<i64>().map_or_else(|_| Value::from(part), Value::from);
        Ok(version.split('.').map(part).collect::<Vec<_>>().into())
    }
}
