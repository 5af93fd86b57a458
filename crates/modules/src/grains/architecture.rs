//! `osarch`: the architecture of the system's packages.
//!
//! The kernel's may differ (32-bit systems on 64-bit kernels), so the ELF header of the package manager's program is
//! read, which is faster than starting it.

use std::path::Path;

use rocksalt_core::{Map, Value};

use crate::machine::Probe;

pub(super) fn grains(machine: &dyn Probe, grains: &mut Map) {
    let text = |name: &str| grains.get(name).and_then(Value::as_str).unwrap_or_default();
    let (family, cpu) = (text("os_family"), text("cpuarch"));
    let header = |path: &str| machine.read_at(Path::new(path), 0, 64).ok().and_then(|header| ElfHeader::parse(&header));
    let name = match family {
        "Debian" => header("/usr/bin/dpkg").and_then(|program| program.debian()).unwrap_or(debian_of(cpu)),
        "RedHat" | "Suse" => header("/usr/bin/rpm").and_then(|program| program.rpm(cpu)).unwrap_or(cpu),
        _ => cpu,
    };
    let name = name.to_owned();
    grains.insert("osarch", name);
}

/// The architecture in an ELF header.
#[derive(Debug, PartialEq)]
struct ElfHeader {
    machine: u16,
    wide: bool,
    little: bool,
    flags: u32,
}

impl ElfHeader {
    fn parse(header: &[u8]) -> Option<ElfHeader> {
        if !header.starts_with(b"\x7fELF") || header.len() < 52 {
            return None;
        }
        let (wide, little) = (header[4] == 2, header[5] == 1);
        let bytes = [header[18], header[19]];
        let machine = if little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) };
        let at = if wide { 48 } else { 36 };
        let bytes = [header[at], header[at + 1], header[at + 2], header[at + 3]];
        let flags = if little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) };
        Some(ElfHeader { machine, wide, little, flags })
    }

    fn debian(&self) -> Option<&'static str> {
        const HARD_FLOAT: u32 = 0x400;
        Some(match (self.machine, self.wide, self.little) {
            (3, ..) => "i386",
            (8, false, true) => "mipsel",
            (8, true, true) => "mips64el",
            (21, _, true) => "ppc64el",
            (21, _, false) => "ppc64",
            (22, true, _) => "s390x",
            (40, _, true) if self.flags & HARD_FLOAT != 0 => "armhf",
            (40, _, true) => "armel",
            (62, true, _) => "amd64",
            (62, false, _) => "x32",
            (183, _, true) => "arm64",
            (243, true, _) => "riscv64",
            (258, true, _) => "loong64",
            _ => return None,
        })
    }

    fn rpm<'a>(&self, cpu: &'a str) -> Option<&'a str> {
        Some(match (self.machine, self.little) {
            (3, _) if cpu == "x86_64" => "i386",
            (40, _) if cpu == "aarch64" => "armv7hl",
            (3 | 40, _) => cpu,
            (21, true) => "ppc64le",
            (21, false) => "ppc64",
            (22, _) => "s390x",
            (62, _) => "x86_64",
            (183, _) => "aarch64",
            (243, _) => "riscv64",
            _ => return None,
        })
    }
}

fn debian_of(cpu: &str) -> &str {
    match cpu {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "i386" | "i486" | "i586" | "i686" => "i386",
        "armv7l" | "armv8l" => "armhf",
        "armv5tel" | "armv6l" => "armel",
        "ppc64le" => "ppc64el",
        "loongarch64" => "loong64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(wide: u8, little: u8, machine: u16, flags: u32) -> Vec<u8> {
        let mut header = vec![0; 64];
        header[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', wide, little]);
        let (machine, flags) = match little {
            1 => (machine.to_le_bytes(), flags.to_le_bytes()),
            _ => (machine.to_be_bytes(), flags.to_be_bytes()),
        };
        header[18..20].copy_from_slice(&machine);
        let at = if wide == 2 { 48 } else { 36 };
        header[at..at + 4].copy_from_slice(&flags);
        header
    }

    #[test]
    fn a_programs_header_tells_the_architecture() {
        let cases = [
            (header(2, 1, 62, 0), "amd64", "x86_64"),
            (header(1, 1, 3, 0), "i386", "i386"),
            (header(2, 1, 183, 0), "arm64", "aarch64"),
            (header(2, 1, 21, 2), "ppc64el", "ppc64le"),
            (header(2, 2, 22, 0), "s390x", "s390x"),
        ];
        for (header, debian, rpm) in cases {
            let program = ElfHeader::parse(&header).expect("it is an ELF header");
            assert_eq!((program.debian(), program.rpm("x86_64")), (Some(debian), Some(rpm)));
        }
        let raspberry = ElfHeader::parse(&header(1, 1, 40, 0x0500_0400)).expect("it is an ELF header");
        assert_eq!(raspberry.debian(), Some("armhf"));
        assert_eq!(ElfHeader::parse(b"#!/bin/sh"), None);
    }
}
