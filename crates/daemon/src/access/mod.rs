//! [`Access`]: who may do what, by Salt's `external_auth` and what goes with it.
//!
//! Rules are looked up anew for each request, by who the caller is and what proved it, so that a reload counts at once.
//! What a limited rule allows is found by the controller's own selection, and the ids that were found go with the
//! [`Grant`]: a job runs on these or not at all, whatever grains say a moment later.

mod decide;
mod explain;
mod grammar;
mod rule;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rocksalt_controller::Controller;
use rocksalt_controller::ledger::Ledger;
use rocksalt_core::request::Needs;
use rocksalt_core::target::Nodegroups;
use rocksalt_core::{Map, Value};

use crate::requests::{Caller, Kind, Refusal};

use decide::{Form, Talk};
pub use explain::Explanation;
use grammar::{Entry, Reader, Who};
use rule::Asked;

/// What somebody may do.
#[derive(Clone, Debug, Default)]
pub enum Rights {
    /// Everything: this machine's own users on the unix socket.
    All,
    /// What `external_auth` says for this user and these groups, looked up anew for each request.
    Listed { groups: Vec<String> },
    #[default]
    None,
}

/// What was allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// Only on these targets, which were checked one by one; `None`: on any.
    pub only: Option<BTreeSet<String>>,
}

#[derive(Clone, Debug, Default)]
pub struct Access {
    backends: BTreeMap<String, Vec<Entry>>,
    /// Salt's `permissive_acl`: `*` counts beside other names.
    permissive: bool,
    /// Salt's `auth.enable_expanded_auth_matching`: several rules together may cover a target.
    expanded: bool,
}

/// What Salt lets everybody do who is logged in: asking whether a job still runs.
const FREE: &str = "saltutil.find_job";

impl Access {
    /// From the whole configuration. Without `external_auth` there is one who may do everything: `admin`.
    pub fn read(config: &Map, nodegroups: &Nodegroups) -> Result<Access, String> {
        let flag = |key: &str| match config.get(key) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(format!("`{key}` must be true or false, not {}", other.kind())),
        };
        let mut access = Access::with(&external_auth(config)?, nodegroups)?;
        access.permissive = flag("permissive_acl")?;
        access.expanded = flag("auth.enable_expanded_auth_matching")?;
        Ok(access)
    }

    /// From `external_auth` alone.
    pub fn parse(external_auth: &Map) -> Result<Access, String> {
        Access::with(external_auth, &Nodegroups::new())
    }

    fn with(external_auth: &Map, nodegroups: &Nodegroups) -> Result<Access, String> {
        let mut backends = BTreeMap::new();
        for (name, entries) in external_auth.iter() {
            let name = name.to_string();
            backends.insert(name.clone(), Reader::new(nodegroups).backend(&name, entries)?);
        }
        Ok(Access { backends, permissive: false, expanded: false })
    }

    pub async fn check(
        &self,
        caller: &Caller,
        needs: &Needs<'_>,
        controller: &Arc<Controller>,
        ledger: &Arc<Ledger>,
    ) -> Result<Grant, Refusal> {
        let groups = match &caller.rights {
            Rights::All => return Ok(Grant::default()),
            Rights::Listed { groups } => groups,
            Rights::None => return Err(Refusal::new(Kind::Unauthenticated, "log in first")),
        };
        // A token outlives the way in which it was got, if the configuration closes that.
        if !self.backends.contains_key(&caller.eauth) {
            let text = format!("the eauth '{}' is not in external_auth any more", caller.eauth);
            return Err(Refusal::new(Kind::Unauthenticated, text));
        }
        let entries = self.entries(&caller.eauth, &caller.user, groups);
        let talk = &mut Talk::silent();
        let none = Map::new();
        let named = |function: &'static str| Asked { function, args: &[], kwargs: &none };
        let (allowed, what) = match needs {
            Needs::Login => (true, String::new()),
            Needs::Function(run) => {
                return match self.function(&entries, run, controller, talk).await? {
                    Some(grant) => Ok(grant),
                    None => {
                        let text = format!("{} may not run {} on '{}'", caller.user, run.function, run.target);
                        Err(Refusal::new(Kind::Forbidden, text).hint(format!(
                            "`rocksalt access explain {} {} '{}'` tells why",
                            caller.user, run.function, run.target
                        )))
                    }
                };
            }
            Needs::Runner(local) => {
                let asked = Asked { function: &local.function, args: &local.args, kwargs: &local.kwargs };
                (decide::controller(&entries, Form::Runner, asked, talk), format!("the runner {}", local.function))
            }
            Needs::Wheel(local) => {
                let asked = Asked { function: &local.function, args: &local.args, kwargs: &local.kwargs };
                (decide::controller(&entries, Form::Wheel, asked, talk), format!("the wheel {}", local.function))
            }
            Needs::RunnerNamed(function) => (
                decide::controller(&entries, Form::Runner, named(function), talk),
                format!("what needs the runner {function}"),
            ),
            Needs::WheelNamed(function) => (
                decide::controller(&entries, Form::Wheel, named(function), talk),
                format!("what needs the wheel {function}"),
            ),
            Needs::Job { job, or_runner } => {
                let mut allowed = decide::controller(&entries, Form::Runner, named(or_runner), talk);
                if !allowed {
                    // No job, and a job of somebody else, are the same to who may not know.
                    allowed = ledger.job(*job).await?.is_some_and(|job| job.user == caller.user);
                }
                (allowed, format!("job {job}, which somebody else started"))
            }
        };
        match allowed {
            true => Ok(Grant::default()),
            false => Err(Refusal::new(Kind::Forbidden, format!("{} has no right to {what}", caller.user))),
        }
    }

    /// `perms` of the login answer: what the rules give a user, as they are written, the texts first.
    pub fn permissions(&self, eauth: &str, user: &str, groups: &[String]) -> Value {
        let mut texts: Vec<Value> = Vec::new();
        let mut maps: Vec<Value> = Vec::new();
        for entry in self.backends.get(eauth).into_iter().flatten() {
            let theirs = match &entry.who {
                Who::Everybody => true,
                who => fits(who, user, groups),
            };
            for rule in entry.written.iter().filter(|_| theirs) {
                let all = if rule.as_str().is_some() { &mut texts } else { &mut maps };
                if !all.contains(rule) {
                    all.push(rule.clone());
                }
            }
        }
        texts.sort_by_key(ToString::to_string);
        maps.sort_by_key(ToString::to_string);
        texts.extend(maps);
        match texts.is_empty() {
            true => Value::Map(Map::new()),
            false => Value::List(texts),
        }
    }

    /// Whether `external_auth` names a backend.
    pub fn knows(&self, eauth: &str) -> bool {
        self.backends.contains_key(eauth)
    }

    /// The entries that hold for somebody. `*` holds for those whom no other name fits, or for all if it is permissive.
    fn entries(&self, eauth: &str, user: &str, groups: &[String]) -> Vec<&Entry> {
        let all: &[Entry] = self.backends.get(eauth).map_or(&[], Vec::as_slice);
        let named = all.iter().any(|entry| matches!(&entry.who, Who::User(words) if words.fits(user).is_some()));
        let holds = |entry: &&Entry| match &entry.who {
            Who::Everybody => self.permissive || !named,
            who => fits(who, user, groups),
        };
        all.iter().filter(holds).collect()
    }
}

/// `external_auth` of a configuration, or what holds without it.
pub fn external_auth(config: &Map) -> Result<Map, String> {
    match config.get("external_auth") {
        Some(Value::Map(map)) => Ok(map.clone()),
        Some(other) if !other.is_null() => Err(format!("`external_auth` must be a map, not {}", other.kind())),
        _ => {
            let all: Vec<Value> = [".*", "@jobs", "@runner", "@wheel"].map(Value::from).to_vec();
            let admin = Map::from_iter([("admin".into(), Value::List(all))]);
            Ok(Map::from_iter([("file".into(), Value::Map(admin))]))
        }
    }
}

fn fits(who: &Who, user: &str, groups: &[String]) -> bool {
    match who {
        Who::User(words) => words.fits(user).is_some(),
        Who::Group(group) => groups.contains(group),
        Who::Everybody => false,
    }
}
