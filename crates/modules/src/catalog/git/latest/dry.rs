//! Reports what would be done, in the wording of Salt's dry run and with the changes of the real run.

use rocksalt_core::{Map, Value};

use super::super::access::redacted;
use super::super::{comments, run::Git};
use super::local::Local;
use super::remote::{RevisionKind, Upstream};
use super::{CheckoutPlan, Latest, Reset, Verdict, short};
use crate::catalog::change;
use crate::text::glob;

/// How the branch gets to the requested commit, as far as known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Reset,
    Forward,
    Unknown,
}

impl Latest {
    pub(super) fn would_clone(&self, plan: &CheckoutPlan, forced: bool) -> Verdict {
        let (url, target) = (&plan.url, &plan.target);
        let text = match forced {
            true => format!(
                "Target directory {target} exists. Since force_clone=True, the contents of {target} would be deleted, \
                 and {url} would be cloned into this directory."
            ),
            false => format!("Repository {url} would be cloned to {target}"),
        };
        let mut verdict = Verdict::would(text);
        if forced {
            verdict = verdict.change("forced clone", true);
        }
        verdict = verdict.change("new", format!("{url} => {target}"));
        // The full id of an abbreviated commit is only known after fetching.
        let new = if plan.bare { plan.wanted.head.as_ref() } else { plan.wanted.rev.as_ref() };
        match new.filter(|new| new.len() >= 40) {
            Some(new) => verdict.change("revision", change(Value::Null, new.as_str())),
            None => verdict,
        }
    }

    pub(super) fn would_fetch(&self, plan: &CheckoutPlan, local: &Local) -> Verdict {
        // Salt puts a full stop after every character here.
        let text = format!("Bare repository at {} would be fetched", plan.target);
        let branch = local.branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
        let new = plan.wanted.refs.iter().find(|(name, _)| Some(name) == branch.as_ref()).map(|(_, commit)| commit);
        match new.filter(|new| local.mirror && Some(*new) != local.rev.as_ref()) {
            Some(new) => Verdict::would(text).change("revision", change(local.rev.as_deref(), new.as_str())),
            None => {
                let target = &plan.target;
                Verdict::good(format!("Repository {target} is up-to-date\n\nChanges that would be made: {text}"))
            }
        }
    }

    /// An `Err` is the verdict in every mode.
    pub(super) fn would_update(&self, plan: &CheckoutPlan, local: &Local) -> Result<Verdict, Verdict> {
        let wanted = &plan.wanted;
        if wanted.rev.is_none() {
            return Ok(Verdict::good(format!("Repository {} is up-to-date", plan.target)));
        }
        let is_there = wanted.is(local.rev.as_deref());
        let branch = plan.branch.as_deref();
        if local.dirty && is_there && plan.reset != Reset::Always {
            return Err(Verdict::good(format!(
                "Repository {} is up-to-date, but with uncommitted changes. Set 'force_reset' to True to purge \
                 uncommitted changes.",
                plan.target
            )));
        }
        if let Some(text) = self.moved_tag(plan, local) {
            return Err(Verdict::bad(text));
        }
        let stays = !is_there && !self.update_head && !local.changes_branch(branch);
        if local.has && stays {
            return Err(Verdict::good(self.stays(plan, local)));
        }
        let way = match (local.dirty && plan.reset != Reset::RemoteChanges, local.has) {
            (true, _) => Way::Reset,
            (false, true) if local.follows == Some(false) => Way::Reset,
            (false, true) => Way::Forward,
            (false, false) => Way::Unknown,
        };
        if way == Way::Reset && plan.reset == Reset::Never {
            return Err(Verdict::bad(self.not_forward(plan, local)));
        }
        let changes = self.predicted(plan, local, is_there, stays);
        if local.dirty && is_there {
            let text = format!(
                "{} is up-to-date, but with uncommitted changes. Since 'force_reset' is set to True, these local \
                 changes would be reset. To only reset when there are changes in the remote repository, set \
                 'force_reset' to 'remote-changes'.",
                plan.target
            );
            return Ok(Verdict::would(text).changes(changes));
        }
        let actions = match local.url.as_deref() == Some(plan.url.as_str()) {
            true => self.steps(plan, local, is_there, way),
            false => self.steps_elsewhere(plan, local, is_there, way),
        };
        Ok(if !changes.is_empty() {
            Verdict::would(comments(&actions)).changes(changes)
        } else if !is_there && !self.update_head && !actions.is_empty() {
            Verdict::good(comments(&actions))
        } else {
            let mut text = format!("Repository {} is up-to-date", plan.target);
            if !actions.is_empty() {
                text += &format!("\n\nChanges that would be made: {}", comments(&actions));
            }
            Verdict::good(text)
        })
    }

    /// Why a tag that another commit has now isn't followed.
    fn moved_tag(&self, plan: &CheckoutPlan, local: &Local) -> Option<String> {
        let wanted = &plan.wanted;
        let moved = wanted.kind == Some(RevisionKind::Tag)
            && plan.reset == Reset::Never
            && local.tags.contains(&self.rev)
            && local.commit.is_some()
            && !local.has;
        moved.then(|| {
            format!(
                "'{}' is a tag, but the remote SHA1 for this tag ({}) doesn't match the local SHA1 ({}). Set \
                 'force_reset' to True to force this update.",
                self.rev,
                short(wanted.rev.as_deref()),
                short(local.tag_commit.as_deref())
            )
        })
    }

    /// The changes that the run will report.
    fn predicted(&self, plan: &CheckoutPlan, local: &Local, is_there: bool, stays: bool) -> Map {
        let mut changes = Map::new();
        let wanted = &plan.wanted;
        if local.url.is_none() {
            changes.insert("new", format!("{} => {}", plan.url, self.remote));
        }
        self.tag_changes(plan, local, &mut changes);
        if stays {
            return changes;
        }
        let fetches = self.fetches(plan, local);
        let resets = match fetches {
            true => local.follows == Some(false),
            false => local.follows == Some(false) || (local.dirty && plan.reset == Reset::Always),
        };
        if resets {
            changes.insert("forced update", true);
        }
        if !is_there {
            let new = local.commit.as_deref().or(wanted.rev.as_deref());
            changes.insert("revision", change(local.rev.as_deref(), new));
        }
        changes
    }

    pub(super) fn fetches(&self, plan: &CheckoutPlan, local: &Local) -> bool {
        !local.has || (self.fetch_tags.0 && !self.new_tags(plan, local).is_empty())
    }

    pub(super) fn new_tags(&self, plan: &CheckoutPlan, local: &Local) -> Vec<String> {
        let desired = |tag: &String| glob::matches(&self.refspec_tag, tag);
        if self.depth.is_some() {
            // Listing them all would need the whole history.
            return Vec::new();
        }
        plan.wanted.tags().difference(&local.tags).filter(|tag| desired(tag)).cloned().collect()
    }

    pub(super) fn lost_tags(&self, plan: &CheckoutPlan, local: &Local) -> Vec<String> {
        let remote = plan.wanted.tags();
        if self.sync_tags.0 { local.tags.difference(&remote).cloned().collect() } else { Vec::new() }
    }

    fn tag_changes(&self, plan: &CheckoutPlan, local: &Local, changes: &mut Map) {
        let new = self.new_tags(plan, local);
        if self.fetch_tags.0 && !new.is_empty() {
            changes.insert("new_tags", new);
        }
        let lost = self.lost_tags(plan, local);
        if !lost.is_empty() {
            changes.insert("deleted_tags", lost);
        }
    }

    fn steps(&self, plan: &CheckoutPlan, local: &Local, is_there: bool, way: Way) -> Vec<String> {
        let wanted = &plan.wanted;
        let (old, new) = (short(local.rev.as_deref()), short(wanted.rev.as_deref()));
        let mut actions = Vec::new();
        if self.fetches(plan, local) {
            actions.push(format!("Remote '{}' would be fetched", self.remote));
        }
        let lost = self.lost_tags(plan, local);
        if !lost.is_empty() {
            let tags = lost.join(", ");
            actions.push(format!("The following tags would be removed from the local checkout: {tags}"));
        }
        match plan.branch.as_deref().filter(|branch| local.changes_branch(Some(branch))) {
            Some(branch) if !local.branches.iter().any(|known| known == branch) => {
                let place = &wanted.place;
                actions.push(format!("New branch '{branch}' would be checked out, with {place} as a starting point"));
                if let Upstream::Branch(upstream) = &wanted.upstream {
                    actions.push(format!("Tracking branch would be set to {upstream}"));
                }
            }
            Some(branch) => {
                actions.push(format!("Branch '{branch}' would be checked out and {} to {new}", way.text()));
            }
            None if is_there => {}
            None if !self.update_head => actions.push(format!(
                "Local HEAD ({old}) does not match {} but update_head=False, HEAD would not be updated locally",
                wanted.place
            )),
            None if way == Way::Forward => {
                actions.push(format!("Repository would be fast-forwarded from {old} to {new}"));
            }
            None => {
                let verb = if plan.reset != Reset::Never && local.has { "hard-reset" } else { "updated" };
                actions.push(format!("Repository would be {verb} from {old} to {new}"));
            }
        }
        match (&local.upstream, &wanted.upstream) {
            (None, Upstream::Branch(request)) => actions.push(format!("Tracking branch would be set to {request}")),
            (Some(_), Upstream::Nothing) => actions.push("Tracking branch would be unset".into()),
            (Some(known), Upstream::Branch(request)) if known != request => {
                actions.push(format!("Tracking branch would be updated to {request}"));
            }
            _ => {}
        }
        actions
    }

    /// The remote repository has another URL now.
    fn steps_elsewhere(&self, plan: &CheckoutPlan, local: &Local, is_there: bool, way: Way) -> Vec<String> {
        let old = local.url.as_deref().map_or("None".into(), redacted);
        let mut actions = vec![format!("Remote '{}' would be changed from {old} to {}", self.remote, plan.url)];
        if self.fetches(plan, local) {
            actions.push("Remote would be fetched".into());
        }
        if !is_there && self.update_head.0 {
            let new = short(plan.wanted.rev.as_deref());
            actions.push(format!("Repository would be {} to {new}", way.text()));
        }
        actions
    }

    /// Why HEAD stays.
    pub(super) fn stays(&self, plan: &CheckoutPlan, local: &Local) -> String {
        let place = match self.rev.as_str() {
            "HEAD" => plan.wanted.place.replacen("remote HEAD", "Remote head", 1),
            _ => plan.wanted.place.clone(),
        };
        format!(
            "{place} is already present and local HEAD ({}) does not match, but update_head=False. HEAD has not been \
             updated locally.",
            short(local.rev.as_deref())
        )
    }

    pub(super) fn not_forward(&self, plan: &CheckoutPlan, local: &Local) -> String {
        let branch = plan.branch.as_deref();
        let here = local.branch.as_deref().unwrap_or("None");
        let (rev, dirty) = (&self.rev, local.dirty);
        let advice = match (&branch, rev.as_str(), &plan.wanted.default_branch) {
            (None, "HEAD", Some(default)) if here != default => format!(
                " The default remote branch ({default}) differs from the local branch ({here}). This could be caused \
                 by changing the default remote branch, or if the local branch was manually changed. Rather than \
                 forcing an update, it may be advisable to set the 'branch' argument to '{default}' instead. To \
                 ensure that this state follows the '{default}' branch instead of the remote HEAD, set the 'rev' \
                 argument to '{default}'."
            ),
            (None, rev, _) if rev != "HEAD" && here != rev => format!(
                " The desired rev ({rev}) differs from the name of the local branch ({here}), if the desired rev is a \
                 branch name then a forced update could possibly be avoided by setting the 'branch' argument to \
                 '{rev}' instead."
            ),
            _ => String::new(),
        };
        let (old, new) = (short(local.base.as_deref()), short(plan.wanted.rev.as_deref()));
        let way = if dirty && old != new { format!("from {old} to {new}") } else { format!("to {new}") };
        let after = match branch {
            Some(branch) if local.changes_branch(Some(branch)) => {
                format!(" (after checking out local branch '{branch}')")
            }
            _ => String::new(),
        };
        let (why, or, and) = match dirty {
            true => ("there are uncommitted changes", " (or 'remote-changes')", " and discard these changes"),
            false => ("this is not a fast-forward merge", "", ""),
        };
        format!(
            "Repository would be updated {way}{after}, but {why}. Set 'force_reset' to True{or} to force this \
             update{and}.{advice}"
        )
    }
}

impl Way {
    fn text(self) -> &'static str {
        match self {
            Way::Reset => "hard-reset",
            Way::Forward => "fast-forwarded",
            Way::Unknown => "updated",
        }
    }
}

/// Whether one commit is an ancestor of another, according to git.
pub fn follows(git: &Git<'_>, base: Option<&str>, commit: &str) -> bool {
    base.is_none_or(|base| git.end(&["merge-base", "--is-ancestor", base, commit]).is_ok_and(|output| output.code == 0))
}
