//! `gem`'s functions.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::{Function, GemRequest, listed, sound, sources, tool};
use crate::Result;
use crate::machine::System;

/// Installs gems, and returns what gem prints.
///
/// ```text
/// rocksalt '*' gem.install rake version=13.0.6
/// ```
#[function("gem.install", changes)]
pub struct Install {
    /// The gems, or files with gems: a list, or a comma-separated text.
    #[required]
    gems: Value,
    /// The gem program.
    gem_bin: Option<String>,
    /// The user to run as.
    runas: Option<String>,
    /// The version.
    version: Option<String>,
    /// With documentation.
    rdoc: bool,
    /// Include prereleases.
    pre_releases: bool,
    /// The proxy.
    proxy: Option<String>,
    /// Where to get them from.
    source: Option<String>,
}

impl Function for Install {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let names = crate::text::words::listed(&self.gems);
        names.iter().try_for_each(|name| sound(name).map(drop))?;
        let request = GemRequest {
            names,
            version: self.version.as_deref(),
            rdoc: self.rdoc,
            pre_releases: self.pre_releases,
            proxy: self.proxy.as_deref(),
            source: self.source.as_deref(),
        };
        act(machine, self.gem_bin.as_deref(), self.runas.as_deref(), &request.words())
    }
}

/// Removes gems, and returns what gem prints.
///
/// ```text
/// rocksalt '*' gem.uninstall rake
/// ```
#[function("gem.uninstall", changes)]
pub struct Uninstall {
    /// The gems: a list, or a comma-separated text.
    #[required]
    gems: Value,
    /// The gem program.
    gem_bin: Option<String>,
    /// The user to run as.
    runas: Option<String>,
}

impl Function for Uninstall {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let names = crate::text::words::listed(&self.gems);
        names.iter().try_for_each(|name| sound(name).map(drop))?;
        let words = [
            vec!["uninstall".to_owned(), "--all".into(), "--executables".into(), "--ignore-dependencies".into()],
            names,
        ];
        act(machine, self.gem_bin.as_deref(), self.runas.as_deref(), &words.concat())
    }
}

/// The gems that are installed, with their versions.
///
/// ```text
/// rocksalt '*' gem.list ra
/// ```
#[function("gem.list", changes)]
pub struct List {
    /// Only those whose names begin with this.
    #[default]
    prefix: String,
    /// The gem program.
    gem_bin: Option<String>,
    /// The user to run as.
    runas: Option<String>,
}

impl Function for List {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let all = listed(machine, &tool(self.gem_bin.as_deref(), self.runas.as_deref()))?;
        let fits = |name: &Value| name.as_str().is_some_and(|name| name.starts_with(&self.prefix));
        Ok(all.iter().filter(|(name, _)| fits(name)).map(|(name, versions)| (name.clone(), versions.clone())).collect())
    }
}

/// Adds a source of gems.
///
/// ```text
/// rocksalt '*' gem.sources_add https://gems.example.com/
/// ```
#[function("gem.sources_add", changes)]
pub struct SourcesAdd {
    /// The address.
    source_uri: String,
    /// The gem program.
    gem_bin: Option<String>,
    /// The user to run as.
    runas: Option<String>,
}

impl Function for SourcesAdd {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let words = ["sources", "--add", sound(&self.source_uri)?].map(str::to_owned);
        act(machine, self.gem_bin.as_deref(), self.runas.as_deref(), &words)
    }
}

/// Removes a source of gems.
///
/// ```text
/// rocksalt '*' gem.sources_remove https://gems.example.com/
/// ```
#[function("gem.sources_remove", changes)]
pub struct SourcesRemove {
    /// The address.
    source_uri: String,
    /// The gem program.
    gem_bin: Option<String>,
    /// The user to run as.
    runas: Option<String>,
}

impl Function for SourcesRemove {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let words = ["sources", "--remove", sound(&self.source_uri)?].map(str::to_owned);
        act(machine, self.gem_bin.as_deref(), self.runas.as_deref(), &words)
    }
}

/// The sources of gems.
///
/// ```text
/// rocksalt '*' gem.sources_list
/// ```
#[function("gem.sources_list", changes)]
pub struct SourcesList {
    /// The gem program.
    gem_bin: Option<String>,
    /// The user to run as.
    runas: Option<String>,
}

impl Function for SourcesList {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        sources(machine, &tool(self.gem_bin.as_deref(), self.runas.as_deref()))
    }
}

fn act(machine: &dyn System, gem_bin: Option<&str>, user: Option<&str>, words: &[String]) -> Result<String> {
    let tool = tool(gem_bin, user);
    let output = tool.act(machine, words)?;
    if output.success() { Ok(output.text().trim_end().to_owned()) } else { Err(tool.failed(words, &output)) }
}
