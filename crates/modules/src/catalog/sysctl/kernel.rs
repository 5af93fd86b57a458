//! Reads and writes parameters in `/proc/sys`, since not every target has a program `sysctl`.

use std::path::Path;

use rocksalt_core::Map;

use crate::grains::look;
use crate::machine::{FileKind, Probe, System};
use crate::{Error, Result, error};

const ROOT: &str = "/proc/sys";

/// The file of a parameter. Dots separate parts; in a name whose first separator is a slash, dots are part of the name.
pub fn path_of(name: &str) -> Result<String> {
    let slashes = name.find(['.', '/']).is_some_and(|place| name[place..].starts_with('/'));
    let path: String = match slashes {
        true => name.to_owned(),
        false => name
            .chars()
            .map(|c| {
                if c == '.' {
                    '/'
                } else if c == '/' {
                    '.'
                } else {
                    c
                }
            })
            .collect(),
    };
    let sound = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(['\0', '\n', '=']);
    match path.split('/').all(sound) {
        true => Ok(format!("{ROOT}/{path}")),
        false => Err(Error::arguments(format!("'{name}' is no name of a kernel parameter"))
            .hint("parameters are called like net.ipv4.ip_forward")),
    }
}

/// The current value of a parameter; `None` if the kernel has none with this name.
pub fn get(machine: &dyn Probe, name: &str) -> Result<Option<String>> {
    let path = path_of(name)?;
    match machine.read(Path::new(&path)) {
        Ok(content) => Ok(Some(String::from_utf8_lossy(&content).trim_end_matches('\n').to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", &path, &error)),
    }
}

pub fn assign(machine: &dyn System, name: &str, value: &str) -> Result<()> {
    let path = path_of(name)?;
    if !look::exists(machine, &path) {
        return Err(missing(name));
    }
    // Written in place: the kernel's files can't be replaced.
    machine.append(Path::new(&path), value.as_bytes()).map_err(|error| {
        Error::failed(format!("sysctl -w failed: setting {name} to '{value}' in {path}: {}", error::reason(&error)))
    })
}

pub fn missing(name: &str) -> Error {
    Error::failed(format!("sysctl {name} does not exist")).hint("the kernel module that brings it may not be loaded")
}

/// Compares values, ignoring the kind of white space between parts.
pub fn same(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

/// All readable parameters.
pub fn all(machine: &dyn Probe) -> Map {
    let mut found = Map::new();
    below(machine, ROOT, "", &mut found);
    found
}

fn below(machine: &dyn Probe, folder: &str, prefix: &str, found: &mut Map) {
    for name in look::names(machine, folder) {
        let path = format!("{folder}/{name}");
        // A dot in a name (of an interface) is written as a slash if dots separate.
        let key = format!("{prefix}{}", name.replace('.', "/"));
        match machine.stat(Path::new(&path), false) {
            Ok(Some(stat)) if stat.kind == FileKind::Directory => below(machine, &path, &format!("{key}."), found),
            Ok(Some(stat)) if stat.mode & 0o444 != 0 => {
                if let Some(text) = look::text(machine, &path) {
                    found.insert(key, text.trim_end_matches('\n'));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_paths() {
        for (name, path) in [
            ("vm.swappiness", "/proc/sys/vm/swappiness"),
            ("net.ipv4.conf.eth0/100.forwarding", "/proc/sys/net/ipv4/conf/eth0.100/forwarding"),
            ("net/ipv4/conf/eth0.100/forwarding", "/proc/sys/net/ipv4/conf/eth0.100/forwarding"),
        ] {
            assert_eq!(path_of(name).expect("it is a name"), path);
        }
        for bad in ["", "a..b", "/etc/passwd", "net/../../x", "a.\n"] {
            assert!(path_of(bad).is_err(), "{bad}");
        }
    }
}
