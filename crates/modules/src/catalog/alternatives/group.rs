//! The choices of an alternative with their priorities, as the system's own program lists them.

use std::path::Path;

use rocksalt_core::Value;

use super::super::tool;
use crate::machine::Probe;
use crate::{Error, Result};

/// An alternative with its choices.
#[derive(Debug, PartialEq)]
pub struct AlternativesGroup {
    /// The best choice is used automatically, not one that a user chose.
    pub automatic: bool,
    /// In the program's order.
    choices: Vec<(String, i64)>,
}

impl AlternativesGroup {
    /// `None` if there is no such name.
    pub fn look(machine: &dyn Probe, name: &str) -> Result<Option<AlternativesGroup>> {
        let (known, text) = displayed(machine, name)?;
        Ok(known.then(|| AlternativesGroup::read(&text)))
    }

    fn read(text: &str) -> AlternativesGroup {
        let first = text.lines().next().unwrap_or_default();
        let choice = |line: &str| {
            let (path, rest) = line.strip_prefix('/')?.split_once(" - ")?;
            let number = rest.rsplit_once("priority ")?.1.split_whitespace().next()?;
            Some((format!("/{path}"), number.parse().ok()?))
        };
        AlternativesGroup {
            automatic: first.contains(" auto mode") || first.contains("status is auto"),
            choices: text.lines().filter_map(choice).collect(),
        }
    }

    pub fn has(&self, path: &str) -> bool {
        self.choices.iter().any(|(choice, _)| choice == path)
    }

    /// The automatic choice if one path were removed.
    pub fn best_without(&self, gone: Option<&str>) -> Option<&str> {
        let mut best: Option<&(String, i64)> = None;
        for choice in self.choices.iter().filter(|(path, _)| Some(path.as_str()) != gone) {
            if best.is_none_or(|best| choice.1 > best.1) {
                best = Some(choice);
            }
        }
        best.map(|(path, _)| path.as_str())
    }
}

pub fn current(machine: &dyn Probe, name: &str) -> Result<Option<String>> {
    sound(name)?;
    let path = Path::new("/etc/alternatives").join(name);
    Ok(machine.read_link(&path).ok().map(|target| target.to_string_lossy().into_owned()))
}

/// Checks a name, which becomes part of a path and of a command line.
pub fn sound(name: &str) -> Result<()> {
    match name.is_empty() || name.starts_with(['-', '.']) || name.contains(['/', '\0']) {
        true => Err(Error::arguments(format!("'{name}' is no name of an alternative"))),
        false => Ok(()),
    }
}

/// The output of the system's own program for a name; empty if it fails.
pub fn displayed(machine: &dyn Probe, name: &str) -> Result<(bool, String)> {
    sound(name)?;
    let output = machine.query(&tool::command(&[program(machine), "--display", name]))?;
    let failed = !output.success() && !output.stderr.is_empty();
    let text = if failed { String::from_utf8_lossy(&output.stderr).into_owned() } else { output.text() };
    Ok((!failed, text.trim_end().to_owned()))
}

/// The name of the program on this system.
pub fn program(machine: &dyn Probe) -> &'static str {
    match machine.grains().get("os_family").and_then(Value::as_str) {
        Some("RedHat") => "alternatives",
        _ => "update-alternatives",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read() {
        let text = "pager - manual mode\n  link best version is /usr/bin/less\n  link currently points to /bin/more\n  \
                    link pager is /usr/bin/pager\n  slave pager.1.gz is /usr/share/man/man1/pager.1.gz\n/bin/more - \
                    priority 50\n  slave pager.1.gz: /usr/share/man/man1/more.1.gz\n/usr/bin/less - priority 77\n\
                    /usr/bin/lesser - priority 77\n";
        let group = AlternativesGroup::read(text);
        assert!(!group.automatic && group.has("/bin/more") && !group.has("/bin/mor"));
        assert_eq!(group.best_without(None), Some("/usr/bin/less"));
        assert_eq!(group.best_without(Some("/usr/bin/less")), Some("/usr/bin/lesser"));
        assert!(AlternativesGroup::read("editor - auto mode\n").automatic);
        let other = AlternativesGroup::read(
            "java - status is manual.\n link currently points to /j\n/j - family x priority 5\n",
        );
        assert_eq!((other.automatic, other.has("/j")), (false, true));
    }
}
