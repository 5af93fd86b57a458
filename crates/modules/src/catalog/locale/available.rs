//! Lists the available locales, and generates others.

use rocksalt_core::Value;
use rocksalt_macros::function;

use super::super::Function;
use super::super::file::Flag;
use super::super::tool;
use super::system::sound;
use crate::catalog::Action;
use crate::catalog::plan::apply_action;
use crate::grains::look;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// A parsed `language_TERRITORY.codeset@modifier charmap`.
#[derive(Clone, Debug, Default, PartialEq)]
struct Name {
    language: String,
    territory: String,
    codeset: String,
    modifier: String,
    charmap: String,
}

impl Name {
    fn new(text: &str) -> Name {
        let split = |text: &str, at: char| {
            let (one, other) = text.split_once(at).unwrap_or((text, ""));
            (one.to_owned(), other.to_owned())
        };
        let (rest, charmap) = split(text, ' ');
        let (rest, modifier) = split(&rest, '@');
        let (rest, codeset) = split(&rest, '.');
        let (language, territory) = split(&rest, '_');
        Name { language, territory, codeset, modifier, charmap }
    }

    fn join(&self) -> String {
        let mut text = self.language.clone();
        for (mark, part) in [('_', &self.territory), ('.', &self.codeset), ('@', &self.modifier), (' ', &self.charmap)]
        {
            if !part.is_empty() {
                text.push(mark);
                text += part;
            }
        }
        text
    }

    /// The locale in the form of `locale -a`.
    fn normal(mut self) -> String {
        self.territory = self.territory.to_uppercase();
        self.codeset = self.codeset.to_lowercase().replace('-', "");
        self.charmap.clear();
        self.join()
    }
}

fn all(machine: &dyn Probe) -> Result<Vec<String>> {
    Ok(tool::told(machine, &["locale", "-a"])?.lines().map(str::to_owned).collect())
}

pub fn is_there(machine: &dyn Probe, locale: &str) -> Result<bool> {
    sound(locale)?;
    let wanted = Name::new(locale).normal();
    Ok(all(machine)?.iter().any(|known| Name::new(known.trim()).normal() == wanted))
}

/// The actions that generate a locale; the inner error says why this system can't.
pub fn generation(machine: &dyn Probe, locale: &str) -> Result<Result<Vec<Action>, String>> {
    sound(locale)?;
    let grains = machine.grains();
    let grain = |name: &str| grains.get(name).and_then(Value::as_str).unwrap_or_default();
    let ubuntu = grain("os") == "Ubuntu";
    let mut name = Name::new(locale);
    if name.charmap.is_empty() && !ubuntu {
        name.charmap = name.codeset.clone();
    }
    let base = format!("{}_{}", name.language, name.territory);
    let line = name.join();
    let generator = look::program(machine, "locale-gen");
    if grain("os") == "Debian" || grain("os_family") == "Gentoo" {
        let list = "/usr/share/i18n/SUPPORTED";
        let Some(known) = look::text(machine, list) else {
            return Ok(Err(format!("there is no {list}: the package 'locales' is not installed")));
        };
        if !known.lines().any(|known| known.trim() == line) {
            return Ok(Err(format!("'{line}' is not in {list}")));
        }
    } else {
        let folder = if grain("os_family") == "Suse" { "/usr/share/locale" } else { "/usr/share/i18n/locales" };
        if !look::names(machine, folder).contains(&base) {
            return Ok(Err(format!("there is no '{base}' in {folder}")));
        }
    }
    let mut actions = Vec::new();
    let list = "/etc/locale.gen";
    if let Some(text) = look::text(machine, list) {
        actions.push(Action::Write {
            path: list.into(),
            content: listed(&text, &line).into_bytes(),
            mode: None,
            parents: true,
        });
    } else if ubuntu {
        let path = format!("/var/lib/locales/supported.d/{}", name.language);
        let text = look::text(machine, &path).unwrap_or_default();
        actions.push(Action::Write { path, content: listed(&text, &line).into_bytes(), mode: None, parents: true });
    }
    let argv = match (generator, look::program(machine, "localedef")) {
        (Some(generator), _) if ubuntu => vec![generator, name.normal()],
        (Some(generator), _) if grain("os_family") == "Gentoo" => vec![generator, "--generate".into(), line],
        (Some(generator), _) => vec![generator, line],
        (None, Some(localedef)) => {
            let target = format!("{base}.{}", name.codeset);
            vec![localedef, "--force".into(), "-i".into(), base, "-f".into(), name.codeset, target, "--quiet".into()]
        }
        (None, None) => {
            return Ok(Err("Command \"locale-gen\" or \"localedef\" was not found on this system.".into()));
        }
    };
    actions.push(Action::Run(tool::command(&argv)));
    Ok(Ok(actions))
}

/// The list with a line added, or uncommented.
fn listed(text: &str, line: &str) -> String {
    let bare = |old: &str| old.trim().trim_start_matches('#').trim() == line;
    if text.lines().any(|old| old.trim() == line) {
        return text.to_owned();
    }
    let mut new = String::new();
    let mut found = false;
    for old in text.split_inclusive('\n') {
        if !found && bare(old) {
            found = true;
            new += &format!("{line}\n");
        } else {
            new += old;
        }
    }
    if !found {
        if !new.is_empty() && !new.ends_with('\n') {
            new.push('\n');
        }
        new += &format!("{line}\n");
    }
    new
}

/// The available locales.
///
/// ```text
/// rocksalt '*' locale.list_avail
/// ```
#[function("locale.list_avail", reads)]
pub struct ListAvail {}

impl Function for ListAvail {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        all(machine)
    }
}

/// Whether a locale is available.
///
/// ```text
/// rocksalt '*' locale.avail en_US.UTF-8
/// ```
#[function("locale.avail", reads)]
pub struct Avail {
    /// The locale.
    locale: String,
}

impl Function for Avail {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        is_there(machine, &self.locale)
    }
}

/// Generates a locale.
///
/// ```text
/// rocksalt '*' locale.gen_locale en_US.UTF-8
/// rocksalt '*' locale.gen_locale 'en_IE.UTF-8 UTF-8'
/// ```
#[function("locale.gen_locale", changes)]
pub struct GenLocale {
    /// The locale; Debian's list has a character set behind it, which is found by itself.
    locale: String,
    /// Accepted for compatibility with Salt: an error always has all that the program said.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    verbose: Flag,
}

impl Function for GenLocale {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let actions = generation(machine, &self.locale)?.map_err(Error::failed)?;
        actions.into_iter().try_for_each(|action| apply_action(action, machine))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(Name::new("ca_es.UTF-8@valencia UTF-8").normal(), "ca_ES.utf8@valencia");
        assert_eq!(Name::new("C.UTF-8").normal(), "C.utf8");
        assert_eq!(Name::new("ca_ES.UTF-8@valencia UTF-8").join(), "ca_ES.UTF-8@valencia UTF-8");
    }

    #[test]
    fn a_remark_becomes_a_line() {
        let text = "# de_DE.UTF-8 UTF-8\n# en_US.UTF-8 UTF-8\n";
        assert_eq!(listed(text, "en_US.UTF-8 UTF-8"), "# de_DE.UTF-8 UTF-8\nen_US.UTF-8 UTF-8\n");
        assert_eq!(listed("x", "a"), "x\na\n");
        assert_eq!(listed("a\n", "a"), "a\n");
    }
}
