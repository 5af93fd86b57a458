//! Functions that change a repository on the target.

use rocksalt_core::Value;

use super::inspect::forgiven;
use super::options::{git_function, line, options};
use super::sound;
use crate::Error;

/// `git init` with its options, without the directory.
pub fn init_words(bare: bool, template: Option<&str>, separate: Option<&str>, shared: &Value) -> Vec<String> {
    let mut words = vec!["init".to_owned()];
    if bare {
        words.push("--bare".into());
    }
    words.extend(template.map(|path| format!("--template={path}")));
    words.extend(separate.map(|path| format!("--separate-git-dir={path}")));
    match shared {
        Value::Null => {}
        // YAML reads an octal number in its own way; Salt puts the digits back.
        Value::Int(number) => words.push(format!("--shared=0{number}")),
        Value::Bool(shared) => words.push(format!("--shared={shared}")),
        other => words.push(format!("--shared={other}")),
    }
    words
}

git_function! {
    /// Adds files to the index.
    ///
    /// ```text
    /// rocksalt '*' git.add /srv/app README
    /// ```
    Add = "git.add" changes, options, String;
    {
        /// The file or directory.
        filename: String,
    }
    |self, machine, git| {
        let words = line(&self.git_opts, &["add", "--verbose"], &self.opts, &["--", &self.filename])?;
        forgiven(git.output(&words), self.ignore_retcode)
    }
}

git_function! {
    /// Writes the files of a commit into an archive.
    ///
    /// ```text
    /// rocksalt '*' git.archive /srv/app /tmp/app.tar.gz rev=v1.0
    /// ```
    Archive = "git.archive" changes, options, bool;
    {
        /// The archive.
        output: String,
        /// The branch, tag or commit.
        rev: Option<String>,
        /// What stands before each path in it; else the directory's name.
        prefix: Option<String>,
        /// `tar`, `tar.gz` or `zip`; else by the archive's name.
        format: Option<String>,
    }
    |self, machine, git| {
        let cwd = sound::directory(machine, &self.cwd, self.user.as_deref());
        let output = sound::directory(machine, &self.output, self.user.as_deref());
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
        git.output(&line(&self.git_opts, &["archive"], &self.opts, &rest)?)?;
        Ok(true)
    }
}

git_function! {
    /// Creates, changes or removes a branch, according to the options.
    ///
    /// ```text
    /// rocksalt '*' git.branch /srv/app dev opts='-d'
    /// ```
    Branch = "git.branch" changes, options, bool;
    {
        /// The branch.
        name: Option<String>,
    }
    |self, machine, git| {
        let name = self.name.as_deref().map(|name| sound::name("name", name)).transpose()?;
        forgiven(git.output(&line(&self.git_opts, &["branch"], &self.opts, name.as_slice())?), self.ignore_retcode)?;
        Ok(true)
    }
}

git_function! {
    /// Checks out a branch, tag or commit.
    ///
    /// ```text
    /// rocksalt '*' git.checkout /srv/app main
    /// ```
    Checkout = "git.checkout" changes, options, String;
    {
        /// The branch, tag or commit.
        rev: Option<String>,
        /// Throw changes away.
        force: bool,
    }
    |self, machine, git| {
        let opts = options(&self.opts)?;
        if self.rev.is_none() && !opts.iter().any(|word| word == "-b" || word == "-B") {
            return Err(Error::arguments("'rev' argument is required unless -b or -B in opts"));
        }
        let rev = self.rev.as_deref().map(|rev| sound::name("rev", rev)).transpose()?;
        let command: &[&str] = if self.force { &["checkout", "--force"] } else { &["checkout"] };
        forgiven(git.merged(&line(&self.git_opts, command, &self.opts, rev.as_slice())?), self.ignore_retcode)
    }
}

git_function! {
    /// Commits the index.
    ///
    /// ```text
    /// rocksalt '*' git.commit /srv/app 'a better page'
    /// ```
    Commit = "git.commit" changes, options, String;
    {
        /// What it is about.
        message: String,
        /// Only this file.
        filename: Option<String>,
    }
    |self, machine, git| {
        let message = format!("--message={}", self.message);
        let rest = self.filename.as_deref().map(|name| ["--", name]);
        let rest = rest.as_ref().map_or(&[][..], |rest| rest);
        forgiven(git.output(&line(&self.git_opts, &["commit", &message], &self.opts, rest)?), self.ignore_retcode)
    }
}

git_function! {
    /// Discards uncommitted changes.
    ///
    /// ```text
    /// rocksalt '*' git.discard_local_changes /srv/app path=README
    /// ```
    DiscardLocalChanges = "git.discard_local_changes" changes, plain, String;
    {
        /// Only below this path.
        path: Option<String>,
    }
    |self, machine, git| {
        let words = ["checkout", "--", self.path.as_deref().unwrap_or(".")];
        forgiven(git.merged(&words), self.ignore_retcode)
    }
}

git_function! {
    /// Creates a repository.
    ///
    /// ```text
    /// rocksalt '*' git.init /srv/git/app.git bare=True
    /// ```
    Init = "git.init" changes, options, String;
    {
        /// Without a working tree.
        bare: bool,
        /// A directory whose files it begins with.
        template: Option<String>,
        /// Where it keeps its own files.
        separate_git_dir: Option<String>,
        /// Who may use it besides: `group`, `all`, or permissions in octal.
        shared: Value,
    }
    |self, machine, git| {
        let cwd = sound::directory(machine, &self.cwd, self.user.as_deref());
        let init = init_words(self.bare, self.template.as_deref(), self.separate_git_dir.as_deref(), &self.shared);
        let init: Vec<&str> = init.iter().map(String::as_str).collect();
        let words = line(&self.git_opts, &init, &self.opts, &["--", &cwd.to_string_lossy()])?;
        forgiven(git.within("/").output(&words), self.ignore_retcode)
    }
}

git_function! {
    /// Merges a commit into the branch that is checked out.
    ///
    /// ```text
    /// rocksalt '*' git.merge /srv/app rev=origin/main opts='--ff-only'
    /// ```
    Merge = "git.merge" changes, options, String;
    {
        /// The branch, tag or commit; else what the branch follows.
        rev: Option<String>,
    }
    |self, machine, git| {
        let rev = self.rev.as_deref().map(|rev| sound::name("rev", rev)).transpose()?;
        forgiven(git.output(&line(&self.git_opts, &["merge"], &self.opts, rev.as_slice())?), self.ignore_retcode)
    }
}

git_function! {
    /// Rebases a branch onto another commit.
    ///
    /// ```text
    /// rocksalt '*' git.rebase /srv/app rev=origin/main
    /// ```
    Rebase = "git.rebase" changes, options, String;
    {
        /// The branch, tag or commit.
        rev: Option<String>,
    }
    |self, machine, git| {
        if options(&self.opts)?.iter().any(|word| word == "-i" || word == "--interactive") {
            return Err(Error::arguments("Interactive rebases are not supported"));
        }
        let rev = sound::name("rev", self.rev.as_deref().unwrap_or("master"))?;
        forgiven(git.output(&line(&self.git_opts, &["rebase"], &self.opts, &[rev])?), self.ignore_retcode)
    }
}

git_function! {
    /// Resets the branch, according to the options.
    ///
    /// ```text
    /// rocksalt '*' git.reset /srv/app opts='--hard origin/main'
    /// ```
    Reset = "git.reset" changes, options, String;
    {}
    |self, machine, git| {
        forgiven(git.output(&line(&self.git_opts, &["reset"], &self.opts, &[])?), self.ignore_retcode)
    }
}

git_function! {
    /// Removes files, also from the index.
    ///
    /// ```text
    /// rocksalt '*' git.rm /srv/app README
    /// ```
    Rm = "git.rm" changes, options, String;
    {
        /// The file or directory.
        filename: String,
    }
    |self, machine, git| {
        let words = line(&self.git_opts, &["rm"], &self.opts, &["--", &self.filename])?;
        forgiven(git.output(&words), self.ignore_retcode)
    }
}

git_function! {
    /// Stashes uncommitted changes, or applies them again.
    ///
    /// ```text
    /// rocksalt '*' git.stash /srv/app pop
    /// ```
    Stash = "git.stash" changes, options, String;
    {
        /// `save`, `pop`, `list`, `drop` …
        action: Option<String>,
    }
    |self, machine, git| {
        let action = sound::name("action", self.action.as_deref().unwrap_or("save"))?;
        forgiven(git.output(&line(&self.git_opts, &["stash", action], &self.opts, &[])?), self.ignore_retcode)
    }
}

git_function! {
    /// Creates a tag, or removes it with `opts='-d'`.
    ///
    /// ```text
    /// rocksalt '*' git.tag /srv/app v1.0 message='the first one'
    /// ```
    Tag = "git.tag" changes, options, String;
    {
        /// The tag.
        name: String,
        /// The branch or commit.
        #[rename("ref")]
        reference: Option<String>,
        /// What it is about.
        message: Option<String>,
    }
    |self, machine, git| {
        let opts: Vec<String> = options(&self.opts)?.into_iter().filter(|word| word != "-a" && word != "--annotate").collect();
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
        let words = line(&self.git_opts, &command, &Value::from(opts), &rest)?;
        forgiven(git.merged(&words), self.ignore_retcode)
    }
}
