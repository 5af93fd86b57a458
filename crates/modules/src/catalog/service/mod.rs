//! `service`: whether a target's services run, and whether they start at boot.
//!
//! [`ServiceProvider`] is how one kind of system keeps services; each is one file here.

mod functions;
mod openrc;
mod states;
mod systemd;
mod sysv;
mod unit;

use std::time::Duration;

pub use functions::FUNCTIONS;
pub use states::STATES;

use serde::{Deserialize, Serialize};

use super::ps::process;
use crate::machine::{Command, Output, Probe, System};
use crate::{Error, Result};

/// How a kind of system starts and stops services and makes them start with it.
trait ServiceProvider: Sync {
    /// Whether it is this one's business: of this service, or of all of them.
    fn fits(&self, machine: &dyn Probe, name: Option<&str>) -> bool;

    /// Whether there is a service of that name.
    fn available(&self, machine: &dyn Probe, name: &str) -> Result<bool>;

    fn runs(&self, machine: &dyn Probe, name: &str) -> Result<bool>;

    /// Whether it starts with the system.
    fn enabled(&self, machine: &dyn Probe, name: &str) -> Result<bool>;

    /// Whether enabling and disabling means anything to it.
    fn can_toggle(&self, _: &dyn Probe, _: &str) -> Result<bool> {
        Ok(true)
    }

    /// Sorted, as all lists.
    fn all(&self, machine: &dyn Probe) -> Result<Vec<String>>;

    fn at_boot(&self, machine: &dyn Probe, wanted: Boot) -> Result<Vec<String>>;

    fn running(&self, machine: &dyn Probe) -> Result<Vec<String>> {
        let mut found = self.all(machine)?;
        let mut failure = None;
        found.retain(|name| self.runs(machine, name).unwrap_or_else(|error| failure.replace(error).is_some()));
        failure.map_or(Ok(found), Err)
    }

    fn act(&self, machine: &dyn System, act: ServiceAction, name: &str, how: &ServiceOptions) -> Result<()>;

    fn set_boot(&self, machine: &dyn System, name: &str, enable: bool, how: &ServiceOptions) -> Result<()>;

    /// What a service that does not run said last.
    fn log(&self, _: &dyn Probe, _: &str) -> Option<String> {
        None
    }

    /// Whether a stop and a start are more than its restart.
    fn restart_is_full(&self) -> bool {
        false
    }

    fn masks(&self) -> Option<&dyn Masks> {
        None
    }

    /// Nothing can be started or stopped: the system is not up, as in a chroot.
    fn offline(&self) -> bool {
        false
    }
}

/// Forbids services to start at all.
trait Masks {
    fn masked(&self, machine: &dyn Probe, name: &str, runtime: bool) -> Result<bool>;

    fn set_mask(&self, machine: &dyn System, name: &str, runtime: bool, mask: bool) -> Result<()>;
}

/// In this order: the first that fits is taken.
const PROVIDERS: &[&dyn ServiceProvider] =
    &[&systemd::Systemd { offline: false }, &openrc::OpenRc, &sysv::Sysv, &systemd::Systemd { offline: true }];

/// Who keeps this service; `None`: all of them.
fn provider(machine: &dyn Probe, name: Option<&str>) -> Result<&'static dyn ServiceProvider> {
    if let Some(name) = name.filter(|name| name.is_empty() || name.starts_with('-') || name.contains(STRANGE)) {
        return Err(Error::arguments(format!("'{name}' is no name of a service")));
    }
    PROVIDERS.iter().copied().find(|provider| provider.fits(machine, name)).ok_or_else(|| {
        Error::failed("there is nothing on the target that keeps services")
            .hint("known are systemd, OpenRC and sysvinit")
    })
}

/// Never part of a service's name; some of it would lead out of a directory.
const STRANGE: [char; 5] = ['/', '\0', '\n', ' ', '\t'];

/// What can be done to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ServiceAction {
    Start,
    Stop,
    Restart,
    Reload,
    ForceReload,
    /// A stop, then a start.
    FullRestart,
}

impl ServiceAction {
    fn word(self) -> &'static str {
        match self {
            ServiceAction::Start => "start",
            ServiceAction::Stop => "stop",
            ServiceAction::Restart | ServiceAction::FullRestart => "restart",
            ServiceAction::Reload => "reload",
            ServiceAction::ForceReload => "force-reload",
        }
    }
}

/// How services stand to the start of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Boot {
    Enabled,
    Disabled,
    /// It can be neither enabled nor disabled.
    Static,
}

/// How something is done to a service.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct ServiceOptions {
    /// Don't wait until it is done.
    no_block: bool,
    /// Remove a mask first.
    unmask: bool,
    /// Remove a mask that lasts until the next boot first.
    unmask_runtime: bool,
    /// How long it may take.
    timeout: Option<Duration>,
}

/// Whether a service runs; `sig` is part of the command line of its process, for those that can't tell otherwise.
fn status(provider: &dyn ServiceProvider, machine: &dyn Probe, name: &str, sig: Option<&str>) -> Result<bool> {
    match sig.filter(|sig| !sig.is_empty() && provider.masks().is_none()) {
        Some(sig) => {
            let own = std::process::id();
            let fits = |pid: u32| pid != own && process::command_line(machine, pid).join(" ").contains(sig);
            Ok(process::pids(machine).into_iter().any(fits))
        }
        None => provider.runs(machine, name),
    }
}

/// Runs a tool that may leave a daemon running.
fn run(machine: &dyn System, words: &[&str], how: &ServiceOptions) -> Result<Output> {
    let command = Command::new(words.iter().copied());
    machine.run(&Command { leaves_daemon: true, cwd: Some("/".into()), timeout: how.timeout, ..command })
}

/// Nothing, if it succeeded; else an error with all that it said.
fn succeeded(output: &Output, words: &[&str], failed_to: &str) -> Result<()> {
    if output.success() {
        return Ok(());
    }
    let said = output.text() + &String::from_utf8_lossy(&output.stderr);
    let end = match output.timed_out {
        true => "took too long".to_owned(),
        false => format!("ended with {}", output.code),
    };
    let text = format!("{failed_to}: '{}' {end}: {}", words.join(" "), said.trim());
    Err(Error::failed(text.trim_end_matches([':', ' '])))
}
