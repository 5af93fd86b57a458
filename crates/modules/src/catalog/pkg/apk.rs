//! Alpine's packages.

use std::cmp::Ordering;
use std::path::Path;

use super::{Provider, output, sound};
use crate::machine::{Command, Probe};
use crate::{Error, Result};

pub struct Apk;

impl Provider for Apk {
    fn families(&self) -> &'static [&'static str] {
        &["Alpine"]
    }

    fn installed(&self, machine: &dyn Probe) -> Result<Vec<(String, String)>> {
        let path = Path::new("/lib/apk/db/installed");
        let content = machine.read(path).map_err(|error| Error::io("read", path, &error))?;
        let mut found = Vec::new();
        let mut name = None;
        for line in String::from_utf8_lossy(&content).lines() {
            match line.split_once(':') {
                Some(("P", value)) => name = Some(value.to_owned()),
                Some(("V", value)) => found.extend(name.take().map(|name| (name, value.to_owned()))),
                _ => {}
            }
        }
        found.sort();
        Ok(found)
    }

    fn newest(&self, machine: &dyn Probe, name: &str) -> Result<Option<String>> {
        let name = sound(name)?;
        let output = machine.query(&Command::new(["apk", "policy", name]))?;
        let text = output.text();
        // The first line is the name, the second the version that apk would choose.
        let version = text.lines().nth(1).map(|line| line.trim().trim_end_matches(':').to_owned());
        Ok(version.filter(|version| output.success() && !version.is_empty()))
    }

    fn compare(&self, machine: &dyn Probe, one: &str, other: &str) -> Result<Ordering> {
        let sign = output(machine, &["apk", "version", "-t", sound(one)?, sound(other)?])?;
        Ok(match sign.trim() {
            "<" => Ordering::Less,
            ">" => Ordering::Greater,
            _ => Ordering::Equal,
        })
    }
}
