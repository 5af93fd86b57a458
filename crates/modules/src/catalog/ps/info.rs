//! One process in detail, and the busiest processes.

use std::path::Path;

use rocksalt_core::sort::sort_by;
use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::process::{self, ProcessStat, UserNames, numbers, page, ticks};
use crate::catalog::Function;
use crate::grains::look;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// Details of a process.
///
/// ```text
/// rocksalt '*' ps.proc_info 1
/// rocksalt '*' ps.proc_info 1 attrs='[name, status, memory_info]'
/// ```
#[function("ps.proc_info", reads)]
pub struct ProcInfo {
    /// The process.
    pid: u32,
    /// Only these.
    attrs: Vec<String>,
}

type Attribute = fn(&dyn Probe, &ProcessStat) -> Value;

const ATTRIBUTES: &[(&str, Attribute)] = &[
    ("cmdline", |machine, process| process::command_line(machine, process.pid).into()),
    ("cpu_affinity", |machine, process| affinity(&status(machine, process, "Cpus_allowed_list")).into()),
    ("cpu_num", |_, process| process.cpu.into()),
    ("cpu_percent", |_, _| Value::Float(0.0)),
    ("cpu_times", |_, process| Value::List(process.times.map(|time| seconds(time).into()).to_vec())),
    ("create_time", |machine, process| process.created(process::boot_time(machine)).into()),
    ("cwd", |machine, process| link(machine, process, "cwd")),
    ("environ", |machine, process| environment(machine, process)),
    ("exe", |machine, process| link(machine, process, "exe")),
    ("gids", |machine, process| Value::List(numbers(machine, process.pid, "Gid").map(Value::from).to_vec())),
    ("io_counters", |machine, process| io_counters(machine, process)),
    ("memory_info", |machine, process| {
        memory(machine, process).map(|sizes| Value::List(sizes.map(Value::from).to_vec())).into()
    }),
    ("memory_percent", |machine, process| memory_percent(machine, process)),
    ("name", |_, process| process.name.as_str().into()),
    ("nice", |_, process| process.nice.into()),
    ("num_ctx_switches", |machine, process| {
        let count = |key: &str| Value::integer(&status(machine, process, key)).unwrap_or_default();
        Value::List(vec![count("voluntary_ctxt_switches"), count("nonvoluntary_ctxt_switches")])
    }),
    ("num_fds", |machine, process| {
        machine.list(Path::new(&format!("/proc/{}/fd", process.pid))).ok().map(|names| names.len()).into()
    }),
    ("num_threads", |_, process| process.threads.into()),
    ("open_files", |machine, process| open_files(machine, process)),
    ("pid", |_, process| process.pid.into()),
    ("ppid", |_, process| process.parent.into()),
    ("status", |_, process| process.status().into()),
    ("threads", |machine, process| threads(machine, process)),
    ("uids", |machine, process| Value::List(numbers(machine, process.pid, "Uid").map(Value::from).to_vec())),
    ("username", |machine, process| UserNames::read(machine).of(machine, process.pid).into()),
];

impl Function for ProcInfo {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let known = || ATTRIBUTES.iter().map(|(name, _)| *name);
        if let Some(unknown) = self.attrs.iter().find(|name| !known().any(|known| known == name.as_str())) {
            let hint = known().collect::<Vec<_>>().join(", ");
            return Err(Error::arguments(format!("invalid attr name '{unknown}'")).hint(format!("there are {hint}")));
        }
        let Some(process) = ProcessStat::read(machine, self.pid) else {
            return Err(Error::failed(format!("process PID not found (pid={})", self.pid)));
        };
        let wanted =
            ATTRIBUTES.iter().filter(|(name, _)| self.attrs.is_empty() || self.attrs.iter().any(|attr| attr == name));
        Ok(wanted.map(|(name, attribute)| ((*name).into(), attribute(machine, &process))).collect())
    }
}

fn seconds(ticks_used: u64) -> f64 {
    ticks_used as f64 / ticks()
}

fn status(machine: &dyn Probe, process: &ProcessStat, key: &str) -> String {
    let text = look::text(machine, &format!("/proc/{}/status", process.pid)).unwrap_or_default();
    look::field(&text, key).unwrap_or_default().to_owned()
}

/// Parses `0-2,7` to 0, 1, 2 and 7.
fn affinity(ranges: &str) -> Vec<Value> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse::<u32>().ok()?.min(65_535))
    };
    ranges.split(',').filter_map(range).flatten().map(Value::from).collect()
}

/// The target of a link; null without permission.
fn link(machine: &dyn Probe, process: &ProcessStat, name: &str) -> Value {
    let target = machine.read_link(Path::new(&format!("/proc/{}/{name}", process.pid)));
    target.ok().map(|path| path.to_string_lossy().into_owned()).into()
}

fn environment(machine: &dyn Probe, process: &ProcessStat) -> Value {
    let Some(text) = look::text(machine, &format!("/proc/{}/environ", process.pid)) else { return Value::Null };
    Value::Map(
        text.split('\0')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
    )
}

/// Reads, writes, bytes read, bytes written, then the numbers that the program requested.
fn io_counters(machine: &dyn Probe, process: &ProcessStat) -> Value {
    let Some(text) = look::text(machine, &format!("/proc/{}/io", process.pid)) else { return Value::Null };
    let count = |key: &str| Value::integer(look::field(&text, key).unwrap_or("0")).unwrap_or_default();
    Value::List(["syscr", "syscw", "read_bytes", "write_bytes", "rchar", "wchar"].map(count).to_vec())
}

/// Resident, virtual, shared, text, library, data and dirty bytes.
fn memory(machine: &dyn Probe, process: &ProcessStat) -> Option<[u64; 7]> {
    let text = look::line(machine, &format!("/proc/{}/statm", process.pid))?;
    let pages: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [all, resident, shared, code, library, data, dirty] = pages[..] else { return None };
    Some([resident, all, shared, code, library, data, dirty].map(|count| count.saturating_mul(page())))
}

fn memory_percent(machine: &dyn Probe, process: &ProcessStat) -> Value {
    let total = super::resources::memory_total(machine);
    match memory(machine, process) {
        Some([resident, ..]) if total > 0 => Value::Float(resident as f64 / total as f64 * 100.0),
        _ => Value::Null,
    }
}

/// Open regular files and their descriptors.
fn open_files(machine: &dyn Probe, process: &ProcessStat) -> Value {
    let folder = format!("/proc/{}/fd", process.pid);
    let Ok(names) = machine.list(Path::new(&folder)) else { return Value::Null };
    let files = names.iter().filter_map(|name| {
        let target = machine.read_link(Path::new(&format!("{folder}/{name}"))).ok()?;
        let stat = machine.stat(&target, true).ok()??;
        (stat.kind == crate::machine::FileKind::File).then(|| {
            Value::List(vec![target.to_string_lossy().into_owned().into(), Value::integer(name).unwrap_or_default()])
        })
    });
    Value::List(files.collect())
}

/// Id, user time and system time in seconds of each thread.
fn threads(machine: &dyn Probe, process: &ProcessStat) -> Value {
    let tasks = format!("/proc/{}/task", process.pid);
    let threads = look::names(machine, &tasks).into_iter().filter_map(|task| {
        let text = look::text(machine, &format!("{tasks}/{task}/stat"))?;
        let times: Vec<u64> =
            text.rsplit_once(')')?.1.split_whitespace().skip(11).take(2).filter_map(|word| word.parse().ok()).collect();
        let [user, system] = times[..] else { return None };
        Some(Value::List(vec![Value::integer(&task)?, seconds(user).into(), seconds(system).into()]))
    });
    Value::List(threads.collect())
}

/// The busiest processes over some seconds.
///
/// ```text
/// rocksalt '*' ps.top num_processes=3 interval=1
/// ```
#[function("ps.top", reads)]
pub struct Top {
    /// How many.
    #[default(5)]
    num_processes: u32,
    /// How long to watch, in seconds.
    #[default(3.0)]
    interval: f64,
}

impl Function for Top {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        let before = process::all(machine);
        machine.sleep(self.interval)?;
        let mut used: Vec<(f64, ProcessStat)> = process::all(machine)
            .into_iter()
            .filter_map(|now| {
                let then = before.iter().find(|then| then.pid == now.pid && then.start == now.start)?;
                Some((now.busy() - then.busy(), now))
            })
            .collect();
        sort_by(&mut used, |(a, _), (b, _)| b.total_cmp(a));
        let (owners, boot) = (UserNames::read(machine), process::boot_time(machine));
        Ok(used
            .into_iter()
            .take(self.num_processes as usize)
            .map(|(_, process)| shown(machine, &process, &owners, boot))
            .collect())
    }
}

fn shown(machine: &dyn Probe, process: &ProcessStat, owners: &UserNames, boot: u64) -> Map {
    let named =
        |names: &[&str], values: Vec<Value>| Value::Map(names.iter().map(|name| (*name).into()).zip(values).collect());
    let line = process::command_line(machine, process.pid);
    let line = if line.is_empty() { process.name.as_str().into() } else { line.into() };
    let sizes = memory(machine, process).unwrap_or_default().map(Value::from).to_vec();
    let times = process.times.map(|time| seconds(time).into()).to_vec();
    let pairs = [
        ("cmd", line),
        ("user", owners.of(machine, process.pid).into()),
        ("status", process.status().into()),
        ("pid", process.pid.into()),
        ("create_time", process.created(boot).into()),
        ("cpu", named(&["user", "system", "children_user", "children_system", "iowait"], times)),
        ("mem", named(&["rss", "vms", "shared", "text", "lib", "data", "dirty"], sizes)),
    ];
    pairs.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn a_process_is_described_as_far_as_we_may_look() {
        let stat =
            "42 (sshd) S 1 42 42 0 -1 0 0 0 0 0 100 200 0 0 20 0 1 0 500 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0";
        let machine = Fake::new()
            .file("/proc/42/stat", stat)
            .file("/proc/42/status", "Uid:\t0\t0\t0\t0\nGid:\t5\t6\t7\t8\nCpus_allowed_list:\t0-1,3\n")
            .file("/proc/42/statm", "100 50 20 10 0 30 0")
            .file("/proc/stat", "btime 1000\n");
        let attrs = ["gids", "cpu_affinity", "memory_info", "io_counters", "create_time", "status"].map(str::to_owned);
        let found = ProcInfo { pid: 42, attrs: attrs.to_vec() }.call(&machine).expect("it is there");
        let size = |pages: u64| pages * page();
        let expected = format!(
            "{{'cpu_affinity': [0, 1, 3], 'create_time': 1005.0, 'gids': [5, 6, 7], 'io_counters': None, \
             'memory_info': [{}, {}, {}, {}, 0, {}, 0], 'status': 'sleeping'}}",
            size(50),
            size(100),
            size(20),
            size(10),
            size(30),
        );
        assert_eq!(Value::Map(found).to_string(), expected);
        assert!(ProcInfo { pid: 43, attrs: Vec::new() }.call(&machine).is_err());
        assert!(ProcInfo { pid: 42, attrs: vec!["nope".into()] }.call(&machine).is_err());
    }
}
