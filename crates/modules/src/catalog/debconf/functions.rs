//! `debconf`'s functions.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::super::cp;
use super::{CatalogFunction, Flag, Function, answers, entry};
use crate::machine::System;
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] =
    &[entry::<GetSelections>(), entry::<Set>(), entry::<SetFile>(), entry::<Show>()];

/// Every answer, by package: lists of question, type and value. Passwords are not shown.
///
/// ```text
/// rocksalt '*' debconf.get_selections
/// rocksalt '*' debconf.get_selections fetchempty=False
/// ```
#[function("debconf.get_selections", reads)]
pub struct GetSelections {
    /// Also those that are empty.
    #[default(true)]
    fetchempty: Flag,
}

impl Function for GetSelections {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let mut found = Map::new();
        for mut answer in answers::all(machine)? {
            if answer.value.is_empty() && !self.fetchempty {
                continue;
            }
            answer.value = answer.shown().to_owned();
            match found.get_mut(&answer.package) {
                Some(Value::List(known)) => known.push(answer.to_value()),
                _ => drop(found.insert(answer.package.as_str(), vec![answer.to_value()])),
            }
        }
        Ok(found)
    }
}

/// The answers to a package's questions: lists of question, type and value. Passwords are not shown.
///
/// ```text
/// rocksalt '*' debconf.show tzdata
/// ```
#[function("debconf.show", reads)]
pub struct Show {
    /// The package.
    name: String,
}

impl Function for Show {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let own = answers::all(machine)?.into_iter().filter(|answer| answer.package == self.name);
        let own = own.map(|answer| answers::DebconfAnswer { value: answer.shown().to_owned(), ..answer });
        let found: Vec<Value> = own.map(|answer| answer.to_value()).collect();
        Ok(if found.is_empty() { Value::Null } else { Value::List(found) })
    }
}

/// Sets the answer to a question.
///
/// ```text
/// rocksalt '*' debconf.set tzdata tzdata/Areas select Europe
/// ```
#[function("debconf.set", changes)]
pub struct Set {
    /// The package.
    package: String,
    /// The question.
    question: String,
    /// Its type: `string`, `boolean`, `select`, `multiselect`, `password`, `note`.
    r#type: String,
    /// The answer.
    value: String,
    /// Further words of the answer.
    #[rest]
    extra: Vec<String>,
}

impl Function for Set {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let value = std::iter::once(self.value).chain(self.extra).collect::<Vec<_>>().join(" ");
        answers::set(machine, &answers::line(&self.package, &self.question, &self.r#type, &value)?)?;
        Ok(true)
    }
}

/// Sets the answers of a file in the format of `debconf-set-selections`.
///
/// ```text
/// rocksalt '*' debconf.set_file salt://answers
/// ```
#[function("debconf.set_file", changes)]
pub struct SetFile {
    /// `salt://…`, `http(s)://…` or a path on the target.
    path: String,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
    /// Accepted and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl Function for SetFile {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let Some(content) = cp::source::content(machine, &self.path, self.saltenv.as_deref())? else {
            return Ok(false);
        };
        let text = String::from_utf8(content).map_err(|_| Error::failed(format!("{} is no text", self.path)))?;
        answers::set(machine, &text)?;
        Ok(true)
    }
}
