//! The size of the memory, in MiB.

use rocksalt_core::Map;

use super::look;
use crate::machine::Probe;

pub(super) fn grains(machine: &dyn Probe, grains: &mut Map) {
    let text = look::text(machine, "/proc/meminfo").unwrap_or_default();
    grains.insert("mem_total", mebibytes(&text, "MemTotal"));
    grains.insert("swap_total", mebibytes(&text, "SwapTotal"));
}

fn mebibytes(meminfo: &str, key: &str) -> i64 {
    let value = look::field(meminfo, key).and_then(|value| value.split_whitespace().next()?.parse::<i64>().ok());
    value.unwrap_or(0) / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_counted_in_whole_mebibytes() {
        let text = "MemTotal:       24684112 kB\nMemFree: 1 kB\nSwapTotal:       2097148 kB\n";
        assert_eq!((mebibytes(text, "MemTotal"), mebibytes(text, "SwapTotal")), (24105, 2047));
        assert_eq!(mebibytes("", "MemTotal"), 0);
    }
}
