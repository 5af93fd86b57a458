//! Functions that find processes and send them signals.

use rocksalt_core::pattern::{Flags, Pattern as Regex};
use rocksalt_core::{Map, Value};
use rocksalt_macros::function;
use rustix::process::{Pid, Signal, kill_process};

use super::process::{self, ProcessStat, UserNames};
use crate::catalog::Function;
use crate::grains::look;
use crate::machine::{Command, Probe, System};
use crate::{Error, Result};

/// The ids of all processes.
///
/// ```text
/// rocksalt '*' ps.get_pid_list
/// ```
#[function("ps.get_pid_list", reads)]
pub struct GetPidList {}

impl Function for GetPidList {
    type Output = Vec<u32>;

    fn call(self, machine: &dyn System) -> Result<Vec<u32>> {
        Ok(process::pids(machine))
    }
}

/// Matches a process's name, or its whole command line.
struct ProcessPattern {
    text: String,
    expression: Option<Regex>,
    user: Option<String>,
    full: bool,
}

impl ProcessPattern {
    fn found(&self, machine: &dyn Probe) -> Vec<ProcessStat> {
        let owners = UserNames::read(machine);
        let own = std::process::id();
        let fits = |process: &ProcessStat| {
            let text = match process::command_line(machine, process.pid) {
                line if self.full && !line.is_empty() => line.join(" "),
                _ => process.name.clone(),
            };
            let named = match &self.expression {
                Some(expression) => expression.matches(&text).unwrap_or(false),
                None => text.contains(&self.text),
            };
            named && self.user.as_ref().is_none_or(|user| owners.of(machine, process.pid) == *user)
        };
        // Our own command line may contain the pattern.
        process::all(machine).into_iter().filter(|process| process.pid != own && fits(process)).collect()
    }
}

/// The ids of the processes whose name contains a text; null if there is none.
///
/// ```text
/// rocksalt '*' ps.pgrep sshd
/// rocksalt '*' ps.pgrep 'java.*tomcat' full=True pattern_is_regex=True user=tomcat
/// ```
#[function("ps.pgrep", reads)]
pub struct Pgrep {
    /// What the name must contain.
    pattern: String,
    /// Only this user's.
    user: Option<String>,
    /// Look at whole command lines.
    full: bool,
    /// The pattern is a regular expression.
    pattern_is_regex: bool,
}

impl Function for Pgrep {
    type Output = Option<Vec<u32>>;

    fn call(self, machine: &dyn System) -> Result<Option<Vec<u32>>> {
        let expression = match self.pattern_is_regex {
            true => Some(Regex::new(&self.pattern, Flags::NONE)?),
            false => None,
        };
        let pattern = ProcessPattern { text: self.pattern, expression, user: self.user, full: self.full };
        let found: Vec<u32> = pattern.found(machine).iter().map(|process| process.pid).collect();
        Ok(Some(found).filter(|found| !found.is_empty()))
    }
}

fn signal_number(number: u32) -> Result<Signal> {
    let signal = i32::try_from(number).ok().and_then(Signal::from_named_raw);
    signal.ok_or_else(|| Error::arguments(format!("{number} is no signal")).hint("15 is TERM, 9 KILL, 1 HUP"))
}

fn kill(pid: u32, signal: Signal) -> bool {
    let target = i32::try_from(pid).ok().and_then(Pid::from_raw);
    target.is_some_and(|target| kill_process(target, signal).is_ok())
}

/// Sends a signal to a process; false if that failed.
///
/// ```text
/// rocksalt '*' ps.kill_pid 2000 signal=9
/// ```
#[function("ps.kill_pid", changes)]
pub struct KillPid {
    /// The process.
    pid: u32,
    /// The signal's number.
    #[default(15)]
    signal: u32,
}

impl Function for KillPid {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(kill(self.pid, signal_number(self.signal)?))
    }
}

/// Sends a signal to all processes whose name contains a text; null if there is none.
///
/// ```text
/// rocksalt '*' ps.pkill httpd signal=1
/// ```
#[function("ps.pkill", changes)]
pub struct Pkill {
    /// What the name must contain.
    pattern: String,
    /// Only this user's.
    user: Option<String>,
    /// The signal's number.
    #[default(15)]
    signal: u32,
    /// Look at whole command lines.
    full: bool,
}

impl Function for Pkill {
    type Output = Option<Map>;

    fn call(self, machine: &dyn System) -> Result<Option<Map>> {
        if self.pattern.is_empty() {
            return Err(Error::arguments("an empty pattern would end every process"));
        }
        let signal = signal_number(self.signal)?;
        let pattern = ProcessPattern { text: self.pattern, expression: None, user: self.user, full: self.full };
        let found = pattern.found(machine).into_iter().map(|process| process.pid);
        let killed: Vec<Value> = found.filter(|pid| kill(*pid, signal)).map(Value::from).collect();
        Ok((!killed.is_empty()).then(|| [("killed".into(), Value::List(killed))].into_iter().collect()))
    }
}

/// The processes in a state: running, sleeping, stopped, zombie, idle, …
///
/// ```text
/// rocksalt '*' ps.status zombie
/// ```
#[function("ps.status", reads)]
pub struct Status {
    /// The state.
    status: String,
}

impl Function for Status {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        let all = process::all(machine).into_iter().filter(|process| process.status() == self.status);
        Ok(all
            .map(|one| [("name".into(), one.name.into()), ("pid".into(), one.pid.into())].into_iter().collect())
            .collect())
    }
}

/// The lines of `ps aux` that contain a text.
///
/// ```text
/// rocksalt '*' ps.psaux nginx
/// ```
#[function("ps.psaux", reads)]
pub struct Psaux {
    /// The text.
    name: String,
}

impl Function for Psaux {
    type Output = Vec<Value>;

    fn call(self, machine: &dyn System) -> Result<Vec<Value>> {
        let Some(ps) = look::program(machine, "ps") else {
            return Err(Error::failed("'ps' is not on the target").hint("it comes with the package procps"));
        };
        let text = machine.query(&Command::new([ps.as_str(), "aux"]))?.text();
        let lines: Vec<Value> = text.lines().filter(|line| line.contains(&self.name)).map(Value::from).collect();
        let count = format!("{} occurrence(s).", lines.len());
        Ok(vec![self.name.into(), Value::List(lines), count.into()])
    }
}

#[cfg(test)]
mod tests {
    use rocksalt_core::Call;

    use crate::catalog;
    use crate::machine::Fake;

    fn machine() -> Fake {
        let stat = |pid: u32, name: &str, state: char| {
            format!(
                "{pid} ({name}) {state} 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
            )
        };
        Fake::new()
            .file("/proc/4000001/stat", stat(4_000_001, "sshd", 'S'))
            .file("/proc/4000001/cmdline", "/usr/sbin/sshd\0-D\0")
            .file("/proc/4000001/status", "Uid:\t0\t0\t0\t0\n")
            .file("/proc/4000002/stat", stat(4_000_002, "python3", 'R'))
            .file("/proc/4000002/cmdline", "python3\0/srv/shop.py\0")
            .file("/proc/4000002/status", "Uid:\t1000\t1000\t1000\t1000\n")
            .file("/etc/passwd", "root:x:0:0::/:/bin/sh\nann:x:1000:1000::/:/bin/sh\n")
    }

    #[test]
    fn processes_are_found_by_name_user_and_line() {
        let cases = [
            (Call::new("ps.pgrep").arg("ssh"), "[4000001]"),
            (Call::new("ps.pgrep").arg("s.*d"), "None"),
            (Call::new("ps.pgrep").arg("s.*d").kwarg("pattern_is_regex", true), "[4000001]"),
            (Call::new("ps.pgrep").arg("shop"), "None"),
            (Call::new("ps.pgrep").arg("shop").kwarg("full", true), "[4000002]"),
            (Call::new("ps.pgrep").arg("").kwarg("user", "ann"), "[4000002]"),
            (Call::new("ps.status").arg("running"), "[{'name': 'python3', 'pid': 4000002}]"),
            (Call::new("ps.pkill").arg("nobody-has-this"), "None"),
        ];
        for (call, expected) in cases {
            let shown = format!("{call:?}");
            assert_eq!(catalog::call(call, &machine()).value.to_string(), expected, "{shown}");
        }
        assert!(!catalog::call(Call::new("ps.pkill").arg(""), &machine()).success());
        assert!(
            !catalog::call(Call::new("ps.kill_pid").arg(4_000_001i64).kwarg("signal", 4711i64), &machine()).success()
        );
    }
}
