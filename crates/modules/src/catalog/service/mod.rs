//! `service`: the services of a target, and whether they start at boot.
//!
//! [`ServiceProvider`] is the interface to an init system; each implementation is one file here.

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

/// An init system: starts and stops services, and enables them at boot.
trait ServiceProvider: Sync {
    /// Whether this provider is responsible for the service, or for all of them.
    fn fits(&self, machine: &dyn Probe, name: Option<&str>) -> bool;

    /// Whether the service exists.
    fn available(&self, machine: &dyn Probe, name: &str) -> Result<bool>;

    fn runs(&self, machine: &dyn Probe, name: &str) -> Result<bool>;

    /// Whether the service starts at boot.
    fn enabled(&self, machine: &dyn Probe, name: &str) -> Result<bool>;

    /// Whether the service can be enabled and disabled.
    fn can_toggle(&self, _: &dyn Probe, _: &str) -> Result<bool> {
        Ok(true)
    }

    /// All services, sorted.
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

    /// The last log lines of a service that does not run.
    fn log(&self, _: &dyn Probe, _: &str) -> Option<String> {
        None
    }

    /// Whether `FullRestart` differs from its restart.
    fn restart_is_full(&self) -> bool {
        false
    }

    fn masks(&self) -> Option<&dyn Masks> {
        None
    }

    /// Whether services can't be started or stopped because the system is not running, as in a chroot.
    fn offline(&self) -> bool {
        false
    }
}

/// Masking: prevents services from starting at all.
trait Masks {
    fn masked(&self, machine: &dyn Probe, name: &str, runtime: bool) -> Result<bool>;

    fn set_mask(&self, machine: &dyn System, name: &str, runtime: bool, mask: bool) -> Result<()>;
}

/// The first provider that fits is used.
const PROVIDERS: &[&dyn ServiceProvider] =
    &[&systemd::Systemd { offline: false }, &openrc::OpenRc, &sysv::Sysv, &systemd::Systemd { offline: true }];

/// The provider of this service; with `None` the one of all services.
fn provider(machine: &dyn Probe, name: Option<&str>) -> Result<&'static dyn ServiceProvider> {
    if let Some(name) = name.filter(|name| name.is_empty() || name.starts_with('-') || name.contains(STRANGE)) {
        return Err(Error::arguments(format!("'{name}' is no name of a service")));
    }
    PROVIDERS.iter().copied().find(|provider| provider.fits(machine, name)).ok_or_else(|| {
        Error::failed("there is nothing on the target that keeps services")
            .hint("known are systemd, OpenRC and sysvinit")
    })
}

/// Characters that no service name contains; some of them could lead out of a directory.
const STRANGE: [char; 5] = ['/', '\0', '\n', ' ', '\t'];

/// An action on a service.
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

/// Whether a service starts at boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Boot {
    Enabled,
    Disabled,
    /// Can be neither enabled nor disabled.
    Static,
}

/// Options of an action.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct ServiceOptions {
    /// Don't wait for the end of the action.
    no_block: bool,
    /// Remove a mask first.
    unmask: bool,
    /// Remove a runtime mask first.
    unmask_runtime: bool,
    /// The time limit.
    timeout: Option<Duration>,
}

/// Whether a service runs; `sig` is part of its process's command line, for providers that can't tell otherwise.
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

/// Turns a failed command into an error with its whole output.
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
