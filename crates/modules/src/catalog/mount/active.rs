//! The current mounts, from the kernel's `/proc/self/mountinfo`.

use std::path::Path;

use rocksalt_core::{Map, Value};

use super::super::file::canonical;
use super::super::tool;
use crate::grains::look;
use crate::machine::{Probe, accounts};
use crate::text::octal::unescaped;
use crate::{Error, Result};

/// A mount.
#[derive(Clone, Debug, PartialEq)]
pub struct ActiveMount {
    pub id: String,
    pub parent: String,
    /// `major:minor` of the file system.
    pub number: String,
    /// The directory of the file system that is mounted.
    pub root: String,
    pub point: String,
    pub options: Vec<String>,
    pub fstype: String,
    pub device: String,
    pub super_options: Vec<String>,
}

/// All mounts in the order of mounting: at one mount point, the last one counts.
pub fn all(machine: &dyn Probe) -> Result<Vec<ActiveMount>> {
    let text = look::text(machine, "/proc/self/mountinfo")
        .ok_or_else(|| Error::failed("File not readable /proc/self/mountinfo"))?;
    Ok(text.lines().filter_map(read).collect())
}

/// The mount at a mount point.
pub fn at<'a>(mounts: &'a [ActiveMount], point: &str) -> Option<&'a ActiveMount> {
    mounts.iter().rev().find(|mount| mount.point == point)
}

/// The mount that contains a path.
pub fn above<'a>(mounts: &'a [ActiveMount], path: &str) -> Option<&'a ActiveMount> {
    Path::new(path).ancestors().find_map(|path| at(mounts, &path.to_string_lossy()))
}

fn read(line: &str) -> Option<ActiveMount> {
    let (before, after) = line.split_once(" - ")?;
    let mut words = before.split(' ');
    let mut next = || words.next().map(unescaped);
    let (id, parent, number, root, point, options) = (next()?, next()?, next()?, next()?, next()?, next()?);
    let mut words = after.split(' ').map(unescaped);
    let (fstype, device) = (words.next()?, words.next()?);
    let split = |text: &str| text.split(',').map(str::to_owned).collect();
    let super_options = split(&words.next().unwrap_or_default());
    Some(ActiveMount { id, parent, number, root, point, options: split(&options), fstype, device, super_options })
}

pub fn escaped(word: &str) -> String {
    [("\\", "\\134"), (" ", "\\040"), ("\t", "\\011"), ("\n", "\\012")]
        .iter()
        .fold(word.to_owned(), |word, (letter, code)| word.replace(letter, code))
}

impl ActiveMount {
    /// The mount in the form of Salt's `mount.active`.
    pub fn data(&self, extended: bool) -> Map {
        let list = |options: &[String]| Value::List(options.iter().map(|option| option.as_str().into()).collect());
        let mut data = Map::new();
        if extended {
            let (major, minor) = self.number.split_once(':').unwrap_or_default();
            for (key, value) in [("mountid", &*self.id), ("parentid", &self.parent), ("major", major), ("minor", minor)]
            {
                data.insert(key, value);
            }
            data.insert("root", self.root.as_str());
        }
        data.insert("device", self.device.as_str());
        data.insert("alt_device", self.device.as_str());
        data.insert("fstype", self.fstype.as_str());
        data.insert("opts", list(&self.options));
        if extended {
            data.insert("superopts", list(&self.super_options));
        } else {
            // The short table combines both kinds of options.
            let mut both = self.options.clone();
            both.extend(self.super_options.iter().filter(|option| !self.options.contains(option)).cloned());
            data.insert("opts", list(&both));
        }
        data
    }

    /// Whether a device, in any of its names, is mounted here.
    pub fn is_of(&self, machine: &dyn Probe, device: &Device) -> bool {
        let real = |path: &str| canonical(machine, Path::new(path)).to_string_lossy().into_owned();
        let own = [self.device.clone(), if self.device.starts_with('/') { real(&self.device) } else { String::new() }];
        own.contains(&device.real) || own.contains(&device.given)
    }
}

/// A device as a user names it, and its resolved form.
#[derive(Debug)]
pub struct Device {
    pub given: String,
    pub real: String,
}

impl Device {
    /// Resolves a path, `UUID=`, `LABEL=` or similar, or a name that only the file system knows.
    pub fn find(machine: &dyn Probe, given: &str) -> Result<Device, String> {
        let real = |path: &str| canonical(machine, Path::new(path)).to_string_lossy().into_owned();
        let device = |real: String| Device { given: given.to_owned(), real };
        if given.starts_with('/') {
            return Ok(device(real(given)));
        }
        if let Some((kind, value)) = given.split_once('=') {
            let value = value.trim_matches('"');
            let folder = match kind.to_ascii_uppercase().as_str() {
                "UUID" => "by-uuid",
                "LABEL" => "by-label",
                "PARTUUID" => "by-partuuid",
                "PARTLABEL" => "by-partlabel",
                _ => return Ok(device(given.to_owned())),
            };
            let link = format!("/dev/disk/{folder}/{value}");
            if look::exists(machine, &link) {
                return Ok(device(real(&link)));
            }
            let token = format!("{}={value}", kind.to_ascii_uppercase());
            let found = tool::told(machine, &["blkid", "-t", &token, "-o", "device"]).unwrap_or_default();
            return match found.lines().next() {
                Some(path) => Ok(device(real(path))),
                None if kind.eq_ignore_ascii_case("label") => Err(format!("Unable to find device with label {value}.")),
                None => Ok(device(value.to_ascii_lowercase())),
            };
        }
        // `sshfs#host:/path` is listed without the program.
        let fuse =
            given.split_once('#').filter(|(name, _)| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
        Ok(device(fuse.map_or(given, |(_, rest)| rest).to_owned()))
    }
}

/// Replaces the user or group in an option by its id.
pub fn numbered(machine: &dyn Probe, option: &str) -> String {
    let Some((key, value)) = option.split_once('=') else { return option.to_owned() };
    if value.bytes().all(|b| b.is_ascii_digit()) {
        return option.to_owned();
    }
    let number = match key {
        "uid" => accounts::user(machine, value).map(|user| user.uid),
        "gid" => accounts::group(machine, value).map(|group| group.gid),
        _ => None,
    };
    number.map_or_else(|| option.to_owned(), |number| format!("{key}={number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read() {
        let line = "36 35 0:44 /sub /mnt/a\\040b rw,relatime shared:1 master:2 - tmpfs tmp\\134fs rw,size=10240k";
        let mount = read(line).expect("it is a mount");
        assert_eq!((mount.point.as_str(), mount.root.as_str(), mount.device.as_str()), ("/mnt/a b", "/sub", "tmp\\fs"));
        assert_eq!(
            (mount.options, mount.super_options),
            (vec!["rw".into(), "relatime".into()], vec!["rw".into(), "size=10240k".into()])
        );
        assert_eq!(unescaped(&escaped("a \\040\tb")), "a \\040\tb");
    }
}
