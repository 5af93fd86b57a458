//! Parses existing volumes and groups from the tools' colon-separated lines.

use std::path::Path;

use rocksalt_core::Map;

use super::super::file::canonical;
use super::super::tool;
use crate::Result;
use crate::machine::Probe;

const PHYSICAL: [&str; 11] = [
    "Physical Volume Device",
    "Volume Group Name",
    "Physical Volume Size (kB)",
    "Internal Physical Volume Number",
    "Physical Volume Status",
    "Physical Volume (not) Allocatable",
    "Current Logical Volumes Here",
    "Physical Extent Size (kB)",
    "Total Physical Extents",
    "Free Physical Extents",
    "Allocated Physical Extents",
];

const GROUP: [&str; 17] = [
    "Volume Group Name",
    "Volume Group Access",
    "Volume Group Status",
    "Internal Volume Group Number",
    "Maximum Logical Volumes",
    "Current Logical Volumes",
    "Open Logical Volumes",
    "Maximum Logical Volume Size",
    "Maximum Physical Volumes",
    "Current Physical Volumes",
    "Actual Physical Volumes",
    "Volume Group Size (kB)",
    "Physical Extent Size (kB)",
    "Total Physical Extents",
    "Allocated Physical Extents",
    "Free Physical Extents",
    "UUID",
];

const LOGICAL: [&str; 13] = [
    "Logical Volume Name",
    "Volume Group Name",
    "Logical Volume Access",
    "Logical Volume Status",
    "Internal Logical Volume Number",
    "Open Logical Volumes",
    "Logical Volume Size",
    "Current Logical Extents Associated",
    "Allocated Logical Extents",
    "Allocation Policy",
    "Read Ahead Sectors",
    "Major Device Number",
    "Minor Device Number",
];

/// Physical volumes by device; all, or one. `None` if the tool fails, as for a missing device.
pub fn physical(machine: &dyn Probe, device: &str, real: bool) -> Result<Map> {
    let all = shown(machine, "pvdisplay", device, &PHYSICAL)?;
    if !real {
        return Ok(all);
    }
    let resolve = |(key, value): (rocksalt_core::Value, rocksalt_core::Value)| {
        let place = canonical(machine, Path::new(&key.to_string())).to_string_lossy().into_owned();
        let mut data = value.as_map().cloned().unwrap_or_default();
        data.insert("Real Physical Volume Device", place.as_str());
        (place.into(), data.into())
    };
    Ok(all.into_iter().map(resolve).collect())
}

/// Volume groups by name.
pub fn groups(machine: &dyn Probe, name: &str) -> Result<Map> {
    shown(machine, "vgdisplay", name, &GROUP)
}

/// Logical volumes by path.
pub fn logical(machine: &dyn Probe, path: &str) -> Result<Map> {
    shown(machine, "lvdisplay", path, &LOGICAL)
}

fn shown(machine: &dyn Probe, program: &str, one: &str, keys: &[&str]) -> Result<Map> {
    let mut argv = vec![tool::find(machine, program)?, "-c".to_owned()];
    if !one.is_empty() {
        argv.push(one.to_owned());
    }
    let output = machine.query(&tool::command(&argv))?;
    Ok(if output.success() { read(&output.text(), keys) } else { Map::new() })
}

fn read(text: &str, keys: &[&str]) -> Map {
    let mut all = Map::new();
    for line in text.lines().map(str::trim) {
        let words: Vec<&str> = line.split(':').collect();
        // Warnings are mixed with the lines: "/dev/x" is a new physical volume of "1.00 GiB".
        if words.len() < keys.len() {
            continue;
        }
        all.insert(
            words[0],
            keys.iter().zip(&words).map(|(key, word)| ((*key).into(), (*word).into())).collect::<Map>(),
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let text = "  \"/dev/sdc\" is a new physical volume of \"1.00 GiB\"\n  /dev/sdb:data:2093056:-1:8:8:-1:4096:511:255:256:uuid\n";
        let all = read(text, &PHYSICAL);
        assert_eq!(all.len(), 1);
        assert_eq!(all.walk("/dev/sdb|Free Physical Extents", "|"), Some(&"255".into()));
    }
}
