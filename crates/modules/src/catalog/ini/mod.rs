//! `ini`: options and sections of ini files.

mod text;

use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use self::text::{Ini, OptionSection};
use super::file::Flag;
use super::{Decision, State, StateEntry, Step, Thing, Touches, Verdict, state};
use crate::catalog::{Action, Plan};
use crate::machine::Probe;
use crate::{Error, Result};

pub const STATES: &[StateEntry] =
    &[state::<OptionsAbsent>(), state::<OptionsPresent>(), state::<SectionsAbsent>(), state::<SectionsPresent>()];

/// Makes sure that options have values; a file that isn't there is made.
///
/// ```yaml
/// /home/saltminion/api-paste.ini:
///   ini.options_present:
///     - separator: '='
///     - sections:
///         testkey: testval
///         section1:
///           testkey1: testval121
/// ```
#[state("ini.options_present", strict)]
pub struct OptionsPresent {
    /// The file's path.
    name: String,
    /// Options and their values, below the names of their sections.
    sections: Map,
    /// What stands between option and value.
    #[default("=")]
    separator: String,
    /// Remove all others.
    strict: Flag,
    /// Accepted for compatibility with Salt: files are UTF-8.
    #[allow(dead_code, reason = "files are UTF-8")]
    encoding: Option<String>,
    /// No space around the separator.
    no_spaces: Flag,
}

impl State for OptionsPresent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let (old, mut ini) = read(machine, &self.name, &self.separator)?;
        let (mut comment, mut changes) = (String::new(), Map::new());
        let top: Vec<(String, String)> = texts(self.sections.iter().filter(|(_, value)| value.as_map().is_none()));
        changes.extend(self.set(&mut ini.top, &top, "", &mut comment));
        if self.strict.0 {
            let gone: Vec<String> =
                ini.sections.iter().map(|(name, _)| name.clone()).filter(|name| !self.has_section(name)).collect();
            let strange = removed(&mut ini.top, &top);
            strange.iter().for_each(|(key, _)| comment.push_str(&format!("Removed key {key}.\n")));
            changes.extend(strange.into_iter().map(|(key, value)| (key.into(), change(Some(value), Value::Null))));
            for name in gone {
                comment.push_str(&format!("Removed section {name}.\n"));
                let before = ini.section(&name).map(|section| plain(section)).unwrap_or_default();
                changes.insert(
                    name.as_str(),
                    Map::from_iter([("before".into(), before.into()), ("after".into(), Value::Null)]),
                );
                ini.sections.retain(|(known, _)| *known != name);
            }
        }
        for (name, options) in self.sections.iter().filter_map(|(name, body)| Some((name.to_string(), body.as_map()?)))
        {
            let options = texts(options.iter());
            let place = if name.is_empty() { String::new() } else { format!(" in section {name}") };
            let mut of_section = Map::new();
            match ini.section(&name) {
                Some(section) => {
                    if self.strict.0 {
                        for (key, value) in removed(section, &options) {
                            comment.push_str(&format!("Deleted key {key}{place}.\n"));
                            of_section.insert(key, change(Some(value), Value::Null));
                        }
                    }
                    of_section.extend(self.set(section, &options, &place, &mut comment));
                }
                None => {
                    let mut section = OptionSection::default();
                    self.set(&mut section, &options, &place, &mut comment);
                    of_section.insert("before", Value::Null);
                    of_section.insert("after", plain(&section));
                    ini.sections.push((name.clone(), section));
                }
            }
            if !of_section.is_empty() {
                changes.insert(name, of_section);
            }
        }
        let would = Verdict { result: changes.is_empty().then_some(true), ..Verdict::good(comment) };
        Ok(finish(&self.name, old, ini.write(&self.separator, self.no_spaces.0), changes, would))
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}

impl OptionsPresent {
    fn has_section(&self, name: &str) -> bool {
        self.sections.get(name).is_some_and(|body| body.as_map().is_some())
    }

    fn set(&self, section: &mut OptionSection, options: &[(String, String)], place: &str, comment: &mut String) -> Map {
        let mut changes = Map::new();
        for (key, value) in options {
            let old = section.get(key).map(str::to_owned);
            let verb = if old.as_ref() == Some(value) { "Unchanged" } else { "Changed" };
            comment.push_str(&format!("{verb} key {key}{place}.\n"));
            if old.as_ref() != Some(value) {
                section.set(key, value, &self.separator);
                changes.insert(key.as_str(), change(old, value.as_str().into()));
            }
        }
        changes
    }
}

/// Makes sure that options are not there.
///
/// ```yaml
/// /home/saltminion/api-paste.ini:
///   ini.options_absent:
///     - sections:
///         test:
///           - testkey
/// ```
#[state("ini.options_absent", strict)]
pub struct OptionsAbsent {
    /// The file's path.
    name: String,
    /// Lists of options, below the names of their sections.
    sections: Map,
    /// What stands between option and value.
    #[default("=")]
    separator: String,
    /// Accepted for compatibility with Salt: files are UTF-8.
    #[allow(dead_code, reason = "files are UTF-8")]
    encoding: Option<String>,
}

impl State for OptionsAbsent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let (old, mut ini) = read(machine, &self.name, &self.separator)?;
        let (mut comment, mut changes) = (String::new(), Map::new());
        for (name, keys) in self.sections.iter().map(|(name, keys)| (name.to_string(), keys)) {
            let Some(keys) = keys.as_list() else {
                match ini.top.remove(&name) {
                    Some(value) => {
                        comment.push_str(&format!("Deleted key {name}.\n"));
                        changes.insert(name, value);
                    }
                    None => comment.push_str(&format!("Key {name} does not exist.\n")),
                }
                continue;
            };
            let place = if name.is_empty() { String::new() } else { format!(" in section {name}") };
            let mut of_section = Map::new();
            for key in keys.iter().map(ToString::to_string) {
                match ini.section(&name).and_then(|section| section.remove(&key)) {
                    Some(value) => {
                        comment.push_str(&format!("Deleted key {key}{place}.\n"));
                        of_section.insert(key, value);
                    }
                    None => comment.push_str(&format!("Key {key}{place} does not exist.\n")),
                }
            }
            if !of_section.is_empty() {
                changes.insert(name, of_section);
            }
        }
        Ok(finish(&self.name, old, ini.write(&self.separator, false), changes.clone(), dry(comment, &changes)))
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}

/// Makes sure that sections are there.
///
/// ```yaml
/// /home/saltminion/api-paste.ini:
///   ini.sections_present:
///     - sections:
///       - section_one
///       - section_two
/// ```
#[state("ini.sections_present", strict)]
pub struct SectionsPresent {
    /// The file's path.
    name: String,
    /// Their names.
    sections: Vec<String>,
    /// What stands between option and value.
    #[default("=")]
    separator: String,
    /// Accepted for compatibility with Salt: files are UTF-8.
    #[allow(dead_code, reason = "files are UTF-8")]
    encoding: Option<String>,
}

impl State for SectionsPresent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let (old, mut ini) = read(machine, &self.name, &self.separator)?;
        let (mut comment, mut changes) = (String::new(), Map::new());
        for name in &self.sections {
            if ini.section(name).is_some() {
                comment.push_str(&format!("Section unchanged {name}.\n"));
                continue;
            }
            comment.push_str(&format!("Created new section {name}.\n"));
            let new = [("before".into(), Value::Null), ("after".into(), Map::new().into())];
            changes.insert(name.as_str(), Map::from_iter(new));
            ini.sections.push((name.clone(), OptionSection::default()));
        }
        Ok(finish(&self.name, old, ini.write(&self.separator, false), changes.clone(), dry(comment, &changes)))
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}

/// Makes sure that sections are not there.
///
/// ```yaml
/// /home/saltminion/api-paste.ini:
///   ini.sections_absent:
///     - sections:
///       - test
/// ```
#[state("ini.sections_absent", strict)]
pub struct SectionsAbsent {
    /// The file's path.
    name: String,
    /// Their names.
    sections: Vec<String>,
    /// What stands between option and value.
    #[default("=")]
    separator: String,
    /// Accepted for compatibility with Salt: files are UTF-8.
    #[allow(dead_code, reason = "files are UTF-8")]
    encoding: Option<String>,
}

impl State for SectionsAbsent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let (old, mut ini) = read(machine, &self.name, &self.separator)?;
        let (mut comment, mut changes) = (String::new(), Map::new());
        for name in &self.sections {
            let Some(section) = ini.section(name) else {
                comment.push_str(&format!("Section {name} does not exist.\n"));
                continue;
            };
            comment.push_str(&format!("Deleted section {name}.\n"));
            changes.insert(name.as_str(), plain(section));
            ini.sections.retain(|(known, _)| known != name);
        }
        let would = dry(comment, &changes);
        // As in Salt, removing an empty section counts as no change.
        let changes = changes.into_iter().filter(|(_, section)| section.truth()).collect();
        Ok(finish(&self.name, old, ini.write(&self.separator, false), changes, would))
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}

fn writes(path: &str) -> Touches {
    Touches::nothing().writes(Thing::Path(path.to_owned()))
}

fn read(machine: &dyn Probe, name: &str, separator: &str) -> Result<(String, Ini)> {
    if separator.is_empty() {
        return Err(Error::arguments("separator: it must not be empty"));
    }
    let content = match machine.read(Path::new(name)) {
        Ok(content) => content,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(Error::io("read", name, &error)),
    };
    let text = String::from_utf8(content).map_err(|_| Error::failed(format!("{name} is no UTF-8 text")))?;
    let ini = Ini::parse(&text, separator);
    Ok((text, ini))
}

fn texts<'a>(options: impl Iterator<Item = (&'a Value, &'a Value)>) -> Vec<(String, String)> {
    options.map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

/// Removes options that aren't requested.
fn removed(section: &mut OptionSection, wanted: &[(String, String)]) -> Vec<(String, String)> {
    let strange: Vec<String> = section.options().map(|(key, _)| key.to_owned()).collect();
    let strange = strange.into_iter().filter(|key| !wanted.iter().any(|(wanted, _)| wanted == key));
    strange.filter_map(|key| Some((key.clone(), section.remove(&key)?))).collect()
}

fn plain(section: &OptionSection) -> Map {
    section.options().map(|(key, value)| (key.into(), value.into())).collect()
}

fn change(before: Option<String>, after: Value) -> Value {
    Value::Map(Map::from_iter([("before".into(), before.into()), ("after".into(), after)]))
}

fn dry(comment: String, changes: &Map) -> Verdict {
    let comment = if comment.is_empty() { "No changes detected.".into() } else { comment };
    Verdict { result: changes.is_empty().then_some(true), ..Verdict::good(comment) }
}

/// The file is written in Salt's form, even if only the space around separators differs.
fn finish(name: &str, old: String, new: String, changes: Map, would: Verdict) -> Decision {
    let done = match changes.is_empty() {
        true => Verdict::good("No anomaly detected"),
        false => Verdict::good("Changes take effect").changes(changes),
    };
    let mut plan = Plan::brief(done.output("path", name));
    if new != old {
        plan =
            plan.then(Action::Write { path: name.to_owned(), content: new.into_bytes(), mode: None, parents: false });
    }
    Decision::Change(plan, would)
}
