//! `npm`'s functions.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::{Function, listed, sound, tool, words};
use crate::machine::System;
use crate::{Error, Result};

/// Installs packages, and returns what npm prints.
///
/// ```text
/// rocksalt '*' npm.install coffee-script dir=/srv/app
/// ```
#[function("npm.install", changes)]
pub struct Install {
    /// The package; without one, what the directory's `package.json` asks for.
    pkg: Option<String>,
    /// Several packages.
    pkgs: Value,
    /// The directory; else for the whole machine.
    dir: Option<String>,
    /// The user to run as.
    runas: Option<String>,
    /// Where to get them from.
    registry: Option<String>,
    /// Variables for npm.
    env: Value,
    /// Run no scripts of packages.
    ignore_scripts: bool,
}

impl Function for Install {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let dir = self.dir.as_deref();
        let names: Vec<String> = crate::text::words::listed(&self.pkgs).into_iter().chain(self.pkg).collect();
        if names.is_empty() && dir.is_none() {
            return Err(Error::arguments("npm.install needs a package, or a directory with a package.json"));
        }
        names.iter().try_for_each(|name| sound(name).map(drop))?;
        let mut line = words(dir, &["install"]);
        if self.ignore_scripts {
            line.push("--ignore-scripts".into());
        }
        line.extend(names);
        run(machine, &tool(dir, self.runas.as_deref(), self.registry.as_deref(), &self.env)?, &line)
    }
}

/// Removes a package.
///
/// ```text
/// rocksalt '*' npm.uninstall coffee-script dir=/srv/app
/// ```
#[function("npm.uninstall", changes)]
pub struct Uninstall {
    /// The package.
    pkg: String,
    /// The directory; else for the whole machine.
    dir: Option<String>,
    /// The user to run as.
    runas: Option<String>,
    /// Variables for npm.
    env: Value,
}

impl Function for Uninstall {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let dir = self.dir.as_deref();
        let line = words(dir, &["uninstall", sound(&self.pkg)?]);
        run(machine, &tool(dir, self.runas.as_deref(), None, &self.env)?, &line)?;
        Ok(true)
    }
}

/// The packages that are installed.
///
/// ```text
/// rocksalt '*' npm.list dir=/srv/app
/// ```
#[function("npm.list", changes)]
pub struct List {
    /// Only this one.
    pkg: Option<String>,
    /// The directory; else for the whole machine.
    dir: Option<String>,
    /// The user to run as.
    runas: Option<String>,
    /// Variables for npm.
    env: Value,
}

impl Function for List {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let dir = self.dir.as_deref();
        let all = listed(machine, &tool(dir, self.runas.as_deref(), None, &self.env)?, dir)?;
        let fits = |name: &Value| self.pkg.as_deref().is_none_or(|pkg| name.as_str() == Some(pkg));
        Ok(all.iter().filter(|(name, _)| fits(name)).map(|(name, value)| (name.clone(), value.clone())).collect())
    }
}

/// Empties npm's cache.
///
/// ```text
/// rocksalt '*' npm.cache_clean force=True
/// ```
#[function("npm.cache_clean", changes)]
pub struct CacheClean {
    /// The user to run as.
    runas: Option<String>,
    /// Newer npms only do it so.
    force: bool,
}

impl Function for CacheClean {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let mut line = vec!["cache".to_owned(), "clean".into()];
        if self.force {
            line.push("--force".into());
        }
        run(machine, &tool(None, self.runas.as_deref(), None, &Value::Null)?, &line)?;
        Ok(true)
    }
}

/// The contents of npm's cache.
///
/// ```text
/// rocksalt '*' npm.cache_list
/// ```
#[function("npm.cache_list", changes)]
pub struct CacheList {
    /// The user to run as.
    runas: Option<String>,
}

impl Function for CacheList {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        Ok(tool(None, self.runas.as_deref(), None, &Value::Null)?
            .text(machine, &["cache", "ls"])?
            .trim_end()
            .to_owned())
    }
}

fn run(machine: &dyn System, tool: &super::Tool, line: &[String]) -> Result<String> {
    let output = tool.act(machine, line)?;
    if output.success() { Ok(output.text().trim_end().to_owned()) } else { Err(tool.failed(line, &output)) }
}
