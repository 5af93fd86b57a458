//! `mount`'s functions that read, and those that change `/etc/fstab`.

use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::super::file::{Flag, canonical};
use super::super::{Function, tool};
use super::fstab::{FstabChange, FstabLine, FstabTable, MatchOn};
use super::{active, fstab_path, listed, trimmed};
use crate::Result;
use crate::grains::look;
use crate::machine::{Probe, System};

/// The active mounts, by mount point.
///
/// ```text
/// rocksalt '*' mount.active
/// rocksalt '*' mount.active extended=True
/// ```
#[function("mount.active", reads)]
pub struct Active {
    /// With numbers, the part that is shown, and the file system's own options apart.
    extended: Flag,
}

impl Function for Active {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let mounts = active::all(machine)?;
        Ok(mounts.iter().map(|mount| (mount.point.as_str().into(), mount.data(self.extended.0).into())).collect())
    }
}

/// The entries of `/etc/fstab`, by mount point.
///
/// ```text
/// rocksalt '*' mount.fstab
/// ```
#[function("mount.fstab", reads)]
pub struct Fstab {
    /// The file.
    #[default(fstab_path())]
    config: String,
}

impl Function for Fstab {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        if !look::exists(machine, &self.config) {
            return Ok(Map::new());
        }
        Ok(FstabTable::read(machine, &self.config)?.data())
    }
}

/// Puts an entry into `/etc/fstab`: `new`, `change` or `present`.
///
/// ```text
/// rocksalt '*' mount.set_fstab /mnt/foo /dev/sdz1 ext4
/// ```
#[function("mount.set_fstab", changes)]
pub struct SetFstab {
    /// The mount point.
    name: String,
    /// The device.
    device: String,
    /// The type of the file system.
    fstype: String,
    /// Options, as a list or a comma-separated text.
    #[default("defaults")]
    opts: Value,
    /// The fifth field.
    #[default]
    dump: i64,
    /// The sixth field: in which turn it is checked.
    #[default]
    pass_num: i64,
    /// The file.
    #[default(fstab_path())]
    config: String,
    /// Only return what would be done.
    test: Flag,
    /// Which fields tell that an entry is the one: `auto`, or a name or list.
    match_on: Value,
    /// Leave an entry that is there as it is.
    not_change: Flag,
}

impl Function for SetFstab {
    type Output = &'static str;

    fn call(self, machine: &dyn System) -> Result<&'static str> {
        let on = MatchOn::new(&self.match_on, &self.fstype)?;
        let line = FstabLine {
            device: self.device,
            name: trimmed(&self.name).to_owned(),
            fstype: self.fstype,
            options: listed(&self.opts).join(","),
            dump: self.dump.to_string(),
            pass: self.pass_num.to_string(),
        };
        let (change, text) = FstabTable::read(machine, &self.config)?.with(&line, &on, self.not_change.0);
        if change != FstabChange::Present && !self.test.0 {
            tool::write(machine, &self.config, text.as_bytes(), None)?;
        }
        Ok(change.word())
    }
}

/// Removes the entry of a mount point from `/etc/fstab`.
///
/// ```text
/// rocksalt '*' mount.rm_fstab /mnt/foo /dev/sdg
/// ```
#[function("mount.rm_fstab", changes)]
pub struct RmFstab {
    /// The mount point.
    name: String,
    /// The device.
    device: Option<String>,
    /// The file.
    #[default(fstab_path())]
    config: String,
}

impl Function for RmFstab {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        if let Some(text) = FstabTable::read(machine, &self.config)?.without(&self.name, self.device.as_deref()) {
            tool::write(machine, &self.config, text.as_bytes(), None)?;
        }
        Ok(true)
    }
}

/// Whether something is mounted at a mount point.
///
/// ```text
/// rocksalt '*' mount.is_mounted /mnt/share
/// ```
#[function("mount.is_mounted", reads)]
pub struct IsMounted {
    /// The mount point.
    name: String,
}

impl Function for IsMounted {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(active::at(&active::all(machine)?, &self.name).is_some())
    }
}

/// Whether a program mounts through FUSE.
///
/// ```text
/// rocksalt '*' mount.is_fuse_exec sshfs
/// ```
#[function("mount.is_fuse_exec", reads)]
pub struct IsFuseExec {
    /// The program.
    cmd: String,
}

impl Function for IsFuseExec {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let Some(path) = look::program(machine, &self.cmd) else { return Ok(false) };
        Ok(machine.query(&tool::command(&["ldd", &path]))?.text().contains("libfuse"))
    }
}

/// The mount point of the file system that a path is on.
///
/// ```text
/// rocksalt '*' mount.get_mount_from_path /opt/some/nested/path
/// ```
#[function("mount.get_mount_from_path", reads)]
pub struct GetMountFromPath {
    /// The path.
    path: String,
}

impl Function for GetMountFromPath {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        Ok(around(machine, &self.path)?.map_or_else(|| "/".to_owned(), |mount| mount.point))
    }
}

/// The device that a path is on.
///
/// ```text
/// rocksalt '*' mount.get_device_from_path /
/// ```
#[function("mount.get_device_from_path", reads)]
pub struct GetDeviceFromPath {
    /// The path.
    path: String,
}

impl Function for GetDeviceFromPath {
    type Output = Option<String>;

    fn call(self, machine: &dyn System) -> Result<Option<String>> {
        Ok(around(machine, &self.path)?.map(|mount| mount.device))
    }
}

fn around(machine: &dyn Probe, path: &str) -> Result<Option<active::ActiveMount>> {
    let real = canonical(machine, Path::new(path)).to_string_lossy().into_owned();
    Ok(active::above(&active::all(machine)?, &real).cloned())
}
