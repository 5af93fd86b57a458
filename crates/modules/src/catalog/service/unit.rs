//! Names of systemd's units, and their files.

use std::path::Path;

use crate::grains::look;
use crate::machine::Probe;

/// Unit types that Salt's lists of services include.
pub const LISTED: [&str; 9] = ["service", "socket", "device", "mount", "automount", "swap", "target", "path", "timer"];

/// The directories of unit files; earlier ones take precedence.
const FOLDERS: [&str; 6] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/run/systemd/generator",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];

/// A unit's full name; a name without a known suffix is a service.
pub fn full(name: &str) -> String {
    let kind = name.rsplit_once('.').map(|(_, kind)| kind);
    let is_kind = |kind: &str| LISTED.contains(&kind) || matches!(kind, "slice" | "scope");
    if kind.is_some_and(is_kind) { name.to_owned() } else { format!("{name}.service") }
}

/// The name in Salt's lists: a service without its suffix.
pub fn short(full: &str) -> Option<&str> {
    let (name, kind) = full.rsplit_once('.')?;
    match kind {
        "service" => Some(name),
        kind if LISTED.contains(&kind) => Some(full),
        _ => None,
    }
}

/// The template of `foo@bar.service`: `foo@.service`.
pub fn template(unit: &str) -> Option<String> {
    let (prefix, rest) = unit.split_once('@')?;
    let (_, kind) = rest.rsplit_once('.')?;
    Some(format!("{prefix}@.{kind}"))
}

/// Whether there is a file for the unit, even one that systemd hasn't read: its own, its template, or an init script.
pub fn has_file(machine: &dyn Probe, unit: &str) -> bool {
    let names = [Some(unit.to_owned()), template(unit)];
    let in_folder = |name: &String| {
        FOLDERS.iter().any(|folder| matches!(machine.stat(Path::new(&format!("{folder}/{name}")), false), Ok(Some(_))))
    };
    names.iter().flatten().any(in_folder)
        || unit.strip_suffix(".service").is_some_and(|name| super::sysv::script(machine, name).is_some())
}

/// All units with a file, by Salt's short names.
pub fn all(machine: &dyn Probe) -> Vec<String> {
    let folders = ["/lib/systemd/system", "/usr/lib/systemd/system", "/etc/systemd/system"];
    let names = folders.iter().flat_map(|folder| look::names(machine, folder));
    names.filter_map(|name| short(&name).map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_units() {
        assert_eq!(full("ssh"), "ssh.service");
        assert_eq!(full("foo@bar"), "foo@bar.service");
        assert_eq!(full("a.b"), "a.b.service");
        assert_eq!((full("x.timer"), full("mytimer")), ("x.timer".into(), "mytimer.service".into()));
        assert_eq!((short("ssh.service"), short("x.timer"), short("x.conf")), (Some("ssh"), Some("x.timer"), None));
        assert_eq!(template("foo@bar.baz.service").as_deref(), Some("foo@.service"));
        assert_eq!(template("foo.service"), None);
    }
}
