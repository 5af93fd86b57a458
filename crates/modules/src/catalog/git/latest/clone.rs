//! Clones a repository, and checks out the requested commit.

use std::path::Path;

use rocksalt_core::Value;

use super::super::look;
use super::super::run::{Fault, Git};
use super::remote::{RevisionKind, Upstream};
use super::update::upstream;
use super::{CheckoutPlan, Latest, UpdateProgress, Verdict};
use crate::catalog::change;
use crate::machine::{Probe, System};

impl Latest {
    pub(super) fn clone_anew(
        &self,
        machine: &dyn System,
        git: &Git<'_>,
        plan: &CheckoutPlan,
        forced: bool,
        progress: &mut UpdateProgress,
    ) -> Result<Verdict, String> {
        let (target, url) = (&plan.target, &plan.url);
        if forced {
            empty(machine, target)?;
            progress.changes.insert("forced clone", true);
        }
        git.within("/").output(&self.clone_words(plan)).map_err(|fault| format!("Clone failed: {}", fault.reason()))?;
        progress.changes.insert("new", format!("{url} => {target}"));
        let kind = match (self.mirror.0, plan.bare) {
            (true, _) => " as mirror",
            (false, true) => " as bare repository",
            (false, false) => "",
        };
        progress.say(format!("{url} cloned to {target}{kind}"));
        if !plan.bare && plan.wanted.rev.is_some() {
            self.settle(git, plan, progress)?;
            self.submodules(git)?;
        }
        let new = git.output(&["rev-parse", "--verify", "HEAD"]).ok();
        let verdict = std::mem::take(progress).done();
        Ok(match new {
            Some(new) => verdict.change("revision", change(Value::Null, new)),
            None => verdict,
        })
    }

    fn clone_words(&self, plan: &CheckoutPlan) -> Vec<String> {
        let mut words = vec!["clone".to_owned()];
        match (self.mirror.0, plan.bare) {
            (true, _) => words.push("--mirror".into()),
            (false, true) => words.push("--bare".into()),
            (false, false) => {}
        }
        if self.remote != "origin" {
            words.extend(["--origin".into(), self.remote.clone()]);
        }
        if let Some(depth) = self.depth {
            words.extend([format!("--depth={depth}"), format!("--branch={}", self.rev)]);
        }
        words.extend(["--".into(), plan.url.clone(), plan.target.clone()]);
        words
    }

    /// Checks out the requested commit in a fresh clone.
    fn settle(&self, git: &Git<'_>, plan: &CheckoutPlan, progress: &mut UpdateProgress) -> Result<(), String> {
        let wanted = &plan.wanted;
        let tell = |fault: Fault| fault.reason();
        let list = |below: &str| git.output(&["for-each-ref", "--format", "%(refname:short)", below]).map_err(tell);
        if wanted.kind == Some(RevisionKind::Tag) && !list("refs/tags/")?.lines().any(|tag| tag == self.rev) {
            return Err(format!("Revision '{}' does not exist in clone", self.rev));
        }
        let mut is_new = false;
        if let Some(branch) = plan.branch.as_deref()
            && !list("refs/heads/")?.lines().any(|known| known == branch)
        {
            git.merged(&["checkout", "-b", branch, &self.start(plan), "--"]).map_err(tell)?;
            progress.say(format!("Branch '{branch}' checked out, with {} as a starting point", wanted.place));
            is_new = matches!(wanted.upstream, Upstream::Branch(_));
        }
        let rev = git.output(&["rev-parse", "--verify", "HEAD"]).ok();
        let branch = git.output(&["rev-parse", "--abbrev-ref", "HEAD"]).ok();
        if branch.is_none() && wanted.head.is_none() {
            return Err("Remote HEAD refers to a ref that does not exist. This can happen when the default branch on \
                        the remote repository is renamed or deleted. If you are unable to fix the remote repository, \
                        you can work around this by setting the 'branch' argument (which will ensure that the named \
                        branch is created if it does not already exist)."
                .into());
        }
        if !wanted.is(rev.as_deref()) {
            git.output(&["reset", "--hard", wanted.rev.as_deref().unwrap_or("HEAD")]).map_err(tell)?;
            progress.say(format!("Repository was reset to {}", wanted.place));
        }
        let known = branch
            .and_then(|branch| git.output(&["rev-parse", "--abbrev-ref", &format!("{branch}@{{upstream}}")]).ok());
        if let Some((words, text)) = upstream(known.as_deref(), &wanted.upstream, is_new) {
            git.output(&words).map_err(tell)?;
            progress.say(text);
        }
        Ok(())
    }
}

/// Whether the directory must be emptied before the clone; the error says why it must not.
pub fn must_empty(machine: &dyn Probe, target: &str, force_clone: bool) -> Result<bool, String> {
    let content = machine.list(Path::new(target)).unwrap_or_default();
    if !content.is_empty() && !force_clone {
        return Err(format!(
            "Target '{target}' exists, is non-empty and is not a git repository. Set the 'force_clone' option to True \
             to remove this directory's contents and proceed with cloning the remote repository"
        ));
    }
    Ok(look::is_directory(machine, target) && force_clone)
}

/// Removes the content of a directory.
pub fn empty(machine: &dyn System, target: &str) -> Result<(), String> {
    let mut errors = Vec::new();
    for name in machine.list(Path::new(target)).unwrap_or_default() {
        let path = format!("{}/{name}", target.trim_end_matches('/'));
        match machine.remove(Path::new(&path)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                errors.push(format!("  {path}\n    {}", crate::error::reason(&error)));
            }
            _ => {}
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(format!("Unable to remove\n{}", errors.join("\n"))) }
}
