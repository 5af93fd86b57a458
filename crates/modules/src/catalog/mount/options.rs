//! Finds requested options that a mount lacks, so that it must be remounted.

use rocksalt_core::{Map, Value};

use super::active::{ActiveMount, numbered};
use super::listed;
use crate::machine::Probe;

/// Options that the kernel does not list, since they only concern the mount program or the boot.
const INVISIBLE: [&str; 35] = [
    "_netdev",
    "actimeo",
    "bg",
    "comment",
    "defaults",
    "delay_connect",
    "direct-io-mode",
    "intr",
    "loop",
    "nointr",
    "nobootwait",
    "nofail",
    "password",
    "reconnect",
    "retry",
    "soft",
    "auto",
    "users",
    "bind",
    "nonempty",
    "transform_symlinks",
    "port",
    "backup-volfile-servers",
    // Options that Salt does not know, so that it remounts in every run.
    "noauto",
    "user",
    "nouser",
    "nousers",
    "owner",
    "group",
    "rbind",
    "remount",
    "nobarrier",
    "barrier",
    "silent",
    "async",
];

/// Options `key=value` whose value is not listed.
const INVISIBLE_KEYS: [&str; 8] =
    ["actimeo", "comment", "credentials", "direct-io-mode", "password", "port", "retry", "secretfile"];

/// Options that are in effect unless the opposite is listed.
const UNLESS: [(&str, &str); 8] = [
    ("exec", "noexec"),
    ("suid", "nosuid"),
    ("dev", "nodev"),
    ("atime", "noatime"),
    ("diratime", "nodiratime"),
    ("norelatime", "relatime"),
    ("strictatime", "relatime"),
    ("nosync", "sync"),
];

/// Entries that users add to these tables.
#[derive(Default)]
pub struct Extra {
    pub invisible: Vec<String>,
    pub invisible_keys: Vec<String>,
    pub ignored: Map,
    pub translated: Map,
}

pub fn missing(
    machine: &dyn Probe,
    mount: &ActiveMount,
    fstype: &str,
    wanted: &[String],
    extra: &Extra,
) -> Vec<String> {
    let mut missing: Vec<String> = wanted
        .iter()
        .filter_map(|option| {
            let option = translated(machine, fstype, option, extra);
            (!is_fine(mount, fstype, &option, extra)).then_some(option)
        })
        .collect();
    missing.sort();
    missing
}

/// An option in the kernel's form.
fn translated(machine: &dyn Probe, fstype: &str, option: &str, extra: &Extra) -> String {
    let option = match option {
        "tcp" => "proto=tcp".to_owned(),
        "udp" => "proto=udp".to_owned(),
        other => other.to_owned(),
    };
    let option = extra.translated.get(&option).map_or(option, ToString::to_string);
    match option.split_once('=') {
        Some(("size", size)) => kilobytes(size).map_or(option.clone(), |size| format!("size={size}k")),
        Some(("user", name)) if fstype == "cifs" => format!("username={name}"),
        Some(("mode", mode)) => format!("mode={}", mode.trim_start_matches('0')),
        _ => numbered(machine, &option),
    }
}

fn kilobytes(size: &str) -> Option<u64> {
    let (number, unit) = size.split_at(size.find(|c: char| !c.is_ascii_digit()).unwrap_or(size.len()));
    let number: u64 = number.parse().ok()?;
    match unit {
        "" => Some(number / 1024),
        "k" | "K" => Some(number),
        "m" | "M" => number.checked_mul(1024),
        "g" | "G" => number.checked_mul(1024 * 1024),
        _ => None,
    }
}

fn is_fine(mount: &ActiveMount, fstype: &str, option: &str, extra: &Extra) -> bool {
    let key = option.split('=').next().unwrap_or_default();
    let shown = |option: &str| {
        let same = |known: &String| known == option || size_of(known).is_some_and(|size| Some(size) == size_of(option));
        mount.options.iter().any(same) || mount.super_options.iter().any(same)
    };
    let ignored = extra.ignored.get(fstype).map(listed).unwrap_or_default();
    match option {
        "rw" => !shown("ro"),
        "ro" => shown("ro"),
        _ if shown(option) => true,
        _ if key.starts_with("x-") => true,
        _ if INVISIBLE.contains(&option) || extra.invisible.iter().any(|known| known == option) => true,
        _ if INVISIBLE_KEYS.contains(&key) || extra.invisible_keys.iter().any(|known| known == key) => true,
        _ if fstype == "ramfs" && key == "size" => true,
        _ if ignored.iter().any(|known| known == key) => true,
        // A tmpfs does not list its defaults, and lists a percentage of the memory as bytes.
        "uid=0" | "gid=0" | "mode=1777" if fstype == "tmpfs" => true,
        _ if key == "size" && option.ends_with('%') => true,
        _ => UNLESS.iter().any(|(known, opposite)| *known == option && !shown(opposite)),
    }
}

fn size_of(option: &str) -> Option<u64> {
    option.strip_prefix("size=").and_then(kilobytes)
}

impl Extra {
    pub fn new(invisible: &Value, hidden: &Value, keys: &Value, ignored: &Value, translated: &Value) -> Extra {
        let map = |value: &Value| value.as_map().cloned().unwrap_or_default();
        Extra {
            invisible: listed(invisible).into_iter().chain(listed(hidden)).collect(),
            invisible_keys: listed(keys),
            ignored: map(ignored),
            translated: map(translated),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn only_what_is_not_so_is_missing() {
        let split = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        let mount = ActiveMount {
            id: String::new(),
            parent: String::new(),
            number: String::new(),
            root: "/".into(),
            point: "/m".into(),
            options: split("ro,nosuid,relatime"),
            fstype: "tmpfs".into(),
            device: "tmpfs".into(),
            super_options: split("rw,size=10240k,mode=755,uid=5"),
        };
        let machine = Fake::new();
        for (wanted, expected) in [
            ("defaults,nofail,x-systemd.automount,size=10m,mode=0755,uid=5", ""),
            ("size=20m", "size=20480k"),
            ("rw", "rw"),
            ("ro,nosuid", ""),
            ("suid,exec,noexec", "noexec,suid"),
            ("mode=1777,gid=0,size=50%", ""),
            ("password=x,secret", "secret"),
        ] {
            assert_eq!(
                missing(&machine, &mount, "tmpfs", &split(wanted), &Extra::default()).join(","),
                expected,
                "{wanted}"
            );
        }
        let extra = Extra { invisible: vec!["secret".into()], ..Extra::default() };
        assert_eq!(missing(&machine, &mount, "tmpfs", &split("secret"), &extra), Vec::<String>::new());
    }
}
