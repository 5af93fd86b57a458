//! `ssh_auth.absent`: a user can't log in with a key.

use rocksalt_macros::state;

use super::given::touches;
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::ssh::authorized::{AuthorizedKeys, from_source};
use crate::catalog::ssh::key::SshKey;
use crate::catalog::{Decision, State, Step, Touches, Verdict};
use crate::machine::{Probe, System, accounts};

/// Makes sure that a user can't log in with a key.
///
/// ```yaml
/// AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl:
///   ssh_auth.absent:
///     - user: bob
/// ```
#[state("ssh_auth.absent", strict, required("user"))]
pub struct Absent {
    /// The key, or a whole line with type and options.
    name: String,
    /// The user whose keys they are.
    user: String,
    /// Its type, which doesn't matter.
    #[default("ssh-rsa")]
    enc: String,
    /// What stands behind it, which doesn't matter.
    #[default]
    comment: String,
    /// A file with keys, instead of the name.
    #[default]
    source: String,
    /// What stands before it, which doesn't matter.
    options: Vec<String>,
    /// The file; `%h` is the home, `%u` the name.
    #[default(".ssh/authorized_keys")]
    config: String,
    /// Accepted for compatibility with Salt: keys are compared, not their checksums.
    #[allow(dead_code, reason = "keys are compared whole")]
    fingerprint_hash_type: Option<String>,
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let (user, source) = (&self.user, &self.source);
        let (keys, name) = match source.is_empty() {
            true => {
                let key = SshKey::given(&self.name, &self.enc, &self.comment, &self.options).key;
                (vec![key.clone()], key)
            }
            false => {
                let Some(keys) = from_source(machine, source, Some(step.saltenv))? else {
                    let text = "Failed to pull key file from salt file server";
                    return Ok(Decision::Settled(Verdict::bad(text)));
                };
                if keys.is_empty() {
                    let text = format!("No keys detected in {source}. Is file properly formatted?");
                    return Ok(Decision::Settled(Verdict::bad(text)));
                }
                (keys.into_iter().map(|key| key.key).collect(), self.name.clone())
            }
        };
        let nothing = match (step.test, source.is_empty()) {
            (false, _) => "Key not present".to_owned(),
            (true, true) => "Key is already absent".to_owned(),
            (true, false) => format!("All host keys in file {source} are already absent"),
        };
        if accounts::user(machine, user).is_none_or(|found| found.name != *user) {
            return Ok(Decision::Settled(Verdict::good(nothing)));
        }
        let mut known = AuthorizedKeys::read(machine, user, &self.config)?;
        let gone: Vec<String> = keys.into_iter().filter(|key| known.remove(key)).collect();
        if gone.is_empty() {
            return Ok(Decision::Settled(Verdict::good(nothing)));
        }
        let would = match source.is_empty() {
            true => format!("Key {name} for user {user} is set for removal"),
            false => gone.iter().map(|key| format!("Set to remove: {key}\n")).collect(),
        };
        let done = Verdict::good("Key removed").change(name.as_str(), "Removed");
        Decision::own(&(known, done), Verdict::would(would).change(name.as_str(), "Removed"))
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
