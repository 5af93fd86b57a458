//! `service`: what a target's services do; for systems with systemd.

use rocksalt_core::{Map, Value};
use serde::Deserialize;

use super::{Entry, Function, entry};
use crate::machine::{Command, Output, Probe, System};
use crate::text::glob;
use crate::{Error, Result};

pub const FUNCTIONS: &[Entry] =
    &[entry::<Available>(), entry::<Disabled>(), entry::<Enabled>(), entry::<Missing>(), entry::<Status>()];

fn systemctl(machine: &dyn Probe, words: &[&str]) -> Result<Output> {
    machine.query(&Command::new(std::iter::once("systemctl").chain(words.iter().copied())))
}

/// A unit's whole name; what isn't a unit of another kind is a service.
fn unit(name: &str) -> Result<String> {
    const KINDS: [&str; 11] =
        ["service", "socket", "device", "mount", "automount", "swap", "target", "path", "timer", "slice", "scope"];
    if name.is_empty() || name.starts_with('-') || name.contains(['/', '\0', '\n', ' ']) {
        return Err(Error::arguments(format!("'{name}' is no name of a service")));
    }
    let kind = name.rsplit_once('.').map(|(_, kind)| kind);
    Ok(if kind.is_some_and(|kind| KINDS.contains(&kind)) { name.to_owned() } else { format!("{name}.service") })
}

fn is_there(machine: &dyn Probe, name: &str) -> Result<bool> {
    let output = systemctl(machine, &["show", "--property=LoadState", "--", &unit(name)?])?;
    let text = output.text();
    let state = text.lines().find_map(|line| line.strip_prefix("LoadState=")).unwrap_or("not-found");
    Ok(!matches!(state.trim(), "not-found" | "error" | "bad-setting"))
}

fn is_enabled(machine: &dyn Probe, name: &str) -> Result<bool> {
    let output = systemctl(machine, &["is-enabled", "--", &unit(name)?])?;
    // An alias and what is generated are neither one nor the other; the exit code knows.
    Ok(output.success())
}

/// A service.
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Service {
    /// The name.
    name: String,
    /// Taken and ignored.
    #[allow(dead_code, reason = "taken for Salt's sake")]
    kwargs: Map,
}

macro_rules! questions {
    ($($(#[$doc:meta])+ $name:ident = $function:literal, $ask:expr;)+) => {
        $(
            $(#[$doc])+
            #[derive(Deserialize)]
            #[serde(transparent)]
            #[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
            pub struct $name(Service);

            impl Function for $name {
                const NAME: &'static str = $function;
                type Output = bool;

                fn call(self, machine: &dyn System) -> Result<bool> {
                    ($ask)(machine, &self.0.name)
                }
            }
        )+
    };
}

questions! {
    /// Whether there is a service of that name.
    ///
    /// ```text
    /// rocksalt '*' service.available sshd
    /// ```
    Available = "service.available", |machine: &dyn System, name: &str| is_there(machine, name);
    /// Whether a service does not start with the system.
    ///
    /// ```text
    /// rocksalt '*' service.disabled sshd
    /// ```
    Disabled = "service.disabled", |machine: &dyn System, name: &str| Ok(!is_enabled(machine, name)?);
    /// Whether a service starts with the system.
    ///
    /// ```text
    /// rocksalt '*' service.enabled sshd
    /// ```
    Enabled = "service.enabled", |machine: &dyn System, name: &str| is_enabled(machine, name);
    /// Whether there is no service of that name.
    ///
    /// ```text
    /// rocksalt '*' service.missing sshd
    /// ```
    Missing = "service.missing", |machine: &dyn System, name: &str| Ok(!is_there(machine, name)?);
}

/// Whether a service runs; for a pattern, a map of all that fit.
///
/// ```text
/// rocksalt '*' service.status sshd
/// rocksalt '*' service.status 'ssh*'
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Status {
    /// The name, or a pattern.
    name: String,
    /// Taken and ignored: systemd knows.
    #[serde(default)]
    #[allow(dead_code, reason = "taken for Salt's sake")]
    sig: Value,
}

impl Function for Status {
    const NAME: &'static str = "service.status";
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        if !self.name.contains(['*', '?', '[']) {
            return Ok(systemctl(machine, &["is-active", "--", &unit(&self.name)?])?.success().into());
        }
        let output = systemctl(machine, &["list-units", "--all", "--type=service", "--plain", "--no-legend"])?;
        let mut found = Map::new();
        for line in output.text().lines() {
            let mut words = line.split_whitespace();
            let (Some(name), _, Some(active)) = (words.next(), words.next(), words.next()) else { continue };
            let name = name.trim_end_matches(".service");
            if glob::matches(&self.name, name) {
                found.insert(name, active == "active");
            }
        }
        Ok(Value::Map(found))
    }
}
