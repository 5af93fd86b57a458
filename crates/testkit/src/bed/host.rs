//! [`Host`]: a running throw-away host.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::error::{Error, FileContext};
use crate::host::{HostKind, Quirk, Spec};
use crate::process::{self, Identity, poll};
use crate::{keys, tool};

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Host {
    /// The number; the first host is 1.
    pub number: usize,
    pub spec: Spec,
    pub address: String,
    pub(super) directory: PathBuf,
    /// The process that the host ends with.
    pub(super) supervisor: Option<Identity>,
}

impl Host {
    pub(super) fn planned(number: usize, spec: &Spec, bed: &Path) -> Host {
        let address = match spec.behind {
            None => format!("10.77.{}.{}", number / 250, number % 250 + 2),
            Some(_) => format!("10.78.{number}.2"),
        };
        Host { number, spec: spec.clone(), address, directory: bed.join(format!("h{number}")), supervisor: None }
    }

    /// The id, such as `h1`: the host name, and the id in rosters.
    pub fn id(&self) -> String {
        format!("h{}", self.number)
    }

    /// The process on this machine that the host ends with.
    pub fn pid(&self) -> Option<i32> {
        self.supervisor.filter(|supervisor| supervisor.alive()).map(|supervisor| supervisor.pid)
    }

    /// All addresses of the host; most hosts have one.
    pub fn addresses(&self) -> Vec<String> {
        let further = 1..=if self.spec.has(Quirk::FewStartups) { 40 } else { 0 };
        let further = further.map(|last| format!("10.77.{}.{last}", 100 + self.number));
        [self.address.clone()].into_iter().chain(further).collect()
    }

    /// The log of its SSH server.
    pub fn log(&self) -> String {
        let mut log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
        if self.spec.kind == HostKind::Systemd {
            log += &self.file("/run/sshd.log").and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        }
        log
    }

    /// The number of logins that its SSH server accepted (by the log messages of OpenSSH or dropbear).
    pub fn logins(&self) -> usize {
        let accepted = |line: &&str| line.contains("Accepted ") || line.contains(" auth succeeded for ");
        self.log().lines().filter(accepted).count()
    }

    /// The path at which this machine sees a file of the host, to read or change it.
    pub fn file(&self, path: &str) -> Option<PathBuf> {
        let init = self.init()?;
        Some(PathBuf::from(format!("/proc/{init}/root{path}")))
    }

    /// Runs shell lines on the host as root, without a login; returns their output.
    pub fn run(&self, lines: &str) -> Result<String, Error> {
        let init = self.init().ok_or_else(|| Error::Unsupported(format!("host {} has ended", self.id())))?;
        let mut command = Command::new("setpriv");
        command.args([
            "--bounding-set",
            "-sys_time",
            "nsenter",
            "--mount",
            "--uts",
            "--ipc",
            "--net",
            "--pid",
            "--target",
            &init.to_string(),
            "--",
        ]);
        command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        tool::run(command.args(["/bin/sh", "-c", lines]))
    }

    /// The processes of the host whose command line or executable path contains the text, by this machine's process
    /// ids.
    pub fn processes(&self, text: &str) -> Vec<i32> {
        let mut found = Vec::new();
        let mut queue: Vec<i32> = self.init().into_iter().collect();
        while let Some(pid) = queue.pop() {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            // A program that was started by a descriptor is named only here.
            let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
            if line.contains(text) || program.to_string_lossy().contains(text) {
                found.push(pid);
            }
            queue.extend(process::children(pid));
        }
        found
    }

    /// Kills the processes that [`processes`](Host::processes) finds, with SIGKILL; returns their number.
    pub fn kill(&self, text: &str) -> usize {
        let found = self.processes(text);
        found.iter().for_each(|pid| process::signal(*pid, Signal::KILL));
        found.len()
    }

    /// The agents on the host, without the guards of their commands.
    pub fn agents(&self) -> Vec<i32> {
        let guards = self.processes("guard-children");
        self.processes("rocksalt").into_iter().filter(|pid| !guards.contains(pid)).collect()
    }

    /// Kills the agents with SIGKILL, and no other process. Returns how many there were.
    pub fn kill_agents(&self) -> usize {
        let agents = self.agents();
        agents.iter().for_each(|pid| process::signal(*pid, Signal::KILL));
        agents.len()
    }

    /// Replaces the host key, as a reinstallation would, and restarts sshd.
    pub fn change_host_key(&self) -> Result<(), Error> {
        let key = keys::generate(&self.directory.join("changed_key"))?;
        let gone = || Error::Unsupported(format!("host {} has ended", self.id()));
        let target = self.file("/etc/ssh/host_key").ok_or_else(gone)?;
        fs::copy(&key.private, &target).file("copy a key to", &target)?;
        let listening = |host: &Host| host.log().matches("Server listening on").count();
        let before = listening(self);
        process::signal(self.init().ok_or_else(gone)?, Signal::HUP);
        let restarted = poll(Duration::from_secs(10), || (listening(self) > before).then_some(()));
        restarted.ok_or_else(|| Error::NotUp { host: self.id(), seconds: 10, log: self.log() })
    }

    /// Stops the SSH server, and with it the host: connections are then neither refused nor answered.
    pub fn stop(&self) {
        if let Some(supervisor) = self.supervisor {
            supervisor.kill();
        }
    }

    pub(super) fn key_name(&self) -> String {
        format!("host-{}", self.number)
    }

    pub(super) fn prefixed_addresses(&self) -> String {
        let prefix = if self.spec.behind.is_some() { 24 } else { 16 };
        self.addresses().iter().map(|address| format!("{address}/{prefix}")).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn wait_until_up(&self, limit: Duration) -> Result<(), Error> {
        let seconds = limit.as_secs();
        let up = poll(limit, || match self.init() {
            // The process may still be the shell that builds the root.
            Some(init) if process::listens(init, 22) => Some(true),
            None if self.supervisor.is_none_or(|supervisor| !supervisor.alive()) => Some(false),
            _ => None,
        });
        if up == Some(true) { Ok(()) } else { Err(Error::NotUp { host: self.id(), seconds, log: self.log() }) }
    }

    pub(super) fn init_of(&self, supervisor: i32) -> Option<i32> {
        let first = |pid: i32| process::children(pid).first().copied();
        // A host that can restart has one more process around its first one.
        let around = if self.spec.kind == HostKind::Systemd { first(supervisor)? } else { supervisor };
        first(around)
    }

    fn init(&self) -> Option<i32> {
        self.init_of(self.pid()?)
    }
}
