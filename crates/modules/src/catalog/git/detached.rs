//! `git.detached`: a repository with one commit checked out, and no branch.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::super::file::Flag;
use super::super::{Decision, State, Step, Touches, Verdict, change};
use super::access::RemoteAccess;
use super::run::Git;
use super::{comments, latest, look, read, sound};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

/// Makes sure that a repository is cloned and has the commit of `rev` checked out, on no branch.
///
/// ```yaml
/// https://git.example.com/site.git:
///   git.detached:
///     - target: /srv/site
///     - rev: v2.1
/// ```
#[state("git.detached", strict, required("rev", "target"))]
pub struct Detached {
    /// The address of the remote repository.
    name: String,
    /// The branch, tag or commit.
    rev: Option<String>,
    /// The directory, absolute.
    target: Option<String>,
    /// The name of the remote repository.
    #[default("origin")]
    remote: String,
    /// The user to run git as.
    user: Option<String>,
    /// Only used on Windows.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    #[secret]
    password: Option<String>,
    /// Empty a directory that is no repository, and clone into it.
    force_clone: Flag,
    /// Throw changes away that are in the way.
    force_checkout: Flag,
    /// Fetch what is new; else only what is here can be checked out.
    #[default(true)]
    fetch_remote: Flag,
    /// Throw changes away before anything is checked out.
    hard_reset: Flag,
    /// Update submodules too.
    submodules: Flag,
    /// The private key for ssh, or several: paths, or `salt://…`.
    identity: Value,
    /// The user's name for https.
    https_user: Option<String>,
    /// The password for https.
    #[secret]
    https_pass: Option<String>,
    /// Accepted and ignored: output is read as UTF-8.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    output_encoding: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub struct DetachPlan {
    rev: String,
    target: String,
    url: String,
    access: RemoteAccess,
    is_hash: bool,
    /// The current URL of the remote repository; `None` if it isn't configured.
    known_url: Option<String>,
    clone: Option<bool>,
    fetch: bool,
    old: Option<String>,
    /// The commit to check out, if the remote repository reveals it.
    new: Option<String>,
}

impl State for Detached {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let plan = match self.found(machine, step)? {
            Ok(plan) => plan,
            Err(text) => return Ok(Decision::Settled(Verdict::bad(text))),
        };
        let dry = self.dry(&plan);
        Decision::own(&plan, dry)
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: DetachPlan = plan.into_own()?;
        let mut said = Vec::new();
        let mut changes = Map::new();
        Ok(match self.carry_out(machine, &plan, &mut said, &mut changes) {
            Ok(()) => Verdict::good(comments(&said)).changes(changes),
            Err(text) if said.is_empty() => Verdict::bad(text).changes(changes),
            Err(text) => Verdict::bad(format!("{text}\n\nChanges already made: {}", comments(&said))).changes(changes),
        })
    }

    fn touches(&self) -> Touches {
        latest::touches(self.target.as_deref(), &self.name, self.user.as_deref(), &self.identity)
    }
}

impl Detached {
    fn found(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Result<DetachPlan, String>> {
        let Some(rev) = self.rev.clone().filter(|rev| !rev.is_empty()) else {
            return Ok(Err("'' is not a valid value for the 'rev' argument".into()));
        };
        let Some(target) = self.target.clone().filter(|target| !target.is_empty()) else {
            return Ok(Err(format!("'{rev}' is not a valid value for the 'target' argument")));
        };
        if !target.starts_with('/') {
            return Ok(Err(format!("Target '{target}' is not an absolute path")));
        }
        sound::url(&self.name)?;
        sound::name("rev", &rev)?;
        sound::name("remote", &self.remote)?;
        if look::is_file(machine, &target) {
            return Ok(Err(format!("Target '{target}' exists and is a regular file, cannot proceed")));
        }
        let login = (self.https_user.as_deref(), self.https_pass.as_deref());
        let (url, access) = match RemoteAccess::new(machine, &self.name, &self.identity, login, step.saltenv) {
            Ok(found) => found,
            Err(text) => return Ok(Err(text)),
        };
        let is_hash = rev.len() <= 40 && rev.bytes().all(|byte| byte.is_ascii_hexdigit());
        let rev = if is_hash { rev.to_ascii_lowercase() } else { rev };
        let mut plan = DetachPlan {
            rev,
            target,
            url,
            access,
            is_hash,
            known_url: None,
            clone: None,
            fetch: true,
            old: None,
            new: None,
        };
        if let Err(text) = self.look_at_target(machine, &mut plan) {
            return Ok(Err(text));
        }
        if plan.new.is_none() && (plan.fetch || plan.clone.is_some()) {
            plan.new = self.remote_commit(machine, &plan);
        }
        Ok(Ok(plan))
    }

    /// Adds to the plan what the repository on the target has, or that it must be cloned.
    fn look_at_target(&self, machine: &dyn Probe, plan: &mut DetachPlan) -> Result<(), String> {
        let (target, user) = (&plan.target, self.user.as_deref());
        if !look::is_directory(machine, &format!("{target}/.git")) && !look::is_worktree(machine, target, user) {
            plan.clone = Some(latest::must_empty(machine, target, self.force_clone.0)?);
            return Ok(());
        }
        let git = Git::looking(machine, target, user);
        plan.old = git.commit("HEAD");
        let remotes = read::remotes(&git.output(&["remote", "--verbose"]).map_err(|fault| fault.reason())?);
        let found = remotes.into_iter().find(|(name, action, _)| *name == self.remote && action == "fetch");
        plan.known_url = found.map(|(_, _, url)| url);
        plan.new = if plan.is_hash { git.commit(&plan.rev) } else { None };
        plan.fetch = plan.new.is_none() && self.fetch_remote.0;
        if !plan.fetch && !plan.is_hash {
            plan.new = self.named_commit(&git, &plan.rev);
        }
        Ok(())
    }

    /// The commit of a fetched branch or of a tag.
    fn named_commit(&self, git: &Git<'_>, rev: &str) -> Option<String> {
        git.commit(&format!("refs/remotes/{}/{rev}", self.remote)).or_else(|| git.commit(&format!("refs/tags/{rev}")))
    }

    /// The commit of the name in the remote repository, to report what would be checked out.
    fn remote_commit(&self, machine: &dyn Probe, plan: &DetachPlan) -> Option<String> {
        if plan.is_hash {
            return Some(plan.rev.clone());
        }
        let git = Git::looking(machine, "/", self.user.as_deref()).with(&plan.access);
        let refs = read::refs(&git.output(&["ls-remote", "--", &plan.url]).ok()?);
        let rev = &plan.rev;
        let names = [format!("refs/heads/{rev}"), format!("refs/tags/{rev}^{{}}"), format!("refs/tags/{rev}")];
        names.iter().find_map(|name| refs.iter().find(|(known, _)| known == name)).map(|(_, commit)| commit.clone())
    }

    fn dry(&self, plan: &DetachPlan) -> Verdict {
        let (target, url, remote) = (&plan.target, &plan.url, &self.remote);
        let stays = plan.old.is_some() && plan.old == plan.new;
        let mut steps = Vec::new();
        match plan.clone {
            Some(true) => steps.push(format!(
                "Target directory {target} exists. Since force_clone=True, the contents of {target} would be deleted, \
                 and {url} would be cloned into this directory."
            )),
            Some(false) => steps.push(format!("Repository {url} would be cloned to {target}")),
            None if self.other_url(plan) => steps.push(format!("Remote {remote} would be set to {url}")),
            None if stays && !self.hard_reset => {
                return Verdict::good("Already checked out at correct revision");
            }
            None if plan.fetch && plan.new.is_none() => {
                steps.push(format!("Repository remote {remote} would be fetched"))
            }
            None if self.hard_reset.0 => steps.push(format!("Hard reset to HEAD would be performed on {target}")),
            None => steps.push(format!(
                "Commit ID {} would be checked out at {target}",
                plan.new.as_deref().unwrap_or(&plan.rev)
            )),
        }
        let mut dry = Verdict::would(steps.join(""));
        if plan.clone == Some(true) {
            dry = dry.change("forced clone", true);
        }
        if stays {
            // As in Salt, this doesn't count as a change.
            return Verdict { result: Some(true), ..dry };
        }
        match &plan.new {
            Some(new) => dry.change("HEAD", change(plan.old.as_deref(), new.as_str())),
            // Whether the revision exists is only known after fetching.
            None => dry,
        }
    }

    fn other_url(&self, plan: &DetachPlan) -> bool {
        !plan.is_hash && plan.known_url.as_deref() != Some(plan.url.as_str())
    }

    fn carry_out(
        &self,
        machine: &dyn System,
        plan: &DetachPlan,
        said: &mut Vec<String>,
        changes: &mut Map,
    ) -> Result<(), String> {
        let (target, url, remote) = (&plan.target, &plan.url, &self.remote);
        let git = Git::acting(machine, target, self.user.as_deref()).with(&plan.access);
        if let Some(forced) = plan.clone {
            if forced {
                latest::empty(machine, target)?;
                changes.insert("forced clone", true);
            }
            let mut words = vec!["clone", "--no-checkout"];
            if remote != "origin" {
                words.extend(["--origin", remote]);
            }
            words.extend(["--", url, target]);
            git.within("/").output(&words).map_err(|fault| fault.reason())?;
            said.push(format!("{url} cloned to {target}"));
        } else if self.other_url(plan) {
            let verb = if plan.known_url.is_some() { "set-url" } else { "add" };
            git.output(&["remote", verb, "--", remote, url]).map_err(|fault| fault.reason())?;
            let old = plan.known_url.as_deref().map_or("None".into(), super::access::redacted);
            said.push(format!("Remote {remote} updated from '{old}' to '{url}'"));
        }
        if plan.fetch && (self.fetch_remote.0 || plan.clone.is_none()) {
            let heads = format!("refs/heads/*:refs/remotes/{remote}/*");
            let words = ["fetch", "--force", "--", remote, &heads, "+refs/tags/*:refs/tags/*"];
            let text = git.merged(&words).map_err(|fault| format!("Fetch failed:\n\n{fault}"))?;
            if !read::fetched(&text).is_empty() {
                said.push(format!("Remote {remote} was fetched, resulting in updated refs"));
            }
        }
        let rev = &plan.rev;
        let found = if plan.is_hash { git.commit(rev) } else { self.named_commit(&git, rev) };
        let new = found.ok_or_else(|| format!("Revision '{rev}' does not exist"))?;
        if self.hard_reset.0 && plan.clone.is_none() {
            git.output(&["reset", "--hard", "HEAD"]).map_err(|fault| fault.reason())?;
            said.push("Repository was reset to HEAD before checking out revision".into());
        }
        let moves = plan.old.as_ref() != Some(&new);
        if moves {
            let force = if self.force_checkout.0 { vec!["--force"] } else { Vec::new() };
            let words = [vec!["checkout"], force, vec!["--detach", &new, "--"]].concat();
            git.merged(&words).map_err(|fault| fault.reason())?;
            said.push(format!("Commit ID {new} was checked out at {target}"));
            changes.insert("HEAD", change(plan.old.as_deref(), new.as_str()));
        }
        if self.submodules.0 {
            git.output(&["submodule", "update", "--init", "--recursive"]).map_err(|fault| fault.reason())?;
            said.push("Submodules were updated".into());
        }
        if !moves {
            said.push("Already checked out at correct revision".into());
        }
        Ok(())
    }
}
