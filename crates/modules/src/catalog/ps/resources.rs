//! The machine's resources and their usage, with psutil's names, which Salt uses.

use std::time::Duration;

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::process::{boot_time, ticks};
use super::users;
use crate::catalog::Function;
use crate::catalog::disk::{self, MountTableLine};
use crate::grains::look;
use crate::machine::{Command, Probe, System};
use crate::{Error, Result};

fn map<const N: usize>(pairs: [(&str, Value); N]) -> Map {
    pairs.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

/// A percentage with one digit after the point.
fn percent(part: f64, whole: f64) -> Value {
    Value::Float(if whole > 0.0 { (part / whole * 1000.0).round() / 10.0 } else { 0.0 })
}

/// A line of `/proc/meminfo`, in bytes.
fn memory(meminfo: &str, key: &str) -> u64 {
    let value = look::field(meminfo, key).and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    value.unwrap_or(0).saturating_mul(1024)
}

pub(super) fn memory_total(machine: &dyn Probe) -> u64 {
    memory(&look::text(machine, "/proc/meminfo").unwrap_or_default(), "MemTotal")
}

/// When the machine was started.
///
/// ```text
/// rocksalt '*' ps.boot_time
/// rocksalt '*' ps.boot_time time_format='%Y-%m-%d'
/// ```
#[function("ps.boot_time", reads)]
pub struct BootTime {
    /// How to write it, in the words of `date`; seconds since 1970 if it is left out.
    time_format: Option<String>,
}

impl Function for BootTime {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let time = boot_time(machine);
        let Some(format) = self.time_format else { return Ok(time.into()) };
        let words = ["date".to_owned(), "-d".into(), format!("@{time}"), format!("+{format}")];
        let output = machine.query(&Command { timeout: Some(Duration::from_secs(5)), ..Command::new(words) })?;
        Ok(output.text().trim_end().into())
    }
}

const KINDS: [&str; 10] =
    ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"];

/// The lines `cpu…` of `/proc/stat`: the sum first, then each processor.
fn processors(machine: &dyn Probe) -> Vec<[f64; 10]> {
    let text = look::text(machine, "/proc/stat").unwrap_or_default();
    let lines = text.lines().take_while(|line| line.starts_with("cpu"));
    let times = |line: &str| {
        let mut words = line.split_whitespace().skip(1).map(|word| word.parse::<f64>().unwrap_or(0.0));
        [(); 10].map(|()| words.next().unwrap_or(0.0) / ticks())
    };
    lines.map(times).collect()
}

/// The processors' times by kind since boot, in seconds.
///
/// ```text
/// rocksalt '*' ps.cpu_times per_cpu=True
/// ```
#[function("ps.cpu_times", reads)]
pub struct CpuTimes {
    /// Each processor for itself.
    per_cpu: bool,
}

impl Function for CpuTimes {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let shown = |times: &[f64; 10]| {
            Value::Map(KINDS.iter().zip(times).map(|(name, time)| ((*name).into(), (*time).into())).collect())
        };
        let all = processors(machine);
        Ok(match self.per_cpu {
            true => Value::List(all.iter().skip(1).map(shown).collect()),
            false => all.first().map(shown).unwrap_or_default(),
        })
    }
}

/// How busy the processors are, in percent.
///
/// ```text
/// rocksalt '*' ps.cpu_percent interval=1
/// ```
#[function("ps.cpu_percent", reads)]
pub struct CpuPercent {
    /// How long to watch, in seconds.
    #[default(0.1)]
    interval: f64,
    /// Each processor for itself.
    per_cpu: bool,
}

impl Function for CpuPercent {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let before = processors(machine);
        machine.sleep(self.interval)?;
        let after = processors(machine);
        let mut busy = before.iter().zip(&after).map(|(before, after)| busy(before, after));
        Ok(match self.per_cpu {
            true => Value::List(busy.skip(1).collect()),
            false => busy.next().unwrap_or_default(),
        })
    }
}

/// Guest time is also included in user time.
fn busy(before: &[f64; 10], after: &[f64; 10]) -> Value {
    let passed: Vec<f64> = before.iter().zip(after).take(8).map(|(before, after)| (after - before).max(0.0)).collect();
    let all: f64 = passed.iter().sum();
    percent(all - passed[3] - passed[4], all)
}

/// Reads and writes of all disks, or of one.
///
/// ```text
/// rocksalt '*' ps.disk_io_counters
/// rocksalt '*' ps.disk_io_counters sda
/// ```
#[function("ps.disk_io_counters", reads)]
pub struct DiskIoCounters {
    /// The disk or partition.
    device: Option<String>,
}

impl Function for DiskIoCounters {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let disks = look::names(machine, "/sys/block");
        let text = look::text(machine, "/proc/diskstats").unwrap_or_default();
        let wanted = |name: &str| match &self.device {
            Some(device) => name == device,
            None => disks.iter().any(|disk| disk == name),
        };
        let mut sums = [0u64; 10];
        let mut found = false;
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if !words.get(2).is_some_and(|name| wanted(name)) {
                continue;
            }
            found = true;
            for (sum, word) in sums.iter_mut().zip(&words[3..]) {
                *sum = sum.wrapping_add(word.parse().unwrap_or(0));
            }
        }
        if !found {
            return Ok(Value::Bool(false));
        }
        const SECTOR: u64 = 512;
        let [reads, reads_merged, sectors_read, reading, writes, writes_merged, sectors_written, writing, _, busy] =
            sums;
        Ok(Value::Map(map([
            ("read_count", reads.into()),
            ("write_count", writes.into()),
            ("read_bytes", (sectors_read.saturating_mul(SECTOR)).into()),
            ("write_bytes", (sectors_written.saturating_mul(SECTOR)).into()),
            ("read_time", reading.into()),
            ("write_time", writing.into()),
            ("read_merged_count", reads_merged.into()),
            ("write_merged_count", writes_merged.into()),
            ("busy_time", busy.into()),
        ])))
    }
}

/// The mounted file systems; without `all`, only those on a device.
fn partitions(machine: &dyn Probe, all: bool) -> Vec<MountTableLine> {
    let kinds = look::text(machine, "/proc/filesystems").unwrap_or_default();
    let on_device = |mount: &MountTableLine| {
        mount.kind == "zfs" || kinds.lines().any(|line| !line.starts_with("nodev") && line.trim() == mount.kind)
    };
    disk::mounts(machine).into_iter().filter(|mount| all || on_device(mount)).collect()
}

fn partition(mount: &MountTableLine) -> Map {
    map([
        ("device", mount.device.as_str().into()),
        ("mountpoint", mount.point.as_str().into()),
        ("fstype", mount.kind.as_str().into()),
        ("opts", mount.options.as_str().into()),
    ])
}

/// The mounted file systems.
///
/// ```text
/// rocksalt '*' ps.disk_partitions
/// ```
#[function("ps.disk_partitions", reads)]
pub struct DiskPartitions {
    /// Also file systems that are on no device.
    all: bool,
}

impl Function for DiskPartitions {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        Ok(partitions(machine, self.all).iter().map(partition).collect())
    }
}

fn usage(path: &str) -> Result<Map> {
    let space = disk::space(path).map_err(|error| Error::io("look at the file system of", path, &error))?;
    let used = space.used();
    Ok(map([
        ("total", space.total.into()),
        ("used", used.into()),
        ("free", space.available.into()),
        ("percent", percent(used as f64, used.saturating_add(space.available) as f64)),
    ]))
}

/// How full the file system of a path is, in bytes.
///
/// ```text
/// rocksalt '*' ps.disk_usage /home
/// ```
#[function("ps.disk_usage", reads)]
pub struct DiskUsage {
    /// Any path on it.
    path: String,
}

impl Function for DiskUsage {
    type Output = Map;

    fn call(self, _: &dyn System) -> Result<Map> {
        usage(&self.path)
    }
}

/// The mounted file systems, and how full they are.
///
/// ```text
/// rocksalt '*' ps.disk_partition_usage
/// ```
#[function("ps.disk_partition_usage", reads)]
pub struct DiskPartitionUsage {
    /// Also file systems that are on no device.
    all: bool,
}

impl Function for DiskPartitionUsage {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        let shown = |mount: &MountTableLine| {
            let mut shown = partition(mount);
            shown.extend(usage(&mount.point).unwrap_or_default());
            shown
        };
        Ok(partitions(machine, self.all).iter().map(shown).collect())
    }
}

/// Who is logged in.
///
/// ```text
/// rocksalt '*' ps.get_users
/// ```
#[function("ps.get_users", reads)]
pub struct GetUsers {}

impl Function for GetUsers {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        let shown = |login: users::LoggedInUser| {
            map([
                ("name", login.name.into()),
                ("terminal", login.terminal.into()),
                ("started", Value::Float(login.started as f64)),
                ("host", login.host.into()),
            ])
        };
        Ok(users::logins(machine).into_iter().map(shown).collect())
    }
}

/// Bytes and packets of all interfaces, or of one; false if there is no such interface.
///
/// ```text
/// rocksalt '*' ps.network_io_counters eth0
/// ```
#[function("ps.network_io_counters", reads)]
pub struct NetworkIoCounters {
    /// The interface.
    interface: Option<String>,
}

impl Function for NetworkIoCounters {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let text = look::text(machine, "/proc/net/dev").unwrap_or_default();
        let mut sums = [0u64; 12];
        let mut found = false;
        for (name, counts) in text.lines().filter_map(|line| line.split_once(':')) {
            if self.interface.as_ref().is_some_and(|wanted| wanted != name.trim()) {
                continue;
            }
            found = true;
            for (sum, word) in sums.iter_mut().zip(counts.split_whitespace()) {
                *sum = sum.wrapping_add(word.parse().unwrap_or(0));
            }
        }
        if !found {
            return Ok(Value::Bool(false));
        }
        Ok(Value::Map(map([
            ("bytes_sent", sums[8].into()),
            ("bytes_recv", sums[0].into()),
            ("packets_sent", sums[9].into()),
            ("packets_recv", sums[1].into()),
            ("errin", sums[2].into()),
            ("errout", sums[10].into()),
            ("dropin", sums[3].into()),
            ("dropout", sums[11].into()),
        ])))
    }
}

/// The number of processors.
///
/// ```text
/// rocksalt '*' ps.num_cpus
/// ```
#[function("ps.num_cpus", reads)]
pub struct NumCpus {}

impl Function for NumCpus {
    type Output = usize;

    fn call(self, machine: &dyn System) -> Result<usize> {
        Ok(processors(machine).len().saturating_sub(1))
    }
}

/// Swap space, in bytes.
///
/// ```text
/// rocksalt '*' ps.swap_memory
/// ```
#[function("ps.swap_memory", reads)]
pub struct SwapMemory {}

impl Function for SwapMemory {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let text = look::text(machine, "/proc/meminfo").unwrap_or_default();
        let (total, free) = (memory(&text, "SwapTotal"), memory(&text, "SwapFree"));
        let used = total.saturating_sub(free);
        let moved = look::text(machine, "/proc/vmstat").unwrap_or_default();
        let pages = |key: &str| {
            let line = moved.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
            Value::from(line.unwrap_or(0).saturating_mul(4096))
        };
        Ok(map([
            ("total", total.into()),
            ("used", used.into()),
            ("free", free.into()),
            ("percent", percent(used as f64, total as f64)),
            ("sin", pages("pswpin ")),
            ("sout", pages("pswpout ")),
        ]))
    }
}

/// How much memory there is, in bytes.
///
/// ```text
/// rocksalt '*' ps.total_physical_memory
/// ```
#[function("ps.total_physical_memory", reads)]
pub struct TotalPhysicalMemory {}

impl Function for TotalPhysicalMemory {
    type Output = u64;

    fn call(self, machine: &dyn System) -> Result<u64> {
        Ok(memory_total(machine))
    }
}

/// Memory and what it is used for, in bytes.
///
/// ```text
/// rocksalt '*' ps.virtual_memory
/// ```
#[function("ps.virtual_memory", reads)]
pub struct VirtualMemory {}

impl Function for VirtualMemory {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let text = look::text(machine, "/proc/meminfo").unwrap_or_default();
        let of = |key: &str| memory(&text, key);
        let (total, free) = (of("MemTotal"), of("MemFree"));
        // Kernels before 3.14 have no estimate.
        let available = match of("MemAvailable") {
            0 => free + of("Buffers") + of("Cached"),
            available => available,
        };
        let used = total.saturating_sub(available);
        Ok(map([
            ("total", total.into()),
            ("available", available.into()),
            ("percent", percent(used as f64, total as f64)),
            ("used", used.into()),
            ("free", free.into()),
            ("active", of("Active").into()),
            ("inactive", of("Inactive").into()),
            ("buffers", of("Buffers").into()),
            ("cached", (of("Cached") + of("SReclaimable")).into()),
            ("shared", of("Shmem").into()),
            ("slab", of("Slab").into()),
        ]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn memory_is_counted_as_psutil_does() {
        let meminfo = "MemTotal: 1000 kB\nMemFree: 400 kB\nMemAvailable: 750 kB\nBuffers: 10 kB\nCached: 20 kB\n\
                       Active: 5 kB\nActive(anon): 7 kB\nSReclaimable: 3 kB\nSwapTotal: 200 kB\nSwapFree: 150 kB\n";
        let machine = Fake::new().file("/proc/meminfo", meminfo).file("/proc/vmstat", "pswpin 2\npswpout 0\n");
        let found = Value::Map(VirtualMemory {}.call(&machine).expect("memory"));
        let get = |key: &str| found.walk(key, ":").map(ToString::to_string).unwrap_or_default();
        assert_eq!(
            (get("percent"), get("used"), get("active"), get("cached")),
            ("25.0".into(), "256000".into(), "5120".into(), "23552".into())
        );
        let swap = Value::Map(SwapMemory {}.call(&machine).expect("swap")).to_string();
        assert_eq!(swap, "{'total': 204800, 'used': 51200, 'free': 153600, 'percent': 25.0, 'sin': 8192, 'sout': 0}");
    }

    #[test]
    fn waiting_is_not_being_busy() {
        let before = [0.0; 10];
        let after = [10.0, 0.0, 10.0, 60.0, 20.0, 0.0, 0.0, 0.0, 5.0, 0.0];
        assert_eq!(busy(&before, &after), Value::Float(20.0));
        assert_eq!(busy(&before, &before), Value::Float(0.0));
    }

    #[test]
    fn counters_are_summed_over_whole_disks() {
        let text = " 254 0 vda 10 1 100 5 20 2 200 6 0 9 11\n 254 1 vda1 10 1 100 5 20 2 200 6 0 9 11\n 254 16 vdb 1 0 8 1 0 0 0 0 0 1 1\n";
        let machine = Fake::new().file("/proc/diskstats", text).directory("/sys/block/vda").directory("/sys/block/vdb");
        let count = |device: Option<&str>| {
            DiskIoCounters { device: device.map(str::to_owned) }.call(&machine).expect("counters")
        };
        assert_eq!(count(None).walk("read_bytes", ":"), Some(&Value::Int(108 * 512)));
        assert_eq!(count(Some("vda1")).walk("busy_time", ":"), Some(&Value::Int(9)));
        assert_eq!(count(Some("sdz")), Value::Bool(false));
    }
}
