//! [`Explanation`]: every rule that was looked at, why it fits or not, and the verdict.

use std::sync::Arc;

use rocksalt_controller::Controller;
use rocksalt_core::request::RunRequest;
use rocksalt_core::{Map, Value};

use super::decide::{self, Form, Talk};
use super::rule::Asked;
use super::{Access, Grant};
use crate::requests::Refusal;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub allowed: bool,
    pub lines: Vec<String>,
    /// The targets that it would run on, where the rule limits them.
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

impl Access {
    /// How a decision comes about. `runner.x.y` and `wheel.x.y` mean the controller's own functions. Without `eauth`
    /// every backend is asked, and one that allows it is enough.
    pub async fn explain(
        &self,
        user: &str,
        eauth: Option<&str>,
        groups: &[String],
        run: &RunRequest,
        controller: &Arc<Controller>,
    ) -> Result<Explanation, Refusal> {
        let mut lines = Vec::new();
        let mut allowed: Option<Grant> = None;
        let backends: Vec<&str> = match eauth {
            Some(eauth) => vec![eauth],
            None => self.backends.keys().map(String::as_str).collect(),
        };
        if backends.is_empty() {
            lines.push("external_auth names no backend: nobody may do anything over the network".into());
        }
        for eauth in backends {
            if !self.backends.contains_key(eauth) {
                lines.push(format!("{eauth}: external_auth does not name it: nobody can log in by it"));
                continue;
            }
            let entries = self.entries(eauth, user, groups);
            if entries.is_empty() {
                lines.push(format!("{eauth}: no entry is for {user}{}", among(groups)));
                continue;
            }
            let start = lines.len();
            let grant = self.one(&entries, run, controller, &mut Talk::into(&mut lines)).await?;
            lines[start..].iter_mut().for_each(|line| line.insert_str(0, &format!("{eauth}: ")));
            allowed = allowed.or(grant);
        }
        let only = allowed.as_ref().and_then(|grant| grant.only.clone()).map(|ids| ids.into_iter().collect());
        Ok(Explanation { allowed: allowed.is_some(), lines, only })
    }

    async fn one(
        &self,
        entries: &[&super::Entry],
        run: &RunRequest,
        controller: &Arc<Controller>,
        talk: &mut Talk<'_>,
    ) -> Result<Option<Grant>, Refusal> {
        let own = [(Form::Runner, "runner."), (Form::Wheel, "wheel.")];
        for (form, prefix) in own {
            if let Some(function) = run.function.strip_prefix(prefix) {
                let asked = Asked { function, args: &run.args, kwargs: &run.kwargs };
                return Ok(decide::controller(entries, form, asked, talk).then(Grant::default));
            }
        }
        self.function(entries, run, controller, talk).await
    }
}

fn among(groups: &[String]) -> String {
    match groups {
        [] => String::new(),
        groups => format!(" or the groups {}", groups.join(", ")),
    }
}
