//! `ssh_known_hosts`: the known host keys of a user or the whole system.

use rocksalt_macros::state;

use super::file::Flag;
use super::ssh::known_functions::forget;
use super::ssh::trust::{HostKeyStatus, Trust, TrustUpdate};
use super::{Decision, State, StateEntry, Step, Thing, Touches, Verdict, state};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

pub const STATES: &[StateEntry] = &[state::<Absent>(), state::<Present>()];

/// Makes sure that a host is known by its key.
///
/// ```yaml
/// github.com:
///   ssh_known_hosts.present:
///     - user: deploy
///     - enc: ssh-ed25519
///     - key: AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl
/// ```
#[state("ssh_known_hosts.present", strict)]
pub struct Present {
    /// The host's name.
    name: String,
    /// Whose file; else the system's.
    user: Option<String>,
    /// The fingerprint of the key that the host must answer with.
    fingerprint: Option<String>,
    /// Its key.
    key: Option<String>,
    /// The port, if it isn't 22.
    port: Option<u16>,
    /// The type of its key.
    enc: Option<String>,
    /// The file, if it is another one.
    config: Option<String>,
    /// Write the name as a hash.
    #[default(true)]
    hash_known_hosts: Flag,
    /// Seconds to wait for the host.
    #[default(5)]
    timeout: u32,
    /// The checksum of fingerprints: `sha256`, `md5` …
    fingerprint_hash_type: Option<String>,
}

const WHOSE: &str = "If not specifying a \"user\", specify an absolute \"config\".";

impl State for Present {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let config = config(self.user.as_deref(), self.config.as_deref());
        let fault = match (&self.key, &self.fingerprint, &self.enc) {
            _ if self.user.is_none() && !config.starts_with('/') => Some(WHOSE),
            (Some(_), Some(_), _) => Some("Specify either \"key\" or \"fingerprint\", not both."),
            (Some(_), None, None) => Some("Required argument \"enc\" if using \"key\" argument."),
            _ => None,
        };
        if let Some(fault) = fault {
            return Ok(Decision::Settled(Verdict::bad(fault)));
        }
        let (name, trust) = (&self.name, self.trust());
        let update = match trust.look(machine)? {
            HostKeyStatus::Update(update) => update,
            HostKeyStatus::Exists(_) if step.test => {
                return Ok(Decision::Settled(Verdict::good(format!("Host {name} is already in {config}"))));
            }
            HostKeyStatus::Exists(_) => {
                return Ok(Decision::Settled(Verdict::good(format!("{name} already exists in {config}"))));
            }
            // An earlier step may make the host reachable, or create the user.
            HostKeyStatus::Fault(text) if step.test && text == "Unable to receive remote host keys" => {
                let stored = trust.stored(machine)?.unwrap_or_default();
                let verdict = match trust.check(&stored) {
                    "exists" => Verdict::good(format!("Host {name} is already in {config}")),
                    "add" => Verdict::would(format!("Key for {name} is set to be added to {config}")),
                    _ => Verdict::would(format!("Key for {name} is set to be updated in {config}")),
                };
                return Ok(Decision::Settled(verdict));
            }
            HostKeyStatus::Fault(text) => return Ok(Decision::Settled(Verdict::bad(text))),
        };
        let would = match update.old.is_null() {
            true => format!("Key for {name} is set to be added to {config}"),
            false => format!("Key for {name} is set to be updated in {config}"),
        };
        let (key, fingerprint) = update.first().map_or(("", ""), |entry| (&entry.key, &entry.fingerprint));
        let done = match (&self.key, &self.fingerprint, &self.enc) {
            (Some(_), ..) => format!("{name}'s key saved to {config} (key: {key})"),
            (None, Some(_), _) => format!("{name}'s key saved to {config} (fingerprint: {fingerprint})"),
            (None, None, Some(enc)) => format!("{name}'s {enc} key saved to {config} (key: {key})"),
            (None, None, None) => format!("{name}'s key(s) saved to {config}"),
        };
        let done = Verdict::good(done).changes(update.changes());
        let would = Verdict::would(would).changes(update.changes());
        Ok(Decision::Change(Plan::new(done).with_own(&update)?, would))
    }

    fn apply(&self, mut plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let update: TrustUpdate = plan.take_own()?;
        self.trust().save(machine, &update)?;
        Ok(plan.done)
    }

    fn touches(&self) -> Touches {
        touches(self.user.as_deref(), self.config.as_deref())
    }
}

impl Present {
    fn trust(&self) -> Trust<'_> {
        Trust {
            user: self.user.as_deref(),
            host: &self.name,
            fingerprint: self.fingerprint.as_deref(),
            key: self.key.as_deref(),
            port: self.port,
            enc: self.enc.as_deref(),
            config: self.config.as_deref(),
            hash_known_hosts: self.hash_known_hosts.0,
            timeout: self.timeout,
            kind: self.fingerprint_hash_type.as_deref(),
        }
    }
}

/// Makes sure that a host is not known.
///
/// ```yaml
/// old.example.com:
///   ssh_known_hosts.absent:
///     - user: deploy
/// ```
#[state("ssh_known_hosts.absent", strict)]
pub struct Absent {
    /// The host's name.
    name: String,
    /// Whose file; else the system's.
    user: Option<String>,
    /// The file, if it is another one.
    config: Option<String>,
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let (user, name) = (self.user.as_deref(), &self.name);
        let config = config(user, self.config.as_deref());
        if user.is_none() && !config.starts_with('/') {
            return Ok(Decision::Settled(Verdict::bad(WHOSE)));
        }
        let trust = Trust {
            user,
            host: name,
            fingerprint: None,
            key: None,
            port: None,
            enc: None,
            config: self.config.as_deref(),
            hash_known_hosts: false,
            timeout: 0,
            kind: None,
        };
        let stored = match trust.stored(machine)? {
            Ok(stored) if stored.is_empty() => {
                return Ok(Decision::Settled(Verdict::good("Host is already absent")));
            }
            Ok(stored) => stored,
            Err(text) => return Ok(Decision::Settled(Verdict::bad(text))),
        };
        let old: Vec<_> = stored.iter().map(|entry| entry.info()).collect();
        let would = Verdict::would(format!("Key for {name} is set to be removed from {config}"));
        let would = would.change("old", old).change("new", rocksalt_core::Value::Null);
        let done = Verdict::good("").changes(would.changes.clone());
        Ok(Decision::Change(Plan::new(done), would))
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        Ok(match forget(machine, self.user.as_deref(), self.config.as_deref(), &self.name)? {
            Ok(comment) => Verdict { comment, ..plan.done },
            Err(text) => Verdict::bad(text),
        })
    }

    fn touches(&self) -> Touches {
        touches(self.user.as_deref(), self.config.as_deref())
    }
}

fn config<'a>(user: Option<&str>, config: Option<&'a str>) -> &'a str {
    config.unwrap_or(if user.is_some() { ".ssh/known_hosts" } else { "/etc/ssh/ssh_known_hosts" })
}

fn touches(user: Option<&str>, config: Option<&str>) -> Touches {
    let touches = Touches::nothing();
    match (user, config) {
        (_, Some(path)) if path.starts_with('/') => touches.writes(Thing::Path(path.to_owned())),
        (Some(user), _) => super::ssh::below_home(user),
        (None, _) => touches.writes(Thing::Path("/etc/ssh/ssh_known_hosts".into())),
    }
}
