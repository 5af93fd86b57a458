//! sysvinit: scripts in `/etc/init.d`, links in `/etc/rc?.d`.

use std::path::Path;

use super::{Boot, ServiceAction, ServiceOptions, ServiceProvider, run, succeeded};
use crate::grains::look;
use crate::machine::{Command, FileKind, Probe, System};
use crate::{Error, Result};

pub struct Sysv;

const SCRIPTS: &str = "/etc/init.d";

impl ServiceProvider for Sysv {
    fn fits(&self, machine: &dyn Probe, name: Option<&str>) -> bool {
        if in_chroot(machine) && look::program(machine, "systemctl").is_some() {
            return false;
        }
        match name {
            Some(name) if script(machine, name).is_some() => true,
            Some(name) => {
                look::is_directory(machine, SCRIPTS) && !super::unit::has_file(machine, &super::unit::full(name))
            }
            None => !scripts(machine).is_empty(),
        }
    }

    fn available(&self, machine: &dyn Probe, name: &str) -> Result<bool> {
        Ok(script(machine, name).is_some())
    }

    fn runs(&self, machine: &dyn Probe, name: &str) -> Result<bool> {
        let Some(script) = script(machine, name) else { return Ok(false) };
        let words = words(machine, name, &script, "status");
        let command = Command { leaves_daemon: true, cwd: Some("/".into()), ..Command::new(words) };
        Ok(machine.query(&command)?.success())
    }

    fn enabled(&self, machine: &dyn Probe, name: &str) -> Result<bool> {
        Ok(starts(machine, name))
    }

    fn all(&self, machine: &dyn Probe) -> Result<Vec<String>> {
        Ok(scripts(machine))
    }

    fn at_boot(&self, machine: &dyn Probe, wanted: Boot) -> Result<Vec<String>> {
        let mut found = scripts(machine);
        found.retain(|name| match wanted {
            Boot::Enabled => starts(machine, name),
            Boot::Disabled => !starts(machine, name),
            Boot::Static => false,
        });
        Ok(found)
    }

    fn act(&self, machine: &dyn System, act: ServiceAction, name: &str, how: &ServiceOptions) -> Result<()> {
        if act == ServiceAction::FullRestart {
            self.act(machine, ServiceAction::Stop, name, how)?;
            return self.act(machine, ServiceAction::Start, name, how);
        }
        let failed =
            format!("Service {name} failed to {}", if act == ServiceAction::Stop { "die" } else { act.word() });
        let Some(script) = script(machine, name) else {
            return Err(Error::failed(format!("{failed}: there is no {SCRIPTS}/{name}")));
        };
        let words = words(machine, name, &script, act.word());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        succeeded(&run(machine, &words, how)?, &words, &failed)
    }

    fn set_boot(&self, machine: &dyn System, name: &str, enable: bool, how: &ServiceOptions) -> Result<()> {
        let doing = format!("could not make {name} {}", if enable { "start with the system" } else { "not start" });
        let steps: Vec<Vec<String>> = if let Some(update) = look::program(machine, "update-rc.d") {
            let step = |word: &str| vec![update.clone(), name.to_owned(), word.to_owned()];
            // A service that was never enabled has no links that could be renamed.
            if enable { vec![step("defaults"), step("enable")] } else { vec![step("disable")] }
        } else if let Some(chkconfig) = look::program(machine, "chkconfig") {
            let add = vec![chkconfig.clone(), "--add".into(), name.to_owned()];
            let set = vec![chkconfig, name.to_owned(), if enable { "on" } else { "off" }.into()];
            if enable { vec![add, set] } else { vec![set] }
        } else {
            return Err(Error::failed(format!("{doing}: neither update-rc.d nor chkconfig is there")));
        };
        for words in steps {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            succeeded(&run(machine, &words, how)?, &words, &doing)?;
        }
        Ok(())
    }
}

/// Services are not started in a directory tree that is prepared for another machine. It is detected by comparing our
/// root with that of the first process.
fn in_chroot(machine: &dyn Probe) -> bool {
    let place = |path: &str| machine.stat(Path::new(path), true).ok().flatten().map(|stat| (stat.device, stat.inode));
    matches!((place("/proc/1/root"), place("/")), (Some(first), Some(own)) if first != own)
}

/// Through `service`, which gives the script a clean environment; otherwise the script itself.
fn words(machine: &dyn Probe, name: &str, script: &str, act: &str) -> Vec<String> {
    match look::program(machine, "service") {
        Some(service) => vec![service, name.to_owned(), act.to_owned()],
        None => vec![script.to_owned(), act.to_owned()],
    }
}

/// A service's script, if it is executable.
pub fn script(machine: &dyn Probe, name: &str) -> Option<String> {
    let path = format!("{SCRIPTS}/{name}");
    let stat = machine.stat(Path::new(&path), true).ok()??;
    (stat.kind == FileKind::File && stat.mode & 0o111 != 0).then_some(path)
}

pub fn scripts(machine: &dyn Probe) -> Vec<String> {
    let mut names = look::names(machine, SCRIPTS);
    names.retain(|name| script(machine, name).is_some());
    names
}

/// Whether a link starts the service in the current runlevel.
pub fn starts(machine: &dyn Probe, name: &str) -> bool {
    let folders = ["/etc/rcS.d".to_owned(), format!("/etc/rc{}.d", runlevel(machine))];
    folders.iter().flat_map(|folder| look::names(machine, folder)).any(|link| started_by(&link) == Some(name))
}

/// `S01cron` starts `cron`.
fn started_by(link: &str) -> Option<&str> {
    let rest = link.strip_prefix('S')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).take(2).count();
    (digits > 0).then(|| &rest[digits..])
}

fn runlevel(machine: &dyn Probe) -> String {
    let asked = machine.query(&Command::new(["runlevel"])).ok().map(|output| output.text());
    let known = asked.as_deref().and_then(|text| text.split_whitespace().nth(1)).filter(|level| level.len() == 1);
    if let Some(level) = known {
        return level.to_owned();
    }
    // Unknown if sysvinit is not the first process, as in a container.
    let table = look::text(machine, "/etc/inittab").unwrap_or_default();
    let line = table.lines().find(|line| !line.starts_with('#') && line.contains(":initdefault:"));
    line.and_then(|line| line.split(':').nth(1)).unwrap_or("2").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Fake, Output};

    #[test]
    fn links_name_their_service() {
        assert_eq!(started_by("S01cron"), Some("cron"));
        assert_eq!(started_by("S20lighttpd2"), Some("lighttpd2"));
        assert_eq!(started_by("S0142go"), Some("42go"));
        assert_eq!((started_by("K01cron"), started_by("README"), started_by("Scron")), (None, None, None));
    }

    #[test]
    fn the_runlevel_is_found_without_an_init() {
        let machine = Fake::new().file("/etc/inittab", "# id:2:initdefault:\nid:3:initdefault:\n");
        assert_eq!(runlevel(&machine), "3");
        assert_eq!(runlevel(&Fake::new()), "2");
        let says = |text: &str| Fake::new().command(&["runlevel"], Output { stdout: text.into(), ..Output::default() });
        assert_eq!(runlevel(&says("N 5\n")), "5");
        assert_eq!(runlevel(&says("unknown\n")), "2");
    }
}
