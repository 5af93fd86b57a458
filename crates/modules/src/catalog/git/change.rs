//! Functions that change a repository on the target.

use rocksalt_core::Value;
use rocksalt_macros::function;

use super::inspect::forgiven;
use super::options::{CommandOptions, RunAs, line, options};
use super::{Function, sound};
use crate::machine::System;
use crate::{Error, Result};

/// The options of `git init`, without the directory.
pub fn init_words(bare: bool, template: Option<&str>, separate: Option<&str>, shared: &Value) -> Vec<String> {
    let mut words = vec!["init".to_owned()];
    if bare {
        words.push("--bare".into());
    }
    words.extend(template.map(|path| format!("--template={path}")));
    words.extend(separate.map(|path| format!("--separate-git-dir={path}")));
    match shared {
        Value::Null => {}
        // YAML parses an octal number as an integer; Salt restores the digits.
        Value::Int(number) => words.push(format!("--shared=0{number}")),
        Value::Bool(shared) => words.push(format!("--shared={shared}")),
        other => words.push(format!("--shared={other}")),
    }
    words
}

/// Adds files to the index.
///
/// ```text
/// rocksalt '*' git.add /srv/app README
/// ```
#[function("git.add", changes)]
pub struct Add {
    /// The repository.
    cwd: String,
    /// The file or directory.
    filename: String,
    #[flatten]
    options: CommandOptions,
}

impl Function for Add {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let git = self.options.git(machine, &self.cwd);
        let words = self.options.line(&["add", "--verbose"], &["--", &self.filename])?;
        forgiven(git.output(&words), self.options.run_as.ignore_retcode)
    }
}

/// Writes the files of a commit into an archive.
///
/// ```text
/// rocksalt '*' git.archive /srv/app /tmp/app.tar.gz rev=v1.0
/// ```
#[function("git.archive", changes)]
pub struct Archive {
    /// The repository.
    cwd: String,
    /// The archive.
    output: String,
    /// The branch, tag or commit.
    rev: Option<String>,
    /// What stands before each path in it; else the directory's name.
    prefix: Option<String>,
    /// `tar`, `tar.gz` or `zip`; else by the archive's name.
    format: Option<String>,
    #[flatten]
    options: CommandOptions,
}

impl Function for Archive {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let git = self.options.git(machine, &self.cwd);
        let cwd = sound::directory(machine, &self.cwd, self.options.run_as.user.as_deref());
        let output = sound::directory(machine, &self.output, self.options.run_as.user.as_deref());
        let name = cwd.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let prefix = self.prefix.clone().unwrap_or_else(|| format!("{name}/"));
        let mut rest = Vec::new();
        if !prefix.is_empty() {
            rest.push(format!("--prefix={prefix}"));
        }
        rest.extend(self.format.as_ref().map(|format| format!("--format={format}")));
        rest.push(format!("--output={}", output.display()));
        rest.push(sound::name("rev", self.rev.as_deref().unwrap_or("HEAD"))?.to_owned());
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        git.output(&self.options.line(&["archive"], &rest)?)?;
        Ok(true)
    }
}

/// Creates, changes or removes a branch, according to the options.
///
/// ```text
/// rocksalt '*' git.branch /srv/app dev opts='-d'
/// ```
#[function("git.branch", changes)]
pub struct Branch {
    /// The repository.
    cwd: String,
    /// The branch.
    name: Option<String>,
    #[flatten]
    options: CommandOptions,
}

impl Function for Branch {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let git = self.options.git(machine, &self.cwd);
        let name = self.name.as_deref().map(|name| sound::name("name", name)).transpose()?;
        forgiven(git.output(&self.options.line(&["branch"], name.as_slice())?), self.options.run_as.ignore_retcode)?;
        Ok(true)
    }
}

/// Checks out a branch, tag or commit.
///
/// ```text
/// rocksalt '*' git.checkout /srv/app main
/// ```
#[function("git.checkout", changes)]
pub struct Checkout {
    /// The repository.
    cwd: String,
    /// The branch, tag or commit.
    rev: Option<String>,
    /// Throw changes away.
    force: bool,
    #[flatten]
    options: CommandOptions,
}

impl Function for Checkout {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let git = self.options.git(machine, &self.cwd);
        let opts = options(&self.options.opts)?;
        if self.rev.is_none() && !opts.iter().any(|word| word == "-b" || word == "-B") {
            return Err(Error::arguments("'rev' argument is required unless -b or -B in opts"));
        }
        let rev = self.rev.as_deref().map(|rev| sound::name("rev", rev)).transpose()?;
        let command: &[&str] = if self.force { &["checkout", "--force"] } else { &["checkout"] };
        forgiven(git.merged(&self.options.line(command, rev.as_slice())?), self.options.run_as.ignore_retcode)
    }
}

/// Commits the index.
///
/// ```text
/// rocksalt '*' git.commit /srv/app 'a better page'
/// ```
#[function("git.commit", changes)]
pub struct Commit {
    /// The repository.
    cwd: String,
    /// What it is about.
    message: String,
    /// Only this file.
    filename: Option<String>,
    #[flatten]
    options: CommandOptions,
}

impl Function for Commit {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let git = self.options.git(machine, &self.cwd);
        let message = format!("--message={}", self.message);
        let rest = self.filename.as_deref().map(|name| ["--", name]);
        let rest = rest.as_ref().map_or(&[][..], |rest| rest);
        forgiven(git.output(&self.options.line(&["commit", &message], rest)?), self.options.run_as.ignore_retcode)
    }
}

/// Discards uncommitted changes.
///
/// ```text
/// rocksalt '*' git.discard_local_changes /srv/app path=README
/// ```
#[function("git.discard_local_changes", changes)]
pub struct DiscardLocalChanges {
    /// The repository.
    cwd: String,
    /// Only below this path.
    path: Option<String>,
    #[flatten]
    run_as: RunAs,
}

impl Function for DiscardLocalChanges {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let git = self.run_as.git(machine, &self.cwd);
        let words = ["checkout", "--", self.path.as_deref().unwrap_or(".")];
        forgiven(git.merged(&words), self.run_as.ignore_retcode)
    }
}

/// Creates a repository.
///
/// ```text
/// rocksalt '*' git.init /srv/git/app.git bare=True
/// ```
#[function("git.init", changes)]
pub struct Init {
    /// The repository.
    cwd: String,
    /// Without a working tree.
    bare: bool,
    /// A directory whose files it begins with.
    template: Option<String>,
    /// Where it keeps its own files.
    separate_git_dir: Option<String>,
    /// Who may use it besides: `group`, `all`, or permissions in octal.
    shared: Value,
    #[flatten]
    options: CommandOptions,
}

impl Function for Init {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let git = self.options.git(machine, &self.cwd);
        let cwd = sound::directory(machine, &self.cwd, self.options.run_as.user.as_deref());
        let init = init_words(self.bare, self.template.as_deref(), self.separate_git_dir.as_deref(), &self.shared);
        let init: Vec<&str> = init.iter().map(String::as_str).collect();
        let words = self.options.line(&init, &["--", &cwd.to_string_lossy()])?;
        forgiven(git.within("/").output(&words), self.options.run_as.ignore_retcode)
    }
}

/// Merges a commit into the branch that is checked out.
///
/// ```text
/// rocksalt '*' git.merge /srv/app rev=origin/main opts='--ff-only'
/// ```
#[function("git.merge", changes)]
pub struct Merge {
    /// The repository.
    cwd: String,
    /// The branch, tag or commit; else what the branch follows.
    rev: Option<String>,
    #[flatten]
    options: CommandOptions,
}

impl Function for Merge {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let git = self.options.git(machine, &self.cwd);
        let rev = self.rev.as_deref().map(|rev| sound::name("rev", rev)).transpose()?;
        forgiven(git.output(&self.options.line(&["merge"], rev.as_slice())?), self.options.run_as.ignore_retcode)
    }
}

/// Rebases a branch onto another commit.
///
/// ```text
/// rocksalt '*' git.rebase /srv/app rev=origin/main
/// ```
#[function("git.rebase", changes)]
pub struct Rebase {
    /// The repository.
    cwd: String,
    /// The branch, tag or commit.
    rev: Option<String>,
    #[flatten]
    options: CommandOptions,
}

impl Function for Rebase {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let git = self.options.git(machine, &self.cwd);
        if options(&self.options.opts)?.iter().any(|word| word == "-i" || word == "--interactive") {
            return Err(Error::arguments("Interactive rebases are not supported"));
        }
        let rev = sound::name("rev", self.rev.as_deref().unwrap_or("master"))?;
        forgiven(git.output(&self.options.line(&["rebase"], &[rev])?), self.options.run_as.ignore_retcode)
    }
}

/// Resets the branch, according to the options.
///
/// ```text
/// rocksalt '*' git.reset /srv/app opts='--hard origin/main'
/// ```
#[function("git.reset", changes)]
pub struct Reset {
    /// The repository.
    cwd: String,
    #[flatten]
    options: CommandOptions,
}

impl Function for Reset {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let git = self.options.git(machine, &self.cwd);
        forgiven(git.output(&self.options.line(&["reset"], &[])?), self.options.run_as.ignore_retcode)
    }
}

/// Removes files, also from the index.
///
/// ```text
/// rocksalt '*' git.rm /srv/app README
/// ```
#[function("git.rm", changes)]
pub struct Rm {
    /// The repository.
    cwd: String,
    /// The file or directory.
    filename: String,
    #[flatten]
    options: CommandOptions,
}

impl Function for Rm {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let git = self.options.git(machine, &self.cwd);
        let words = self.options.line(&["rm"], &["--", &self.filename])?;
        forgiven(git.output(&words), self.options.run_as.ignore_retcode)
    }
}

/// Stashes uncommitted changes, or applies them again.
///
/// ```text
/// rocksalt '*' git.stash /srv/app pop
/// ```
#[function("git.stash", changes)]
pub struct Stash {
    /// The repository.
    cwd: String,
    /// `save`, `pop`, `list`, `drop` …
    action: Option<String>,
    #[flatten]
    options: CommandOptions,
}

impl Function for Stash {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let git = self.options.git(machine, &self.cwd);
        let action = sound::name("action", self.action.as_deref().unwrap_or("save"))?;
        forgiven(git.output(&self.options.line(&["stash", action], &[])?), self.options.run_as.ignore_retcode)
    }
}

/// Creates a tag, or removes it with `opts='-d'`.
///
/// ```text
/// rocksalt '*' git.tag /srv/app v1.0 message='the first one'
/// ```
#[function("git.tag", changes)]
pub struct Tag {
    /// The repository.
    cwd: String,
    /// The tag.
    name: String,
    /// The branch or commit.
    #[rename("ref")]
    reference: Option<String>,
    /// What it is about.
    message: Option<String>,
    #[flatten]
    options: CommandOptions,
}

impl Function for Tag {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let git = self.options.git(machine, &self.cwd);
        let opts: Vec<String> =
            options(&self.options.opts)?.into_iter().filter(|word| word != "-a" && word != "--annotate").collect();
        if opts.iter().any(|word| word == "-m" || word.contains("--message")) {
            return Err(Error::arguments("Tag messages must be passed in the \"message\" argument"));
        }
        let message = self.message.as_ref().map(|text| format!("--message={text}"));
        let mut command = vec!["tag"];
        if let Some(message) = &message {
            command.extend(["-a", message]);
        }
        let mut rest = vec![sound::name("name", &self.name)?];
        if !opts.iter().any(|word| word == "-d" || word == "--delete") {
            rest.push(sound::name("ref", self.reference.as_deref().unwrap_or("HEAD"))?);
        }
        let words = line(&self.options.git_opts, &command, &Value::from(opts), &rest)?;
        forgiven(git.merged(&words), self.options.run_as.ignore_retcode)
    }
}
