//! [`Explanation`]: every rule that was checked, why it matches or not, and the verdict.

use std::sync::Arc;

use rocksalt_controller::Controller;
use rocksalt_core::request::RunRequest;
use rocksalt_core::{Map, Value};

use super::decide::{self, DecisionTrace, FunctionKind};
use super::rule::CallView;
use super::{AccessGrant, AccessPolicy};
use crate::requests::Refusal;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub allowed: bool,
    pub lines: Vec<String>,
    /// The targets that it would run on, if the rule limits them.
    pub only: Option<Vec<String>>,
}

impl Explanation {
    pub fn to_value(&self) -> Value {
        let texts = |all: &[String]| Value::List(all.iter().map(|text| text.as_str().into()).collect());
        let mut map = Map::new();
        map.insert("allowed", self.allowed);
        map.insert("why", texts(&self.lines));
        if let Some(only) = &self.only {
            map.insert("targets", texts(only));
        }
        Value::Map(map)
    }
}

impl AccessPolicy {
    /// Explains a decision. `runner.x.y` and `wheel.x.y` mean functions of the controller. Without `eauth` all backends are
    /// checked, and one that allows it is enough.
    pub async fn explain(
        &self,
        user: &str,
        eauth: Option<&str>,
        groups: &[String],
        run: &RunRequest,
        controller: &Arc<Controller>,
    ) -> Result<Explanation, Refusal> {
        let mut lines = Vec::new();
        let mut allowed: Option<AccessGrant> = None;
        let backends: Vec<&str> = match eauth {
            Some(eauth) => vec![eauth],
            None => self.backends.keys().map(String::as_str).collect(),
        };
        if backends.is_empty() {
            lines.push("external_auth has no backends: nobody may do anything over the network".into());
        }
        for eauth in backends {
            if !self.backends.contains_key(eauth) {
                lines.push(format!("{eauth}: not in external_auth: nobody can log in with it"));
                continue;
            }
            let entries = self.entries(eauth, user, groups);
            if entries.is_empty() {
                lines.push(format!("{eauth}: no entry matches {user}{}", or_groups(groups)));
                continue;
            }
            let start = lines.len();
            let grant = self.explain_entries(&entries, run, controller, &mut DecisionTrace::to(&mut lines)).await?;
            lines[start..].iter_mut().for_each(|line| line.insert_str(0, &format!("{eauth}: ")));
            allowed = allowed.or(grant);
        }
        let only = allowed.as_ref().and_then(|grant| grant.only.clone()).map(|ids| ids.into_iter().collect());
        Ok(Explanation { allowed: allowed.is_some(), lines, only })
    }

    async fn explain_entries(
        &self,
        entries: &[&super::AuthEntry],
        run: &RunRequest,
        controller: &Arc<Controller>,
        trace: &mut DecisionTrace<'_>,
    ) -> Result<Option<AccessGrant>, Refusal> {
        let prefixes = [(FunctionKind::Runner, "runner."), (FunctionKind::Wheel, "wheel.")];
        for (kind, prefix) in prefixes {
            if let Some(function) = run.function.strip_prefix(prefix) {
                let call = CallView { function, args: &run.args, kwargs: &run.kwargs };
                return Ok(decide::check_controller_function(entries, kind, call, trace).then(AccessGrant::default));
            }
        }
        self.check_function(entries, run, controller, trace).await
    }
}

fn or_groups(groups: &[String]) -> String {
    match groups {
        [] => String::new(),
        groups => format!(" or the groups {}", groups.join(", ")),
    }
}
