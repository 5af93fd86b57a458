//! `git.cloned`: clones a repository once.

use rocksalt_core::Value;
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::super::{Decision, State, Step, Touches, Verdict, change};
use super::access::RemoteAccess;
use super::run::Git;
use super::{latest, look, sound};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

/// Makes sure that a repository has been cloned. What is there is not fetched again.
///
/// ```yaml
/// https://git.example.com/site.git:
///   git.cloned:
///     - target: /srv/site
///     - branch: main
/// ```
#[state("git.cloned", strict, required("target"))]
pub struct Cloned {
    /// The address of the remote repository.
    name: String,
    /// The directory, absolute.
    target: Option<String>,
    /// The branch to check out; else it is the remote repository's own.
    branch: Option<String>,
    /// The user to run git as.
    user: Option<String>,
    /// Only used on Windows.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    #[secret]
    password: Option<String>,
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
pub enum ClonePlan {
    Clone { words: Vec<String>, access: Box<RemoteAccess>, done: Box<Verdict> },
    Checkout { old: String, branch: String },
}

impl State for Cloned {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let fail = |text: String| Ok(Decision::Settled(Verdict::bad(text)));
        let Some(target) = &self.target else { return fail("'target' argument is required".into()) };
        if !target.starts_with('/') {
            return fail("'target' path must be absolute".into());
        }
        if self.branch.as_deref() == Some("") {
            return fail("Invalid 'branch' argument".into());
        }
        sound::url(&self.name)?;
        self.branch.as_deref().map_or(Ok(""), |branch| sound::name("branch", branch))?;
        if machine.stat(std::path::Path::new(target), true).ok().flatten().is_none() {
            let login = (self.https_user.as_deref(), self.https_pass.as_deref());
            let (url, access) = match RemoteAccess::new(machine, &self.name, &self.identity, login, step.saltenv) {
                Ok(found) => found,
                Err(text) => return fail(text),
            };
            let with = self.branch.as_ref().map(|branch| format!(" with branch '{branch}'")).unwrap_or_default();
            let mut words = vec!["clone".to_owned()];
            words.extend(self.branch.as_ref().map(|branch| format!("--branch={branch}")));
            words.extend(["--".into(), url.clone(), target.clone()]);
            let verdict = |verb: &str| {
                Verdict::good(format!("{url} {verb} to {target}{with}")).change("new", format!("{url} => {target}"))
            };
            let dry = Verdict { result: None, ..verdict("would be cloned") };
            return Decision::own(
                &ClonePlan::Clone { words, access: Box::new(access), done: Box::new(verdict("cloned")) },
                dry,
            );
        }
        if !look::is_directory(machine, target) {
            return fail(format!("{target} is there and no directory"));
        }
        let git = Git::looking(machine, target, self.user.as_deref());
        if let Err(fault) = git.output(&["status", "-z", "--porcelain"]) {
            return fail(fault.to_string());
        }
        let there =
            |and: String| Ok(Decision::Settled(Verdict::good(format!("Repository already exists at {target}{and}"))));
        let Some(branch) = self.branch.clone() else { return there(String::new()) };
        let old = match git.output(&["rev-parse", "--abbrev-ref", "HEAD"]) {
            Ok(old) => old,
            Err(fault) => return fail(fault.to_string()),
        };
        if old == branch {
            return there(format!(" and is checked out to branch '{branch}'"));
        }
        let dry = Verdict::would(format!("Branch would be changed to '{branch}'"));
        let dry = dry.change("branch", change(old.as_str(), branch.as_str()));
        Decision::own(&ClonePlan::Checkout { old, branch }, dry)
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: ClonePlan = plan.into_own()?;
        let user = self.user.as_deref();
        match plan {
            ClonePlan::Clone { words, access, done } => {
                match Git::acting(machine, "/", user).with(&access).output(&words) {
                    Ok(_) => Ok(*done),
                    Err(fault) => Ok(Verdict::bad(format!("Clone failed: {}", fault.reason()))),
                }
            }
            ClonePlan::Checkout { old, branch } => {
                let git = Git::acting(machine, self.target.as_deref().unwrap_or("/"), user);
                let known = git.output(&["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")]).is_ok();
                let done = match known {
                    true => git.merged(&["checkout", &branch, "--"]),
                    false => git.merged(&["checkout", "-b", &branch, &format!("origin/{branch}"), "--"]),
                };
                Ok(match done {
                    Ok(_) => Verdict::good(format!("Branch changed to '{branch}'"))
                        .change("branch", change(old.as_str(), branch.as_str())),
                    Err(fault) => Verdict::bad(format!("Failed to change branch to '{branch}': {fault}")),
                })
            }
        }
    }

    fn touches(&self) -> Touches {
        latest::touches(self.target.as_deref(), &self.name, self.user.as_deref(), &self.identity)
    }
}
