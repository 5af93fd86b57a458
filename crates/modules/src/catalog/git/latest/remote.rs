//! [`RemoteState`]: the requested commit of the remote repository.

use serde::{Deserialize, Serialize};

use std::collections::BTreeSet;

/// The commits of the remote repository, and the requested one among them.
#[derive(Serialize, Deserialize)]
pub struct RemoteState {
    pub refs: Vec<(String, String)>,
    /// The commit of its HEAD.
    pub head: Option<String>,
    pub default_branch: Option<String>,
    /// The requested commit, perhaps abbreviated; `None` for an empty repository.
    pub rev: Option<String>,
    pub kind: Option<RevisionKind>,
    pub upstream: Upstream,
    /// The commit in comments: `origin/main (1a2b3c4)`.
    pub place: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RevisionKind {
    Branch,
    Tag,
    /// A commit id, perhaps abbreviated.
    Commit,
}

/// The requested upstream of the local branch.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Upstream {
    AsItIs,
    Nothing,
    Branch(String),
}

impl RemoteState {
    pub fn new(refs: Vec<(String, String)>, rev: &str, remote: &str, bare: bool) -> RemoteState {
        let find = |name: &str| refs.iter().find(|(known, _)| known == name).map(|(_, commit)| commit.clone());
        let head = find("HEAD");
        let default_branch = head.as_ref().and_then(|head| {
            let branch = |(name, commit): &(String, String)| {
                name.strip_prefix("refs/heads/").filter(|_| commit == head).map(str::to_owned)
            };
            refs.iter().find_map(branch)
        });
        let (mut kind, mut upstream, mut place) = (None, Upstream::Nothing, String::new());
        let mut found = None;
        if bare {
        } else if rev == "HEAD" {
            if let Some(commit) = &head {
                (found, kind, upstream) = (Some(commit.clone()), Some(RevisionKind::Commit), Upstream::AsItIs);
                place = format!("remote HEAD ({})", super::short(Some(commit)));
            }
        } else if let Some(commit) = find(&format!("refs/heads/{rev}")) {
            let branch = format!("{remote}/{rev}");
            place = format!("{branch} ({})", super::short(Some(&commit)));
            (found, kind, upstream) = (Some(commit), Some(RevisionKind::Branch), Upstream::Branch(branch));
        } else if let Some(commit) =
            find(&format!("refs/tags/{rev}^{{}}")).or_else(|| find(&format!("refs/tags/{rev}")))
        {
            place = format!("{rev} ({})", super::short(Some(&commit)));
            (found, kind) = (Some(commit), Some(RevisionKind::Tag));
        } else if rev.len() <= 40 && rev.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let commit = rev.to_ascii_lowercase();
            place = super::short(Some(&commit)).to_owned();
            (found, kind) = (Some(commit), Some(RevisionKind::Commit));
        }
        RemoteState { head, default_branch, rev: found, kind, upstream, place, refs }
    }

    /// Whether the requested revision is a branch or a tag.
    pub fn is_named(&self) -> bool {
        matches!(self.kind, Some(RevisionKind::Branch | RevisionKind::Tag))
    }

    /// Whether a commit is the requested one.
    pub fn is(&self, commit: Option<&str>) -> bool {
        match (commit, &self.rev) {
            (None, None) => true,
            (Some(commit), Some(rev)) if self.kind == Some(RevisionKind::Commit) => commit.starts_with(rev.as_str()),
            (Some(commit), Some(rev)) => commit == rev,
            _ => false,
        }
    }

    pub fn tags(&self) -> BTreeSet<String> {
        let tag = |(name, _): &(String, String)| name.strip_prefix("refs/tags/").map(str::to_owned);
        self.refs.iter().filter_map(tag).filter(|name| !name.ends_with("^{}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_salts_order() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let refs = || {
            [("HEAD", &a), ("refs/heads/main", &a), ("refs/tags/v1", &a), ("refs/tags/v1^{}", &b)]
                .map(|(name, commit)| (name.to_owned(), commit.clone()))
                .to_vec()
        };
        let wanted = |rev: &str| RemoteState::new(refs(), rev, "origin", false);
        assert_eq!(wanted("HEAD").place, "remote HEAD (aaaaaaa)");
        assert_eq!(wanted("main").place, "origin/main (aaaaaaa)");
        assert_eq!((wanted("v1").place.as_str(), wanted("v1").rev), ("v1 (bbbbbbb)", Some(b.clone())));
        assert!(wanted("AAAA").is(Some(&a)) && wanted("aaab").rev.is_some() && wanted("nothing").rev.is_none());
        assert!(!wanted("main").is(Some("aaaa")) && wanted("HEAD").upstream == Upstream::AsItIs);
        assert_eq!(wanted("main").default_branch.as_deref(), Some("main"));
        assert_eq!(wanted("main").tags().into_iter().collect::<Vec<_>>(), ["v1"]);
        assert!(RemoteState::new(refs(), "HEAD", "origin", true).rev.is_none());
    }
}
