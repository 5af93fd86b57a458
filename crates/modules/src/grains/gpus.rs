//! Graphics cards and accelerators on the PCI bus.

use rocksalt_core::{Map, Value};

use super::look;
use crate::machine::Probe;

/// Where distributions install the list of PCI names.
const NAMES: &[&str] = &["/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids"];

/// The vendors that Salt knows, by their PCI id.
const VENDORS: &[(u32, &str)] = &[
    (0x1002, "amd"),
    (0x1013, "cirrus logic"),
    (0x1022, "amd"),
    (0x102b, "matrox"),
    (0x10de, "nvidia"),
    (0x15ad, "vmware"),
    (0x1a03, "aspeed"),
    (0x8086, "intel"),
];

pub(super) fn grains(machine: &dyn Probe, grains: &mut Map) {
    let option = |name: &str| machine.options().get(name).and_then(Value::as_bool).unwrap_or(true);
    if !option("enable_lspci") || !option("enable_gpu_grains") {
        return;
    }
    let mut names = None;
    let mut gpus = Vec::new();
    for device in look::names(machine, "/sys/bus/pci/devices") {
        let number = |file: &str| {
            let text = look::line(machine, &format!("/sys/bus/pci/devices/{device}/{file}"))?;
            u32::from_str_radix(text.trim_start_matches("0x"), 16).ok()
        };
        // VGA, 3D and other display controllers; processing accelerators.
        let class = number("class").unwrap_or(0) >> 8;
        if !matches!(class, 0x0300 | 0x0302 | 0x0380 | 0x1200) {
            continue;
        }
        let (Some(vendor), Some(model)) = (number("vendor"), number("device")) else { continue };
        let names = names.get_or_insert_with(|| NAMES.iter().find_map(|path| look::text(machine, path)));
        let model = names.as_deref().and_then(|names| model_name(names, vendor, model));
        let model = model.map_or_else(|| format!("Device {:04x}", number("device").unwrap_or(0)), str::to_owned);
        let vendor = VENDORS.iter().find(|(id, _)| *id == vendor).map_or("unknown", |(_, name)| *name);
        let gpu: Map = [("vendor".into(), vendor.into()), ("model".into(), model.into())].into_iter().collect();
        gpus.push(Value::Map(gpu));
    }
    grains.insert("num_gpus", gpus.len());
    grains.insert("gpus", gpus);
}

/// In the list, a vendor's line is followed by its devices, each indented by a tab.
fn model_name(names: &str, vendor: u32, model: u32) -> Option<&str> {
    let start = format!("{vendor:04x}  ");
    let model = format!("\t{model:04x}  ");
    let mut lines = names.lines().skip_while(|line| !line.starts_with(&start)).skip(1);
    let of_vendor = lines.by_ref().take_while(|line| line.starts_with('\t') || line.starts_with('#'));
    of_vendor.into_iter().find_map(|line| line.strip_prefix(&model))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn display_devices_are_named() {
        let base = "/sys/bus/pci/devices/0000:00:02.0";
        let machine = Fake::new()
            .file(&format!("{base}/class"), "0x030000\n")
            .file(&format!("{base}/vendor"), "0x10de\n")
            .file(&format!("{base}/device"), "0x1eb8\n")
            .file("/sys/bus/pci/devices/0000:00:03.0/class", "0x020000\n")
            .file(
                "/usr/share/misc/pci.ids",
                "1002  AMD\n\t1eb8  Other\n10de  NVIDIA Corporation\n\t1eb8  TU104GL [T4]\n",
            );
        let mut found = Map::new();
        grains(&machine, &mut found);
        let expected = "{'num_gpus': 1, 'gpus': [{'vendor': 'nvidia', 'model': 'TU104GL [T4]'}]}";
        assert_eq!(Value::Map(found).to_string(), expected);
    }
}
