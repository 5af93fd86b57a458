//! `config`: what the target was told by its configuration.

use rocksalt_core::{Map, Value};
use serde::Deserialize;

use super::{Entry, Function, entry};
use crate::machine::System;
use crate::text::glob;
use crate::{Error, Result};

pub const FUNCTIONS: &[Entry] = &[
    entry::<BackupMode>(),
    entry::<DotVals>(),
    entry::<GatherBootstrapScript>(),
    entry::<Get>(),
    entry::<Items>(),
    entry::<ManageMode>(),
    entry::<Merge>(),
    entry::<OptionOf>(),
    entry::<ValidFileproto>(),
];

fn empty() -> Value {
    "".into()
}

fn colon() -> String {
    ":".into()
}

/// The value of an option of the target, or else the grain of that name.
///
/// ```text
/// rocksalt '*' config.get file_roots
/// rocksalt '*' config.get 'pkg:apache' httpd
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Get {
    /// The name; colons lead into maps and lists.
    key: String,
    /// What to give if there is none.
    #[serde(default = "empty")]
    default: Value,
    /// What stands between the parts of the name.
    #[serde(default = "colon")]
    delimiter: String,
    /// `recurse` or `overwrite`: put the maps of all sources together.
    #[serde(default)]
    merge: Option<String>,
    /// Leave out the target's options.
    #[serde(default)]
    omit_opts: bool,
    /// Leave out the pillar; there is none yet.
    #[serde(default)]
    #[allow(dead_code, reason = "taken for Salt's sake")]
    omit_pillar: bool,
    /// Leave out the controller's configuration; it isn't shown to targets.
    #[serde(default)]
    #[allow(dead_code, reason = "taken for Salt's sake")]
    omit_master: bool,
    /// Leave out the grains.
    #[serde(default)]
    omit_grains: bool,
}

impl Function for Get {
    const NAME: &'static str = "config.get";
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let grains = machine.grains();
        let mut sources = Vec::new();
        if !self.omit_opts {
            sources.push(machine.options().clone());
        }
        if !self.omit_grains {
            sources.push((*grains).clone());
            // Salt's users also write `grains:os`.
            sources.push(Map::from_iter([("grains".into(), Value::Map((*grains).clone()))]));
        }
        let found = sources.into_iter().filter_map(|source| {
            let source = Value::Map(source);
            source.walk(&self.key, &self.delimiter).cloned()
        });
        match self.merge.as_deref() {
            None | Some("") => Ok(found.into_iter().next().unwrap_or(self.default)),
            Some("recurse" | "overwrite") => {
                let deep = self.merge.as_deref() == Some("recurse");
                let mut found: Vec<Value> = found.collect();
                let Some(mut whole) = found.pop() else { return Ok(self.default) };
                while let Some(over) = found.pop() {
                    lay_over(&mut whole, over, deep);
                }
                Ok(whole)
            }
            Some(other) => Err(Error::arguments(format!("merge: '{other}' is neither recurse nor overwrite"))),
        }
    }
}

/// The value of an option of the target.
///
/// ```text
/// rocksalt '*' config.option hash_type
/// rocksalt '*' config.option 'log_*' wildcard=True
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct OptionOf {
    /// The name.
    value: String,
    /// What to give if there is none.
    #[serde(default = "empty")]
    default: Value,
    /// Leave out the target's options.
    #[serde(default)]
    omit_opts: bool,
    /// Leave out the grains.
    #[serde(default)]
    omit_grains: bool,
    /// Leave out the pillar; there is none yet.
    #[serde(default)]
    #[allow(dead_code, reason = "taken for Salt's sake")]
    omit_pillar: bool,
    /// Leave out the controller's configuration; it isn't shown to targets.
    #[serde(default)]
    #[allow(dead_code, reason = "taken for Salt's sake")]
    omit_master: bool,
    /// Leave out everything.
    #[serde(default)]
    omit_all: bool,
    /// The name is a shell pattern, and all options that match are given.
    #[serde(default)]
    wildcard: bool,
}

impl Function for OptionOf {
    const NAME: &'static str = "config.option";
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let grains = machine.grains();
        let mut sources: Vec<&Map> = Vec::new();
        if !self.omit_opts && !self.omit_all {
            sources.push(machine.options());
        }
        if !self.omit_grains && !self.omit_all {
            sources.push(&grains);
        }
        if !self.wildcard {
            return Ok(sources.iter().find_map(|source| source.get(&self.value)).cloned().unwrap_or(self.default));
        }
        let mut found = Map::new();
        for source in sources {
            for (name, value) in source.iter().filter(|(name, _)| glob::matches(&self.value, &name.to_string())) {
                if found.get_value(name).is_none() {
                    found.insert(name.clone(), value.clone());
                }
            }
        }
        Ok(if found.is_empty() { self.default } else { found.into() })
    }
}

/// The value of an option, with the maps or lists of all sources put together.
///
/// ```text
/// rocksalt '*' config.merge schedule
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Merge {
    /// The name.
    value: String,
    /// What to give if there is none.
    #[serde(default = "empty")]
    default: Value,
    /// Leave out the target's options.
    #[serde(default)]
    omit_opts: bool,
    /// Leave out the controller's configuration; it isn't shown to targets.
    #[serde(default)]
    #[allow(dead_code, reason = "taken for Salt's sake")]
    omit_master: bool,
    /// Leave out the pillar; there is none yet.
    #[serde(default)]
    #[allow(dead_code, reason = "taken for Salt's sake")]
    omit_pillar: bool,
}

impl Function for Merge {
    const NAME: &'static str = "config.merge";
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let found = if self.omit_opts { None } else { machine.options().get(&self.value) };
        Ok(found.cloned().unwrap_or(self.default))
    }
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
        let options = machine.options().iter().filter(|(name, _)| name.to_string().starts_with(&start));
        Ok(options.map(|(name, value)| (name.clone(), value.clone())).collect())
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
            None => machine.options().get("backup_mode").cloned().unwrap_or_else(empty),
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

fn lay_over(under: &mut Value, over: Value, deep: bool) {
    match (under, over) {
        (Value::Map(under), Value::Map(over)) => {
            for (name, value) in over {
                match under.get_value(&name) {
                    Some(Value::Map(_)) if deep => {
                        let mut whole = under.get_value(&name).cloned().unwrap_or_default();
                        lay_over(&mut whole, value, deep);
                        under.insert(name, whole);
                    }
                    _ => {
                        under.insert(name, value);
                    }
                }
            }
        }
        (under, over) => *under = over,
    }
}
