//! `cron.file`: a user's crontab has the content of a file of the tree.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::crontab::{read, write};
use super::states::touches;
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::file::{Flag, Proof, choose, difference, fetch, render, variables};
use crate::catalog::{Decision, State, Step, Touches, Verdict};
use crate::machine::{Probe, System, accounts};

/// Makes sure that a user's crontab is a file of the tree, and nothing else.
///
/// ```yaml
/// salt://cron/root.tab:
///   cron.file:
///     - user: root
///     - template: jinja
/// ```
#[state("cron.file")]
pub struct File {
    /// Where it comes from.
    #[required]
    name: Value,
    /// Its checksum, if it comes from elsewhere than the tree.
    #[default]
    source_hash: String,
    /// The name by which the checksum is found in a list of checksums.
    source_hash_name: Option<String>,
    /// Whose crontab it is.
    #[default("root")]
    user: String,
    /// `jinja`, if it is a template.
    template: Option<String>,
    /// Variables for the template.
    context: Value,
    /// Replace a crontab that there is.
    #[default(true)]
    replace: Flag,
    /// Variables for the template that the others stand over.
    defaults: Value,
    /// Accepted and ignored: a crontab has no file to keep a copy of.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    backup: Value,
    /// Further arguments are ignored, as in Salt.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl State for File {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let user = &self.user;
        if accounts::user(machine, user).is_none_or(|found| found.name != *user) && !step.test {
            let text = format!("Could not identify group for user {user}");
            return Ok(Decision::Settled(Verdict::bad(text)));
        }
        let mut old = match read(machine, user) {
            Ok(text) => text,
            Err(_) if step.test => String::new(),
            Err(error) => return Ok(Decision::Settled(Verdict::bad(error.to_string()))),
        };
        if !self.replace && !old.trim().is_empty() {
            let text = format!("User {user} already has a crontab. No changes made");
            return Ok(Decision::Settled(Verdict::good(text)));
        }
        if !old.is_empty() && !old.ends_with('\n') {
            old.push('\n');
        }
        let new = match self.content(machine, step) {
            Ok(new) => new,
            Err(text) => return Ok(Decision::Settled(Verdict::bad(text))),
        };
        if new == old {
            let text = format!("Crontab for user {user} is in the correct state");
            return Ok(Decision::Settled(Verdict::good(text)));
        }
        let diff = difference(old.as_bytes(), new.as_bytes());
        let done = Verdict::good(format!("Crontab for user {user} was updated")).change("diff", diff.as_str());
        let would = format!("The following values are set to be changed:\ndiff: {diff}\n");
        Ok(Decision::Change(Plan::new(done).with_own(&new)?, Verdict::would(would).change("diff", diff)))
    }

    fn apply(&self, mut plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let text: String = plan.take_own()?;
        Ok(match write(machine, &self.user, &text) {
            Ok(()) => plan.done,
            Err(text) => Verdict::bad(format!("Unable to update user {} crontab. Error: {text}", self.user)),
        })
    }

    fn touches(&self) -> Touches {
        touches(&self.user)
    }
}

impl File {
    fn content(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<String, String> {
        let (source, hash) = choose(machine, &self.name, &self.source_hash, step.saltenv)?;
        let proof = Proof {
            source_hash: &hash,
            source_hash_name: self.source_hash_name.as_deref(),
            skip_verify: false,
            dry: step.test,
            name: "crontab",
        };
        let content = fetch(machine, &source, step.saltenv, &proof).map_err(|unfit| unfit.text)?;
        let text = String::from_utf8_lossy(&content.bytes).into_owned();
        match &self.template {
            None => Ok(text),
            Some(renderer) => {
                let context = variables(&self.defaults, &self.context);
                render(machine, renderer, &text, &source, step.saltenv, context)
                    .map_err(|error| format!("Unable to manage file: {error}"))
            }
        }
    }
}
