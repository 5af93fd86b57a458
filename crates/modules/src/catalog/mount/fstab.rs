//! The text of `/etc/fstab`, and edits of it: all other lines stay unchanged.

use std::path::Path;

use rocksalt_core::{Map, Value};

use super::active::escaped;
use crate::machine::Probe;
use crate::text::octal::unescaped;
use crate::{Error, Result};

pub struct FstabTable {
    text: String,
}

/// An entry of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct FstabLine {
    pub device: String,
    pub name: String,
    pub fstype: String,
    pub options: String,
    pub dump: String,
    pub pass: String,
}

/// The effect of setting an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FstabChange {
    Present,
    New,
    Update,
}

impl FstabChange {
    /// Salt's word for the effect.
    pub fn word(self) -> &'static str {
        match self {
            FstabChange::Present => "present",
            FstabChange::New => "new",
            FstabChange::Update => "change",
        }
    }
}

/// The fields that must match to identify an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchOn(Vec<String>);

const KEYS: [&str; 6] = ["device", "name", "fstype", "opts", "dump", "pass_num"];

/// File systems whose device has no meaning.
const SPECIAL: [&str; 14] = [
    "none",
    "tmpfs",
    "sysfs",
    "proc",
    "fusectl",
    "debugfs",
    "securityfs",
    "devtmpfs",
    "cgroup",
    "nfs",
    "nfs4",
    "glusterfs",
    "btrfs",
    "ceph",
];

impl MatchOn {
    pub fn new(given: &Value, fstype: &str) -> Result<MatchOn> {
        let keys = match given {
            Value::Null => vec!["auto".to_owned()],
            Value::List(keys) => keys.iter().map(ToString::to_string).collect(),
            Value::String(key) => vec![key.clone()],
            _ => return Err(Error::arguments("match_on must be a string or list of strings")),
        };
        if keys == ["auto"] {
            return Ok(MatchOn(vec![if SPECIAL.contains(&fstype) { "name" } else { "device" }.to_owned()]));
        }
        match keys.iter().find(|key| !KEYS.contains(&key.as_str())) {
            Some(key) => Err(Error::arguments(format!("Unrecognized keys in match_on: \"{key}\""))),
            None => Ok(MatchOn(keys)),
        }
    }
}

impl FstabLine {
    /// Parses a line; `None` for comments and other lines that aren't entries.
    fn read(line: &str) -> Option<FstabLine> {
        if line.starts_with('#') {
            return None;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if !(4..=6).contains(&words.len()) {
            return None;
        }
        let word = |index: usize| words.get(index).map_or("0".into(), |word| unescaped(word));
        Some(FstabLine {
            device: word(0),
            name: word(1),
            fstype: word(2),
            options: word(3),
            dump: word(4),
            pass: word(5),
        })
    }

    fn write(&self) -> String {
        let [device, name, options] = [&self.device, &self.name, &self.options].map(|word| escaped(word));
        format!("{device}\t\t{name}\t{}\t{options}\t{} {}\n", self.fstype, self.dump, self.pass)
    }

    fn get(&self, key: &str) -> String {
        match key {
            "device" => self.device.clone(),
            "name" => self.name.clone(),
            "fstype" => self.fstype.clone(),
            // The options match in any order.
            "opts" => {
                let mut options: Vec<&str> = self.options.split(',').collect();
                options.sort_unstable();
                options.join(",")
            }
            "dump" => self.dump.clone(),
            _ => self.pass.clone(),
        }
    }

    fn agrees(&self, other: &FstabLine, keys: &[impl AsRef<str>]) -> bool {
        keys.iter().all(|key| self.get(key.as_ref()) == other.get(key.as_ref()))
    }
}

impl FstabTable {
    /// Fails if there is no such file: a mount without it would not survive a reboot.
    pub fn read(machine: &dyn Probe, path: &str) -> Result<FstabTable> {
        match machine.read(Path::new(path)) {
            Ok(content) => String::from_utf8(content)
                .map(|text| FstabTable { text })
                .map_err(|_| Error::failed(format!("{path} is no text in UTF-8; nothing was changed"))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(Error::failed(format!("Bad config file \"{path}\"")))
            }
            Err(error) => Err(Error::io("read", path, &error)),
        }
    }

    pub fn lines(&self) -> impl Iterator<Item = FstabLine> {
        self.text.lines().filter_map(FstabLine::read)
    }

    /// Sets an entry. Returns the new text and the effect.
    pub fn with(&self, entry: &FstabLine, on: &MatchOn, keep: bool) -> (FstabChange, String) {
        let meant: Vec<FstabLine> = self.lines().filter(|line| line.agrees(entry, &on.0)).collect();
        // Of several lines with one device, only the line with this mount point is changed: Salt makes them all equal.
        let narrow = meant.len() > 1 && meant.iter().any(|line| line.name == entry.name);
        let (mut change, mut text) = (FstabChange::New, String::new());
        for old in self.text.split_inclusive('\n') {
            let hit =
                FstabLine::read(old).filter(|line| line.agrees(entry, &on.0) && (!narrow || line.name == entry.name));
            match hit {
                Some(line) if keep || line.agrees(entry, &KEYS) => {
                    change = if change == FstabChange::New { FstabChange::Present } else { change };
                    text += old;
                }
                // Another line has become the entry already.
                Some(_) if change == FstabChange::Update => text += old,
                Some(_) => {
                    change = FstabChange::Update;
                    text += &entry.write();
                }
                None => text += old,
            }
        }
        if change == FstabChange::New {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text += &entry.write();
        }
        (change, text)
    }

    /// Removes the entries of a mount point, and of a device if one is given. Returns the new text; `None` if there are
    /// none.
    pub fn without(&self, name: &str, device: Option<&str>) -> Option<String> {
        let gone = |line: &str| {
            FstabLine::read(line)
                .is_some_and(|line| line.name == name && device.is_none_or(|device| line.device == device))
        };
        let text: String = self.text.split_inclusive('\n').filter(|line| !gone(line)).collect();
        (text != self.text).then_some(text)
    }

    /// The entries by mount point; as in Salt, a second entry gets another underscore.
    pub fn data(&self) -> Map {
        let mut all = Map::new();
        for line in self.lines() {
            let mut name = line.name.clone();
            while all.contains_key(&name) {
                name.push('_');
            }
            let options = line.options.split(',').map(Value::from).collect();
            let mut data = Map::new();
            data.insert("device", line.device);
            data.insert("fstype", line.fstype);
            data.insert("opts", Value::List(options));
            data.insert("dump", line.dump);
            data.insert("pass", line.pass);
            all.insert(name, data);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(device: &str, name: &str, fstype: &str, options: &str) -> FstabLine {
        let [device, name, fstype, options] = [device, name, fstype, options].map(str::to_owned);
        FstabLine { device, name, fstype, options, dump: "0".into(), pass: "0".into() }
    }

    #[test]
    fn other_lines_stay_byte_for_byte() {
        let text = "# head\n\n/dev/sda1  /  ext4\tdefaults 0 1   # x\nodd line\ntmpfs /tmp tmpfs rw,size=1m 0 0";
        let table = FstabTable { text: text.into() };
        let on = |fstype: &str| MatchOn::new(&Value::Null, fstype).expect("it is known");
        let (change, new) = table.with(&line("/dev/sdb1", "/a b", "xfs", "noatime"), &on("xfs"), false);
        assert_eq!((change, new), (FstabChange::New, format!("{text}\n/dev/sdb1\t\t/a\\040b\txfs\tnoatime\t0 0\n")));
        let (change, new) = table.with(&line("tmpfs", "/tmp", "tmpfs", "size=1m,rw"), &on("tmpfs"), false);
        assert_eq!((change, new.as_str()), (FstabChange::Present, text));
        let (change, new) = table.with(&line("tmpfs", "/tmp", "tmpfs", "ro"), &on("tmpfs"), false);
        assert_eq!(change, FstabChange::Update);
        assert!(new.starts_with(&text[..60]) && new.ends_with("\ntmpfs\t\t/tmp\ttmpfs\tro\t0 0\n"), "{new}");
        assert_eq!(table.with(&line("tmpfs", "/tmp", "tmpfs", "ro"), &on("tmpfs"), true).0, FstabChange::Present);
        assert_eq!(table.without("/tmp", None).as_deref(), Some(&text[..text.rfind("tmpfs /tmp").expect("there")]));
        assert_eq!(table.without("/tmp", Some("other")), None);
        assert!(MatchOn::new(&"nose".into(), "xfs").is_err());
    }

    #[test]
    fn two_places_of_one_device_are_two_entries() {
        let table = FstabTable { text: "/dev/a /one ext4 ro\n/dev/a /two ext4 ro\n".into() };
        let on = MatchOn::new(&Value::Null, "ext4").expect("it is known");
        let (change, new) = table.with(&line("/dev/a", "/two", "ext4", "rw"), &on, false);
        assert_eq!(
            (change, new.as_str()),
            (FstabChange::Update, "/dev/a /one ext4 ro\n/dev/a\t\t/two\text4\trw\t0 0\n")
        );
    }
}
