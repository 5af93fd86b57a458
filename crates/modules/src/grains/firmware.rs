//! The machine's manufacturer, model and serial number, and how it boots.

use std::path::Path;

use rocksalt_core::Map;

use super::look;
use crate::machine::Probe;

const DMI: &[(&str, &str)] = &[
    ("biosversion", "bios_version"),
    ("biosvendor", "bios_vendor"),
    ("boardname", "board_name"),
    ("productname", "product_name"),
    ("manufacturer", "sys_vendor"),
    ("biosreleasedate", "bios_date"),
    ("uuid", "product_uuid"),
    ("serialnumber", "product_serial"),
];

pub(super) fn grains(machine: &dyn Probe, grains: &mut Map) {
    device_tree(machine, grains);
    for (grain, file) in DMI {
        if let Some(text) = look::text(machine, &format!("/sys/class/dmi/id/{file}")) {
            let text = text.trim();
            grains.insert(*grain, if *grain == "uuid" { text.to_lowercase() } else { text.to_owned() });
        }
    }
    let variables = ["/sys/firmware/efi/efivars", "/sys/firmware/efi/vars"];
    let variables = variables.into_iter().find(|path| look::exists(machine, path));
    grains.insert("efi", variables.is_some());
    grains.insert("efi-secure-boot", variables.is_some_and(|path| secure_boot(machine, path)));
}

/// Boards without DMI (ARM, POWER) have a device tree.
fn device_tree(machine: &dyn Probe, grains: &mut Map) {
    let node = |name: &str| {
        let text = look::text(machine, &format!("/proc/device-tree/{name}"))?;
        Some(text.trim_end_matches('\0').to_owned()).filter(|text| !text.is_empty())
    };
    match node("model").as_deref().map(|model| model.split_once(',').ok_or(model)) {
        Some(Ok((maker, model))) => {
            grains.insert("manufacturer", maker);
            grains.insert("productname", model);
        }
        Some(Err(model)) => {
            grains.insert("productname", model);
        }
        None => {}
    }
    if let Some(serial) = node("serial-number").or_else(|| node("system-id")) {
        grains.insert("serialnumber", serial);
    }
}

/// The variable's last byte is 1 if secure boot is enabled.
fn secure_boot(machine: &dyn Probe, variables: &str) -> bool {
    let names = look::names(machine, variables);
    let Some(name) = names.iter().find(|name| name.starts_with("SecureBoot-")) else { return false };
    let file = if variables.ends_with("efivars") { String::new() } else { "/data".into() };
    let content = machine.read(Path::new(&format!("{variables}/{name}{file}"))).unwrap_or_default();
    content.last() == Some(&1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    fn gathered(machine: &Fake) -> String {
        let mut found = Map::new();
        grains(machine, &mut found);
        rocksalt_core::Value::Map(found).to_string()
    }

    #[test]
    fn a_pc_has_dmi() {
        let machine = Fake::new()
            .file("/sys/class/dmi/id/sys_vendor", "QEMU\n")
            .file("/sys/class/dmi/id/product_uuid", "4C4C4544-0042\n")
            .file("/sys/class/dmi/id/product_serial", " \n")
            .file("/sys/firmware/efi/efivars/SecureBoot-8be4df61", [6, 0, 0, 0, 1]);
        let expected = "{'manufacturer': 'QEMU', 'uuid': '4c4c4544-0042', 'serialnumber': '', 'efi': True, \
                        'efi-secure-boot': True}";
        assert_eq!(gathered(&machine), expected);
    }

    #[test]
    fn a_board_has_a_tree() {
        let machine = Fake::new()
            .file("/proc/device-tree/model", "Raspberry Pi 3 Model B Rev 1.2\0")
            .file("/proc/device-tree/serial-number", "000000001c5f\0");
        let expected = "{'productname': 'Raspberry Pi 3 Model B Rev 1.2', 'serialnumber': '000000001c5f', \
                        'efi': False, 'efi-secure-boot': False}";
        assert_eq!(gathered(&machine), expected);
    }
}
