//! Updates an existing repository to the requested commit.

use super::super::access::redacted;
use super::super::read;
use super::super::run::{Fault, Git};
use super::dry::follows;
use super::local::Local;
use super::remote::Upstream;
use super::{CheckoutPlan, Latest, Reset, UpdateProgress, Verdict};

impl Latest {
    pub(super) fn update(
        &self,
        git: &Git<'_>,
        plan: &CheckoutPlan,
        local: &Local,
        progress: &mut UpdateProgress,
    ) -> Result<Verdict, String> {
        let (wanted, target) = (&plan.wanted, &plan.target);
        let Some(rev) = wanted.rev.as_deref() else { return Ok(std::mem::take(progress).up_to_date(target)) };
        let tell = |fault: Fault| fault.reason();
        self.set_url(git, plan, local, progress).map_err(tell)?;
        let upstream = self.upstream_words(plan, local)?;
        self.remove_tags(git, plan, local, progress);
        let is_there = wanted.is(local.rev.as_deref());
        let mut forward = !(local.dirty && plan.reset != Reset::RemoteChanges) && local.follows != Some(false);
        if self.fetches(plan, local) {
            self.fetch(git, plan, local, progress)?;
            let words = ["rev-parse", "--verify", &format!("{rev}^{{commit}}")];
            git.output(&words).map_err(|fault| {
                format!("Fetch did not successfully retrieve rev '{}' from {}: {fault}", self.rev, plan.url)
            })?;
            if !is_there && !self.update_head && !local.changes_branch(plan.branch.as_deref()) {
                let text = self.stays(plan, local);
                return Ok(Verdict { comment: text, ..std::mem::take(progress).done() });
            }
            forward = follows(git, local.base.as_deref(), rev);
            if plan.reset == Reset::Never && (!forward || local.dirty) {
                return Err(self.not_forward(plan, local));
            }
        }
        self.check_out(git, plan, local, progress)?;
        if !forward {
            git.output(&["reset", "--hard", rev]).map_err(tell)?;
            progress.changes.insert("forced update", true);
            if local.dirty {
                progress.say("Uncommitted changes were discarded");
            }
            progress.say(format!("Repository was hard-reset to {}", wanted.place));
        } else if local.dirty && plan.reset != Reset::Never {
            git.merged(&["checkout", "--", "."]).map_err(tell)?;
            progress.say("Uncommitted changes were discarded");
        }
        if let Some((words, text)) = upstream {
            git.output(&words).map_err(tell)?;
            progress.say(text);
        }
        if forward && !wanted.is(local.base.as_deref()) {
            self.go_forward(git, plan, rev, progress)?;
        }
        self.submodules(git)?;
        let new = git.output(&["rev-parse", "--verify", "HEAD"]).ok();
        if !wanted.is(new.as_deref()) {
            return Err("Failed to update repository".into());
        }
        Ok(std::mem::take(progress).moved(target, local.rev.as_deref(), new.as_deref()))
    }

    pub(super) fn fetch_bare(
        &self,
        git: &Git<'_>,
        plan: &CheckoutPlan,
        local: &Local,
        progress: &mut UpdateProgress,
    ) -> Result<Verdict, String> {
        let said = git.merged(&self.fetch_words()).map_err(|fault| failed_fetch(&fault))?;
        let updated = if read::fetched(&said).is_empty() { "" } else { ", resulting in updated refs" };
        progress.say(format!("Bare repository at {} was fetched{updated}", plan.target));
        let new = git.output(&["rev-parse", "--verify", "HEAD"]).ok();
        Ok(std::mem::take(progress).moved(&plan.target, local.rev.as_deref(), new.as_deref()))
    }

    fn set_url(
        &self,
        git: &Git<'_>,
        plan: &CheckoutPlan,
        local: &Local,
        progress: &mut UpdateProgress,
    ) -> Result<(), Fault> {
        let (remote, url) = (&self.remote, &plan.url);
        match &local.url {
            Some(known) if known == url => {}
            None => {
                git.output(&["remote", "add", "--", remote, url])?;
                progress.say(format!("Remote '{remote}' set to {url}"));
                progress.changes.insert("new", format!("{url} => {remote}"));
            }
            Some(known) => {
                // Salt removes the remote and adds it again, which drops the upstreams of branches.
                git.output(&["remote", "set-url", "--", remote, url])?;
                progress.say(format!("Remote '{remote}' changed from {} to {url}", redacted(known)));
            }
        }
        Ok(())
    }

    fn remove_tags(&self, git: &Git<'_>, plan: &CheckoutPlan, local: &Local, progress: &mut UpdateProgress) {
        let mut gone = Vec::new();
        for tag in self.lost_tags(plan, local) {
            match git.merged(&["tag", "-d", "--", &tag]) {
                Ok(_) => gone.push(tag),
                Err(fault) => progress.warnings.push(format!("Failed to remove local tag '{tag}':\n\n{fault}\n\n")),
            }
        }
        if !gone.is_empty() {
            let tags = gone.join(", ");
            progress.say(format!("The following tags were removed from the local checkout: {tags}"));
            progress.changes.insert("deleted_tags", gone);
        }
    }

    fn fetch(
        &self,
        git: &Git<'_>,
        plan: &CheckoutPlan,
        local: &Local,
        progress: &mut UpdateProgress,
    ) -> Result<(), String> {
        let said = git.merged(&self.fetch_words()).map_err(|fault| failed_fetch(&fault))?;
        let new = self.new_tags(plan, local);
        if self.fetch_tags.0 && !new.is_empty() {
            progress.changes.insert("new_tags", new);
        }
        if !read::fetched(&said).is_empty() {
            progress.say(format!("{} was fetched, resulting in updated refs", plan.url));
        }
        Ok(())
    }

    fn check_out(
        &self,
        git: &Git<'_>,
        plan: &CheckoutPlan,
        local: &Local,
        progress: &mut UpdateProgress,
    ) -> Result<(), String> {
        let Some(branch) = plan.branch.as_deref().filter(|branch| local.changes_branch(Some(branch))) else {
            return Ok(());
        };
        if local.dirty && !self.force_checkout {
            return Err(format!(
                "Local branch '{}' has uncommitted changes. Set 'force_checkout' to True to discard them and proceed.",
                local.branch.as_deref().unwrap_or("None")
            ));
        }
        let force = if self.force_checkout.0 { vec!["--force"] } else { Vec::new() };
        if local.branches.iter().any(|known| known == branch) {
            git.merged(&[vec!["checkout"], force, vec![branch, "--"]].concat()).map_err(|fault| fault.reason())?;
            progress.say(format!("'{branch}' was checked out"));
            return Ok(());
        }
        let start = self.start(plan);
        let words = [vec!["checkout"], force, vec!["-b", branch, &start, "--"]].concat();
        git.merged(&words).map_err(|fault| fault.reason())?;
        let place = &plan.wanted.place;
        progress.say(format!("New branch '{branch}' was checked out, with {place} as a starting point"));
        Ok(())
    }

    /// The revision at which a new branch starts.
    pub(super) fn start(&self, plan: &CheckoutPlan) -> String {
        match (&plan.wanted.upstream, &plan.wanted.rev) {
            (Upstream::Branch(branch), _) => branch.clone(),
            (_, Some(commit)) if self.rev == "HEAD" => commit.clone(),
            _ => self.rev.clone(),
        }
    }

    /// As [`upstream`]; without a branch there is nothing to set it on.
    fn upstream_words(&self, plan: &CheckoutPlan, local: &Local) -> Result<Option<(Vec<String>, String)>, String> {
        // A new branch gets its starting point as upstream.
        let is_new = plan.branch.as_ref().is_some_and(|branch| !local.branches.contains(branch));
        let upstream = upstream(local.upstream.as_deref(), &plan.wanted.upstream, is_new);
        if upstream.is_some() && local.branch.is_none() {
            return Err(
                "Cannot set/unset upstream tracking branch, local HEAD refers to nonexistent branch. This may \
                        have been caused by cloning a remote repository for which the default branch was renamed or \
                        deleted. If you are unable to fix the remote repository, you can work around this by setting \
                        the 'branch' argument (which will ensure that the named branch is created if it does not \
                        already exist)."
                    .into(),
            );
        }
        Ok(upstream)
    }

    fn go_forward(
        &self,
        git: &Git<'_>,
        plan: &CheckoutPlan,
        rev: &str,
        progress: &mut UpdateProgress,
    ) -> Result<(), String> {
        if self.rev != "HEAD" && !matches!(plan.wanted.upstream, Upstream::Branch(_)) {
            git.output(&["reset", "--hard", rev]).map_err(|fault| fault.reason())?;
            progress.say(format!("Repository was reset to {} (fast-forward)", self.rev));
            return Ok(());
        }
        if git.output(&["symbolic-ref", "--quiet", "HEAD"]).is_err() {
            return Err("Unable to fast-forward, HEAD is detached".into());
        }
        git.output(&["merge", "--ff-only", rev]).map_err(|fault| fault.reason())?;
        progress.say(format!("Repository was fast-forwarded to {}", plan.wanted.place));
        Ok(())
    }

    pub(super) fn submodules(&self, git: &Git<'_>) -> Result<(), String> {
        if self.submodules.0 {
            git.output(&["submodule", "update", "--init", "--recursive"])
                .map_err(|fault| format!("Failed to update submodules: {}", fault.reason()))?;
        }
        Ok(())
    }
}

/// The git arguments that set the upstream of the branch, and Salt's comment about it.
pub fn upstream(known: Option<&str>, desired: &Upstream, is_new: bool) -> Option<(Vec<String>, String)> {
    let set = |request: &String, verb: &str| {
        let words = ["branch".to_owned(), format!("--set-upstream-to={request}")].to_vec();
        (!is_new).then(|| (words, format!("Tracking branch was {verb} to {request}")))
    };
    match (known, desired) {
        (None, Upstream::Branch(request)) => set(request, "set"),
        (Some(known), Upstream::Branch(request)) if known != request => set(request, "updated"),
        (Some(_), Upstream::Nothing) => {
            Some((vec!["branch".into(), "--unset-upstream".into()], "Tracking branch was unset".into()))
        }
        _ => None,
    }
}

fn failed_fetch(fault: &Fault) -> String {
    format!(
        "Fetch failed. Set 'force_fetch' to True to force the fetch if the failure was due to not being able to \
         fast-forward. Output of the fetch command follows:\n\n{}",
        fault.reason()
    )
}
