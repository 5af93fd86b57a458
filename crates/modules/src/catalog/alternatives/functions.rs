//! `alternatives`'s functions.

use rocksalt_core::Value;
use rocksalt_macros::function;

use super::super::{Function, tool};
use super::group::{self, AlternativesGroup, current, displayed};
use crate::grains::look;
use crate::machine::System;
use crate::{Error, Result};

/// The path that a name stands for now; `False` if there is no such name.
///
/// ```text
/// rocksalt '*' alternatives.show_current editor
/// ```
#[function("alternatives.show_current", reads)]
pub struct ShowCurrent {
    /// The name.
    name: String,
}

impl Function for ShowCurrent {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        Ok(current(machine, &self.name)?.map_or(Value::Bool(false), Value::from))
    }
}

/// Whether a name stands for a path now.
///
/// ```text
/// rocksalt '*' alternatives.check_installed editor /usr/bin/vim.basic
/// ```
#[function("alternatives.check_installed", reads)]
pub struct CheckInstalled {
    /// The name.
    name: String,
    /// The path.
    path: String,
}

impl Function for CheckInstalled {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(current(machine, &self.name)?.as_ref() == Some(&self.path))
    }
}

/// Whether a name can stand for a path.
///
/// ```text
/// rocksalt '*' alternatives.check_exists editor /usr/bin/vim.basic
/// ```
#[function("alternatives.check_exists", reads)]
pub struct CheckExists {
    /// The name.
    name: String,
    /// The path.
    path: String,
}

impl Function for CheckExists {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(AlternativesGroup::look(machine, &self.name)?.is_some_and(|group| group.has(&self.path)))
    }
}

/// What the system's own program prints about a name.
///
/// ```text
/// rocksalt '*' alternatives.display editor
/// ```
#[function("alternatives.display", reads)]
pub struct Display {
    /// The name.
    name: String,
}

impl Function for Display {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        Ok(displayed(machine, &self.name)?.1)
    }
}

/// The generic link of an alternative; `False` if there is no such name.
///
/// ```text
/// rocksalt '*' alternatives.show_link editor
/// ```
#[function("alternatives.show_link", reads)]
pub struct ShowLink {
    /// The name.
    name: String,
}

impl Function for ShowLink {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        group::sound(&self.name)?;
        // On every system the link is the second line of the file about the name.
        let folders = ["/var/lib/dpkg/alternatives", "/var/lib/alternatives", "/var/lib/rpm/alternatives"];
        let text = folders.iter().find_map(|folder| look::text(machine, &format!("{folder}/{}", self.name)));
        let link = text.as_deref().and_then(|text| text.lines().nth(1));
        Ok(link.map_or(Value::Bool(false), Value::from))
    }
}

/// Registers a path that a name can stand for, and returns what the system's own program prints.
///
/// ```text
/// rocksalt '*' alternatives.install editor /usr/bin/editor /usr/bin/emacs 50
/// ```
#[function("alternatives.install", changes)]
pub struct Install {
    /// The name.
    name: String,
    /// The link that leads to what the name stands for.
    link: String,
    /// The path.
    path: String,
    /// The path with the highest one is taken, unless somebody chose another.
    priority: i64,
}

impl Function for Install {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        group::sound(&self.name)?;
        let priority = self.priority.to_string();
        said(machine, &["--install", &self.link, &self.name, &self.path, &priority])
    }
}

/// Removes a path from those that a name can stand for.
///
/// ```text
/// rocksalt '*' alternatives.remove editor /usr/bin/emacs
/// ```
#[function("alternatives.remove", changes)]
pub struct Remove {
    /// The name.
    name: String,
    /// The path.
    path: String,
}

impl Function for Remove {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        group::sound(&self.name)?;
        said(machine, &["--remove", &self.name, &self.path])
    }
}

/// Makes a name stand for the path with the highest priority.
///
/// ```text
/// rocksalt '*' alternatives.auto editor
/// ```
#[function("alternatives.auto", changes)]
pub struct Auto {
    /// The name.
    name: String,
}

impl Function for Auto {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        group::sound(&self.name)?;
        said(machine, &["--auto", &self.name])
    }
}

/// Makes a name stand for a path, regardless of priorities.
///
/// ```text
/// rocksalt '*' alternatives.set editor /usr/bin/vim.basic
/// ```
#[function("alternatives.set", changes)]
pub struct Set {
    /// The name.
    name: String,
    /// The path.
    path: String,
}

impl Function for Set {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        group::sound(&self.name)?;
        said(machine, &["--set", &self.name, &self.path])
    }
}

/// Runs the system's own program, and returns its output.
fn said(machine: &dyn System, words: &[&str]) -> Result<String> {
    if let Some(path) = words.iter().find(|word| word.contains('\0')) {
        return Err(Error::arguments(format!("'{path}' is no path")));
    }
    let argv: Vec<&str> = std::iter::once(group::program(machine)).chain(words.iter().copied()).collect();
    Ok(tool::done(machine, &argv)?.trim_end().to_owned())
}
