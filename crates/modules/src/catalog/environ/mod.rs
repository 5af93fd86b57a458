//! `environ`: the variables of the agent, which the commands it runs inherit.

mod states;

pub use states::STATES;

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::{CatalogFunction, Function, entry};
use crate::machine::System;
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] =
    &[entry::<Get>(), entry::<HasValue>(), entry::<Item>(), entry::<Items>(), entry::<SetEnv>(), entry::<SetVal>()];

/// The value of a variable.
///
/// ```text
/// rocksalt '*' environ.get PATH
/// rocksalt '*' environ.get EDITOR vi
/// ```
#[function("environ.get", reads)]
pub struct Get {
    /// Its name.
    key: String,
    /// The value to return if there is none.
    #[default("")]
    default: Value,
}

impl Function for Get {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        Ok(machine.env(&self.key).map_or(self.default, Value::from))
    }
}

/// Whether a variable is set, and to a certain value if one is given.
///
/// ```text
/// rocksalt '*' environ.has_value PATH
/// rocksalt '*' environ.has_value EDITOR vi
/// ```
#[function("environ.has_value", reads)]
pub struct HasValue {
    /// Its name.
    key: String,
    /// The value.
    value: Option<String>,
}

impl Function for HasValue {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(machine.env(&self.key).is_some_and(|found| self.value.is_none_or(|value| value == found)))
    }
}

/// The values of some variables.
///
/// ```text
/// rocksalt '*' environ.item '[HOME, PATH]'
/// ```
#[function("environ.item", reads)]
pub struct Item {
    /// Their names.
    #[required]
    keys: Vec<String>,
    /// The value to return for those that don't exist.
    #[default("")]
    default: Value,
}

impl Function for Item {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let value = |name: &String| machine.env(name).map_or_else(|| self.default.clone(), Value::from);
        Ok(self.keys.iter().map(|name| (name.clone().into(), value(name))).collect())
    }
}

/// All variables.
///
/// ```text
/// rocksalt '*' environ.items
/// ```
#[function("environ.items", reads)]
pub struct Items {}

impl Function for Items {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(machine.environment().into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// Sets several variables, and returns their new values.
///
/// ```text
/// rocksalt '*' environ.setenv '{EDITOR: vi, PAGER: less}' false_unsets=True
/// ```
#[function("environ.setenv", changes)]
pub struct SetEnv {
    /// Names and values.
    #[required]
    environ: Map,
    /// `False` removes a variable; else it makes it empty.
    false_unsets: bool,
    /// Remove all others first.
    clear_all: bool,
    /// Accepted and ignored: nothing else is there to update.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    update_minion: bool,
    /// Only used on Windows.
    permanent: bool,
}

impl Function for SetEnv {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        permanent(self.permanent)?;
        // All values are checked before any is set.
        let mut values = Vec::new();
        for (name, value) in self.environ.iter() {
            let name = name.to_string();
            values.push((valid(&name)?.to_owned(), new_value(&name, value, self.false_unsets)?));
        }
        if self.clear_all {
            for (name, _) in machine.environment() {
                machine.set_env(&name, None);
            }
        }
        Ok(values
            .into_iter()
            .map(|(name, value)| {
                machine.set_env(&name, value.as_deref());
                (name.into(), value.into())
            })
            .collect())
    }
}

/// Sets a variable, and returns its value.
///
/// ```text
/// rocksalt '*' environ.setval EDITOR vi
/// rocksalt '*' environ.setval EDITOR False false_unsets=True
/// ```
#[function("environ.setval", changes)]
pub struct SetVal {
    /// Its name.
    key: String,
    /// Its value.
    #[required]
    val: Value,
    /// `False` removes the variable; else it makes it empty.
    false_unsets: bool,
    /// Only used on Windows.
    permanent: bool,
}

impl Function for SetVal {
    type Output = Option<String>;

    fn call(self, machine: &dyn System) -> Result<Option<String>> {
        permanent(self.permanent)?;
        let value = new_value(valid(&self.key)?, &self.val, self.false_unsets)?;
        machine.set_env(&self.key, value.as_deref());
        Ok(value)
    }
}

fn permanent(asked: bool) -> Result<()> {
    match asked {
        false => Ok(()),
        true => Err(Error::arguments("permanent=True only means something on Windows")
            .hint("write the variable to a file that is read at login")),
    }
}

fn valid(name: &str) -> Result<&str> {
    match name.is_empty() || name.contains(['=', '\0']) {
        true => Err(Error::arguments(format!("'{}' can't be the name of a variable", name.escape_debug()))),
        false => Ok(name),
    }
}

fn new_value(name: &str, value: &Value, false_unsets: bool) -> Result<Option<String>> {
    let text = match value {
        Value::Bool(false) if false_unsets => return Ok(None),
        Value::Bool(false) | Value::Null => String::new(),
        Value::List(_) | Value::Map(_) => {
            return Err(Error::arguments(format!("{name}: expected a text, found {}", value.kind())));
        }
        other => other.to_string(),
    };
    match text.contains('\0') {
        true => Err(Error::arguments(format!("{name}: a variable can't hold a zero byte"))),
        false => Ok(Some(text)),
    }
}
