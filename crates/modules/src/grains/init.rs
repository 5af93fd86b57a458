//! The init system, and systemd's version.

mod library;

use std::path::Path;
use std::time::Duration;

use rocksalt_core::Map;

use super::look;
use crate::machine::{Command, Probe};

pub(super) fn grains(machine: &dyn Probe, grains: &mut Map) {
    grains.insert("init", init(machine));
    let systemctl = look::program(machine, "systemctl");
    if let (Some(systemctl), Some(_)) = (systemctl, look::program(machine, "localectl")) {
        grains.insert("systemd", library::version(machine).unwrap_or_else(|| asked(machine, &systemctl)));
    }
    grains.insert("transactional", look::program(machine, "transactional-update").is_some());
}

fn asked(machine: &dyn Probe, systemctl: &str) -> Map {
    let command = Command { timeout: Some(Duration::from_secs(2)), ..Command::new([systemctl, "--version"]) };
    systemd(&machine.query(&command).map(|output| output.text()).unwrap_or_default())
}

fn systemd(output: &str) -> Map {
    let mut lines = output.lines();
    let version = lines.next().and_then(|line| line.strip_prefix("systemd ")?.split_whitespace().next());
    grain(version.unwrap_or("UNDEFINED"), version.and(lines.next()).unwrap_or_default())
}

fn grain(version: &str, features: &str) -> Map {
    Map::from_iter([("version".into(), version.into()), ("features".into(), features.into())])
}

fn init(machine: &dyn Probe) -> &'static str {
    if look::exists(machine, "/run/systemd/system") {
        return "systemd";
    }
    let line = look::text(machine, "/proc/1/cmdline").unwrap_or_default().replace('\0', " ");
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some(first) = words.first() else { return "unknown" };
    let path = if first.contains('/') { Some((*first).to_owned()) } else { look::program(machine, first) };
    if let Some(path) = path.filter(|path| path.ends_with("bin/init")) {
        return written_in(machine, &path);
    }
    let is = |name: &str| look::program(machine, name).is_some_and(|path| words.contains(&path.as_str()));
    match () {
        () if is("supervisord") => "supervisord",
        () if is("dumb-init") => "dumb-init",
        () if is("tini") => "tini",
        () if words == ["runit"] || words.contains(&"/sbin/my_init") => "runit",
        () => "unknown",
    }
}

/// The program file of `/sbin/init` contains the name of the init system.
fn written_in(machine: &dyn Probe, path: &str) -> &'static str {
    let Ok(mut content) = machine.read(Path::new(path)) else { return "unknown" };
    content.make_ascii_lowercase();
    // The names are searched in this order; the first one found counts.
    let has = |word: &str| content.windows(word.len()).any(|part| part == word.as_bytes());
    ["upstart", "sysvinit", "systemd"].into_iter().find(|word| has(word)).unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use rocksalt_core::Value;

    use super::*;
    use crate::machine::Fake;

    #[test]
    fn systemds_version_and_features() {
        let expected = "{'version': '252', 'features': '+PAM +AUDIT'}";
        assert_eq!(Value::Map(systemd("systemd 252 (252.22-1)\n+PAM +AUDIT\n")).to_string(), expected);
        assert_eq!(Value::Map(systemd("")).to_string(), "{'version': 'UNDEFINED', 'features': ''}");
    }

    #[test]
    fn whoever_is_process_one() {
        assert_eq!(init(&Fake::new().directory("/run/systemd/system")), "systemd");
        let old = Fake::new().file("/proc/1/cmdline", "/sbin/init\0").file("/sbin/init", "..SysVinit 2.88..");
        assert_eq!(init(&old), "sysvinit");
        assert_eq!(init(&Fake::new().file("/proc/1/cmdline", "runit\0")), "runit");
        assert_eq!(init(&Fake::new().file("/proc/1/cmdline", "/bin/bash\0")), "unknown");
    }
}
