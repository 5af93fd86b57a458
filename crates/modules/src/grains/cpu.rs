//! The processors.

use rocksalt_core::{Map, Value};

use super::look;
use crate::machine::Probe;

pub(super) fn grains(machine: &dyn Probe, grains: &mut Map) {
    let Cpu { count, model, flags } = parse(&look::text(machine, "/proc/cpuinfo").unwrap_or_default());
    grains.insert("num_cpus", count);
    grains.insert("cpu_model", model);
    grains.insert("cpu_flags", flags.into_iter().map(Value::String).collect::<Vec<_>>());
}

struct Cpu {
    count: i64,
    model: String,
    flags: Vec<String>,
}

/// Each architecture uses its own keys in `/proc/cpuinfo`; the last value of a repeated key counts.
fn parse(text: &str) -> Cpu {
    let mut cpu = Cpu { count: 0, model: "Unknown".into(), flags: Vec::new() };
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = value.split(':').next().unwrap_or_default().trim();
        match key.trim() {
            "processor" => cpu.count += 1,
            // s390 has a line with their number.
            "# processors" => cpu.count = value.parse().unwrap_or(0),
            "vendor_id" | "model name" | "cpu" => cpu.model = value.to_owned(),
            "flags" | "Features" => cpu.flags = value.split_whitespace().map(str::to_owned).collect(),
            // Old ARM kernels list one processor without a number.
            "Processor" => {
                cpu.model = value.split('-').next().unwrap_or_default().to_owned();
                cpu.count = 1;
            }
            _ => {}
        }
    }
    cpu
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_architecture_has_its_words() {
        let cases = [
            (
                "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R)\nflags\t\t: fpu vme\n\n\
                 processor\t: 1\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R)\nflags\t\t: fpu vme\n",
                (2, "Intel(R) Xeon(R)", 2),
            ),
            ("vendor_id       : IBM/S390\n# processors    : 3\nfeatures\t: esan3 zarch\n", (3, "IBM/S390", 0)),
            (
                "Processor\t: ARMv6-compatible processor rev 7 (v6l)\nBogoMIPS\t: 697.95\nFeatures\t: swp half thumb\n",
                (1, "ARMv6", 3),
            ),
            ("processor\t: 0\nFeatures\t: fp asimd\nCPU part\t: 0xd0b\n", (1, "Unknown", 2)),
            (
                "processor\t: 0\ncpu\t\t: POWER9 (architected), altivec supported\n",
                (1, "POWER9 (architected), altivec supported", 0),
            ),
            ("", (0, "Unknown", 0)),
        ];
        for (text, (count, model, flags)) in cases {
            let cpu = parse(text);
            assert_eq!((cpu.count, cpu.model.as_str(), cpu.flags.len()), (count, model, flags), "{text}");
        }
    }
}
