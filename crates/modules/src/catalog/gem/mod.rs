//! `gem`: Ruby's packages, by the target's own `gem`.

mod functions;
mod states;

use rocksalt_core::{Map, Value};

use super::tool::Tool;
use super::{CatalogFunction, Function, StateEntry, entry, state};
use crate::Result;
use crate::machine::Probe;

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<functions::Install>(),
    entry::<functions::List>(),
    entry::<functions::SourcesAdd>(),
    entry::<functions::SourcesList>(),
    entry::<functions::SourcesRemove>(),
    entry::<functions::Uninstall>(),
];

pub const STATES: &[StateEntry] = &[
    state::<states::Installed>(),
    state::<states::Removed>(),
    state::<states::SourcesAdd>(),
    state::<states::SourcesRemove>(),
];

fn tool(gem_bin: Option<&str>, user: Option<&str>) -> Tool {
    Tool { user: user.map(str::to_owned), ..Tool::new([gem_bin.unwrap_or("gem")]) }
}

/// The installed gems with their versions, newest first.
fn listed(machine: &dyn Probe, tool: &Tool) -> Result<Map> {
    Ok(read(&tool.text(machine, &["list", "--local"])?))
}

fn read(text: &str) -> Map {
    let mut found = Map::new();
    for line in text.lines() {
        let Some((name, versions)) = line.trim().strip_suffix(')').and_then(|line| line.split_once(" (")) else {
            continue;
        };
        let versions = versions.split(", ").map(|version| {
            // `default:` and the platform are not part of a version.
            let version = version.trim_start_matches("default: ");
            Value::from(version.split(' ').next().unwrap_or_default())
        });
        found.insert(name, versions.collect::<Vec<_>>());
    }
    found
}

fn sources(machine: &dyn Probe, tool: &Tool) -> Result<Vec<String>> {
    let text = tool.text(machine, &["sources"])?;
    Ok(text.lines().map(str::trim).filter(|line| line.contains("://")).map(str::to_owned).collect())
}

/// The options of an installation.
struct GemRequest<'a> {
    names: Vec<String>,
    version: Option<&'a str>,
    rdoc: bool,
    pre_releases: bool,
    proxy: Option<&'a str>,
    source: Option<&'a str>,
}

impl GemRequest<'_> {
    fn words(&self) -> Vec<String> {
        let mut words = vec!["install".to_owned()];
        words.extend(self.version.map(|version| format!("--version={version}")));
        if !self.rdoc {
            words.push("--no-document".into());
        }
        if self.pre_releases {
            words.push("--pre".into());
        }
        words.extend(self.proxy.filter(|proxy| !proxy.is_empty()).map(|proxy| format!("--http-proxy={proxy}")));
        words.extend(self.source.map(|source| format!("--source={source}")));
        words.extend(self.names.iter().cloned());
        words
    }
}

/// Checks that a name can't be taken for an option.
fn sound(name: &str) -> Result<&str> {
    match name.is_empty() || name.starts_with('-') || name.contains(char::is_whitespace) {
        true => Err(crate::Error::arguments(format!("'{name}' is no name of a gem"))),
        false => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let text = "\n*** LOCAL GEMS ***\n\nbigdecimal (default: 3.1.3)\nrake (13.1.0, 13.0.6)\nnokogiri (1.16.0 x86_64-linux)\n";
        assert_eq!(
            Value::Map(read(text)).to_string(),
            "{'bigdecimal': ['3.1.3'], 'rake': ['13.1.0', '13.0.6'], 'nokogiri': ['1.16.0']}"
        );
    }
}
