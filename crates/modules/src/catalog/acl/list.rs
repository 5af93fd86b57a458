//! [`Acl`]: the output of `getfacl` for a path, and the arguments of `setfacl`.

use rocksalt_core::{Map, Value};
use serde::{Deserialize, Serialize};

use crate::catalog::user::tool::{self, words};
use crate::machine::{Probe, System};
use crate::text::octal::unescaped;
use crate::{Error, Result};

/// An entry of an access list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AclEntry {
    pub default: bool,
    /// `user`, `group`, `mask` or `other`.
    pub kind: String,
    /// The owner's name if the list has none; empty for mask and other.
    pub name: String,
    /// Read 4, write 2, execute 1.
    pub octal: u32,
}

/// The access list of one path.
#[derive(Clone, Debug, Default)]
pub struct Acl {
    pub path: String,
    /// `file`, `owner`, `group`, and perhaps `flags`.
    remarks: Vec<(String, String)>,
    pub entries: Vec<AclEntry>,
}

impl Acl {
    /// Reads the access lists of paths, and with `recursive` of everything below them.
    pub fn read(machine: &dyn Probe, paths: &[String], recursive: bool) -> Result<Vec<Acl>> {
        if paths.is_empty() {
            return Err(Error::arguments("You need to specify at least one file or directory to work with!"));
        }
        let mut argv = vec!["getfacl", "--absolute-names"];
        if recursive {
            argv.push("-R");
        }
        argv.push("--");
        argv.extend(paths.iter().map(String::as_str));
        let output = tool::ask(machine, &argv).ok_or_else(missing)??;
        if !output.success() && output.stdout.is_empty() {
            let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
            return Err(Error::failed(format!("`{}` ended with {}: {said}", argv.join(" "), output.code)));
        }
        Ok(parse(&output.text()))
    }

    pub fn remark(&self, key: &str) -> &str {
        self.remarks.iter().find(|(known, _)| known == key).map_or("", |(_, value)| value)
    }

    /// The entries of a kind, either the default ones or the others.
    pub fn of(&self, wanted: &EntrySelector) -> impl Iterator<Item = &AclEntry> {
        let (default, kind) = (wanted.default, wanted.kind.clone());
        self.entries.iter().filter(move |entry| entry.default == default && entry.kind == kind)
    }

    /// The list in Salt's form.
    pub fn shown(&self) -> Map {
        let remarks = self.remarks.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into()));
        let mut shown = Map::from_iter([("comment".into(), Value::Map(remarks.collect()))]);
        let flags = self.remark("flags").chars().zip(["suid", "sgid", "sticky"]);
        flags.filter(|(letter, _)| *letter != '-').for_each(|(_, name)| drop(shown.insert(name, true)));
        let mut defaults = Map::new();
        for kind in ["user", "group", "other", "mask"] {
            for default in [false, true] {
                let of_kind = self.entries.iter().filter(|entry| entry.default == default && entry.kind == kind);
                let list: Vec<Value> = of_kind.map(AclEntry::shown).collect();
                let always = !default && matches!(kind, "user" | "group");
                if always || !list.is_empty() {
                    if default { &mut defaults } else { &mut shown }.insert(kind, list);
                }
            }
        }
        if !defaults.is_empty() {
            shown.insert("defaults", defaults);
        }
        shown
    }
}

impl AclEntry {
    fn shown(&self) -> Value {
        let bits = [("read", 4), ("write", 2), ("execute", 1)];
        let permissions = bits.map(|(name, bit)| (name.into(), Value::Bool(self.octal & bit != 0)));
        let known = Map::from_iter([
            ("permissions".into(), Value::Map(Map::from_iter(permissions))),
            ("octal".into(), self.octal.into()),
        ]);
        Value::Map(Map::from_iter([(self.name.as_str().into(), Value::Map(known))]))
    }
}

/// Selects a kind of entries: `user`, `d:g` …
#[derive(Serialize, Deserialize)]
pub struct EntrySelector {
    pub default: bool,
    pub kind: String,
}

impl EntrySelector {
    pub fn parse(text: &str) -> Option<EntrySelector> {
        let bare = text.strip_prefix("default:").or_else(|| text.strip_prefix("d:"));
        let kind = match bare.unwrap_or(text) {
            "user" | "u" => "user",
            "group" | "g" => "group",
            "mask" | "m" => "mask",
            "other" | "o" => "other",
            _ => return None,
        };
        Some(EntrySelector { default: bare.is_some(), kind: kind.to_owned() })
    }

    /// The selector in the form of `setfacl`.
    fn prefix(&self) -> String {
        format!("{}{}", if self.default { "d:" } else { "" }, &self.kind[..1])
    }
}

pub fn set(
    machine: &dyn System,
    wanted: &EntrySelector,
    name: &str,
    perms: &str,
    paths: &[String],
    all: bool,
) -> Result<(), String> {
    run(machine, &["-m", &format!("{}:{name}:{perms}", wanted.prefix())], paths, all)
}

pub fn remove(
    machine: &dyn System,
    wanted: &EntrySelector,
    name: &str,
    paths: &[String],
    all: bool,
) -> Result<(), String> {
    run(machine, &["-x", &format!("{}:{name}", wanted.prefix())], paths, all)
}

pub fn wipe(machine: &dyn System, paths: &[String], all: bool) -> Result<(), String> {
    run(machine, &["-b"], paths, all)
}

fn run(machine: &dyn System, what: &[&str], paths: &[String], all: bool) -> Result<(), String> {
    let mut argv = words(if all { &["setfacl", "-R"] } else { &["setfacl"] });
    argv.extend(words(what).into_iter().chain(["--".to_owned()]).chain(paths.iter().cloned()));
    tool::run(machine, &argv, None).map(drop)
}

fn missing() -> Error {
    Error::failed("Command 'getfacl' cannot be found").hint("install the package acl")
}

/// Checks a word of an entry: colons and commas would change the entry's structure.
pub fn check_word(what: &str, word: &str) -> Result<()> {
    if word.contains([':', ',', '\n', '\0']) {
        return Err(Error::arguments(format!("{what}: '{word}' can't be part of an access list")));
    }
    Ok(())
}

/// The octal value of permission letters; `None` for other letters.
pub fn octal(perms: &str) -> Option<u32> {
    if let Some(digit) = perms.parse::<u32>().ok().filter(|digit| *digit < 8) {
        return Some(digit);
    }
    perms.chars().try_fold(0, |sum, letter| {
        Some(
            sum | match letter {
                'r' => 4,
                'w' => 2,
                'x' | 'X' => 1,
                '-' => 0,
                _ => return None,
            },
        )
    })
}

pub fn letters(octal: u32) -> String {
    [(4, 'r'), (2, 'w'), (1, 'x')].iter().map(|(bit, letter)| if octal & bit != 0 { *letter } else { '-' }).collect()
}

fn parse(text: &str) -> Vec<Acl> {
    let mut lists: Vec<Acl> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if let Some((key, value)) = line.strip_prefix("# ").and_then(|rest| rest.split_once(": ")) {
            if key == "file" {
                lists.push(Acl { path: unescaped(value), ..Acl::default() });
            }
            if let Some(list) = lists.last_mut() {
                let value = if key == "file" { list.path.clone() } else { value.to_owned() };
                list.remarks.push((key.to_owned(), value));
            }
            continue;
        }
        // The effective permissions follow as a comment.
        let line = line.split('\t').next().unwrap_or_default().split(" #").next().unwrap_or_default();
        let (default, line) = line.strip_prefix("default:").map_or((false, line), |line| (true, line));
        let mut fields = line.split(':');
        let (Some(kind), Some(name), Some(perms), Some(list)) =
            (fields.next(), fields.next(), fields.next(), lists.last_mut())
        else {
            continue;
        };
        let name = match (kind, name.is_empty()) {
            ("user", true) => list.remark("owner").to_owned(),
            ("group", true) => list.remark("group").to_owned(),
            _ => unescaped(name),
        };
        let bits = [('r', 4), ('w', 2), ('x', 1)];
        let octal = bits.iter().filter(|(letter, _)| perms.contains(*letter)).map(|(_, bit)| bit).sum();
        list.entries.push(AclEntry { default, kind: kind.to_owned(), name, octal });
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_salt_shows_them() {
        let text = "# file: /srv/a\\040b\n# owner: root\n# group: staff\n# flags: -s-\nuser::rwx\nuser:alice:r-x\t#effective:r--\n\
            group::r-x\nmask::r--\nother::---\ndefault:user::rwx\ndefault:user:bob:rw-\n\n# file: /srv/c\n# owner: eve\n# group: eve\nuser::rw-\n";
        let lists = parse(text);
        assert_eq!(lists.len(), 2);
        assert_eq!(lists[0].path, "/srv/a b");
        let expected = "{'comment': {'file': '/srv/a b', 'owner': 'root', 'group': 'staff', 'flags': '-s-'}, 'sgid': True, \
            'user': [{'root': {'permissions': {'read': True, 'write': True, 'execute': True}, 'octal': 7}}, \
            {'alice': {'permissions': {'read': True, 'write': False, 'execute': True}, 'octal': 5}}], \
            'group': [{'staff': {'permissions': {'read': True, 'write': False, 'execute': True}, 'octal': 5}}], \
            'other': [{'': {'permissions': {'read': False, 'write': False, 'execute': False}, 'octal': 0}}], \
            'mask': [{'': {'permissions': {'read': True, 'write': False, 'execute': False}, 'octal': 4}}], \
            'defaults': {'user': [{'root': {'permissions': {'read': True, 'write': True, 'execute': True}, 'octal': 7}}, \
            {'bob': {'permissions': {'read': True, 'write': True, 'execute': False}, 'octal': 6}}]}}";
        assert_eq!(Value::Map(lists[0].shown()).to_string(), expected);
    }

    #[test]
    fn letters_are_numbers() {
        assert_eq!((octal("rwx"), octal("r-X"), octal("7"), octal("q")), (Some(7), Some(5), Some(7), None));
        assert_eq!((letters(6), letters(1)), ("rw-".to_owned(), "--x".to_owned()));
        assert_eq!(EntrySelector::parse("default:group").map(|wanted| wanted.prefix()).as_deref(), Some("d:g"));
        assert!(EntrySelector::parse("owner").is_none());
    }
}
