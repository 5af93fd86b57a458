//! Functions that look at a repository.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::options::{git_function, line};
use super::run::Fault;
use super::{Function, look, read, sound};
use crate::machine::System;
use crate::{Error, Result};

/// The error, unless it is ignored.
pub fn forgiven(done: Result<String, Fault>, ignore: bool) -> Result<String> {
    match done {
        Err(_) if ignore => Ok(String::new()),
        done => Ok(done?),
    }
}

git_function! {
    /// The branch that is checked out; `HEAD` if it is none.
    ///
    /// ```text
    /// rocksalt '*' git.current_branch /srv/app
    /// ```
    CurrentBranch = "git.current_branch" reads, plain, String;
    {}
    |self, machine, git| { forgiven(git.output(&["rev-parse", "--abbrev-ref", "HEAD"]), self.ignore_retcode) }
}

git_function! {
    /// The tag that a commit has, or the nearest one before it; the commit itself if there is none.
    ///
    /// ```text
    /// rocksalt '*' git.describe /srv/app rev=main
    /// ```
    Describe = "git.describe" reads, plain, String;
    {
        /// The branch, tag or commit.
        rev: Option<String>,
    }
    |self, machine, git| {
        let rev = sound::name("rev", self.rev.as_deref().unwrap_or("HEAD"))?;
        forgiven(git.output(&["describe", "--always", rev]), self.ignore_retcode)
    }
}

git_function! {
    /// The local branches, or those of remote repositories.
    ///
    /// ```text
    /// rocksalt '*' git.list_branches /srv/app remote=True
    /// ```
    ListBranches = "git.list_branches" reads, plain, Vec<String>;
    {
        /// Those of remote repositories.
        remote: bool,
    }
    |self, machine, git| {
        let below = if self.remote { "refs/remotes/" } else { "refs/heads/" };
        let found = forgiven(git.output(&["for-each-ref", "--format", "%(refname:short)", below]), self.ignore_retcode)?;
        Ok(found.lines().map(str::to_owned).collect())
    }
}

git_function! {
    /// The tags.
    ///
    /// ```text
    /// rocksalt '*' git.list_tags /srv/app
    /// ```
    ListTags = "git.list_tags" reads, plain, Vec<String>;
    {}
    |self, machine, git| {
        let words = ["for-each-ref", "--format", "%(refname:short)", "refs/tags/"];
        Ok(forgiven(git.output(&words), self.ignore_retcode)?.lines().map(str::to_owned).collect())
    }
}

git_function! {
    /// The commit that a branch, tag or short commit stands for.
    ///
    /// ```text
    /// rocksalt '*' git.revision /srv/app main short=True
    /// ```
    Revision = "git.revision" reads, plain, String;
    {
        /// The branch, tag or commit.
        rev: Option<String>,
        /// Its first digits only.
        short: bool,
    }
    |self, machine, git| {
        let rev = sound::name("rev", self.rev.as_deref().unwrap_or("HEAD"))?;
        let short = self.short.then_some("--short");
        let words: Vec<&str> = ["rev-parse"].into_iter().chain(short).chain([rev]).collect();
        forgiven(git.output(&words), self.ignore_retcode)
    }
}

git_function! {
    /// The output of `git rev-parse`, with any options.
    ///
    /// ```text
    /// rocksalt '*' git.rev_parse /srv/app rev=HEAD opts='--verify'
    /// ```
    RevParse = "git.rev_parse" changes, options, String;
    {
        /// The branch, tag or commit.
        rev: Option<String>,
    }
    |self, machine, git| {
        let rev = self.rev.as_deref().map(|rev| sound::name("rev", rev)).transpose()?;
        let words = line(&self.git_opts, &["rev-parse"], &self.opts, rev.as_slice())?;
        forgiven(git.output(&words), self.ignore_retcode)
    }
}

git_function! {
    /// The files that differ from the last commit, by what happened to them.
    ///
    /// ```text
    /// rocksalt '*' git.status /srv/app
    /// ```
    Status = "git.status" reads, plain, Map;
    {}
    |self, machine, git| {
        Ok(read::status(&forgiven(git.output(&["status", "-z", "--porcelain"]), self.ignore_retcode)?))
    }
}

git_function! {
    /// The ref that a symbolic ref points to; sets it if there is a value.
    ///
    /// ```text
    /// rocksalt '*' git.symbolic_ref /srv/app HEAD
    /// ```
    SymbolicRef = "git.symbolic_ref" changes, options, String;
    {
        /// The ref.
        #[rename("ref")]
        reference: String,
        /// The ref that it is to point to.
        value: Option<String>,
    }
    |self, machine, git| {
        let mut rest = vec![sound::name("ref", &self.reference)?];
        rest.extend(self.value.as_deref().map(|value| sound::name("value", value)).transpose()?);
        let words = line(&self.git_opts, &["symbolic-ref"], &self.opts, &rest)?;
        forgiven(git.output(&words), self.ignore_retcode)
    }
}

git_function! {
    /// The difference between two commits, or between a commit and the working tree.
    ///
    /// ```text
    /// rocksalt '*' git.diff /srv/app HEAD~1 HEAD paths=README
    /// ```
    Diff = "git.diff" changes, options, String;
    {
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
    }
    |self, machine, git| {
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
        let words = line(&self.git_opts, &["diff"], &self.opts, &rest)?;
        if self.no_index {
            return Ok(git.end(&words)?.text().trim_end().to_owned());
        }
        Ok(git.merged(&words)?)
    }
}

git_function! {
    /// The best common ancestor of commits, or whether the first is an ancestor of the second.
    ///
    /// ```text
    /// rocksalt '*' git.merge_base /srv/app '[main, dev]' is_ancestor=True
    /// ```
    MergeBase = "git.merge_base" changes, options, Value;
    {
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
    }
    |self, machine, git| {
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
        let words = line(&self.git_opts, &["merge-base"], &self.opts, &rest)?;
        if self.is_ancestor {
            return Ok(Value::Bool(git.end(&words)?.code == 0));
        }
        let found: Vec<String> = forgiven(git.output(&words), self.ignore_retcode)?.lines().map(str::to_owned).collect();
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
