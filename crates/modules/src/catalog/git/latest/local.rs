//! [`Local`]: the state of the repository on the target.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::super::read;
use super::super::run::Git;
use super::remote::{RemoteState, RevisionKind, Upstream};

/// The repository before anything is done.
#[derive(Serialize, Deserialize)]
pub struct Local {
    pub branches: Vec<String>,
    pub tags: BTreeSet<String>,
    pub rev: Option<String>,
    /// `HEAD` if no branch is checked out.
    pub branch: Option<String>,
    /// The commit from which a merge or reset would start: that of the requested branch if it is another one and
    /// exists.
    pub base: Option<String>,
    /// The upstream of the branch, if it has one.
    pub upstream: Option<String>,
    /// The URL of the remote repository with that name.
    pub url: Option<String>,
    /// There are uncommitted changes.
    pub dirty: bool,
    /// The full id of the requested commit, if it is here already.
    pub commit: Option<String>,
    /// The commit is here, and so is its remote name.
    pub has: bool,
    /// The commit of the local tag with the requested name.
    pub tag_commit: Option<String>,
    /// Whether the requested commit is a descendant of the base; unknown if it is not here.
    pub follows: Option<bool>,
    /// All refs of the remote repository are mirrored, including HEAD's branch.
    pub mirror: bool,
}

impl Local {
    pub fn look(
        git: &Git<'_>,
        wanted: &RemoteState,
        remote: &str,
        branch: Option<&str>,
        bare: bool,
    ) -> Result<Local, String> {
        let list = |below: &str| -> Result<Vec<String>, String> {
            let words = ["for-each-ref", "--format", "%(refname:short)", below];
            let text = git.output(&words).map_err(|fault| fault.reason())?;
            Ok(text.lines().map(str::to_owned).collect())
        };
        let branches = list("refs/heads/")?;
        let tags: BTreeSet<String> = list("refs/tags/")?.into_iter().collect();
        let rev = git.commit("HEAD");
        let current = git.output(&["rev-parse", "--abbrev-ref", "HEAD"]).ok();
        if !bare && wanted.rev.is_none() && rev.is_some() {
            return Err("Remote repository is empty, cannot update from a non-empty to an empty repository".into());
        }
        let (mut base, mut base_branch) = (rev.clone(), current.clone());
        if let Some(branch) = branch.filter(|branch| Some(*branch) != current.as_deref()) {
            if branches.iter().any(|known| known == branch) {
                let words = ["rev-parse", &format!("refs/heads/{branch}^{{commit}}")];
                let position = git.output(&words).map_err(|fault| {
                    format!("Unable to get position of local branch '{branch}': {}", fault.reason())
                })?;
                (base, base_branch) = (Some(position), Some(branch.to_owned()));
            } else {
                base.clone_from(&wanted.rev);
            }
        }
        let remotes = read::remotes(&git.output(&["remote", "--verbose"]).map_err(|fault| fault.reason())?);
        let url = remotes.iter().find(|(name, action, _)| name == remote && action == "fetch");
        let upstream = base_branch.as_ref().and_then(|branch| {
            let words = ["rev-parse", "--abbrev-ref", &format!("{branch}@{{upstream}}")];
            git.output(&words).ok().filter(|name| !name.is_empty())
        });
        // The exit code is 1 if there are differences, and higher on an error.
        let dirty = !bare && git.end(&["diff", "--quiet", "HEAD"]).is_ok_and(|output| output.code == 1);
        let mut local = Local {
            branches,
            tags,
            rev,
            branch: current,
            base,
            upstream,
            url: url.map(|(_, _, url)| url.clone()),
            dirty,
            commit: None,
            has: false,
            tag_commit: None,
            follows: None,
            mirror: bare
                && git.output(&["config", "--get", &format!("remote.{remote}.mirror")]).is_ok_and(|it| it == "true"),
        };
        if let Some(request) = &wanted.rev {
            local.look_for(git, wanted, request);
        }
        Ok(local)
    }

    /// Fills the fields about the requested commit.
    fn look_for(&mut self, git: &Git<'_>, wanted: &RemoteState, request: &str) {
        self.commit = git.commit(request);
        let at_base = self.base.as_ref().is_some_and(|base| base.starts_with(request));
        self.has = (at_base && wanted.kind == Some(RevisionKind::Commit))
            || (self.commit.is_some()
                && match (&wanted.kind, &wanted.upstream) {
                    (Some(RevisionKind::Branch), Upstream::Branch(name)) => {
                        self.url.is_some() && git.commit(&format!("refs/remotes/{name}")).as_deref() == Some(request)
                    }
                    (Some(RevisionKind::Tag), _) => {
                        let name = wanted.place.rsplit_once(" (").map_or("", |(name, _)| name);
                        self.tag_commit =
                            self.tags.contains(name).then(|| git.commit(&format!("refs/tags/{name}"))).flatten();
                        self.tag_commit.as_deref() == Some(request)
                    }
                    _ => true,
                });
        self.follows = match (&self.base, &self.commit) {
            (None, Some(_)) => Some(true),
            (Some(base), Some(commit)) => {
                git.end(&["merge-base", "--is-ancestor", base, commit]).ok().map(|output| output.code == 0)
            }
            _ => None,
        };
    }

    /// Whether another branch must be checked out.
    pub fn changes_branch(&self, branch: Option<&str>) -> bool {
        branch.is_some() && branch != self.branch.as_deref()
    }
}
