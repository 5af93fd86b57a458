//! `pip`'s functions.

use rocksalt_core::{Map, Value};
use rocksalt_macros::{arguments, function};

use super::super::tool::{Tool, ended};
use super::Function;
use super::options::{Options, PipArguments, looking};
use super::requirement::{self, normal};
use super::{find, installed, removed};
use crate::machine::System;
use crate::text::words;
use crate::{Error, Result};

/// Which pip is meant, and how it is run.
#[arguments]
struct WhichPip {
    /// The virtual environment, its python, or a pip; else the target's own.
    bin_env: Option<String>,
    /// The user to run pip as.
    user: Option<String>,
    /// The directory to run in.
    cwd: Option<String>,
}

impl WhichPip {
    fn options(&self) -> Options {
        removed::options(&self.bin_env, &self.user, &self.cwd)
    }
}

/// Installs Python packages.
///
/// ```text
/// rocksalt '*' pip.install 'gunicorn>=20' bin_env=/srv/app/venv
/// ```
#[function("pip.install", changes)]
pub struct Install {
    /// The packages: a list, or a comma-separated text. A comma within a version is written as `;`.
    pkgs: Value,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
    #[flatten]
    pip: PipArguments,
}

impl Function for Install {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let options = self.pip.options()?;
        let packages: Vec<String> = words::listed(&self.pkgs).iter().map(|package| package.replace(';', ",")).collect();
        for package in &packages {
            requirement::read(package).map_err(Error::arguments)?;
        }
        if packages.is_empty() && options.requirements.is_empty() && options.editable.is_empty() {
            return Ok(Map::from_iter([
                ("retcode".into(), 0.into()),
                ("stdout".into(), "No packages to install.".into()),
            ]));
        }
        let saltenv = self.saltenv.as_deref().unwrap_or("base");
        let paths = installed::requirements(machine, &options, saltenv)?.map_err(Error::failed)?;
        Ok(ended(&options.tool(machine)?.act(machine, &options.install(&packages, &paths))?))
    }

    fn retcode(output: &Map) -> i32 {
        output.get("retcode").and_then(Value::as_i64).map_or(0, |code| i32::try_from(code).unwrap_or(1))
    }
}

/// Removes Python packages.
///
/// ```text
/// rocksalt '*' pip.uninstall gunicorn bin_env=/srv/app/venv
/// ```
#[function("pip.uninstall", changes)]
pub struct Uninstall {
    /// The packages: a list, or a comma-separated text.
    #[required]
    pkgs: Value,
    #[flatten]
    which: WhichPip,
    /// Further options as they are.
    extra_args: Vec<Value>,
}

impl Function for Uninstall {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let mut options = self.which.options();
        options.further(&self.extra_args)?;
        let packages = words::listed(&self.pkgs);
        let words = [vec!["uninstall".to_owned(), "-y".into()], options.words.clone(), vec!["--".into()], packages];
        Ok(ended(&options.tool(machine)?.act(machine, &words.concat())?))
    }

    fn retcode(output: &Map) -> i32 {
        Install::retcode(output)
    }
}

/// The Python packages that are installed, with their versions.
///
/// ```text
/// rocksalt '*' pip.list bin_env=/srv/app/venv
/// ```
#[function("pip.list", changes)]
pub struct List {
    /// Only those whose names begin with this.
    prefix: Option<String>,
    #[flatten]
    which: WhichPip,
}

impl Function for List {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let tool = self.which.options().tool(machine)?;
        let prefix = self.prefix.as_deref().map(normal).unwrap_or_default();
        let all = find::installed(machine, &tool)?;
        let fits = |name: &Value| name.as_str().is_some_and(|name| name.starts_with(&prefix));
        Ok(all.iter().filter(|(name, _)| fits(name)).map(|(name, version)| (name.clone(), version.clone())).collect())
    }
}

/// The installed packages, as lines of a requirements file.
///
/// ```text
/// rocksalt '*' pip.freeze bin_env=/srv/app/venv
/// ```
#[function("pip.freeze", changes)]
pub struct Freeze {
    #[flatten]
    which: WhichPip,
}

impl Function for Freeze {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let tool = self.which.options().tool(machine)?;
        freeze(machine, &tool)
    }
}

pub fn freeze(machine: &dyn crate::machine::Probe, tool: &Tool) -> Result<Vec<String>> {
    Ok(looking(tool).text(machine, &["freeze", "--all"])?.lines().map(str::to_owned).collect())
}

/// The version of pip.
///
/// ```text
/// rocksalt '*' pip.version
/// ```
#[function("pip.version", changes)]
pub struct Version {
    #[flatten]
    which: WhichPip,
}

impl Function for Version {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let tool = self.which.options().tool(machine)?;
        let text = looking(&tool).text(machine, &["--version"])?;
        Ok(text.split_whitespace().nth(1).unwrap_or_default().to_owned())
    }
}

/// Whether a Python package is installed.
///
/// ```text
/// rocksalt '*' pip.is_installed gunicorn
/// ```
#[function("pip.is_installed", changes)]
pub struct IsInstalled {
    /// The package.
    pkgname: String,
    #[flatten]
    which: WhichPip,
}

impl Function for IsInstalled {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let tool = self.which.options().tool(machine)?;
        Ok(find::installed(machine, &tool)?.contains_key(normal(&self.pkgname).as_str()))
    }
}

/// The packages that have newer versions.
///
/// ```text
/// rocksalt '*' pip.list_upgrades bin_env=/srv/app/venv
/// ```
#[function("pip.list_upgrades", changes)]
pub struct ListUpgrades {
    #[flatten]
    which: WhichPip,
}

impl Function for ListUpgrades {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let tool = self.which.options().tool(machine)?;
        let one = |[name, _, latest, kind]: [String; 4]| (name.into(), format!("{latest} [{kind}]").into());
        Ok(find::outdated(machine, &tool)?.into_iter().map(one).collect())
    }
}

/// Upgrades all packages to their newest versions, and returns what changed.
///
/// ```text
/// rocksalt '*' pip.upgrade bin_env=/srv/app/venv
/// ```
#[function("pip.upgrade", changes)]
pub struct Upgrade {
    #[flatten]
    which: WhichPip,
}

impl Function for Upgrade {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let tool = self.which.options().tool(machine)?;
        let names: Vec<String> = find::outdated(machine, &tool)?.into_iter().map(|[name, ..]| name).collect();
        let options = self.which.options();
        let (changes, errors) = removed::upgrade(machine, &options, &names)?;
        Ok(Map::from_iter([
            ("changes".into(), changes.into()),
            ("result".into(), errors.is_empty().into()),
            ("comment".into(), errors.join("\n").into()),
        ]))
    }
}

/// The normalized form of a name: lower case, and one dash for any run of separators.
///
/// ```text
/// rocksalt '*' pip.normalize Zope.Interface
/// ```
#[function("pip.normalize", reads)]
pub struct Normalize {
    /// The package.
    name: String,
}

impl Function for Normalize {
    type Output = String;

    fn call(self, _: &dyn System) -> Result<String> {
        Ok(normal(&self.name))
    }
}
