//! `config`: the target's configuration.

mod look;

pub(super) use look::option;

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::{CatalogFunction, Function, entry};
use crate::machine::System;
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] = &[
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
#[function("config.items", reads, repeatable)]
pub struct Items {}

impl Function for Items {
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
#[function("config.dot_vals", reads, repeatable)]
pub struct DotVals {
    /// The word.
    value: String,
}

impl Function for DotVals {
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

/// A file's mode, normalized to four octal digits.
///
/// ```text
/// rocksalt '*' config.manage_mode 644
/// ```
#[function("config.manage_mode", reads, repeatable)]
pub struct ManageMode {
    /// The mode.
    #[required]
    mode: Value,
}

impl Function for ManageMode {
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
#[function("config.valid_fileproto", reads, repeatable)]
pub struct ValidFileproto {
    /// The address.
    uri: String,
}

impl Function for ValidFileproto {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(["salt://", "http://", "https://", "file://"].iter().any(|known| self.uri.starts_with(known)))
    }
}

/// The backup mode for files that are changed: as given, or else as configured.
///
/// ```text
/// rocksalt '*' config.backup_mode
/// ```
#[function("config.backup_mode", reads, repeatable)]
pub struct BackupMode {
    /// The mode to use, if any.
    backup: Option<String>,
}

impl Function for BackupMode {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        Ok(match self.backup.filter(|backup| !backup.is_empty()) {
            Some(backup) => backup.into(),
            None => look::option(machine, "backup_mode")?.unwrap_or_else(empty),
        })
    }
}

/// Fails: there is no bootstrap script.
///
/// ```text
/// rocksalt '*' config.gather_bootstrap_script
/// ```
#[function("config.gather_bootstrap_script", reads, repeatable)]
pub struct GatherBootstrapScript {
    /// Accepted and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    bootstrap: Value,
}

impl Function for GatherBootstrapScript {
    type Output = ();

    fn call(self, _: &dyn System) -> Result<()> {
        Err(Error::failed("there is no bootstrap script").hint("targets need nothing installed: a login is enough"))
    }
}
