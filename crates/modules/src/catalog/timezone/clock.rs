//! The hardware clock: whether it shows UTC or local time, according to `/etc/adjtime`.

use rocksalt_macros::function;

use super::super::Function;
use super::super::tool;
use crate::catalog::Action;
use crate::catalog::plan::apply_action;
use crate::grains::look;
use crate::machine::{Probe, System};
use crate::{Error, Result};

pub const ADJTIME: &str = "/etc/adjtime";

/// The third line defines it; without one it is UTC, as in `hwclock` and systemd.
pub fn is_local(machine: &dyn Probe) -> bool {
    let text = look::text(machine, ADJTIME).unwrap_or_default();
    text.lines().nth(2).is_some_and(|line| line.trim() == "LOCAL")
}

/// Changes how the clock is interpreted; the clock itself isn't changed.
pub fn change(machine: &dyn Probe, local: bool) -> Action {
    if tool::booted_by_systemd(machine)
        && let Some(timedatectl) = look::program(machine, "timedatectl")
    {
        return Action::Run(tool::command(&[
            timedatectl.as_str(),
            "set-local-rtc",
            if local { "true" } else { "false" },
        ]));
    }
    let text = look::text(machine, ADJTIME).unwrap_or_default();
    let mut lines = text.lines();
    let (drift, calibrated) = (lines.next().unwrap_or("0.0 0 0.0"), lines.next().unwrap_or("0"));
    let content = format!("{drift}\n{calibrated}\n{}\n", if local { "LOCAL" } else { "UTC" });
    Action::Write { path: ADJTIME.into(), content: content.into_bytes(), mode: None, parents: true }
}

/// What the hardware clock shows: `UTC` or `localtime`.
///
/// ```text
/// rocksalt '*' timezone.get_hwclock
/// ```
#[function("timezone.get_hwclock", reads)]
pub struct GetHwclock {}

impl Function for GetHwclock {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        Ok(if is_local(machine) { "localtime" } else { "UTC" }.to_owned())
    }
}

/// Sets what the hardware clock shows.
///
/// ```text
/// rocksalt '*' timezone.set_hwclock UTC
/// ```
#[function("timezone.set_hwclock", changes)]
pub struct SetHwclock {
    /// `UTC` or `localtime`.
    clock: String,
}

impl Function for SetHwclock {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let local = match self.clock.to_ascii_lowercase().as_str() {
            "localtime" => true,
            "utc" => false,
            _ => return Err(Error::arguments("localtime and UTC are the only permitted values")),
        };
        apply_action(change(machine, local), machine)?;
        Ok(true)
    }
}
