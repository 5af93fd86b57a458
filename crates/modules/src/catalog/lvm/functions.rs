//! `lvm`'s functions.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::super::file::Flag;
use super::super::{Function, tool};
use super::commands::{self, Volume};
use super::show;
use crate::machine::System;
use crate::text::words::listed;
use crate::{Error, Result};

/// A map with one text.
fn said(key: &str, text: String) -> Map {
    [(key.into(), text.into())].into_iter().collect()
}

/// The version of LVM.
///
/// ```text
/// rocksalt '*' lvm.version
/// ```
#[function("lvm.version", reads)]
pub struct Version {}

impl Function for Version {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let all = versions(&tool::told(machine, &["lvm", "version"])?);
        Ok(all.get("LVM version").map(ToString::to_string).unwrap_or_default())
    }
}

/// The versions of all parts of LVM.
///
/// ```text
/// rocksalt '*' lvm.fullversion
/// ```
#[function("lvm.fullversion", reads)]
pub struct Fullversion {}

impl Function for Fullversion {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(versions(&tool::told(machine, &["lvm", "version"])?))
    }
}

fn versions(text: &str) -> Map {
    let pair = |line: &str| line.split_once(':').map(|(key, value)| (key.trim().into(), value.trim().into()));
    text.lines().filter_map(pair).collect()
}

/// The physical volumes, by device.
///
/// ```text
/// rocksalt '*' lvm.pvdisplay
/// rocksalt '*' lvm.pvdisplay /dev/sdb
/// ```
#[function("lvm.pvdisplay", reads)]
pub struct Pvdisplay {
    /// One device only.
    #[default]
    pvname: String,
    /// With the real path of the device.
    real: Flag,
    /// Accepted for compatibility with Salt: what isn't there is no error.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    quiet: Flag,
}

impl Function for Pvdisplay {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        show::physical(machine, &self.pvname, self.real.0)
    }
}

/// The volume groups, by name.
///
/// ```text
/// rocksalt '*' lvm.vgdisplay
/// rocksalt '*' lvm.vgdisplay data
/// ```
#[function("lvm.vgdisplay", reads)]
pub struct Vgdisplay {
    /// One group only.
    #[default]
    vgname: String,
    /// Accepted for compatibility with Salt: what isn't there is no error.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    quiet: Flag,
}

impl Function for Vgdisplay {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        show::groups(machine, &self.vgname)
    }
}

/// The logical volumes, by path.
///
/// ```text
/// rocksalt '*' lvm.lvdisplay
/// rocksalt '*' lvm.lvdisplay /dev/data/www
/// ```
#[function("lvm.lvdisplay", reads)]
pub struct Lvdisplay {
    /// One volume only.
    #[default]
    lvname: String,
    /// Accepted for compatibility with Salt: what isn't there is no error.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    quiet: Flag,
}

impl Function for Lvdisplay {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        show::logical(machine, &self.lvname)
    }
}

/// Initializes devices as physical volumes. All data on them is lost.
///
/// ```text
/// rocksalt '*' lvm.pvcreate /dev/sdb1,/dev/sdb2
/// rocksalt '*' lvm.pvcreate /dev/sdb1 dataalignment=7s
/// ```
#[function("lvm.pvcreate", changes)]
pub struct Pvcreate {
    /// The devices, as a list or a comma-separated text.
    #[required]
    devices: Value,
    /// Pass over devices that are right already; else it is an error.
    #[default(true)]
    r#override: Flag,
    /// Answer yes to all questions.
    #[default(true)]
    force: Flag,
    /// Further options of the tool.
    kwargs: Map,
}

impl Function for Pvcreate {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let devices = remaining(machine, &self.devices, self.r#override, false)?;
        if !devices.is_empty() {
            tool::done(machine, &commands::pvcreate(machine, &devices, self.force.0, &self.kwargs)?)?;
        }
        Ok(true)
    }
}

/// Removes the physical volumes from devices.
///
/// ```text
/// rocksalt '*' lvm.pvremove /dev/sdb1,/dev/sdb2
/// ```
#[function("lvm.pvremove", changes)]
pub struct Pvremove {
    /// The devices, as a list or a comma-separated text.
    #[required]
    devices: Value,
    /// Pass over devices that are right already; else it is an error.
    #[default(true)]
    r#override: Flag,
    /// Answer yes to all questions.
    #[default(true)]
    force: Flag,
}

impl Function for Pvremove {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let devices = remaining(machine, &self.devices, self.r#override, true)?;
        if !devices.is_empty() {
            tool::done(machine, &commands::pvremove(machine, &devices, self.force.0)?)?;
        }
        Ok(true)
    }
}

/// Resizes physical volumes to the size of their devices.
///
/// ```text
/// rocksalt '*' lvm.pvresize /dev/sdb1,/dev/sdb2
/// ```
#[function("lvm.pvresize", changes)]
pub struct Pvresize {
    /// The devices, as a list or a comma-separated text.
    #[required]
    devices: Value,
    /// Pass over devices that are right already; else it is an error.
    #[default(true)]
    r#override: Flag,
    /// Answer yes to all questions.
    #[default(true)]
    force: Flag,
}

impl Function for Pvresize {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let devices = remaining(machine, &self.devices, self.r#override, true)?;
        if !devices.is_empty() {
            tool::done(machine, &commands::pvresize(machine, &devices, self.force.0)?)?;
        }
        Ok(true)
    }
}

/// The devices that are physical volumes, or those that aren't.
fn remaining(machine: &dyn System, devices: &Value, pass: Flag, present: bool) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let devices = listed(devices);
    if devices.is_empty() {
        return Err(Error::arguments("Error: at least one device is required"));
    }
    for device in devices {
        match (show::physical(machine, &device, false)?.is_empty() != present, pass.0) {
            (true, _) => found.push(device),
            (false, true) => {}
            (false, false) if present => return Err(Error::failed(format!("{device} is not a physical volume"))),
            (false, false) => {
                return Err(Error::failed(format!("Device \"{device}\" is already an LVM physical volume.")));
            }
        }
    }
    Ok(found)
}

/// Creates a volume group.
///
/// ```text
/// rocksalt '*' lvm.vgcreate data /dev/sdb1,/dev/sdb2
/// rocksalt '*' lvm.vgcreate data /dev/sdb1 physicalextentsize=16M
/// ```
#[function("lvm.vgcreate", changes)]
pub struct Vgcreate {
    /// The group.
    vgname: String,
    /// The devices, as a list or a comma-separated text.
    #[required]
    devices: Value,
    /// Answer yes to all questions.
    force: Flag,
    /// Further options of the tool.
    kwargs: Map,
}

impl Function for Vgcreate {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let argv = commands::vgcreate(machine, &self.vgname, &listed(&self.devices), self.force.0, &self.kwargs)?;
        tool::done(machine, &argv)?;
        let mut data = show::groups(machine, &self.vgname)?;
        data.insert("Output from vgcreate", format!("Volume group \"{}\" successfully created", self.vgname));
        Ok(data)
    }
}

/// Adds devices to a volume group.
///
/// ```text
/// rocksalt '*' lvm.vgextend data /dev/sdb1,/dev/sdb2
/// ```
#[function("lvm.vgextend", changes)]
pub struct Vgextend {
    /// The group.
    vgname: String,
    /// The devices, as a list or a comma-separated text.
    #[required]
    devices: Value,
    /// Answer yes to all questions.
    force: Flag,
}

impl Function for Vgextend {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        tool::done(machine, &commands::vgextend(machine, &self.vgname, &listed(&self.devices), self.force.0)?)?;
        Ok(said("Output from vgextend", format!("Volume group \"{}\" successfully extended", self.vgname)))
    }
}

/// Removes a volume group.
///
/// ```text
/// rocksalt '*' lvm.vgremove data
/// ```
#[function("lvm.vgremove", changes)]
pub struct Vgremove {
    /// The group.
    vgname: String,
    /// Answer yes to all questions.
    #[default(true)]
    force: Flag,
}

impl Function for Vgremove {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        tool::done(machine, &commands::vgremove(machine, &self.vgname, self.force.0)?)?;
        Ok(format!("Volume group \"{}\" successfully removed", self.vgname))
    }
}

/// Creates a logical volume.
///
/// ```text
/// rocksalt '*' lvm.lvcreate www data size=10G
/// rocksalt '*' lvm.lvcreate www data extents=100%FREE
/// rocksalt '*' lvm.lvcreate nightly data snapshot=www size=3G
/// ```
#[function("lvm.lvcreate", changes)]
pub struct Lvcreate {
    /// The volume.
    lvname: String,
    /// The group.
    vgname: String,
    /// Its size, with a unit.
    size: Value,
    /// Its size in extents, or as a share.
    extents: Value,
    /// The volume that it is a snapshot of.
    snapshot: Option<String>,
    /// The device that it lies on.
    pv: Option<String>,
    /// A thin volume: it takes its space from a pool on demand.
    thinvolume: Flag,
    /// A thin pool.
    thinpool: Flag,
    /// Answer yes to all questions.
    force: Flag,
    /// Further options of the tool.
    kwargs: Map,
}

impl Function for Lvcreate {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let text = |value: &Value| value.truth().then(|| value.to_string());
        let volume = Volume {
            name: &self.lvname,
            group: &self.vgname,
            size: text(&self.size),
            extents: text(&self.extents),
            snapshot: self.snapshot.as_deref(),
            device: self.pv.as_deref().unwrap_or_default(),
            thin_volume: self.thinvolume.0,
            thin_pool: self.thinpool.0,
            force: self.force.0,
        };
        tool::done(machine, &commands::lvcreate(machine, &volume, &self.kwargs)?)?;
        let mut data = show::logical(machine, &format!("/dev/{}/{}", self.vgname, self.lvname))?;
        data.insert("Output from lvcreate", format!("Logical volume \"{}\" created.", self.lvname));
        Ok(data)
    }
}

/// Removes a logical volume.
///
/// ```text
/// rocksalt '*' lvm.lvremove www data
/// ```
#[function("lvm.lvremove", changes)]
pub struct Lvremove {
    /// The volume.
    lvname: String,
    /// The group.
    vgname: String,
    /// Answer yes to all questions.
    #[default(true)]
    force: Flag,
}

impl Function for Lvremove {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        tool::done(machine, &commands::lvremove(machine, &self.lvname, &self.vgname, self.force.0)?)?;
        Ok(format!("Logical volume \"{}\" successfully removed", self.lvname))
    }
}

/// Resizes a logical volume.
///
/// ```text
/// rocksalt '*' lvm.lvresize +12M /dev/data/www
/// rocksalt '*' lvm.lvresize lvpath=/dev/data/www extents=+100%FREE
/// ```
#[function("lvm.lvresize", changes)]
pub struct Lvresize {
    /// The size, with a unit.
    size: Value,
    /// The volume's path.
    lvpath: String,
    /// The size in extents, or as a share.
    extents: Value,
    /// Answer yes to all questions.
    force: Flag,
    /// The file system in it gets the new size too.
    resizefs: Flag,
}

impl Function for Lvresize {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let text = |value: &Value| value.truth().then(|| value.to_string());
        let (size, extents) = (text(&self.size), text(&self.extents));
        let (force, whole) = (self.force.0, self.resizefs.0);
        let path = &self.lvpath;
        let argv = commands::resize(machine, "lvresize", path, size.as_deref(), extents.as_deref(), force, whole)?;
        tool::done(machine, &argv)?;
        Ok(said("Output from lvresize", format!("Logical volume \"{path}\" successfully resized.")))
    }
}

/// Extends a logical volume.
///
/// ```text
/// rocksalt '*' lvm.lvextend +12M /dev/data/www
/// rocksalt '*' lvm.lvextend lvpath=/dev/data/www extents=+100%FREE
/// ```
#[function("lvm.lvextend", changes)]
pub struct Lvextend {
    /// The size, with a unit.
    size: Value,
    /// The volume's path.
    lvpath: String,
    /// The size in extents, or as a share.
    extents: Value,
    /// Answer yes to all questions.
    force: Flag,
    /// The file system in it gets the new size too.
    resizefs: Flag,
}

impl Function for Lvextend {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let text = |value: &Value| value.truth().then(|| value.to_string());
        let (size, extents) = (text(&self.size), text(&self.extents));
        let (force, whole) = (self.force.0, self.resizefs.0);
        let path = &self.lvpath;
        let argv = commands::resize(machine, "lvextend", path, size.as_deref(), extents.as_deref(), force, whole)?;
        tool::done(machine, &argv)?;
        Ok(said("Output from lvextend", format!("Logical volume \"{path}\" successfully extended.")))
    }
}
