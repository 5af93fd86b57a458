//! [`AccessPolicy`]: who may do what, by Salt's `external_auth` and related settings.
//!
//! Rules are looked up for each request, by the caller's user and backend, so that a reload takes effect at once. The
//! targets of a limited rule are selected by the controller, and their ids are part of the [`AccessGrant`]: a job runs on these
//! or not at all, even if grains change a moment later.

mod decide;
mod explain;
mod grammar;
mod name_pattern;
mod rule;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rocksalt_controller::Controller;
use rocksalt_controller::ledger::Ledger;
use rocksalt_core::request::{ControllerCall, Needs, RunRequest};
use rocksalt_core::target::Nodegroups;
use rocksalt_core::{Map, Value};

use crate::requests::{Caller, Refusal, RefusalKind};

use decide::{DecisionTrace, FunctionKind};
pub use explain::Explanation;
use grammar::{AuthEntry, Principal, RuleParser};
use rule::CallView;

/// The rights of a caller.
#[derive(Clone, Debug, Default)]
pub enum Rights {
    /// Everything: the daemon's user and root on the unix socket.
    All,
    /// What `external_auth` allows this user and these groups, looked up for each request.
    Listed { groups: Vec<String> },
    #[default]
    None,
}

/// A request that was allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessGrant {
    /// Only on these targets; `None` for any.
    pub only: Option<BTreeSet<String>>,
    /// Only the caller's own events.
    pub own_events: bool,
}

#[derive(Clone, Debug, Default)]
pub struct AccessPolicy {
    backends: BTreeMap<String, Vec<AuthEntry>>,
    /// Salt's `permissive_acl`: `*` also applies to users with an entry of their own.
    permissive: bool,
    /// Salt's `auth.enable_expanded_auth_matching`: several rules together may cover a target.
    expanded: bool,
}

/// Salt allows this function to every authenticated user.
const ALWAYS_ALLOWED: &str = "saltutil.find_job";

impl AccessPolicy {
    /// Reads the whole configuration. Without `external_auth` the user `admin` may do everything.
    pub fn read(config: &Map, nodegroups: &Nodegroups) -> Result<AccessPolicy, String> {
        let flag = |key: &str| match config.get(key) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(format!("`{key}` must be true or false, not {}", other.kind())),
        };
        let mut access = AccessPolicy::with(&external_auth(config)?, nodegroups)?;
        access.permissive = flag("permissive_acl")?;
        access.expanded = flag("auth.enable_expanded_auth_matching")?;
        Ok(access)
    }

    /// Reads `external_auth` alone.
    pub fn parse(external_auth: &Map) -> Result<AccessPolicy, String> {
        AccessPolicy::with(external_auth, &Nodegroups::new())
    }

    fn with(external_auth: &Map, nodegroups: &Nodegroups) -> Result<AccessPolicy, String> {
        let mut backends = BTreeMap::new();
        for (name, entries) in external_auth.iter() {
            let name = name.to_string();
            backends.insert(name.clone(), RuleParser::new(nodegroups).backend(&name, entries)?);
        }
        Ok(AccessPolicy { backends, permissive: false, expanded: false })
    }

    pub async fn check(
        &self,
        caller: &Caller,
        needs: &Needs<'_>,
        controller: &Arc<Controller>,
        ledger: &Arc<Ledger>,
    ) -> Result<AccessGrant, Refusal> {
        let groups = match &caller.rights {
            Rights::All => return Ok(AccessGrant::default()),
            Rights::Listed { groups } => groups,
            Rights::None => return Err(Refusal::new(RefusalKind::Unauthenticated, "log in first")),
        };
        // A token may outlive its backend, if the configuration removes that.
        if !self.backends.contains_key(&caller.eauth) {
            let text = format!("the eauth '{}' is no longer in external_auth", caller.eauth);
            return Err(Refusal::new(RefusalKind::Unauthenticated, text));
        }
        let entries = self.entries(&caller.eauth, &caller.user, groups);
        let (allowed, what) = match needs {
            Needs::Login => (true, String::new()),
            Needs::Events => {
                return Ok(AccessGrant { own_events: !sees_all_events(&entries), ..AccessGrant::default() });
            }
            Needs::Function(run) => return self.grant_run(caller, &entries, run, controller).await,
            Needs::Job { job, or_runner } => {
                let mut allowed = is_allowed(&entries, FunctionKind::Runner, or_runner);
                if !allowed {
                    // To others, a job of another user looks like no job.
                    allowed = ledger.job(*job).await?.is_some_and(|job| job.belongs_to(&caller.account()));
                }
                (allowed, format!("job {job}, which another user started"))
            }
            Needs::Runner(local) => {
                (is_call_allowed(&entries, FunctionKind::Runner, local), format!("the runner {}", local.function))
            }
            Needs::Wheel(local) => {
                (is_call_allowed(&entries, FunctionKind::Wheel, local), format!("the wheel {}", local.function))
            }
            Needs::RunnerNamed(function) => {
                let what = format!("a request that needs the runner {function}");
                (is_allowed(&entries, FunctionKind::Runner, function), what)
            }
            Needs::WheelNamed(function) => {
                let what = format!("a request that needs the wheel {function}");
                (is_allowed(&entries, FunctionKind::Wheel, function), what)
            }
        };
        match allowed {
            true => Ok(AccessGrant::default()),
            false => Err(Refusal::new(RefusalKind::Forbidden, format!("{} has no right to {what}", caller.user))),
        }
    }

    async fn grant_run(
        &self,
        caller: &Caller,
        entries: &[&AuthEntry],
        run: &RunRequest,
        controller: &Arc<Controller>,
    ) -> Result<AccessGrant, Refusal> {
        let grant = self.check_function(entries, run, controller, &mut DecisionTrace::off()).await?;
        grant.ok_or_else(|| {
            let (user, function, target) = (&caller.user, &run.function, &run.target);
            Refusal::new(RefusalKind::Forbidden, format!("{user} may not run {function} on '{target}'"))
                .hint(format!("`rocksalt access explain {user} {function} '{target}'` tells why"))
        })
    }

    /// `perms` of the login response: the user's rules as written, strings first.
    pub fn permissions(&self, eauth: &str, user: &str, groups: &[String]) -> Value {
        let mut texts: Vec<Value> = Vec::new();
        let mut maps: Vec<Value> = Vec::new();
        for entry in self.backends.get(eauth).into_iter().flatten() {
            let theirs = match &entry.principal {
                Principal::Everybody => true,
                principal => is_principal(principal, user, groups),
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

    /// The entries of a user. `*` applies to users whom no other name matches, or to all if `permissive_acl` is set.
    fn entries(&self, eauth: &str, user: &str, groups: &[String]) -> Vec<&AuthEntry> {
        let all: &[AuthEntry] = self.backends.get(eauth).map_or(&[], Vec::as_slice);
        let named = all
            .iter()
            .any(|entry| matches!(&entry.principal, Principal::User(pattern) if pattern.matches(user).is_some()));
        let holds = |entry: &&AuthEntry| match &entry.principal {
            Principal::Everybody => self.permissive || !named,
            principal => is_principal(principal, user, groups),
        };
        all.iter().filter(holds).collect()
    }
}

/// Whether a user gets the events of others, with the results of their jobs: who can read those jobs anyway can.
fn sees_all_events(entries: &[&AuthEntry]) -> bool {
    ["events.listen", "jobs.list_job"].iter().any(|function| is_allowed(entries, FunctionKind::Runner, function))
}

fn is_call_allowed(entries: &[&AuthEntry], kind: FunctionKind, local: &ControllerCall) -> bool {
    let call = CallView { function: &local.function, args: &local.args, kwargs: &local.kwargs };
    decide::check_controller_function(entries, kind, call, &mut DecisionTrace::off())
}

fn is_allowed(entries: &[&AuthEntry], kind: FunctionKind, function: &str) -> bool {
    let call = CallView { function, args: &[], kwargs: &Map::new() };
    decide::check_controller_function(entries, kind, call, &mut DecisionTrace::off())
}

/// `external_auth` of a configuration, or its default.
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

fn is_principal(principal: &Principal, user: &str, groups: &[String]) -> bool {
    match principal {
        Principal::User(pattern) => pattern.matches(user).is_some(),
        Principal::Group(group) => groups.contains(group),
        Principal::Everybody => false,
    }
}
