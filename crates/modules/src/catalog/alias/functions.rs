//! The functions on mail aliases, which Salt calls `aliases`.

use rocksalt_core::Map;
use rocksalt_macros::function;

use super::text;
use crate::catalog::Function;
use crate::machine::System;
use crate::{Error, Result};

/// All mail aliases and their targets.
///
/// ```text
/// rocksalt '*' aliases.list_aliases
/// ```
#[function("aliases.list_aliases", reads)]
pub struct ListAliases {}

impl Function for ListAliases {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(text::all(&text::read(machine)?).map(|(name, target)| (name.into(), target.into())).collect())
    }
}

/// The target of a mail alias; an empty text if there is no such alias.
///
/// ```text
/// rocksalt '*' aliases.get_target postmaster
/// ```
#[function("aliases.get_target", reads)]
pub struct GetTarget {
    /// The alias.
    alias: String,
}

impl Function for GetTarget {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        Ok(text::target(&text::read(machine)?, &self.alias).unwrap_or_default().to_owned())
    }
}

/// Whether a mail alias has this target.
///
/// ```text
/// rocksalt '*' aliases.has_target postmaster ops@example.com
/// ```
#[function("aliases.has_target", reads)]
pub struct HasTarget {
    /// The alias.
    alias: String,
    /// One target, or a list of them.
    #[required]
    target: Vec<String>,
}

impl Function for HasTarget {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let target = self.target.join(", ");
        text::check(&self.alias, &target)?;
        Ok(text::target(&text::read(machine)?, &self.alias) == Some(&target))
    }
}

/// Sets the target of a mail alias.
///
/// ```text
/// rocksalt '*' aliases.set_target postmaster ops@example.com
/// ```
#[function("aliases.set_target", changes)]
pub struct SetTarget {
    /// The alias.
    alias: String,
    /// One target, or a list of them.
    #[required]
    target: Vec<String>,
}

impl Function for SetTarget {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let target = self.target.join(", ");
        text::check(&self.alias, &target)?;
        let old = text::read(machine)?;
        if text::target(&old, &self.alias) != Some(&target) {
            text::write(machine, &text::changed(&old, &self.alias, Some(&target))).map_err(Error::failed)?;
        }
        Ok(true)
    }
}

/// Removes an alias.
///
/// ```text
/// rocksalt '*' aliases.rm_alias old-list
/// ```
#[function("aliases.rm_alias", changes)]
pub struct RmAlias {
    /// The alias.
    alias: String,
}

impl Function for RmAlias {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let old = text::read(machine)?;
        if text::target(&old, &self.alias).is_some() {
            text::write(machine, &text::changed(&old, &self.alias, None)).map_err(Error::failed)?;
        }
        Ok(true)
    }
}
