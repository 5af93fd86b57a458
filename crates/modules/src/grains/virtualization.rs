//! Whether the machine is physical, virtual, or a container.
//!
//! Salt asks `systemd-detect-virt` and `dmidecode`, which read the same sources as this.

use std::path::Path;

use rocksalt_core::Map;

use super::look;
use crate::machine::Probe;

pub(super) fn grains(machine: &dyn Probe, grains: &mut Map) {
    let (kind, subtype) = detect(&Facts::read(machine));
    grains.insert("virtual", kind);
    if let Some(subtype) = subtype {
        grains.insert("virtual_subtype", subtype);
    }
}

/// The facts that distinguish them.
#[derive(Default)]
struct Facts {
    /// The container manager, as systemd names it.
    container: Option<String>,
    /// The signature of the hypervisor, from the processor.
    hypervisor: String,
    vendor: String,
    product: String,
    bios: String,
    cpuinfo: String,
    cgroup: String,
    chroot: bool,
    openvz: Option<bool>,
    xen: Option<Xen>,
}

#[derive(Clone, Copy)]
enum Xen {
    Host,
    Guest,
    Paravirtual,
}

impl Facts {
    fn read(machine: &dyn Probe) -> Facts {
        let dmi = |file: &str| look::line(machine, &format!("/sys/class/dmi/id/{file}")).unwrap_or_default();
        let cpuinfo = look::text(machine, "/proc/cpuinfo").unwrap_or_default();
        let flag = |line: &str| line.starts_with("flags") && line.split_whitespace().any(|word| word == "hypervisor");
        let hypervisor = if cpuinfo.lines().any(flag) { hypervisor() } else { String::new() };
        let product = dmi("product_name");
        Facts {
            container: container(machine),
            hypervisor,
            vendor: dmi("sys_vendor"),
            bios: format!("{} {}", dmi("bios_vendor"), dmi("bios_version")),
            cgroup: look::text(machine, "/proc/1/cgroup").unwrap_or_default(),
            chroot: is_chroot(machine),
            openvz: openvz(machine),
            xen: xen(machine, &product),
            product,
            cpuinfo,
        }
    }
}

fn detect(facts: &Facts) -> (String, Option<String>) {
    let dmi = format!("{} {} {}", facts.vendor, facts.product, facts.bios);
    let (mut kind, mut subtype): (&str, Option<String>) = match facts.container.as_deref() {
        Some(manager) if manager.contains("lxc") => ("container", Some("LXC".into())),
        Some("podman") => ("container", Some("Podman".into())),
        Some("docker") => ("container", Some("Docker".into())),
        Some("systemd-nspawn") => ("systemd-nspawn", None),
        _ => (hardware(facts, &dmi), None),
    };
    if kind == "Nitro" {
        subtype = Some("Amazon EC2".into());
    }
    if facts.chroot {
        subtype = Some("chroot".into());
    }
    match facts.openvz {
        Some(true) => kind = "openvzhn",
        Some(false) => kind = "openvzve",
        None => {}
    }
    if let Some(xen) = facts.xen {
        kind = "xen";
        let name = match xen {
            Xen::Host => "Xen Dom0",
            Xen::Guest => "Xen HVM DomU",
            Xen::Paravirtual => "Xen PV DomU",
        };
        subtype = Some(name.into());
    }
    if facts.cpuinfo.contains("QEMU Virtual CPU") {
        kind = "kvm";
    }
    let product = &facts.product;
    match () {
        () if product.contains("VirtualBox") => kind = "VirtualBox",
        () if product.contains("RHEV Hypervisor") => (kind, subtype) = ("kvm", Some("rhev".into())),
        () if product.contains("oVirt Node") => (kind, subtype) = ("kvm", Some("ovirt".into())),
        () if product.contains("Google") => kind = "gce",
        () if product.contains("BHYVE") => kind = "bhyve",
        () => {}
    }
    if let Some((container, manager)) = by_control_group(&facts.cgroup, kind) {
        (kind, subtype) = (container, Some(manager.into()));
    }
    if subtype.is_some() && kind == "physical" {
        kind = "virtual";
    }
    if let Some((hypervisor, cloud)) = by_cloud(facts, kind) {
        (kind, subtype) = (hypervisor, Some(cloud));
    }
    (kind.to_owned(), subtype)
}

/// The container's kind and manager, from the control group of process 1; some managers leave the kind as it is.
fn by_control_group(cgroup: &str, kind: &'static str) -> Option<(&'static str, &'static str)> {
    let group = |parts: &[&str]| parts.iter().any(|part| cgroup.contains(part));
    match () {
        () if group(&[":/lxc/"]) => Some(("container", "LXC")),
        () if group(&[":/kubepods/"]) => Some((kind, "kubernetes")),
        () if group(&[":/libpod_parent/"]) => Some((kind, "libpod")),
        () if group(&[":/system.slice/docker", ":/docker/", ":/docker-ce/"]) => Some(("container", "Docker")),
        () => None,
    }
}

/// The kind of a virtual machine in a known cloud, and the cloud's name.
fn by_cloud(facts: &Facts, kind: &'static str) -> Option<(&'static str, String)> {
    let product = &facts.product;
    match () {
        () if !matches!(kind, "qemu" | "kvm" | "xen" | "Nitro") => None,
        () if facts.vendor.contains("Amazon EC2") => {
            Some((if kind == "xen" { kind } else { "Nitro" }, format!("Amazon EC2 ({product})")))
        }
        () if facts.bios.contains(".amazon") => Some((kind, "Amazon EC2".into())),
        () if facts.vendor.contains("Nutanix") && product.contains("AHV") => Some((kind, "Nutanix AHV".into())),
        () => None,
    }
}

/// Firmware first, since some hypervisors show another's signature for compatibility with old systems.
fn hardware(facts: &Facts, dmi: &str) -> &'static str {
    let has = |word: &str| dmi.contains(word);
    match () {
        () if has("VirtualBox") || has("innotek GmbH") => "oracle",
        () if has("VMware") => "VMware",
        () if has("Amazon EC2") => "Nitro",
        () if has("Parallels") => "Parallels",
        () if has("BHYVE") => "bhyve",
        () => match facts.hypervisor.as_str() {
            "KVMKVMKVM" | "Linux KVM Hv" => "kvm",
            "TCGTCGTCGTCG" => "qemu",
            "VMwareVMware" => "VMware",
            "Microsoft Hv" => "VirtualPC",
            "XenVMMXenVMM" => "xen",
            "bhyve bhyve" => "bhyve",
            _ if has("QEMU") || has("Bochs") || has("SeaBIOS") || has("KVM") => "kvm",
            _ if has("Google") || has("oVirt") || has("RHEV") || has("OpenStack") || has("Nutanix") => "kvm",
            _ if facts.vendor.starts_with("Microsoft") && has("Virtual Machine") => "VirtualPC",
            _ => "physical",
        },
    }
}

/// The hypervisor's signature, from CPUID.
#[cfg(target_arch = "x86_64")]
fn hypervisor() -> String {
    let leaf = std::arch::x86_64::__cpuid(0x4000_0000);
    let bytes = [leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes).concat();
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
}

#[cfg(not(target_arch = "x86_64"))]
fn hypervisor() -> String {
    String::new()
}

fn container(machine: &dyn Probe) -> Option<String> {
    if let Some(manager) = look::line(machine, "/run/systemd/container") {
        return Some(manager);
    }
    // Only root may read it; for other users the files decide.
    let environment = look::text(machine, "/proc/1/environ").unwrap_or_default();
    let manager = environment.split('\0').find_map(|variable| variable.strip_prefix("container="));
    if let Some(manager) = manager.filter(|manager| !manager.is_empty()) {
        return Some(manager.to_owned());
    }
    let files = [("/run/.containerenv", "podman"), ("/.dockerenv", "docker")];
    files.iter().find(|(path, _)| look::exists(machine, path)).map(|(_, manager)| (*manager).to_owned())
}

/// Whether our root differs from that of process 1.
fn is_chroot(machine: &dyn Probe) -> bool {
    let place = |path: &str| machine.stat(Path::new(path), true).ok().flatten().map(|stat| (stat.device, stat.inode));
    match (place("/"), place("/proc/1/root/.")) {
        (Some(own), Some(first)) => own != first,
        _ => false,
    }
}

/// True for an OpenVZ host, false for a guest.
fn openvz(machine: &dyn Probe) -> Option<bool> {
    let status = look::text(machine, "/proc/self/status").unwrap_or_default();
    if let Some(number) = look::field(&status, "envID") {
        return Some(number == "0");
    }
    match () {
        () if look::exists(machine, "/proc/vz/version") => Some(true),
        () if look::exists(machine, "/proc/vz/veinfo") => Some(false),
        () => None,
    }
}

fn xen(machine: &dyn Probe, product: &str) -> Option<Xen> {
    let traces = ["/proc/sys/xen", "/sys/bus/xen", "/proc/xen"];
    if !traces.iter().any(|path| look::is_directory(machine, path)) {
        return None;
    }
    if look::exists(machine, "/proc/xen/xsd_kva") {
        return Some(Xen::Host);
    }
    if product == "HVM domU" {
        return Some(Xen::Guest);
    }
    match look::text(machine, "/proc/xen/capabilities") {
        Some(text) if text.contains("control_d") => Some(Xen::Host),
        Some(_) => Some(Xen::Paravirtual),
        None => look::is_directory(machine, "/sys/bus/xen/drivers/xenconsole").then_some(Xen::Paravirtual),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_marks() {
        let none = Facts::default;
        let text = |text: &str| text.to_owned();
        let cases: Vec<(Facts, &str, Option<&str>)> = vec![
            (none(), "physical", None),
            (Facts { vendor: text("Dell Inc."), product: text("PowerEdge R740"), ..none() }, "physical", None),
            (Facts { vendor: text("QEMU"), hypervisor: text("KVMKVMKVM"), ..none() }, "kvm", None),
            (Facts { hypervisor: text("TCGTCGTCGTCG"), ..none() }, "qemu", None),
            (Facts { vendor: text("innotek GmbH"), product: text("VirtualBox"), ..none() }, "VirtualBox", None),
            (Facts { vendor: text("VMware, Inc."), product: text("VMware7,1"), ..none() }, "VMware", None),
            (Facts { hypervisor: text("Microsoft Hv"), ..none() }, "VirtualPC", None),
            (Facts { vendor: text("Google"), product: text("Google Compute Engine"), ..none() }, "gce", None),
            (
                Facts {
                    vendor: text("Amazon EC2"),
                    product: text("t3.micro"),
                    hypervisor: text("KVMKVMKVM"),
                    ..none()
                },
                "Nitro",
                Some("Amazon EC2 (t3.micro)"),
            ),
            (Facts { container: Some(text("docker")), ..none() }, "container", Some("Docker")),
            (Facts { container: Some(text("lxc")), hypervisor: text("KVMKVMKVM"), ..none() }, "container", Some("LXC")),
            (Facts { container: Some(text("podman")), ..none() }, "container", Some("Podman")),
            (Facts { cgroup: text("1:name=systemd:/docker/abc"), ..none() }, "container", Some("Docker")),
            (Facts { cgroup: text("0::/kubepods/pod1"), ..none() }, "virtual", Some("kubernetes")),
            (Facts { chroot: true, ..none() }, "virtual", Some("chroot")),
            (Facts { xen: Some(Xen::Guest), ..none() }, "xen", Some("Xen HVM DomU")),
            (Facts { openvz: Some(false), ..none() }, "openvzve", None),
        ];
        for (facts, kind, subtype) in cases {
            let shown = format!("{:?} {} {} {}", facts.container, facts.hypervisor, facts.vendor, facts.product);
            assert_eq!(detect(&facts), (kind.to_owned(), subtype.map(str::to_owned)), "{shown}");
        }
    }
}
