//! Inspects processes through `/proc`, and kills those that a test started.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Identifies a process, even after its id was reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Identity {
    pub pid: i32,
    /// The start time in clock ticks since the boot.
    started: u64,
}

impl Identity {
    pub(crate) fn of(pid: i32) -> Option<Identity> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in parentheses, may itself contain spaces and parentheses.
        let after_name = stat.rsplit_once(')')?.1;
        let mut fields = after_name.split_whitespace();
        let state = fields.next()?;
        let started = fields.nth(18)?.parse().ok()?;
        (!matches!(state, "Z" | "X")).then_some(Identity { pid, started })
    }

    pub(crate) fn own() -> Option<Identity> {
        Identity::of(std::process::id().cast_signed())
    }

    pub(crate) fn alive(self) -> bool {
        Identity::of(self.pid) == Some(self)
    }

    /// Kills the process, unless it has exited, and waits until it has.
    pub(crate) fn kill(self) {
        if self.alive() {
            signal(self.pid, Signal::KILL);
            poll(Duration::from_secs(5), || (!self.alive()).then_some(()));
        }
    }
}

/// The resources that a process uses.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub pid: i32,
    pub threads: usize,
    pub descriptors: usize,
    /// The largest resident memory so far.
    pub peak_kilobytes: u64,
}

impl Usage {
    /// Returns `None` if the process has exited.
    pub(crate) fn of(pid: i32) -> Option<Usage> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let field = |name: &str| -> Option<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
        let threads = usize::try_from(field("Threads:")?).ok()?;
        Some(Usage { pid, threads, descriptors, peak_kilobytes: field("VmHWM:")? })
    }
}

/// Sends a signal. It is fine if the process has exited.
pub(crate) fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// The child processes of a process.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    // Each thread has its own list: an agent starts commands from the threads of its calls.
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists.flat_map(|list| list.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<i32>>()).collect()
}

/// Finds every process that was started with `NAME=value` in its environment.
pub(crate) fn with_environment(name: &str, value: &str) -> Vec<i32> {
    let wanted = format!("{name}={value}");
    let has = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    all().into_iter().filter(has).collect()
}

/// Whether a process in the network namespace of `pid` listens on a TCP port.
pub(crate) fn listens(pid: i32, port: u16) -> bool {
    let local_port = format!(":{port:04X}");
    ["tcp", "tcp6"].iter().any(|table| {
        let table = fs::read_to_string(PathBuf::from(format!("/proc/{pid}/net/{table}"))).unwrap_or_default();
        table.lines().skip(1).any(|line| {
            let mut fields = line.split_whitespace().skip(1);
            let local = fields.next().unwrap_or_default();
            let state = fields.nth(1).unwrap_or_default();
            local.ends_with(&local_port) && state == "0A"
        })
    })
}

/// Polls at short intervals until there is an answer or the time limit has passed.
pub(crate) fn poll<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if Instant::now() >= end {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn all() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_killed_process_is_no_longer_alive() {
        let mut child = Command::new("sleep").arg("60").env("TESTKIT_MARK", "here").spawn().expect("sleep starts");
        let pid = child.id().cast_signed();
        // The child has our environment until exec.
        let found =
            poll(Duration::from_secs(5), || with_environment("TESTKIT_MARK", "here").contains(&pid).then_some(()));
        assert!(found.is_some());
        let identity = Identity::of(pid).expect("it runs");
        assert!(identity.alive());
        identity.kill();
        assert!(!identity.alive());
        child.wait().expect("it ended");
    }

    #[test]
    fn a_later_process_with_the_same_number_is_another() {
        let own = Identity::own().expect("this process runs");
        assert!(own.alive());
        assert!(!Identity { started: own.started + 1, ..own }.alive());
    }

    #[test]
    fn a_process_is_measured() {
        let before = Usage::of(std::process::id().cast_signed()).expect("this process runs");
        let files: Vec<_> = (0..50).map(|_| fs::File::open("/proc/self/stat").expect("it opens")).collect();
        let after = Usage::of(std::process::id().cast_signed()).expect("this process runs");
        assert!(after.descriptors >= before.descriptors.saturating_sub(20) + 50, "{before:?} {after:?}");
        assert!(after.threads >= 1 && after.peak_kilobytes > 500, "{after:?}");
        drop(files);
        assert!(Usage::of(i32::MAX).is_none());
    }

    #[test]
    fn a_listening_port_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let port = listener.local_addr().expect("address").port();
        let own = std::process::id().cast_signed();
        assert!(listens(own, port));
        drop(listener);
        // A child that another test forks at this moment inherits the descriptor until it calls exec.
        let gone = (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            !listens(own, port)
        });
        assert!(gone, "{port} is still listened on");
    }
}
