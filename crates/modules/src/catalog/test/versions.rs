//! The versions of the agent and the system.

use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::Function;
use crate::Result;
use crate::machine::System;

/// The versions of the agent and of the system under it, as text.
///
/// ```text
/// rocksalt '*' test.versions
/// ```
#[function("test.versions", reads, repeatable, also("test.versions_report"))]
pub struct Versions {}

impl Function for Versions {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let mut text = String::new();
        for (title, group) in versions(machine) {
            text.push_str(&format!("{title}:\n"));
            for (name, version) in group {
                text.push_str(&format!("{name:>22}: {version}\n"));
            }
        }
        Ok(text)
    }
}

/// The versions of the agent and of the system under it.
///
/// ```text
/// rocksalt '*' test.versions_information
/// ```
#[function("test.versions_information", reads, repeatable)]
pub struct VersionsInformation {}

impl Function for VersionsInformation {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let groups = versions(machine).into_iter().map(|(title, group)| {
            let group: Map = group.into_iter().map(|(name, version)| (name.into(), version.into())).collect();
            (title.into(), Value::Map(group))
        });
        Ok(groups.collect())
    }
}

fn versions(machine: &dyn System) -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let read = |path: &str| {
        let content = machine.read(Path::new(path)).unwrap_or_default();
        String::from_utf8_lossy(&content).trim().to_owned()
    };
    let release = read("/etc/os-release");
    let pretty = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or_default();
    vec![
        ("Rocksalt Version", vec![("Rocksalt", env!("CARGO_PKG_VERSION").to_owned())]),
        (
            "System Versions",
            vec![
                ("dist", pretty.trim_matches('"').to_owned()),
                ("machine", std::env::consts::ARCH.to_owned()),
                ("release", read("/proc/sys/kernel/osrelease")),
                ("system", read("/proc/sys/kernel/ostype")),
            ],
        ),
    ]
}
