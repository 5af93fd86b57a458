//! `disk`: file systems, their usage, and their devices.

use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::{CatalogFunction, Function, entry};
use crate::grains::look;
use crate::machine::{Command, Probe, System};
use crate::text::octal::unescaped;
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<Blkid>(),
    entry::<Dump>(),
    entry::<Fstype>(),
    entry::<GetFstypeFromPath>(),
    entry::<Inodeusage>(),
    entry::<Percent>(),
    entry::<Usage>(),
];

/// A line of the mount table.
#[derive(Clone, Debug, PartialEq)]
pub struct MountTableLine {
    pub device: String,
    pub point: String,
    pub kind: String,
    pub options: String,
}

/// The mounted file systems, in the order of mounting.
pub fn mounts(machine: &dyn Probe) -> Vec<MountTableLine> {
    parse_mounts(&look::text(machine, "/proc/self/mounts").unwrap_or_default())
}

fn parse_mounts(text: &str) -> Vec<MountTableLine> {
    let mount = |line: &str| {
        let mut words = line.split(' ').map(unescaped);
        Some(MountTableLine {
            device: words.next()?,
            point: words.next()?,
            kind: words.next()?,
            options: words.next()?,
        })
    };
    text.lines().filter_map(mount).collect()
}

/// The usage of a file system, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Space {
    pub total: u64,
    pub free: u64,
    /// The space available to users other than root.
    pub available: u64,
    pub inodes: u64,
    pub inodes_free: u64,
}

impl Space {
    /// Some network file systems report more free space than their total.
    pub fn used(&self) -> u64 {
        self.total.saturating_sub(self.free)
    }
}

pub fn space(path: &str) -> std::io::Result<Space> {
    let found = rustix::fs::statvfs(path)?;
    let unit = found.f_frsize;
    Ok(Space {
        total: found.f_blocks.saturating_mul(unit),
        free: found.f_bfree.saturating_mul(unit),
        available: found.f_bavail.saturating_mul(unit),
        inodes: found.f_files,
        inodes_free: found.f_ffree,
    })
}

/// The file systems that `df` shows: with a size, each once, under its shortest path.
fn shown(machine: &dyn Probe, arguments: &Value) -> Result<Vec<(MountTableLine, Space)>> {
    let flags = if arguments.is_null() { String::new() } else { arguments.to_string() };
    if let Some(unknown) = flags.chars().find(|c| !"-akPl".contains(*c)) {
        return Err(Error::arguments(format!(
            "disk takes the flags a (all), k (kilobytes) and l (local), not '{unknown}'"
        )));
    }
    let (all, local) = (flags.contains('a'), flags.contains('l'));
    let mut found: Vec<(u64, MountTableLine, Space)> = Vec::new();
    for mount in mounts(machine) {
        let remote = mount.device.contains(":/") || mount.device.starts_with("//") || mount.kind.starts_with("nfs");
        if local && remote {
            continue;
        }
        let Ok(space) = space(&mount.point) else { continue };
        if space.total == 0 && !all {
            continue;
        }
        let stat = machine.stat(Path::new(&mount.point), true).ok().flatten();
        let device = stat.map_or(0, |stat| stat.device);
        // A later mount hides an earlier one at the same mount point.
        found.retain(|(_, earlier, _)| earlier.point != mount.point);
        match found.iter_mut().find(|(other, _, _)| *other == device && !all) {
            Some((_, earlier, _)) if earlier.point.len() > mount.point.len() => *earlier = mount,
            Some(_) => {}
            None => found.push((device, mount, space)),
        }
    }
    Ok(found.into_iter().map(|(_, mount, space)| (mount, space)).collect())
}

/// Rounded up, as `df` does.
fn percent(used: u64, of: u64) -> String {
    if of == 0 { "-".into() } else { format!("{}%", used.saturating_mul(100).div_ceil(of)) }
}

fn capacity(space: &Space) -> String {
    let used = space.used();
    percent(used, used.saturating_add(space.available))
}

/// How full the file systems are, in kilobytes.
///
/// ```text
/// rocksalt '*' disk.usage
/// ```
#[function("disk.usage", reads)]
pub struct Usage {
    /// `a` for those without room too, `l` for local ones only.
    args: Value,
}

impl Function for Usage {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let mut result = Map::new();
        for (mount, space) in shown(machine, &flags(self.args))? {
            let kilobytes = |bytes: u64| Value::from((bytes / 1024).to_string());
            let pairs = [
                ("filesystem", mount.device.into()),
                ("1K-blocks", kilobytes(space.total)),
                ("used", kilobytes(space.used())),
                ("available", kilobytes(space.available)),
                ("capacity", capacity(&space).into()),
            ];
            result.insert(mount.point, map(pairs));
        }
        Ok(result)
    }
}

/// `args` takes all further arguments; flags are its only value.
fn flags(arguments: Value) -> Value {
    match arguments {
        Value::List(mut list) if list.len() <= 1 => list.pop().unwrap_or_default(),
        other => other,
    }
}

fn map<const N: usize>(pairs: [(&str, Value); N]) -> Map {
    pairs.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

/// How many inodes the file systems have left.
///
/// ```text
/// rocksalt '*' disk.inodeusage
/// ```
#[function("disk.inodeusage", reads)]
pub struct Inodeusage {
    /// `a` for those without room too, `l` for local ones only.
    args: Value,
}

impl Function for Inodeusage {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let mut result = Map::new();
        for (mount, space) in shown(machine, &flags(self.args))? {
            let used = space.inodes.saturating_sub(space.inodes_free);
            let pairs = [
                ("inodes", Value::from(space.inodes.to_string())),
                ("used", used.to_string().into()),
                ("free", space.inodes_free.to_string().into()),
                ("use", percent(used, space.inodes).into()),
                ("filesystem", mount.device.into()),
            ];
            result.insert(mount.point, map(pairs));
        }
        Ok(result)
    }
}

/// How full the file systems are, in percent.
///
/// ```text
/// rocksalt '*' disk.percent
/// rocksalt '*' disk.percent /var
/// ```
#[function("disk.percent", reads)]
pub struct Percent {
    /// Only the file system that is mounted here.
    args: Value,
}

impl Function for Percent {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let shown = shown(machine, &Value::Null)?;
        let point = flags(self.args);
        match point.as_str() {
            Some(point) => match shown.iter().find(|(mount, _)| mount.point == point) {
                Some((_, space)) => Ok(capacity(space).into()),
                None => {
                    Err(Error::failed(format!("nothing is mounted at '{point}'")).hint("`disk.usage` shows what is"))
                }
            },
            None => Ok(Value::Map(
                shown.iter().map(|(mount, space)| (mount.point.as_str().into(), capacity(space).into())).collect(),
            )),
        }
    }
}

fn tool(machine: &dyn Probe, name: &str, of: &str) -> Result<String> {
    look::program(machine, name).ok_or_else(|| {
        Error::failed(format!("'{name}' is not on the target")).hint(format!("it comes with the package {of}"))
    })
}

/// Labels, ids and types of block devices.
///
/// ```text
/// rocksalt '*' disk.blkid
/// rocksalt '*' disk.blkid /dev/sda1
/// rocksalt '*' disk.blkid token='TYPE=ext4'
/// ```
#[function("disk.blkid", reads)]
pub struct Blkid {
    /// Only this device.
    device: Option<String>,
    /// Only devices with this `NAME=value`.
    #[secret]
    token: Option<String>,
}

impl Function for Blkid {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let mut words = vec![tool(machine, "blkid", "util-linux")?];
        match (self.device, self.token) {
            (Some(device), _) if device.starts_with('-') => {
                return Err(Error::arguments(format!("'{device}' is no device")));
            }
            (Some(device), _) => words.push(device),
            (None, Some(token)) => words.extend(["-t".into(), token]),
            (None, None) => {}
        }
        // The exit code 2 means that nothing was found, which is a valid result.
        Ok(parse_blkid(&machine.query(&Command::new(words))?.text()))
    }
}

/// Parses lines such as `/dev/sda1: UUID="…" TYPE="ext4"`.
fn parse_blkid(text: &str) -> Map {
    let mut devices = Map::new();
    for (device, rest) in text.lines().filter_map(|line| line.split_once(": ")) {
        let mut values = Map::new();
        let mut parts = rest.split('"');
        while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
            values.insert(name.trim().trim_end_matches('='), value);
        }
        devices.insert(device, values);
    }
    devices
}

/// The properties of a block device: sizes, sectors, read-ahead.
///
/// ```text
/// rocksalt '*' disk.dump /dev/sda
/// ```
#[function("disk.dump", reads)]
pub struct Dump {
    /// The device.
    device: String,
    /// Accepted for compatibility with Salt, which ignores it too for anything but a list of names to keep.
    args: Vec<String>,
}

impl Function for Dump {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        const NAMES: &[&str] = &[
            "getro",
            "getsz",
            "getss",
            "getpbsz",
            "getiomin",
            "getioopt",
            "getalignoff",
            "getmaxsect",
            "getsize",
            "getsize64",
            "getra",
            "getfra",
        ];
        let blockdev = tool(machine, "blockdev", "util-linux")?;
        let mut words = vec![blockdev];
        words.extend(NAMES.iter().map(|name| format!("--{name}")));
        words.push(self.device.clone());
        let output = machine.query(&Command::new(words))?;
        if !output.success() {
            let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(Error::failed(format!("could not look at the device {}: {reason}", self.device)));
        }
        let text = output.text();
        let pairs = NAMES
            .iter()
            .zip(text.lines())
            .filter(|(name, _)| self.args.is_empty() || self.args.iter().any(|arg| arg == *name));
        Ok(pairs.map(|(name, value)| ((*name).into(), value.trim().into())).collect())
    }
}

/// The type of the file system on a device.
///
/// ```text
/// rocksalt '*' disk.fstype /dev/sda1
/// ```
#[function("disk.fstype", reads)]
pub struct Fstype {
    /// The device.
    device: String,
}

impl Function for Fstype {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        if let Some(mount) = mounts(machine).into_iter().rev().find(|mount| mount.device == self.device) {
            return Ok(mount.kind);
        }
        let found = Blkid { device: Some(self.device.clone()), token: None }.call(machine)?;
        let kind = found.get(&self.device).and_then(|values| values.walk("TYPE", ":"));
        Ok(kind.map(ToString::to_string).unwrap_or_default())
    }
}

/// The type of the file system that a path is on.
///
/// ```text
/// rocksalt '*' disk.get_fstype_from_path /var/lib
/// ```
#[function("disk.get_fstype_from_path", reads)]
pub struct GetFstypeFromPath {
    /// The path.
    path: String,
}

impl Function for GetFstypeFromPath {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let path = Path::new(&self.path);
        let above = mounts(machine).into_iter().filter(|mount| path.starts_with(&mount.point));
        // Of two mounts at the same mount point, the later one is visible.
        Ok(above.max_by_key(|mount| mount.point.len()).map(|mount| mount.kind).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn the_mount_table_is_read_with_its_escapes() {
        let text = "/dev/sda1 / ext4 rw,relatime 0 0\ntmpfs /mnt/my\\040disk tmpfs rw 0 0\n";
        let mounts = parse_mounts(text);
        assert_eq!(mounts[1].point, "/mnt/my disk");
        let machine = Fake::new().file("/proc/self/mounts", text);
        let kind = |path: &str| GetFstypeFromPath { path: path.into() }.call(&machine).expect("a type");
        assert_eq!((kind("/etc"), kind("/mnt/my disk/x")), ("ext4".into(), "tmpfs".into()));
    }

    #[test]
    fn percents_are_rounded_up() {
        assert_eq!((percent(1, 1000), percent(0, 10), percent(5, 0)), ("1%".into(), "0%".into(), "-".into()));
        let space = Space { total: 100, free: 40, available: 20, ..Space::default() };
        assert_eq!(capacity(&space), "75%");
    }

    #[test]
    fn blkid_lines_become_maps() {
        let text = "/dev/sda1: UUID=\"ab-cd\" BLOCK_SIZE=\"4096\" TYPE=\"ext4\"\n/dev/sr0: LABEL=\"my disc\"\n";
        let expected = "{'/dev/sda1': {'UUID': 'ab-cd', 'BLOCK_SIZE': '4096', 'TYPE': 'ext4'}, \
                        '/dev/sr0': {'LABEL': 'my disc'}}";
        assert_eq!(Value::Map(parse_blkid(text)).to_string(), expected);
    }
}
