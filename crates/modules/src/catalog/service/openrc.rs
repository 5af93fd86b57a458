//! OpenRC, as in Alpine and Gentoo: `rc-service`, `rc-update`, links in `/etc/runlevels`.

use super::{Boot, ServiceAction, ServiceOptions, ServiceProvider, run, succeeded, sysv};
use crate::Result;
use crate::grains::look;
use crate::machine::{Command, Probe, System};

pub struct OpenRc;

const LEVELS: &str = "/etc/runlevels";
const LEVEL: &str = "default";

impl ServiceProvider for OpenRc {
    fn fits(&self, machine: &dyn Probe, _: Option<&str>) -> bool {
        // Debian has its programs in a package that can be installed beside another init system.
        look::program(machine, "rc-service").is_some()
            && (look::is_directory(machine, "/run/openrc") || look::program(machine, "update-rc.d").is_none())
    }

    fn available(&self, machine: &dyn Probe, name: &str) -> Result<bool> {
        Ok(sysv::script(machine, name).is_some())
    }

    fn runs(&self, machine: &dyn Probe, name: &str) -> Result<bool> {
        let command = Command { leaves_daemon: true, ..Command::new(["rc-service", "--quiet", name, "status"]) };
        Ok(machine.query(&command)?.success())
    }

    fn enabled(&self, machine: &dyn Probe, name: &str) -> Result<bool> {
        Ok(starts(machine, name))
    }

    fn all(&self, machine: &dyn Probe) -> Result<Vec<String>> {
        Ok(sysv::scripts(machine))
    }

    fn at_boot(&self, machine: &dyn Probe, wanted: Boot) -> Result<Vec<String>> {
        let mut found = sysv::scripts(machine);
        found.retain(|name| match wanted {
            Boot::Enabled => starts(machine, name),
            Boot::Disabled => !starts(machine, name),
            Boot::Static => false,
        });
        Ok(found)
    }

    fn act(&self, machine: &dyn System, act: ServiceAction, name: &str, how: &ServiceOptions) -> Result<()> {
        let words: &[&str] = match act {
            ServiceAction::FullRestart => {
                self.act(machine, ServiceAction::Stop, name, how)?;
                return self.act(machine, ServiceAction::Start, name, how);
            }
            // OpenRC has no such action; as elsewhere, a service that can't reload is restarted.
            ServiceAction::ForceReload if self.act(machine, ServiceAction::Reload, name, how).is_ok() => return Ok(()),
            ServiceAction::ForceReload => &["rc-service", name, "restart"],
            _ => &["rc-service", name, act.word()],
        };
        let failed =
            format!("Service {name} failed to {}", if act == ServiceAction::Stop { "die" } else { act.word() });
        succeeded(&run(machine, words, how)?, words, &failed)
    }

    fn set_boot(&self, machine: &dyn System, name: &str, enable: bool, how: &ServiceOptions) -> Result<()> {
        let doing = format!("could not make {name} {}", if enable { "start with the system" } else { "not start" });
        let levels = levels_of(machine, name);
        // It fails for a runlevel without the service, so each one is named.
        let words: Vec<&str> = match enable {
            true => vec!["rc-update", "add", name, LEVEL],
            false => ["rc-update", "del", name].into_iter().chain(levels.iter().map(String::as_str)).collect(),
        };
        succeeded(&run(machine, &words, how)?, &words, &doing)
    }
}

fn starts(machine: &dyn Probe, name: &str) -> bool {
    !levels_of(machine, name).is_empty()
}

/// The runlevels that start a service.
fn levels_of(machine: &dyn Probe, name: &str) -> Vec<String> {
    let mut levels = look::names(machine, LEVELS);
    levels.retain(|level| look::exists(machine, &format!("{LEVELS}/{level}/{name}")));
    levels
}
