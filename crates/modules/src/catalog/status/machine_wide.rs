//! The machine as a whole: load, uptime, processes, users.

use rocksalt_core::{Call, Map, Value};
use rocksalt_macros::function;

use crate::catalog::arguments::FunctionAttributes as _;
use crate::catalog::ps::process::{self, UserNames};
use crate::catalog::{Function, disk, ps::users};
use crate::grains::look;
use crate::machine::{Command, System};
use crate::text::glob;
use crate::{Error, Result};

/// The results of the other functions of this module.
///
/// ```text
/// rocksalt '*' status.all_status
/// ```
#[function("status.all_status", reads)]
pub struct AllStatus {}

impl Function for AllStatus {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let names = [
            "cpuinfo",
            "cpustats",
            "diskstats",
            "diskusage",
            "loadavg",
            "meminfo",
            "netdev",
            "netstats",
            "uptime",
            "vmstats",
            "w",
        ];
        let answer = |name: &str| crate::catalog::call(Call::new(format!("status.{name}")), machine).value;
        Ok(names.into_iter().map(|name| (name.into(), answer(name))).collect())
    }
}

/// The parts that the target's configuration chose (`status.cpustats.custom: [cpu, ctxt]`).
///
/// ```text
/// rocksalt '*' status.custom
/// ```
#[function("status.custom", reads)]
pub struct Custom {}

impl Function for Custom {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let mut result = Map::new();
        for (key, wanted) in machine.options().iter() {
            let function = key.as_str().and_then(|key| key.strip_suffix(".custom"));
            let Some(function) = function.filter(|name| name.starts_with("status.") && *name != Self::NAME) else {
                continue;
            };
            let known = crate::catalog::call(Call::new(function), machine).value;
            for name in wanted.as_list().unwrap_or_default() {
                let value = known.as_map().and_then(|known| known.get_value(name)).cloned();
                result.insert(name.clone(), value.unwrap_or_else(|| "UNKNOWN".into()));
            }
        }
        Ok(result)
    }
}

/// Free and total bytes of what is mounted.
///
/// ```text
/// rocksalt '*' status.diskusage
/// rocksalt '*' status.diskusage / 'ext?'
/// ```
#[function("status.diskusage", reads)]
pub struct Diskusage {
    /// Paths and types of file systems, or patterns of them; all if there are none.
    args: Vec<String>,
}

impl Function for Diskusage {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let wanted = |mount: &disk::MountTableLine| {
            self.args.is_empty()
                || self
                    .args
                    .iter()
                    .any(|arg| glob::matches(arg, if arg.starts_with('/') { &mount.point } else { &mount.kind }))
        };
        let mut result = Map::new();
        for mount in disk::mounts(machine).into_iter().filter(wanted) {
            let Ok(space) = disk::space(&mount.point) else { continue };
            let pairs = [("available", space.available), ("total", space.total)];
            let known: Map = pairs.into_iter().map(|(name, bytes)| (name.into(), bytes.into())).collect();
            result.insert(mount.point, known);
        }
        Ok(result)
    }
}

/// The average load of the last minutes.
///
/// ```text
/// rocksalt '*' status.loadavg
/// ```
#[function("status.loadavg", reads)]
pub struct Loadavg {}

impl Function for Loadavg {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let text = look::text(machine, "/proc/loadavg").unwrap_or_default();
        let loads = text.split_whitespace().map(|word| Value::Float(word.parse().unwrap_or(0.0)));
        Ok(["1-min", "5-min", "15-min"].into_iter().map(Value::from).zip(loads).collect())
    }
}

/// The number of processors.
///
/// ```text
/// rocksalt '*' status.nproc
/// ```
#[function("status.nproc", reads)]
pub struct Nproc {}

impl Function for Nproc {
    type Output = usize;

    fn call(self, machine: &dyn System) -> Result<usize> {
        let text = look::text(machine, "/proc/stat").unwrap_or_default();
        Ok(text.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count())
    }
}

/// A process as `ps` shows it: its command line, or its name in brackets.
fn shown(machine: &dyn System, pid: u32) -> Option<String> {
    let line = process::command_line(machine, pid);
    if line.is_empty() {
        process::ProcessStat::read(machine, pid).map(|process| format!("[{}]", process.name))
    } else {
        Some(line.join(" "))
    }
}

/// The ids of the processes whose command line contains a text, one per line.
///
/// ```text
/// rocksalt '*' status.pid sshd
/// ```
#[function("status.pid", reads)]
pub struct Pid {
    /// The text.
    sig: String,
}

impl Function for Pid {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let own = std::process::id();
        let fits = |pid: &u32| *pid != own && shown(machine, *pid).is_some_and(|line| line.contains(&self.sig));
        let found: Vec<String> = process::pids(machine).into_iter().filter(fits).map(|pid| pid.to_string()).collect();
        Ok(found.join("\n"))
    }
}

/// All processes with their users and command lines.
///
/// ```text
/// rocksalt '*' status.procs
/// ```
#[function("status.procs", reads)]
pub struct Procs {}

impl Function for Procs {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let owners = UserNames::read(machine);
        let process = |pid: u32| {
            let line = shown(machine, pid)?;
            let known: Map =
                [("user".into(), owners.of(machine, pid).into()), ("cmd".into(), line.into())].into_iter().collect();
            Some((pid.to_string().into(), Value::Map(known)))
        };
        Ok(process::pids(machine).into_iter().filter_map(process).collect())
    }
}

/// Returns `True`: the caller is the controller.
///
/// ```text
/// rocksalt '*' status.ping_master controller
/// ```
#[function("status.ping_master", reads)]
pub struct PingMaster {
    /// Accepted for compatibility with Salt, and ignored.
    #[expect(dead_code, reason = "an argument without a meaning here")]
    master: Value,
}

impl Function for PingMaster {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(true)
    }
}

/// Returns `True`: the caller is the controller.
///
/// ```text
/// rocksalt '*' status.master
/// ```
#[function("status.master", reads)]
pub struct Master {
    /// Accepted for compatibility with Salt, and ignored.
    #[expect(dead_code, reason = "an argument without a meaning here")]
    master: Value,
    /// Accepted for compatibility with Salt, and ignored.
    #[expect(dead_code, reason = "an argument without a meaning here")]
    connected: Value,
}

impl Function for Master {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(true)
    }
}

/// The target's date and time.
///
/// ```text
/// rocksalt '*' status.time
/// rocksalt '*' status.time '%s'
/// ```
#[function("status.time", reads)]
pub struct Time {
    /// How to write it, in the words of `date`.
    #[default("%A, %d. %B %Y %I:%M%p")]
    format: String,
}

impl Function for Time {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        crate::catalog::system::date(machine, &self.format, None)
    }
}

/// The time of the last boot, and the uptime.
///
/// ```text
/// rocksalt '*' status.uptime
/// ```
#[function("status.uptime", reads)]
pub struct Uptime {}

impl Function for Uptime {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let text = look::text(machine, "/proc/uptime");
        let seconds = text.as_deref().and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
        let Some(seconds) = seconds else { return Err(Error::failed("File /proc/uptime was not found.")) };
        let seconds = seconds as i64;
        let since = machine.now() - seconds as f64;
        let rest = seconds % 86_400;
        let pairs = [
            ("seconds", Value::Int(seconds)),
            ("since_iso", iso(since).into()),
            ("since_t", Value::Int(since as i64)),
            ("days", Value::Int(seconds / 86_400)),
            ("time", format!("{}:{}", rest / 3600, rest % 3600 / 60).into()),
            ("users", users::logins(machine).len().into()),
        ];
        Ok(pairs.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }
}

/// `2026-11-15T21:10:45.680982`, in UTC.
fn iso(time: f64) -> String {
    let micros = (time * 1e6).round() as i64;
    let (days, within) = (micros.div_euclid(86_400_000_000), micros.rem_euclid(86_400_000_000));
    // Days are counted from March 1 of year 0: leap days then come last.
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (seconds, fraction) = (within / 1_000_000, within % 1_000_000);
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = if fraction == 0 { String::new() } else { format!(".{fraction:06}") };
    format!("{year:04}-{month:02}-{day:02}T{clock}{fraction}")
}

/// The kernel's version text.
///
/// ```text
/// rocksalt '*' status.version
/// ```
#[function("status.version", reads)]
pub struct Version {}

impl Function for Version {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        Ok(look::line(machine, "/proc/version").unwrap_or_default())
    }
}

/// Who is logged in and what they do, from the target's own `w`.
///
/// ```text
/// rocksalt '*' status.w
/// ```
#[function("status.w", reads)]
pub struct W {}

impl Function for W {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        let Some(program) = look::program(machine, "w") else {
            return Err(Error::failed("'w' is not on the target")
                .hint("it comes with the package procps; `ps.get_users` needs no program"));
        };
        let output = machine.query(&Command::new([program.as_str(), "-fh"]))?;
        Ok(output.text().lines().filter_map(login).collect())
    }
}

/// `ann pts/0 21:10 1:02 0.05s 0.01s vi notes`.
fn login(line: &str) -> Option<Map> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [user, tty, login, idle, jcpu, pcpu, ref what @ ..] = words[..] else { return None };
    let pairs = [("idle", idle), ("jcpu", jcpu), ("login", login), ("pcpu", pcpu), ("tty", tty), ("user", user)];
    let mut known: Map = pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    known.insert("what", what.join(" "));
    Some(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn uptime_is_counted_back_from_now() {
        let machine = Fake::new().file("/proc/uptime", "93784.5 100.0\n");
        let found = Value::Map(Uptime {}.call(&machine).expect("it is up")).to_string();
        let expected = "{'seconds': 93784, 'since_iso': '2001-09-07T23:43:36', 'since_t': 999906216, 'days': 1, \
                        'time': '2:3', 'users': 0}";
        assert_eq!(found, expected);
    }

    #[test]
    fn dates_are_written_as_iso() {
        let cases = [
            (0.0, "1970-01-01T00:00:00"),
            (951_782_400.0, "2000-02-29T00:00:00"),
            (1_794_777_045.5, "2026-11-15T21:10:45.500000"),
            (-1.0, "1969-12-31T23:59:59"),
        ];
        for (time, expected) in cases {
            assert_eq!(iso(time), expected);
        }
    }

    #[test]
    fn logins_and_processes_are_shown() {
        let found = login("ann pts/0 21:10 1:02 0.05s 0.01s vi notes").expect("a login");
        assert_eq!(found.get("what").and_then(Value::as_str), Some("vi notes"));
        assert!(login("ann pts/0").is_none());
        let stat = "4000003 (kthreadd) S 0 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";
        let machine = Fake::new()
            .file("/proc/4000002/cmdline", "/usr/sbin/sshd\0-D\0")
            .file("/proc/4000003/stat", stat)
            .file("/etc/passwd", "root:x:0:0::/:/bin/sh\n");
        let found = Value::Map(Procs {}.call(&machine).expect("processes")).to_string();
        let expected = "{'4000002': {'user': 'root', 'cmd': '/usr/sbin/sshd -D'}, '4000003': {'user': 'root', 'cmd': '[kthreadd]'}}";
        assert_eq!(found, expected);
        assert_eq!(Pid { sig: "sshd".into() }.call(&machine).expect("a list"), "4000002");
    }
}
