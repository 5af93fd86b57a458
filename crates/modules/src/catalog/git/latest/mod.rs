//! `git.latest`: a repository on the target that matches the remote one.

mod clone;
mod dry;
mod local;
mod remote;
mod update;

pub use clone::{empty, must_empty};

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use self::local::Local;
use self::remote::RemoteState;
use serde::{Deserialize, Serialize};

use super::super::file::Flag;
use super::super::{Decision, State, Step, Thing, Touches, Verdict};
use super::access::RemoteAccess;
use super::run::Git;
use super::{comments, look, sound};
use crate::Result;
use crate::catalog::{Plan, change};
use crate::machine::{Probe, System};

/// Makes sure that a repository is cloned into a directory and up to date.
///
/// ```yaml
/// https://git.example.com/site.git:
///   git.latest:
///     - target: /srv/site
///     - rev: main
/// ```
///
/// Passwords are given to git through its environment and are not stored in the repository.
#[state("git.latest", strict, required("target"))]
pub struct Latest {
    /// The address of the remote repository.
    name: String,
    /// The directory, absolute.
    target: Option<String>,
    /// The branch, tag or commit of the remote repository.
    #[default("HEAD")]
    rev: String,
    /// The local branch to be on; else it is left as it is.
    branch: Option<String>,
    /// The user to run git as.
    user: Option<String>,
    /// Only used on Windows.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    #[secret]
    password: Option<String>,
    /// Move the local branch; else only fetch.
    #[default(true)]
    update_head: Flag,
    /// Throw changes away that are in the way of another branch.
    force_checkout: Flag,
    /// Empty a directory that is no repository, and clone into it.
    force_clone: Flag,
    /// Fetch even what doesn't follow from what is there.
    force_fetch: Flag,
    /// Throw changes away: `True`, or `remote-changes` for only if there is something new.
    force_reset: Value,
    /// Update submodules too.
    submodules: Flag,
    /// A repository without a working tree.
    bare: Flag,
    /// As `bare`, with all refs as they are.
    mirror: Flag,
    /// The name of the remote repository.
    #[default("origin")]
    remote: String,
    /// Fetch all tags, also those that no branch leads to.
    #[default(true)]
    fetch_tags: Flag,
    /// Remove tags that the remote repository hasn't.
    #[default(true)]
    sync_tags: Flag,
    /// Clone only so many commits.
    depth: Option<u64>,
    /// The private key for ssh, or several: paths, or `salt://…`.
    identity: Value,
    /// The user's name for https.
    https_user: Option<String>,
    /// The password for https.
    #[secret]
    https_pass: Option<String>,
    /// Which branches to fetch.
    #[default("*")]
    refspec_branch: String,
    /// Which tags to fetch.
    #[default("*")]
    refspec_tag: String,
    /// Accepted and ignored: output is read as UTF-8.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    output_encoding: Option<String>,
}

/// The value of `force_reset`.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Reset {
    Never,
    Always,
    RemoteChanges,
}

/// The state of both repositories, with the data to act on it.
#[derive(Serialize, Deserialize)]
pub struct CheckoutPlan {
    target: String,
    /// The URL without a password.
    url: String,
    access: RemoteAccess,
    wanted: RemoteState,
    reset: Reset,
    branch: Option<String>,
    bare: bool,
    here: Here,
}

#[derive(Serialize, Deserialize)]
enum Here {
    Repository(Box<Local>),
    /// The directory is missing or empty, or (`true`) must be emptied.
    Nothing(bool),
}

impl State for Latest {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let plan = match self.found(machine, step)? {
            Ok(plan) => plan,
            Err(verdict) => return Ok(Decision::Settled(verdict)),
        };
        let dry = match &plan.here {
            Here::Nothing(forced) => Ok(self.would_clone(&plan, *forced)),
            Here::Repository(local) if plan.bare => Ok(self.would_fetch(&plan, local)),
            Here::Repository(local) => self.would_update(&plan, local),
        };
        match dry {
            Ok(verdict) => Decision::own(&plan, verdict),
            Err(verdict) => Ok(Decision::Settled(verdict)),
        }
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: CheckoutPlan = plan.into_own()?;
        let git = Git::acting(machine, &plan.target, self.user.as_deref()).with(&plan.access);
        let mut progress = UpdateProgress::default();
        let done = match &plan.here {
            Here::Nothing(forced) => self.clone_anew(machine, &git, &plan, *forced, &mut progress),
            Here::Repository(local) if plan.bare => self.fetch_bare(&git, &plan, local, &mut progress),
            Here::Repository(local) => self.update(&git, &plan, local, &mut progress),
        };
        Ok(done.unwrap_or_else(|text| progress.fail(text)))
    }

    fn touches(&self) -> Touches {
        touches(self.target.as_deref(), &self.name, self.user.as_deref(), &self.identity)
    }
}

impl Latest {
    fn found(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Result<CheckoutPlan, Verdict>> {
        let fail = |text: String| Ok(Err(Verdict::bad(text)));
        let reset = match &self.force_reset {
            Value::Null | Value::Bool(false) => Reset::Never,
            Value::Bool(true) => Reset::Always,
            Value::String(text) if text == "remote-changes" => Reset::RemoteChanges,
            _ => return fail("'force_reset' must be one of True, False, or 'remote-changes'".into()),
        };
        if self.remote.is_empty() {
            return fail("'remote' argument is required".into());
        }
        let Some(target) = self.target.clone().filter(|target| !target.is_empty()) else {
            return fail("'target' argument is required".into());
        };
        if self.rev.is_empty() {
            return fail(format!("'{}' is not a valid value for the 'rev' argument", self.rev));
        }
        if !target.starts_with('/') {
            return fail(format!("target '{target}' is not an absolute path"));
        }
        sound::url(&self.name)?;
        sound::name("rev", &self.rev)?;
        sound::name("remote", &self.remote)?;
        for pattern in [&self.refspec_branch, &self.refspec_tag] {
            sound::name("refspec", pattern)?;
        }
        let branch = self.branch.clone().filter(|branch| !branch.is_empty());
        branch.as_deref().map_or(Ok(""), |branch| sound::name("branch", branch))?;
        if look::is_file(machine, &target) {
            return fail(format!("Target '{target}' exists and is a regular file, cannot proceed"));
        }
        let login = (self.https_user.as_deref(), self.https_pass.as_deref());
        let (url, access) = match RemoteAccess::new(machine, &self.name, &self.identity, login, step.saltenv) {
            Ok(found) => found,
            Err(text) => return fail(text),
        };
        let bare = self.bare.0 || self.mirror.0;
        if self.rev != "HEAD" && bare {
            return fail("'rev' is not compatible with the 'mirror' and 'bare' arguments".into());
        }
        let git = Git::looking(machine, "/", self.user.as_deref()).with(&access);
        let refs = match git.output(&["ls-remote", "--", &url]) {
            Ok(text) => super::read::refs(&text),
            Err(fault) => return fail(format!("Failed to check remote refs: {}", fault.reason())),
        };
        let wanted = RemoteState::new(refs, &self.rev, &self.remote, bare);
        if self.depth.is_some() && !wanted.is_named() {
            return fail(
                "When 'depth' is used, 'rev' must be set to the name of a branch or tag on the remote repository"
                    .into(),
            );
        }
        if wanted.rev.is_none() && !bare && self.rev != "HEAD" {
            return fail(format!("No revision matching '{}' exists in the remote repository", self.rev));
        }
        Ok(match self.here(machine, &target, &wanted, branch.as_deref(), bare) {
            Ok(here) => Ok(CheckoutPlan { target, url, access, wanted, reset, branch, bare, here }),
            Err(text) => Err(Verdict::bad(text)),
        })
    }

    /// Looks at the target's directory.
    fn here(
        &self,
        machine: &dyn Probe,
        target: &str,
        wanted: &RemoteState,
        branch: Option<&str>,
        bare: bool,
    ) -> Result<Here, String> {
        let user = self.user.as_deref();
        let mark = if bare { "refs" } else { ".git" };
        if !look::is_directory(machine, &format!("{target}/{mark}")) && !look::is_worktree(machine, target, user) {
            return must_empty(machine, target, self.force_clone.0).map(Here::Nothing);
        }
        let git = Git::looking(machine, target, user);
        Local::look(&git, wanted, &self.remote, branch, bare).map(|local| Here::Repository(Box::new(local)))
    }

    /// The refspecs of a fetch.
    fn refspecs(&self) -> Vec<String> {
        let (branch, tag, remote) = (&self.refspec_branch, &self.refspec_tag, &self.remote);
        match self.fetch_tags.0 {
            true => vec![
                format!("refs/heads/{branch}:refs/remotes/{remote}/{branch}"),
                format!("+refs/tags/{tag}:refs/tags/{tag}"),
            ],
            false => Vec::new(),
        }
    }

    fn fetch_words(&self) -> Vec<String> {
        let mut words = vec!["fetch".to_owned()];
        if self.force_fetch.0 {
            words.push("--force".into());
        }
        words.extend(["--".into(), self.remote.clone()]);
        words.extend(self.refspecs());
        words
    }
}

/// The work done so far.
#[derive(Default)]
struct UpdateProgress {
    changes: Map,
    comments: Vec<String>,
    warnings: Vec<String>,
}

impl UpdateProgress {
    fn fail(self, text: String) -> Verdict {
        let comment = match self.comments.is_empty() {
            true => text,
            false => format!("{text}\n\nChanges already made: {}", comments(&self.comments)),
        };
        Verdict { changes: self.changes, warnings: self.warnings, ..Verdict::bad(comment) }
    }

    fn up_to_date(self, target: &str) -> Verdict {
        let mut comment = format!("Repository {target} is up-to-date");
        if !self.comments.is_empty() {
            comment += &format!("\n\nChanges made: {}", comments(&self.comments));
        }
        Verdict { changes: self.changes, warnings: self.warnings, ..Verdict::good(comment) }
    }

    /// The verdict of a run that may have moved HEAD.
    fn moved(self, target: &str, old: Option<&str>, new: Option<&str>) -> Verdict {
        if old == new { self.up_to_date(target) } else { self.done().change("revision", change(old, new)) }
    }

    fn done(self) -> Verdict {
        let comment = comments(&self.comments);
        Verdict { changes: self.changes, warnings: self.warnings, ..Verdict::good(comment) }
    }

    fn say(&mut self, text: impl Into<String>) {
        self.comments.push(text.into());
    }
}

fn short(commit: Option<&str>) -> &str {
    commit.map_or("None", |commit| commit.get(..7).unwrap_or(commit))
}

/// What a state that keeps a repository touches: the directory, and a source repository on this machine.
pub fn touches(target: Option<&str>, url: &str, user: Option<&str>, identity: &Value) -> Touches {
    let Some(target) = target else { return Touches::everything() };
    let mut touches = Touches::nothing().writes(Thing::Path(target.to_owned())).reads(Thing::Network);
    let url = url.strip_prefix("file://").unwrap_or(url);
    let identities = identity
        .as_list()
        .map_or_else(|| vec![identity.to_string()], |list| list.iter().map(ToString::to_string).collect());
    for path in identities.iter().map(String::as_str).chain([url]).filter(|path| path.starts_with('/')) {
        touches = touches.reads(Thing::Path(path.to_owned()));
    }
    // The configuration and known hosts of git's user.
    for path in ["/etc/gitconfig", "/etc/ssh", "/root/.gitconfig", "/root/.config/git", "/root/.ssh"] {
        touches = touches.reads(Thing::Path(path.into()));
    }
    match user {
        Some(user) => touches.reads(Thing::User(user.to_owned())).reads(Thing::Path(format!("/home/{user}"))),
        None => touches,
    }
}
