//! `network.system`: settings that don't belong to an interface: networking at boot, and names.

use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::identity::{set_hostname, sound_hostname};
use crate::catalog::Plan;
use crate::catalog::{Decision, State, Step, Touches, Verdict, tool};
use crate::grains::look;
use crate::machine::{self, Probe};
use crate::text::diff;
use crate::{Error, Result};

const NETWORKING: &str = "/etc/default/networking";
const HOSTNAME: &str = "/etc/hostname";
const RESOLV: &str = "/etc/resolv.conf";

const FRESH: &str = "# Configuration for networking init script being run during\n# the boot sequence\n\n# Set to 'no' to \
                     skip interfaces configuration on boot\nCONFIGURE_INTERFACES=\n\n# Don't configure these interfaces. \
                     Shell wildcards supported/\n#EXCLUDE_INTERFACES=\n\n# Set to 'yes' to enable additional \
                     verbosity\n#VERBOSE=no\n";

/// Sets the host name and domain, and whether the interfaces of `/etc/network/interfaces` are configured at boot.
///
/// For Debian and what comes of it, with `ifupdown`.
///
/// ```yaml
/// system:
///   network.system:
///     - enabled: True
///     - hostname: server1.example.com
///     - apply_hostname: True
///     - require_reboot: True
/// ```
#[state("network.system")]
pub struct System {
    /// A name for the step, for requisites.
    #[allow(dead_code, reason = "a step has a name")]
    name: String,
    /// Configure the interfaces at boot.
    enabled: Value,
    /// The host name; with dots, what is behind the first is the domain.
    hostname: Option<String>,
    /// The domains that short names are searched in.
    search: Option<String>,
    /// Let the running machine have the name too.
    apply_hostname: Value,
    /// Don't restart the network now.
    require_reboot: Value,
    /// What was not given stays in any case.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    retain_settings: Value,
    /// Settings that other systems have.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

/// The settings in the files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct NetworkSettings {
    networking: String,
    hostname: String,
    domain: String,
    search: String,
}

#[derive(Serialize, Deserialize)]
pub struct SettingsPlan {
    old: NetworkSettings,
    new: NetworkSettings,
    /// The running machine has another name.
    rename: bool,
    done: Verdict,
}

impl NetworkSettings {
    fn read(machine: &dyn Probe) -> NetworkSettings {
        let networking = look::text(machine, NETWORKING).unwrap_or_default();
        let networking = networking.lines().find_map(|line| line.strip_prefix("CONFIGURE_INTERFACES="));
        let resolv = look::text(machine, RESOLV).unwrap_or_default();
        let word = |key: &str| {
            let line = resolv.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix([' ', '\t']));
            line.map(|rest| rest.trim().to_owned()).unwrap_or_default()
        };
        let name = look::line(machine, HOSTNAME).unwrap_or_default();
        let (hostname, inner) = name.split_once('.').unwrap_or((&name, ""));
        let domain = word("domain");
        NetworkSettings {
            networking: networking.unwrap_or_default().trim().trim_matches('"').to_owned(),
            hostname: hostname.to_owned(),
            domain: if domain.is_empty() { inner.to_owned() } else { domain },
            search: word("search"),
        }
    }

    /// The settings in Salt's form.
    fn shown(&self) -> String {
        let all = [
            ("NETWORKING", &self.networking),
            ("HOSTNAME", &self.hostname),
            ("DOMAIN", &self.domain),
            ("SEARCH", &self.search),
        ];
        all.iter().filter(|(_, value)| !value.is_empty()).map(|(key, value)| format!("{key}={value}\n")).collect()
    }
}

impl State for System {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let grains = machine.grains();
        let family = grains.get("os_family").and_then(Value::as_str).unwrap_or_default();
        if family != "Debian" {
            let text = format!("network.system is there for Debian's way of network settings, and this is {family}");
            return Ok(Decision::Settled(Verdict::bad(text)));
        }
        let old = NetworkSettings::read(machine);
        let mut new = old.clone();
        if !self.enabled.is_null() {
            new.networking = match yes(&self.enabled) {
                Some(true) => "yes".to_owned(),
                Some(false) => "no".to_owned(),
                None => {
                    return Err(Error::arguments(format!(
                        "network.system: enabled is yes or no, not '{}'",
                        self.enabled
                    )));
                }
            };
        }
        if let Some(name) = &self.hostname {
            sound_hostname(name)?;
            let (host, domain) = name.split_once('.').unwrap_or((name, ""));
            host.clone_into(&mut new.hostname);
            if !domain.is_empty() {
                domain.clone_into(&mut new.domain);
            }
        }
        if let Some(search) = &self.search {
            search.trim().clone_into(&mut new.search);
        }
        if new.search.contains('\n') {
            return Err(Error::arguments("network.system: the search domains are in one line"));
        }
        let running = look::line(machine, "/proc/sys/kernel/hostname").unwrap_or_default();
        let rename = yes(&self.apply_hostname) == Some(true)
            && self.hostname.as_ref().is_some_and(|name| *name != running && new.hostname != running);
        if old == new && !rename {
            return Ok(Decision::Settled(Verdict::good("Global network settings are up to date.")));
        }
        let (before, after) = (old.shown(), new.shown());
        let text = match (before.is_empty(), before == after) {
            (true, _) => "Added global network settings.".to_owned(),
            (false, true) => format!("HOSTNAME={} (running: {running})", new.hostname),
            (false, false) => diff::unified(&before, &after, "", "").trim_end().to_owned(),
        };
        let would = match before.is_empty() {
            true => "Global network settings are set to be added.".to_owned(),
            false => format!("Global network settings are set to be updated:\n{text}"),
        };
        let done = Verdict::good("Global network settings are up to date.").change("network_settings", text);
        let would = Verdict { result: None, comment: would, ..done.clone() };
        Decision::own(&SettingsPlan { old, new, rename, done }, would)
    }

    fn apply(&self, plan: Plan, machine: &dyn machine::System, _: &Step<'_>) -> Result<Verdict> {
        let plan: SettingsPlan = plan.into_own()?;
        Ok(match self.carry_out(&plan, machine) {
            Ok(()) => plan.done,
            Err(error) => Verdict::bad(error.to_string()),
        })
    }

    fn touches(&self) -> Touches {
        // The network is restarted, so no other step may use it.
        Touches::everything()
    }
}

impl System {
    fn carry_out(&self, plan: &SettingsPlan, machine: &dyn machine::System) -> Result<()> {
        let SettingsPlan { old, new, rename, .. } = plan;
        if old.networking != new.networking {
            let text = look::text(machine, NETWORKING).unwrap_or_else(|| FRESH.to_owned());
            let line = format!("CONFIGURE_INTERFACES={}", new.networking);
            tool::write(machine, NETWORKING, with_line(&text, "CONFIGURE_INTERFACES=", &line).as_bytes(), None)?;
        }
        let resolver = [("domain", &old.domain, &new.domain), ("search", &old.search, &new.search)];
        let mut text = look::text(machine, RESOLV).unwrap_or_default();
        let before = text.clone();
        for (key, old, new) in resolver {
            if old != new {
                text = with_line(&text, &format!("{key} "), &format!("{key} {new}"));
            }
        }
        if text != before {
            // Often a link to another program's file: the link is kept.
            let place = crate::catalog::file::followed(machine, Path::new(RESOLV));
            tool::write(machine, &place.to_string_lossy(), text.as_bytes(), None)?;
        }
        if let Some(name) = &self.hostname {
            if *rename {
                set_hostname(machine, name)?;
            } else if old.hostname != new.hostname {
                tool::write(machine, HOSTNAME, format!("{name}\n").as_bytes(), None)?;
            }
        }
        let interfaces = look::exists(machine, "/lib/systemd/system/networking.service");
        if yes(&self.require_reboot) != Some(true) && interfaces && tool::booted_by_systemd(machine) {
            tool::done(machine, &["systemctl", "restart", "networking.service"])?;
        }
        Ok(())
    }
}

/// Replaces the line that begins with `start`, or adds it.
fn with_line(text: &str, start: &str, line: &str) -> String {
    let mut found = false;
    let mut new = String::new();
    for old in text.split_inclusive('\n') {
        if old.starts_with(start) && !found {
            found = true;
            new += &format!("{line}\n");
        } else {
            new += old;
        }
    }
    if !found {
        if !new.is_empty() && !new.ends_with('\n') {
            new.push('\n');
        }
        new += &format!("{line}\n");
    }
    new
}

/// A boolean by Salt's rules here.
fn yes(value: &Value) -> Option<bool> {
    match value.to_string().to_ascii_lowercase().as_str() {
        "yes" | "on" | "true" | "1" => Some(true),
        "no" | "off" | "false" | "0" => Some(false),
        _ => None,
    }
}
