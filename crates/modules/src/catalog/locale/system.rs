//! The system's default locale.

use rocksalt_core::Value;
use rocksalt_macros::function;

use super::super::{Function, tool};
use crate::grains::look;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// The files in which systems configure it, the newest form first.
pub const PLACES: [(&str, &str); 4] = [
    ("/etc/locale.conf", "LANG"),
    ("/etc/default/locale", "LANG"),
    ("/etc/sysconfig/i18n", "LANG"),
    ("/etc/sysconfig/language", "RC_LANG"),
];

/// The current locale; empty if none is set.
pub fn current(machine: &dyn Probe) -> String {
    let found = PLACES.iter().find_map(|(path, name)| {
        let text = look::text(machine, path)?;
        let value = text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='))?;
        Some(bare(value).to_owned())
    });
    found.unwrap_or_default()
}

fn bare(value: &str) -> &str {
    value.trim().trim_matches(['"', '\''])
}

/// Checks a locale, which becomes part of a command line and of a file that shells read.
pub fn sound(locale: &str) -> Result<()> {
    let letter = |b: u8| b.is_ascii_alphanumeric() || b"_.@- ".contains(&b);
    match locale.bytes().all(letter) && locale.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => Ok(()),
        false => Err(Error::arguments(format!("'{locale}' is no locale")).hint("locales are called like de_DE.UTF-8")),
    }
}

/// Sets the locale for new programs, through systemd if it runs; if systemd refuses, the file is written directly.
pub fn set(machine: &dyn System, locale: &str) -> Result<()> {
    sound(locale)?;
    let (path, name) = place(machine);
    let text = look::text(machine, path).unwrap_or_default();
    if tool::booted_by_systemd(machine)
        && let Some(localectl) = look::program(machine, "localectl")
    {
        // `localectl` drops all variables that it doesn't get.
        let others = text.lines().filter_map(|line| line.trim().split_once('='));
        let others = others.filter(|(key, _)| key.starts_with("LC_") || *key == "LANGUAGE");
        let mut argv = vec![localectl, "set-locale".to_owned(), format!("LANG={locale}")];
        argv.extend(others.map(|(key, value)| format!("{key}={}", bare(value))));
        let told = machine.run(&tool::command(&argv))?;
        if told.success() && current(machine) == locale {
            return Ok(());
        }
    }
    let line = if name == "LANG" { format!("LANG={locale}\n") } else { format!("{name}=\"{locale}\"\n") };
    let mut found = false;
    let mut new = String::new();
    for old in text.split_inclusive('\n') {
        let hit = old.trim().strip_prefix(name).is_some_and(|rest| rest.starts_with('='));
        new += if hit { &line } else { old };
        found |= hit;
    }
    if !found {
        if !new.is_empty() && !new.ends_with('\n') {
            new.push('\n');
        }
        new += &line;
    }
    tool::write(machine, path, new.as_bytes(), None)
}

/// The file that this system uses, and the variable's name in it.
fn place(machine: &dyn Probe) -> (&'static str, &'static str) {
    let there = PLACES.iter().find(|(path, _)| look::exists(machine, path));
    there.copied().unwrap_or(match machine.grains().get("os_family").and_then(Value::as_str) {
        Some("Debian") => PLACES[1],
        _ => PLACES[0],
    })
}

/// The system's locale; an empty text if it has none.
///
/// ```text
/// rocksalt '*' locale.get_locale
/// ```
#[function("locale.get_locale", reads)]
pub struct GetLocale {}

impl Function for GetLocale {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        Ok(current(machine))
    }
}

/// Sets the system's locale. Programs that run already don't see it.
///
/// ```text
/// rocksalt '*' locale.set_locale en_US.UTF-8
/// ```
#[function("locale.set_locale", changes)]
pub struct SetLocale {
    /// The locale.
    locale: String,
}

impl Function for SetLocale {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        set(machine, &self.locale).map(|()| true)
    }
}
