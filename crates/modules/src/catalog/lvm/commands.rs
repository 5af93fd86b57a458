//! Builds the command lines of changes.

use rocksalt_core::Map;

use super::super::tool;
use crate::machine::Probe;
use crate::{Error, Result};

/// Additional options that the tools accept, by their long names.
const PV_OPTIONS: [&str; 9] = [
    "metadatasize",
    "dataalignment",
    "dataalignmentoffset",
    "pvmetadatacopies",
    "metadatacopies",
    "metadataignore",
    "restorefile",
    "labelsector",
    "setphysicalvolumesize",
];
const VG_OPTIONS: [&str; 11] = [
    "addtag",
    "alloc",
    "autobackup",
    "clustered",
    "maxlogicalvolumes",
    "maxphysicalvolumes",
    "metadatatype",
    "vgmetadatacopies",
    "metadatacopies",
    "physicalextentsize",
    "zero",
];
const LV_OPTIONS: [&str; 17] = [
    "activate",
    "chunksize",
    "contiguous",
    "discards",
    "stripes",
    "stripesize",
    "minor",
    "persistent",
    "mirrors",
    "monitor",
    "permission",
    "poolmetadatasize",
    "readahead",
    "regionsize",
    "type",
    "virtualsize",
    "zero",
];
const LV_FLAGS: [&str; 4] = ["nosync", "noudevsync", "ignoremonitoring", "thin"];

pub fn pvcreate(machine: &dyn Probe, devices: &[String], force: bool, further: &Map) -> Result<Vec<String>> {
    let mut argv = vec![tool::find(machine, "pvcreate")?, quiet(force)];
    argv.extend(names(devices)?);
    argv.extend(options(further, &PV_OPTIONS, &["norestorefile"]));
    Ok(argv)
}

pub fn pvremove(machine: &dyn Probe, devices: &[String], force: bool) -> Result<Vec<String>> {
    let mut argv = vec![tool::find(machine, "pvremove")?, quiet(force)];
    argv.extend(names(devices)?);
    Ok(argv)
}

pub fn pvresize(machine: &dyn Probe, devices: &[String], force: bool) -> Result<Vec<String>> {
    let mut argv = vec![tool::find(machine, "pvresize")?, quiet(force)];
    argv.extend(names(devices)?);
    Ok(argv)
}

pub fn vgcreate(
    machine: &dyn Probe,
    group: &str,
    devices: &[String],
    force: bool,
    further: &Map,
) -> Result<Vec<String>> {
    let mut argv = vec![tool::find(machine, "vgcreate")?, name(group)?];
    argv.extend(names(devices)?);
    argv.push(quiet(force));
    argv.extend(options(further, &VG_OPTIONS, &[]));
    Ok(argv)
}

pub fn vgextend(machine: &dyn Probe, group: &str, devices: &[String], force: bool) -> Result<Vec<String>> {
    let mut argv = vec![tool::find(machine, "vgextend")?, name(group)?, quiet(force)];
    argv.extend(names(devices)?);
    Ok(argv)
}

pub fn vgremove(machine: &dyn Probe, group: &str, force: bool) -> Result<Vec<String>> {
    Ok(vec![tool::find(machine, "vgremove")?, name(group)?, quiet(force)])
}

/// A requested logical volume.
#[derive(Clone, Debug, Default)]
pub struct Volume<'a> {
    pub name: &'a str,
    pub group: &'a str,
    pub size: Option<String>,
    pub extents: Option<String>,
    /// The volume that it is a snapshot of.
    pub snapshot: Option<&'a str>,
    pub device: &'a str,
    pub thin_volume: bool,
    pub thin_pool: bool,
    pub force: bool,
}

pub fn lvcreate(machine: &dyn Probe, volume: &Volume<'_>, further: &Map) -> Result<Vec<String>> {
    if volume.thin_volume && volume.thin_pool {
        return Err(Error::arguments("Error: Please set only one of thinvolume or thinpool to True"));
    }
    let mut argv = vec![tool::find(machine, "lvcreate")?];
    let called = name(volume.name)?;
    match (volume.thin_volume, volume.thin_pool) {
        (true, _) => argv.extend(["--thin".into(), "-n".into(), called]),
        (_, true) => argv.extend(["--thinpool".into(), called]),
        _ => argv.extend(["-n".into(), called]),
    }
    match volume.snapshot {
        Some(of) => argv.extend(["-s".into(), format!("{}/{}", name(volume.group)?, name(of)?)]),
        None => argv.push(name(volume.group)?),
    }
    argv.extend(match (&volume.size, &volume.extents) {
        (Some(_), Some(_)) => return Err(Error::arguments("Error: Please specify only one of size or extents")),
        (Some(size), None) => [if volume.thin_volume { "-V" } else { "-L" }.to_owned(), size.clone()],
        (None, Some(_)) if volume.thin_volume => {
            return Err(Error::arguments("Error: Thin volume size cannot be specified as extents"));
        }
        (None, Some(extents)) => ["-l".to_owned(), extents.clone()],
        (None, None) => return Err(Error::arguments("Error: Either size or extents must be specified")),
    });
    if !volume.device.is_empty() {
        argv.push(name(volume.device)?);
    }
    argv.extend(options(further, &LV_OPTIONS, &LV_FLAGS));
    argv.push(quiet(volume.force));
    Ok(argv)
}

pub fn lvremove(machine: &dyn Probe, volume: &str, group: &str, force: bool) -> Result<Vec<String>> {
    let path = format!("{}/{}", name(group)?, name(volume)?);
    Ok(vec![tool::find(machine, "lvremove")?, path, quiet(force)])
}

/// Resizes with `lvresize` or `lvextend`, whose options for force differ.
pub fn resize(
    machine: &dyn Probe,
    program: &str,
    path: &str,
    size: Option<&str>,
    extents: Option<&str>,
    force: bool,
    file_system: bool,
) -> Result<Vec<String>> {
    let forced = if program == "lvresize" { "--force" } else { "--yes" };
    let mut argv = vec![tool::find(machine, program)?, if force { forced } else { "-qq" }.to_owned()];
    if file_system {
        argv.push("--resizefs".into());
    }
    argv.extend(match (size, extents) {
        (Some(size), None) => ["-L".to_owned(), size.to_owned()],
        (None, Some(extents)) => ["-l".to_owned(), extents.to_owned()],
        (Some(_), Some(_)) => return Err(Error::arguments("Error: Please specify only one of size or extents")),
        (None, None) => return Err(Error::arguments("Error: Either size or extents must be specified")),
    });
    argv.push(name(path)?);
    Ok(argv)
}

fn quiet(force: bool) -> String {
    if force { "--yes" } else { "-qq" }.to_owned()
}

/// Checks that a word can't be taken for an option.
fn name(word: &str) -> Result<String> {
    match word.is_empty() || word.starts_with('-') || word.contains(['\0', '\n', ' ']) {
        true => Err(Error::arguments(format!("'{word}' is no name of a device, volume or group"))),
        false => Ok(word.to_owned()),
    }
}

fn names(words: &[String]) -> Result<Vec<String>> {
    if words.is_empty() {
        return Err(Error::arguments("Error: at least one device is required"));
    }
    words.iter().map(|word| name(word)).collect()
}

fn options(given: &Map, with_value: &[&str], flags: &[&str]) -> Vec<String> {
    let mut argv = Vec::new();
    for (key, value) in given.iter() {
        let key = key.to_string();
        if flags.contains(&key.as_str()) && value.truth() {
            argv.push(format!("--{key}"));
        } else if with_value.contains(&key.as_str()) && value.truth() {
            argv.extend([format!("--{key}"), value.to_string()]);
        }
    }
    argv
}
