//! A process, as `/proc` describes it.

use std::path::Path;

use crate::grains::look;
pub use crate::machine::ProcessStat;
use crate::machine::{Probe, accounts};

/// Clock ticks per second and bytes per page, as the kernel reports them to this program.
pub fn ticks() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

pub fn page() -> u64 {
    rustix::param::page_size() as u64
}

impl ProcessStat {
    pub fn read(machine: &dyn Probe, pid: u32) -> Option<ProcessStat> {
        let mut process = ProcessStat::parse(&look::text(machine, &format!("/proc/{pid}/stat"))?)?;
        // The kernel cuts names after 15 characters; the command line may have the full name.
        if process.name.len() >= 15
            && let Some(first) = command_line(machine, pid).first()
            && let Some(name) = Path::new(first).file_name().map(|name| name.to_string_lossy())
            && name.starts_with(&process.name)
        {
            process.name = name.into_owned();
        }
        Some(process)
    }

    /// The processor time of the process itself, in seconds.
    pub fn busy(&self) -> f64 {
        self.times[0].saturating_add(self.times[1]) as f64 / ticks()
    }

    /// The state as psutil names it.
    pub fn status(&self) -> &'static str {
        match self.state {
            'R' => "running",
            'S' => "sleeping",
            'D' => "disk-sleep",
            'T' => "stopped",
            't' => "tracing-stop",
            'Z' => "zombie",
            'X' | 'x' => "dead",
            'K' => "wake-kill",
            'W' => "waking",
            'I' => "idle",
            'P' => "parked",
            _ => "?",
        }
    }

    /// The start time in seconds since 1970, rounded to hundredths.
    pub fn created(&self, boot: u64) -> f64 {
        ((boot as f64 + self.start as f64 / ticks()) * 100.0).round() / 100.0
    }
}

/// The ids of all processes.
pub fn pids(machine: &dyn Probe) -> Vec<u32> {
    let mut pids: Vec<u32> = look::names(machine, "/proc").iter().filter_map(|name| name.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

/// All processes; those that end meanwhile are left out.
pub fn all(machine: &dyn Probe) -> Vec<ProcessStat> {
    pids(machine).into_iter().filter_map(|pid| ProcessStat::read(machine, pid)).collect()
}

/// The command line; empty for kernel threads.
pub fn command_line(machine: &dyn Probe, pid: u32) -> Vec<String> {
    let text = look::text(machine, &format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = text.trim_end_matches('\0');
    if text.is_empty() { Vec::new() } else { text.split('\0').map(str::to_owned).collect() }
}

/// Real, effective and saved id of `Uid` or `Gid`.
pub fn numbers(machine: &dyn Probe, pid: u32, key: &str) -> [u32; 3] {
    let status = look::text(machine, &format!("/proc/{pid}/status")).unwrap_or_default();
    let mut words =
        look::field(&status, key).unwrap_or_default().split_whitespace().map(|word| word.parse().unwrap_or(0));
    [(); 3].map(|()| words.next().unwrap_or(0))
}

/// Names of users, read once for a whole list of processes.
pub struct UserNames(Vec<accounts::User>);

impl UserNames {
    pub fn read(machine: &dyn Probe) -> UserNames {
        UserNames(accounts::users(machine))
    }

    /// The real user's name, or the id if it has none.
    pub fn of(&self, machine: &dyn Probe, pid: u32) -> String {
        let uid = numbers(machine, pid, "Uid")[0];
        self.0.iter().find(|user| user.uid == uid).map_or_else(|| uid.to_string(), |user| user.name.clone())
    }
}

/// The boot time in seconds since 1970.
pub fn boot_time(machine: &dyn Probe) -> u64 {
    let stat = look::text(machine, "/proc/stat").unwrap_or_default();
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "));
    line.and_then(|line| line.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    const STAT: &str = "42 (a (b) c) S 1 42 42 0 -1 4194560 9 8 7 6 150 250 30 40 20 -5 3 0 1234 47722496 4637 \
                        18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 1 0 0 11 0 0";

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let process = ProcessStat::parse(STAT).expect("a process");
        assert_eq!((process.pid, process.name.as_str(), process.parent), (42, "a (b) c", 1));
        assert_eq!(
            (process.times, process.nice, process.threads, process.start),
            ([150, 250, 30, 40, 11], -5, 3, 1234)
        );
        assert_eq!((process.cpu, process.status()), (1, "sleeping"));
        assert_eq!(ProcessStat::parse("rubbish"), None);
    }

    #[test]
    fn a_long_name_comes_from_the_command_line() {
        let machine = Fake::new()
            .file("/proc/7/stat", STAT.replace("a (b) c", "systemd-network"))
            .file("/proc/7/cmdline", "/usr/lib/systemd/systemd-networkd\0--x\0")
            .file("/proc/7/status", "Name:\tx\nUid:\t998\t998\t998\t998\n")
            .file("/etc/passwd", "net:x:998:998::/:/bin/false\n");
        assert_eq!(ProcessStat::read(&machine, 7).map(|process| process.name).as_deref(), Some("systemd-networkd"));
        assert_eq!(UserNames::read(&machine).of(&machine, 7), "net");
        assert_eq!(pids(&machine), [7]);
    }
}
