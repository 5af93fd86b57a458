//! `ssh_auth.present`: a user may log in with a key.

use rocksalt_core::Map;
use rocksalt_macros::state;

use super::given::{authorized, change, checked, comments, touches};
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::ssh::authorized::{AuthorizedKeys, KeyStatus, from_source};
use crate::catalog::ssh::key::SshKey;
use crate::catalog::{Decision, State, Step, Touches, Verdict};
use crate::machine::{Probe, System};

/// Makes sure that a user may log in with a key.
///
/// ```yaml
/// AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl:
///   ssh_auth.present:
///     - user: alice
///     - enc: ssh-ed25519
///     - comment: alice@laptop
/// ```
#[state("ssh_auth.present", required("user"))]
pub struct Present {
    /// The key, or a whole line with type and options.
    name: String,
    /// The user whose keys they are.
    user: String,
    /// Its type.
    #[default("ssh-rsa")]
    enc: String,
    /// What stands behind it.
    #[default]
    comment: String,
    /// A file with keys, instead of the name.
    #[default]
    source: String,
    /// What stands before it.
    options: Vec<String>,
    /// The file; `%h` is the home, `%u` the name.
    #[default(".ssh/authorized_keys")]
    config: String,
    /// Accepted for compatibility with Salt: keys are compared, not their checksums.
    #[allow(dead_code, reason = "keys are compared whole")]
    fingerprint_hash_type: Option<String>,
    /// Further arguments are ignored, as in Salt.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        self.decide(machine, step).unwrap_or_else(|verdict| Decision::Settled(*verdict)).into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let (known, done): (AuthorizedKeys, Verdict) = plan.into_own()?;
        known.write(machine)?;
        Ok(done)
    }

    fn touches(&self) -> Touches {
        touches(&self.user, &self.config, &self.source)
    }
}

impl Present {
    fn decide(
        &self,
        machine: &dyn Probe,
        step: &Step<'_>,
    ) -> Result<Decision<(AuthorizedKeys, Verdict)>, Box<Verdict>> {
        let user = &self.user;
        let (keys, name) = match self.source.is_empty() {
            true => {
                let key = checked(SshKey::given(&self.name, &self.enc, &self.comment, &self.options))?;
                let name = key.key.clone();
                (vec![key], name)
            }
            false => (self.of_source(machine, step)?, self.name.clone()),
        };
        let Some(mut known) = authorized(machine, user, &self.config, step.test)? else {
            let would = self.would(&keys.iter().map(|key| (key, KeyStatus::Add)).collect::<Vec<_>>(), &name);
            return Ok(Decision::Settled(would));
        };
        let set: Vec<(&SshKey, KeyStatus)> = keys.iter().map(|key| (key, known.set(key))).collect();
        if set.iter().all(|(_, status)| *status == KeyStatus::Exists) {
            let (_, text) = comments(KeyStatus::Exists, &name, user);
            let source = &self.source;
            let text = match step.test && !source.is_empty() {
                true => format!("All host keys in file {source} are already present"),
                false => text,
            };
            return Ok(Decision::Settled(Verdict::good(text)));
        }
        let whole = whole(&set);
        let done = Verdict::good(comments(whole, &name, user).1).change(name.as_str(), change(whole));
        let would = self.would(&set, &name);
        Ok(Decision::Change((known, done), would))
    }

    fn would(&self, set: &[(&SshKey, KeyStatus)], name: &str) -> Verdict {
        let whole = whole(set);
        let comment = match self.source.is_empty() {
            true => comments(whole, name, &self.user).0,
            false => {
                let changed = set.iter().filter(|(_, status)| *status != KeyStatus::Exists);
                changed.map(|(key, status)| format!("Set to {}: {}\n", status.name(), key.key)).collect()
            }
        };
        Verdict::would(comment).change(name, change(whole))
    }

    fn of_source(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Vec<SshKey>, Box<Verdict>> {
        let source = &self.source;
        let bad = |text: String| Box::new(Verdict::bad(text));
        let keys = from_source(machine, source, Some(step.saltenv)).map_err(|error| bad(error.to_string()))?;
        let keys = keys.ok_or_else(|| bad(format!("Failed to add the ssh key. Source file {source} is missing")))?;
        if keys.is_empty() {
            return Err(bad(format!("No keys detected in {source}. Is file properly formatted?")));
        }
        let options = self.options.join(",");
        keys.into_iter()
            .map(|key| checked(if options.is_empty() { key } else { SshKey { options: options.clone(), ..key } }))
            .collect()
    }
}

/// The combined status of several keys.
fn whole(set: &[(&SshKey, KeyStatus)]) -> KeyStatus {
    let has = |wanted: KeyStatus| set.iter().any(|(_, status)| *status == wanted);
    if has(KeyStatus::Update) {
        KeyStatus::Update
    } else if has(KeyStatus::Add) {
        KeyStatus::Add
    } else {
        KeyStatus::Exists
    }
}
