//! Functions for the settings of repositories and users.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::super::Function;
use super::run::{Fault, Git};
use super::{read, sound};
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// Selects the configuration: of a repository, a user or the system.
pub struct ConfigScope<'a> {
    pub repository: Option<&'a str>,
    pub global: bool,
    pub user: Option<&'a str>,
}

impl ConfigScope<'_> {
    /// All values of a setting; none if it isn't set.
    pub fn get(&self, machine: &dyn Probe, key: &str) -> Result<Option<Vec<String>>> {
        let output = self.looking(machine)?.end(&self.words(&["--null", "--get-all", sound::name("key", key)?]))?;
        match output.code {
            0 => {
                let text = output.text();
                Ok(Some(text.strip_suffix('\0').unwrap_or(&text).split('\0').map(str::to_owned).collect()))
            }
            1 => Ok(None),
            code => Err(refused("read the setting", key, code, &output.stderr)),
        }
    }

    /// The settings whose names match, with their values.
    pub fn matching(&self, machine: &dyn Probe, key: &str, value: Option<&str>) -> Result<Map> {
        let mut words = self.words(&["--null", "--get-regexp", sound::name("key", key)?]);
        words.extend(value.map(str::to_owned));
        let output = self.looking(machine)?.end(&words)?;
        match output.code {
            0 => Ok(read::settings(&output.text())),
            1 => Ok(Map::new()),
            code => Err(refused("read the settings", key, code, &output.stderr)),
        }
    }

    pub fn set(&self, machine: &dyn System, key: &str, values: &[String], add: bool) -> Result<(), Fault> {
        let git = Git::acting(machine, self.directory(machine), self.user);
        for (index, value) in values.iter().enumerate() {
            let verb = if add || index > 0 { "--add" } else { "--replace-all" };
            git.output(&self.words(&[verb, key, value]))?;
        }
        Ok(())
    }

    pub fn unset(&self, machine: &dyn System, key: &str, value: Option<&str>, all: bool) -> Result<(), String> {
        let mut words = self.words(&[if all { "--unset-all" } else { "--unset" }, key]);
        words.extend(value.map(str::to_owned));
        let git = Git::acting(machine, self.directory(machine), self.user);
        let output = git.end(&words).map_err(|error| error.to_string())?;
        match output.code {
            0 => Ok(()),
            1 => Err("Section or key is invalid".into()),
            5 if self.get(machine, key).is_ok_and(|found| found.is_none()) => {
                Err(format!("Key '{key}' does not exist"))
            }
            5 if value.is_some() => {
                Err(format!("Multiple values exist for key '{key}' and value_regex matches multiple values"))
            }
            5 => Err(format!("Multiple values exist for key '{key}'")),
            6 => Err("The value_regex is invalid".into()),
            code => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(format!("Failed to unset key '{key}', git config returned exit code {code}; {}", said.trim()))
            }
        }
    }

    fn words(&self, words: &[&str]) -> Vec<String> {
        let whose = if self.global { "--global" } else { "--local" };
        ["config", whose].iter().chain(words).map(|word| (*word).to_owned()).collect()
    }

    fn looking<'a>(&self, machine: &'a dyn Probe) -> Result<Git<'a>> {
        if self.repository.is_none() && !self.global {
            return Err(Error::arguments("'cwd' argument required unless global=True"));
        }
        Ok(Git::looking(machine, self.directory(machine), self.user))
    }

    fn directory(&self, machine: &dyn Probe) -> std::path::PathBuf {
        self.repository.filter(|_| !self.global).map_or("/".into(), |cwd| sound::directory(machine, cwd, self.user))
    }
}

/// One value or several: a list, or a comma-separated text.
pub fn values(value: Option<&str>, multivar: &Value) -> Option<Vec<String>> {
    match (value, multivar) {
        (Some(value), _) => Some(vec![value.to_owned()]),
        (None, Value::Null) => None,
        (None, Value::List(values)) => Some(values.iter().map(ToString::to_string).collect()),
        (None, other) => Some(other.to_string().split(',').map(str::to_owned).collect()),
    }
}

fn refused(doing: &str, key: &str, code: i32, said: &[u8]) -> Error {
    let said = String::from_utf8_lossy(said);
    Error::failed(format!("could not {doing} '{key}' (git ended with {code}): {}", said.trim()))
}

/// The value of a setting; the last one if it has several, nothing if it isn't set.
///
/// ```text
/// rocksalt '*' git.config_get user.email cwd=/srv/site
/// ```
#[function("git.config_get", reads)]
pub struct ConfigGet {
    /// The setting.
    key: String,
    /// The repository; needed unless `global` is set.
    cwd: Option<String>,
    /// The user to run git as.
    user: Option<String>,
    /// For all repositories of the user.
    global: bool,
    /// Return all values as a list.
    all: bool,
}

impl Function for ConfigGet {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let place = ConfigScope { repository: self.cwd.as_deref(), global: self.global, user: self.user.as_deref() };
        Ok(match place.get(machine, &self.key)? {
            None => Value::Null,
            Some(values) if self.all => Value::from(values),
            Some(values) => values.last().cloned().unwrap_or_default().into(),
        })
    }
}

/// The settings whose names match a regular expression, with their values.
///
/// ```text
/// rocksalt '*' git.config_get_regexp 'remote\..*' cwd=/srv/site
/// ```
#[function("git.config_get_regexp", reads)]
pub struct ConfigGetRegexp {
    /// What names must match.
    key: String,
    /// What values must match.
    value_regex: Option<String>,
    /// The repository; needed unless `global` is set.
    cwd: Option<String>,
    /// The user to run git as.
    user: Option<String>,
    /// For all repositories of the user.
    global: bool,
}

impl Function for ConfigGetRegexp {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let place = ConfigScope { repository: self.cwd.as_deref(), global: self.global, user: self.user.as_deref() };
        place.matching(machine, &self.key, self.value_regex.as_deref())
    }
}

/// Sets a setting, and returns its values.
///
/// ```text
/// rocksalt '*' git.config_set user.email me@example.com cwd=/srv/site
/// ```
#[function("git.config_set", changes)]
pub struct ConfigSet {
    /// The setting.
    key: String,
    /// Its value.
    value: Option<String>,
    /// Its values, as a list or a comma-separated text.
    multivar: Value,
    /// The repository; needed unless `global` is set.
    cwd: Option<String>,
    /// The user to run git as.
    user: Option<String>,
    /// For all repositories of the user.
    global: bool,
    /// Keep the values that it has.
    add: bool,
}

impl Function for ConfigSet {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        if self.value.is_some() && !self.multivar.is_null() {
            return Err(Error::arguments("Only one of 'value' and 'multivar' is permitted"));
        }
        let Some(values) = values(self.value.as_deref(), &self.multivar) else {
            return Err(Error::arguments("One of 'value' and 'multivar' is required"));
        };
        sound::name("key", &self.key)?;
        let place = ConfigScope { repository: self.cwd.as_deref(), global: self.global, user: self.user.as_deref() };
        place.looking(machine)?;
        place.set(machine, &self.key, &values, self.add)?;
        Ok(place.get(machine, &self.key)?.unwrap_or_default())
    }
}

/// Removes a setting.
///
/// ```text
/// rocksalt '*' git.config_unset http.proxy cwd=/srv/site
/// ```
#[function("git.config_unset", changes)]
pub struct ConfigUnset {
    /// The setting.
    key: String,
    /// Only values that match.
    value_regex: Option<String>,
    /// The repository; needed unless `global` is set.
    cwd: Option<String>,
    /// The user to run git as.
    user: Option<String>,
    /// For all repositories of the user.
    global: bool,
    /// All values, if it has several.
    all: bool,
}

impl Function for ConfigUnset {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        sound::name("key", &self.key)?;
        let place = ConfigScope { repository: self.cwd.as_deref(), global: self.global, user: self.user.as_deref() };
        place.looking(machine)?;
        place.unset(machine, &self.key, self.value_regex.as_deref(), self.all).map_err(Error::failed)?;
        Ok(true)
    }
}
