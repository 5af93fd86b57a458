//! `ssh_auth.manage`: a user may log in with these keys and no others.

use rocksalt_core::Map;
use rocksalt_macros::state;

use super::given::{authorized, change, checked, comments, touches};
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::ssh::authorized::{AuthorizedKeys, KeyStatus};
use crate::catalog::ssh::key::SshKey;
use crate::catalog::{Decision, State, Step, Touches, Verdict};
use crate::machine::{Probe, System};

/// Makes sure that a user may log in with these keys and no others.
///
/// ```yaml
/// keys of alice:
///   ssh_auth.manage:
///     - user: alice
///     - ssh_keys:
///       - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl alice@laptop
/// ```
#[state("ssh_auth.manage", required("ssh_keys", "user"))]
pub struct Manage {
    /// A name for the step; it has no other meaning.
    #[allow(dead_code, reason = "it means nothing")]
    name: String,
    /// The keys, or whole lines with type and options.
    #[required]
    ssh_keys: Vec<String>,
    /// Whose they are.
    user: String,
    /// Their type, where it isn't said.
    #[default("ssh-rsa")]
    enc: String,
    /// What stands behind them, where nothing else does.
    #[default]
    comment: String,
    /// What stands before them, where nothing else does.
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

impl State for Manage {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        self.decide(machine, step).unwrap_or_else(|verdict| Decision::Settled(*verdict)).into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let (known, done): (AuthorizedKeys, Verdict) = plan.into_own()?;
        known.write(machine)?;
        Ok(done)
    }

    fn touches(&self) -> Touches {
        touches(&self.user, &self.config, "")
    }
}

impl Manage {
    fn decide(
        &self,
        machine: &dyn Probe,
        step: &Step<'_>,
    ) -> Result<Decision<(AuthorizedKeys, Verdict)>, Box<Verdict>> {
        let given = |text: &String| checked(SshKey::given(text, &self.enc, &self.comment, &self.options));
        let keys: Vec<SshKey> = self.ssh_keys.iter().map(given).collect::<Result<_, _>>()?;
        let mut known = authorized(machine, &self.user, &self.config, step.test)?;
        let (mut changes, mut would, mut done) = (Map::new(), Vec::new(), Vec::new());
        let there = known.as_ref().map(AuthorizedKeys::keys).unwrap_or_default();
        for old in there.iter().filter(|old| !keys.iter().any(|key| key.key == old.key)) {
            if known.as_mut().is_some_and(|known| known.remove(&old.key)) {
                changes.insert(old.key.as_str(), "Key removed");
                would.push(format!("{} Key set for removal", old.key));
            }
        }
        for key in &keys {
            let status = known.as_mut().map_or(KeyStatus::Add, |known| known.set(key));
            let (dry, told) = comments(status, &key.key, &self.user);
            would.push(dry);
            match status {
                KeyStatus::Exists => done.push(told),
                _ => drop(changes.insert(key.key.as_str(), change(status))),
            }
        }
        let verdict = Verdict::good(done.join("\n")).changes(changes.clone());
        if changes.is_empty() {
            return Ok(Decision::Settled(verdict));
        }
        let would = Verdict::would(would.join("\n")).changes(changes);
        Ok(match known {
            Some(known) => Decision::Change((known, verdict), would),
            None => Decision::Settled(would),
        })
    }
}
