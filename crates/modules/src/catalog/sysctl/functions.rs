//! `sysctl`'s functions.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::super::{Function, tool};
use super::config::{SysctlConfig, default_path};
use super::kernel;
use crate::Result;
use crate::machine::System;

/// The current value of a kernel parameter.
///
/// ```text
/// rocksalt '*' sysctl.get net.ipv4.ip_forward
/// ```
#[function("sysctl.get", reads)]
pub struct Get {
    /// The parameter.
    name: String,
}

impl Function for Get {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        // The message of the program `sysctl`, for which templates check; an error would end the template.
        let path = kernel::path_of(&self.name)?;
        let missing = || format!("sysctl: cannot stat {path}: No such file or directory");
        Ok(kernel::get(machine, &self.name)?.unwrap_or_else(missing))
    }
}

/// All kernel parameters as they are now, or as a file sets them.
///
/// ```text
/// rocksalt '*' sysctl.show
/// rocksalt '*' sysctl.show config_file=/etc/sysctl.conf
/// ```
#[function("sysctl.show", reads)]
pub struct Show {
    /// The file; an empty list is the answer if there is none.
    config_file: Value,
}

impl Function for Show {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        if !self.config_file.truth() {
            return Ok(kernel::all(machine).into());
        }
        let config = SysctlConfig::read(machine, &self.config_file.to_string())?;
        Ok(config.map_or(Value::List(Vec::new()), |config| config.values().into()))
    }
}

/// The file that parameters are written to by default.
///
/// ```text
/// rocksalt '*' sysctl.default_config
/// ```
#[function("sysctl.default_config", reads)]
pub struct DefaultConfig {}

impl Function for DefaultConfig {
    type Output = &'static str;

    fn call(self, machine: &dyn System) -> Result<&'static str> {
        Ok(default_path(machine))
    }
}

/// Sets a kernel parameter until the next boot.
///
/// ```text
/// rocksalt '*' sysctl.assign net.ipv4.ip_forward 1
/// ```
#[function("sysctl.assign", changes)]
pub struct Assign {
    /// The parameter.
    name: String,
    /// Its value.
    value: String,
}

impl Function for Assign {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        kernel::assign(machine, &self.name, &self.value)?;
        Ok([(self.name.into(), self.value.into())].into_iter().collect())
    }
}

/// Sets a kernel parameter, at once and for every boot: `Updated` or `Already set`.
///
/// ```text
/// rocksalt '*' sysctl.persist net.ipv4.ip_forward 1
/// ```
#[function("sysctl.persist", changes)]
pub struct Persist {
    /// The parameter.
    name: String,
    /// Its value.
    value: String,
    /// The file that it is written to.
    config: Option<String>,
}

impl Function for Persist {
    type Output = &'static str;

    fn call(self, machine: &dyn System) -> Result<&'static str> {
        let path = self.config.as_deref().unwrap_or(default_path(machine));
        let current = kernel::get(machine, &self.name)?.ok_or_else(|| kernel::missing(&self.name))?;
        let config = SysctlConfig::read(machine, path)?;
        let stays = config.as_ref().is_some_and(|config| config.sets(&self.name, &self.value));
        let is_now = kernel::same(&current, &self.value);
        if !is_now {
            kernel::assign(machine, &self.name, &self.value)?;
        }
        if !stays {
            let content = config.unwrap_or_else(SysctlConfig::fresh).with(&self.name, &self.value);
            tool::write(machine, path, content.as_bytes(), None)?;
        }
        Ok(if is_now && stays { "Already set" } else { "Updated" })
    }
}
