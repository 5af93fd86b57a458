//! `config`: what the target was told by its configuration.

mod look;

pub(super) use look::option;

use rocksalt_core::{Map, Value};
use serde::Deserialize;

use super::{Entry, Function, entry};
use crate::machine::System;
use crate::{Error, Result};

pub const FUNCTIONS: &[Entry] = &[
    entry::<BackupMode>(),
    entry::<DotVals>(),
    entry::<GatherBootstrapScript>(),
    entry::<look::Get>(),
    entry::<Items>(),
    entry::<ManageMode>(),
    entry::<look::Merge>(),
    entry::<look::OptionOf>(),
    entry::<ValidFileproto>(),
];

fn empty() -> Value {
    "".into()
}

fn colon() -> String {
    ":".into()
}

/// All options of the target.
///
/// ```text
/// rocksalt '*' config.items
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Items {}

impl Function for Items {
    const NAME: &'static str = "config.items";
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(machine.options().clone())
    }
}

/// All options whose name begins with a word and a dot.
///
/// ```text
/// rocksalt '*' config.dot_vals host
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct DotVals {
    /// The word.
    value: String,
}

impl Function for DotVals {
    const NAME: &'static str = "config.dot_vals";
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let start = format!("{}.", self.value);
        let pillar = machine.pillar()?;
        let master = pillar.get("master").and_then(Value::as_map);
        let all = master.into_iter().flat_map(Map::iter).chain(machine.options().iter());
        let fitting = all.filter(|(name, _)| name.to_string().starts_with(&start));
        Ok(fitting.map(|(name, value)| (name.clone(), value.clone())).collect())
    }
}

/// A file's mode as four octal digits, however it was written.
///
/// ```text
/// rocksalt '*' config.manage_mode 644
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ManageMode {
    /// The mode.
    mode: Value,
}

impl Function for ManageMode {
    const NAME: &'static str = "config.manage_mode";
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        Ok(match self.mode {
            Value::Null => Value::Null,
            mode => {
                let text = mode.to_string();
                let digits = text.trim_matches(['\'', '"']).trim_start_matches("0o");
                if digits.is_empty() || !digits.chars().all(|letter| letter.is_digit(8)) {
                    return Ok(digits.into());
                }
                let digits = digits.trim_start_matches('0');
                format!("{digits:0>4}").into()
            }
        })
    }
}

/// Whether files can be fetched from a kind of address.
///
/// ```text
/// rocksalt '*' config.valid_fileproto salt://path/to/file
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ValidFileproto {
    /// The address.
    uri: String,
}

impl Function for ValidFileproto {
    const NAME: &'static str = "config.valid_fileproto";
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(["salt://", "http://", "https://", "file://"].iter().any(|known| self.uri.starts_with(known)))
    }
}

/// How files are kept before they are changed: as given, or else as configured.
///
/// ```text
/// rocksalt '*' config.backup_mode
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct BackupMode {
    /// The mode to use, if any.
    #[serde(default)]
    backup: Option<String>,
}

impl Function for BackupMode {
    const NAME: &'static str = "config.backup_mode";
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        Ok(match self.backup.filter(|backup| !backup.is_empty()) {
            Some(backup) => backup.into(),
            None => look::option(machine, "backup_mode")?.unwrap_or_else(empty),
        })
    }
}

/// Says that no bootstrap script is needed here.
///
/// ```text
/// rocksalt '*' config.gather_bootstrap_script
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct GatherBootstrapScript {
    /// Taken and ignored.
    #[serde(default)]
    #[allow(dead_code, reason = "taken for Salt's sake")]
    bootstrap: Value,
}

impl Function for GatherBootstrapScript {
    const NAME: &'static str = "config.gather_bootstrap_script";
    type Output = ();

    fn call(self, _: &dyn System) -> Result<()> {
        Err(Error::failed("there is no bootstrap script").hint("targets need nothing installed: a login is enough"))
    }
}
