//! Disks, software RAID and logical volumes.

use std::path::Path;

use rocksalt_core::{Map, Value};

use super::look;
use crate::machine::Probe;

pub(super) fn grains(machine: &dyn Probe, grains: &mut Map) {
    let (mut disks, mut ssds) = (Vec::new(), Vec::new());
    let mut volumes = Map::new();
    for name in look::names(machine, "/sys/block") {
        let path = format!("/sys/block/{name}");
        if let Some((group, volume)) = logical_volume(machine, &path) {
            match volumes.entry(&group) {
                Value::List(list) => list.push(volume.into()),
                none => *none = Value::List(vec![volume.into()]),
            }
        }
        let target = machine.read_link(Path::new(&path)).unwrap_or_default();
        if target.starts_with("../devices/virtual") {
            continue;
        }
        match look::line(machine, &format!("{path}/queue/rotational")).as_deref() {
            Some("0") => ssds.push(Value::from(name)),
            Some("1") => disks.push(Value::from(name)),
            _ => {}
        }
    }
    grains.insert("disks", disks);
    grains.insert("ssds", ssds);
    if !volumes.is_empty() || look::program(machine, "lvm").is_some() {
        grains.insert("lvm", volumes);
    }
    if let Some(text) = look::text(machine, "/proc/mdstat") {
        grains.insert("mdadm", arrays(&text));
    }
    grains.insert("fibre_channel_host", look::is_directory(machine, "/sys/class/fc_host"));
}

/// The names of group and volume, if the device is a visible logical volume.
fn logical_volume(machine: &dyn Probe, path: &str) -> Option<(String, String)> {
    let uuid = look::line(machine, &format!("{path}/dm/uuid"))?;
    // Hidden parts of a volume have a suffix after the two ids.
    if uuid.strip_prefix("LVM-")?.contains('-') {
        return None;
    }
    split_name(&look::line(machine, &format!("{path}/dm/name"))?)
}

/// Device mapper joins the names as `group-volume`, and doubles each dash inside a name.
fn split_name(name: &str) -> Option<(String, String)> {
    let marked = name.replace("--", "\0");
    let (group, volume) = marked.split_once('-')?;
    Some((group.replace('\0', "-"), volume.replace('\0', "-")))
}

fn arrays(mdstat: &str) -> Vec<Value> {
    let devices = mdstat.lines().filter(|line| !line.starts_with("Personalities") && !line.starts_with("unused"));
    let mut names: Vec<&str> = devices.filter_map(|line| Some(line.split_once(" : ")?.0)).collect();
    names.sort_unstable();
    names.into_iter().map(Value::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn disks_and_volumes_come_from_sysfs() {
        let machine = Fake::new()
            .file("/sys/block/sda/queue/rotational", "1\n")
            .file("/sys/block/nvme0n1/queue/rotational", "0\n")
            .file("/sys/block/dm-0/dm/uuid", "LVM-abcDEF\n")
            .file("/sys/block/dm-0/dm/name", "my--group-root\n")
            .file("/sys/block/dm-1/dm/uuid", "LVM-abcDEF-tpool\n")
            .file("/sys/block/dm-1/dm/name", "my--group-pool\n");
        let mut found = Map::new();
        grains(&machine, &mut found);
        assert_eq!(found.get("disks").map(ToString::to_string).as_deref(), Some("['sda']"));
        assert_eq!(found.get("ssds").map(ToString::to_string).as_deref(), Some("['nvme0n1']"));
        assert_eq!(found.get("lvm").map(ToString::to_string).as_deref(), Some("{'my-group': ['root']}"));
    }

    #[test]
    fn arrays_are_sorted() {
        let text = "Personalities : [raid1]\nmd127 : active raid1 sdb1[1]\n      976630464 blocks\n\
                    md0 : active raid1 sda1[0]\nunused devices: <none>\n";
        assert_eq!(Value::List(arrays(text)).to_string(), "['md0', 'md127']");
    }
}
