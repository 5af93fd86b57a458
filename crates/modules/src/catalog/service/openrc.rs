//! OpenRC, as in Alpine and Gentoo: `rc-service`, `rc-update`, links in `/etc/runlevels`.

use super::{Act, Boot, How, Provider, run, succeeded, sysv};
use crate::Result;
use crate::grains::look;
use crate::machine::{Command, Probe, System};

pub struct OpenRc;

const LEVELS: &str = "/etc/runlevels";
const LEVEL: &str = "default";

impl Provider for OpenRc {
    fn fits(&self, machine: &dyn Probe, _: Option<&str>) -> bool {
        // Debian has its programs in a package that can lie beside another init.
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

    fn act(&self, machine: &dyn System, act: Act, name: &str, how: &How) -> Result<()> {
        let words: &[&str] = match act {
            Act::FullRestart => {
                self.act(machine, Act::Stop, name, how)?;
                return self.act(machine, Act::Start, name, how);
            }
            // OpenRC has no such word; what can't reload is restarted, as elsewhere.
            Act::ForceReload if self.act(machine, Act::Reload, name, how).is_ok() => return Ok(()),
            Act::ForceReload => &["rc-service", name, "restart"],
            _ => &["rc-service", name, act.word()],
        };
        let failed = format!("Service {name} failed to {}", if act == Act::Stop { "die" } else { act.word() });
        succeeded(&run(machine, words, how)?, words, &failed)
    }

    fn set_boot(&self, machine: &dyn System, name: &str, enable: bool, how: &How) -> Result<()> {
        let doing = format!("could not make {name} {}", if enable { "start with the system" } else { "not start" });
        let words: &[&str] =
            if enable { &["rc-update", "add", name, LEVEL] } else { &["rc-update", "--all", "del", name] };
        succeeded(&run(machine, words, how)?, words, &doing)
    }
}

/// In any runlevel.
fn starts(machine: &dyn Probe, name: &str) -> bool {
    let levels = look::names(machine, LEVELS);
    levels.iter().any(|level| look::exists(machine, &format!("{LEVELS}/{level}/{name}")))
}
