//! The text of the file of mail aliases.

use std::path::Path;

use crate::catalog::file::followed;
use crate::catalog::user::tool;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// `aliases.file` of the configuration, otherwise `/etc/aliases`.
pub fn path(machine: &dyn Probe) -> String {
    machine.options().get("aliases.file").map_or("/etc/aliases".into(), ToString::to_string)
}

pub fn read(machine: &dyn Probe) -> Result<String> {
    let path = path(machine);
    match machine.read(Path::new(&path)) {
        Ok(content) => Ok(String::from_utf8_lossy(&content).into_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Error::io("read", &path, &error)),
    }
}

/// Writes the file, and runs `newaliases` if it exists.
pub fn write(machine: &dyn System, text: &str) -> Result<(), String> {
    let path = path(machine);
    let real = followed(machine, Path::new(&path));
    let fault = |error: std::io::Error| Error::io("write", &path, &error).to_string();
    let fresh = !matches!(machine.stat(&real, true), Ok(Some(_)));
    machine.write(&real, text.as_bytes(), fresh.then_some(0o644)).map_err(fault)?;
    if tool::is_there(machine, "newaliases") {
        tool::run(machine, &tool::words(&["newaliases"]), None)?;
    }
    Ok(())
}

/// An alias, its target, and the comment after them with the space before it.
fn parse(line: &str) -> Option<(&str, &str, &str)> {
    let bare = line.trim_end();
    let (name, rest) = bare.split_once(':').filter(|(name, _)| !name.contains('#'))?;
    let rest = rest.trim_start();
    let end = rest.find(" #").or_else(|| rest.find("\t#")).unwrap_or(rest.len());
    let target = rest[..end].trim_end();
    let name = name.trim();
    (!name.is_empty() && !target.is_empty()).then_some((name, target, &rest[target.len()..]))
}

pub fn all(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(parse).map(|(name, target, _)| (name, target))
}

/// As in Salt, the last entry counts.
pub fn target<'a>(text: &'a str, alias: &str) -> Option<&'a str> {
    all(text).filter(|(name, _)| *name == alias).last().map(|(_, target)| target)
}

/// Sets the alias, or removes it (`None`).
pub fn changed(text: &str, alias: &str, target: Option<&str>) -> String {
    let mut target = target;
    let mut new = String::new();
    for line in text.split_inclusive('\n') {
        match parse(line) {
            Some((name, _, remark)) if name == alias => {
                if let Some(target) = target.take() {
                    new.push_str(&format!("{alias}: {target}{remark}\n"));
                }
            }
            _ => new.push_str(line),
        }
    }
    if let Some(target) = target {
        if !new.is_empty() && !new.ends_with('\n') {
            new.push('\n');
        }
        new.push_str(&format!("{alias}: {target}\n"));
    }
    new
}

/// Checks that name and target fit on one line.
pub fn check(alias: &str, target: &str) -> Result<()> {
    if alias.is_empty() || alias.contains([':', '#', '\n', '\r']) {
        return Err(Error::arguments(format!("'{}' can't be an alias", alias.escape_debug())));
    }
    if target.is_empty() || target.contains(['\n', '\r']) {
        return Err(Error::arguments("target can not be an empty string, nor have several lines"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_lines_stay() {
        let text = "# remark: no\nroot:\talice # the boss\npostmaster: root\n\nodd\nlast: x";
        assert_eq!(target(text, "root"), Some("alice"));
        assert_eq!(target(text, "nosuch"), None);
        let new = changed(text, "root", Some("bob, eve"));
        assert_eq!(new, "# remark: no\nroot: bob, eve # the boss\npostmaster: root\n\nodd\nlast: x");
        assert!(changed(text, "new", Some("y")).ends_with("last: x\nnew: y\n"));
        assert_eq!(changed(text, "postmaster", None), "# remark: no\nroot:\talice # the boss\n\nodd\nlast: x");
    }
}
