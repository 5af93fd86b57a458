//! The kernel's tables in `/proc`, each as a map.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use crate::Result;
use crate::catalog::Function;
use crate::grains::look;
use crate::machine::System;

/// A number if the text looks like one, otherwise the text.
fn number(text: &str) -> Value {
    let text = text.trim();
    Value::integer(text).or_else(|| text.parse().ok().map(Value::Float)).unwrap_or_else(|| text.into())
}

fn read(machine: &dyn System, path: &str, parse: fn(&str) -> Map) -> Map {
    parse(&look::text(machine, path).unwrap_or_default())
}

/// What `/proc/cpuinfo` says of the last processor.
///
/// ```text
/// rocksalt '*' status.cpuinfo
/// ```
#[function("status.cpuinfo", reads)]
pub struct Cpuinfo {}

impl Function for Cpuinfo {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(read(machine, "/proc/cpuinfo", cpuinfo))
    }
}

fn cpuinfo(text: &str) -> Map {
    let mut found = Map::new();
    for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let (key, value) = (key.trim(), value.trim());
        match key {
            "flags" | "Features" => {
                found.insert(key, value.split_whitespace().map(Value::from).collect::<Vec<_>>());
            }
            _ => drop(found.insert(key, value)),
        }
    }
    found
}

/// What `/proc/stat` counts, in clock ticks.
///
/// ```text
/// rocksalt '*' status.cpustats
/// ```
#[function("status.cpustats", reads)]
pub struct Cpustats {}

impl Function for Cpustats {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(read(machine, "/proc/stat", cpustats))
    }
}

fn cpustats(text: &str) -> Map {
    let mut found = Map::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(&key), Some(&first)) = (words.first(), words.get(1)) else { continue };
        let list = |from: usize| Value::List(words.iter().skip(from).map(|word| number(word)).collect());
        let value = match key {
            "cpu" => {
                let at = |at: usize| number(words.get(at).unwrap_or(&"0"));
                let names = [
                    ("idle", 4),
                    ("iowait", 5),
                    ("irq", 6),
                    ("nice", 2),
                    ("softirq", 7),
                    ("steal", 8),
                    ("system", 3),
                    ("user", 1),
                ];
                Value::Map(names.iter().map(|(name, place)| ((*name).into(), at(*place))).collect())
            }
            "intr" => Value::Map([("total".into(), number(first)), ("irqs".into(), list(2))].into_iter().collect()),
            "softirq" => {
                Value::Map([("total".into(), number(first)), ("softirqs".into(), list(2))].into_iter().collect())
            }
            _ => number(first),
        };
        found.insert(key, value);
    }
    found
}

/// What `/proc/diskstats` counts.
///
/// ```text
/// rocksalt '*' status.diskstats
/// ```
#[function("status.diskstats", reads)]
pub struct Diskstats {}

impl Function for Diskstats {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(read(machine, "/proc/diskstats", diskstats))
    }
}

fn diskstats(text: &str) -> Map {
    const NAMES: [&str; 14] = [
        "major",
        "minor",
        "device",
        "reads_issued",
        "reads_merged",
        "sectors_read",
        "ms_spent_reading",
        "writes_completed",
        "writes_merged",
        "sectors_written",
        "ms_spent_writing",
        "io_in_progress",
        "ms_spent_in_io",
        "weighted_ms_spent_in_io",
    ];
    let disk = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let device = *words.get(2)?;
        let counts = NAMES.iter().zip(&words);
        let value = |name: &str, word: &str| if name == "device" { word.into() } else { number(word) };
        let counts: Map = counts.map(|(name, word)| ((*name).into(), value(name, word))).collect();
        Some((device.into(), Value::Map(counts)))
    };
    text.lines().filter_map(disk).collect()
}

/// What `/proc/meminfo` says.
///
/// ```text
/// rocksalt '*' status.meminfo
/// ```
#[function("status.meminfo", reads)]
pub struct Meminfo {}

impl Function for Meminfo {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(read(machine, "/proc/meminfo", meminfo))
    }
}

fn meminfo(text: &str) -> Map {
    let line = |line: &str| {
        let (key, rest) = line.split_once(':')?;
        let mut words = rest.split_whitespace();
        let mut value = Map::new();
        value.insert("value", words.next()?);
        if let Some(unit) = words.next() {
            value.insert("unit", unit);
        }
        Some((key.trim().into(), Value::Map(value)))
    };
    text.lines().filter_map(line).collect()
}

/// What `/proc/net/dev` counts for each interface.
///
/// ```text
/// rocksalt '*' status.netdev
/// ```
#[function("status.netdev", reads)]
pub struct Netdev {}

impl Function for Netdev {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(read(machine, "/proc/net/dev", netdev))
    }
}

fn netdev(text: &str) -> Map {
    const NAMES: [&str; 16] = [
        "rx_bytes",
        "rx_packets",
        "rx_errs",
        "rx_drop",
        "rx_fifo",
        "rx_frame",
        "rx_compressed",
        "rx_multicast",
        "tx_bytes",
        "tx_packets",
        "tx_errs",
        "tx_drop",
        "tx_fifo",
        "tx_colls",
        "tx_carrier",
        "tx_compressed",
    ];
    let line = |line: &str| {
        let (name, counts) = line.split_once(':')?;
        let name = name.trim();
        let mut known: Map = [("iface".into(), name.into())].into_iter().collect();
        known.extend(NAMES.iter().zip(counts.split_whitespace()).map(|(name, word)| ((*name).into(), number(word))));
        Some((name.into(), Value::Map(known)))
    };
    text.lines().filter_map(line).collect()
}

/// What `/proc/net/netstat` counts.
///
/// ```text
/// rocksalt '*' status.netstats
/// ```
#[function("status.netstats", reads)]
pub struct Netstats {}

impl Function for Netstats {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(read(machine, "/proc/net/netstat", netstats))
    }
}

/// A line of names is followed by a line of numbers; both begin with the same word.
fn netstats(text: &str) -> Map {
    let lines: Vec<&str> = text.lines().collect();
    let pair = |pair: &[&str]| {
        let (kind, names) = pair.first()?.split_once(':')?;
        let (_, numbers) = pair.get(1)?.split_once(':')?;
        let counts = names.split_whitespace().map(Value::from).zip(numbers.split_whitespace().map(number));
        Some((kind.into(), Value::Map(counts.collect())))
    };
    lines.chunks(2).filter_map(pair).collect()
}

/// What `/proc/vmstat` counts.
///
/// ```text
/// rocksalt '*' status.vmstats
/// ```
#[function("status.vmstats", reads)]
pub struct Vmstats {}

impl Function for Vmstats {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(read(machine, "/proc/vmstat", vmstats))
    }
}

fn vmstats(text: &str) -> Map {
    text.lines().filter_map(|line| line.split_once(' ')).map(|(key, value)| (key.into(), number(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_become_maps() {
        type Parser = fn(&str) -> Map;
        let cases: [(Parser, &str, &str); 6] = [
            (
                cpustats,
                "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 11 2\nintr 50 7 8\nctxt 9\nsoftirq 3 1 2\n",
                "{'cpu': {'idle': 4, 'iowait': 5, 'irq': 6, 'nice': 2, 'softirq': 7, 'steal': 8, 'system': 3, 'user': 1}, \
                 'cpu0': 11, 'intr': {'total': 50, 'irqs': [7, 8]}, 'ctxt': 9, 'softirq': {'total': 3, 'softirqs': [1, 2]}}",
            ),
            (
                meminfo,
                "MemTotal:   24684112 kB\nHugePages_Total:       0\n",
                "{'MemTotal': {'value': '24684112', 'unit': 'kB'}, 'HugePages_Total': {'value': '0'}}",
            ),
            (
                netstats,
                "TcpExt: A B\nTcpExt: 1 2\nIpExt: C\nIpExt: 3\n",
                "{'TcpExt': {'A': 1, 'B': 2}, 'IpExt': {'C': 3}}",
            ),
            (vmstats, "nr_free_pages 5\nnr_x 7\n", "{'nr_free_pages': 5, 'nr_x': 7}"),
            (
                cpuinfo,
                "processor\t: 0\nflags\t\t: fpu vme\n\nprocessor\t: 1\nflags\t\t: fpu\n",
                "{'processor': '1', 'flags': ['fpu']}",
            ),
            (netdev, "Inter-|   Receive\n", "{}"),
        ];
        for (parse, text, expected) in cases {
            assert_eq!(Value::Map(parse(text)).to_string(), expected);
        }
        let line = "  eth0:9 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n";
        let found = Value::Map(netdev(line));
        assert_eq!(found.walk("eth0:rx_bytes", ":"), Some(&Value::Int(9)));
        assert_eq!(found.walk("eth0:tx_compressed", ":"), Some(&Value::Int(15)));
        let found = Value::Map(diskstats(" 254 0 vda 65477 1 2 3 4 5 6 7 8 9 10 11 12\n"));
        assert_eq!(found.walk("vda:reads_issued", ":"), Some(&Value::Int(65477)));
        assert_eq!(found.walk("vda:device", ":"), Some(&Value::from("vda")));
    }
}
