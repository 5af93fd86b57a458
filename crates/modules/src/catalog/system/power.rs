//! Functions that halt, power off and reboot the machine.

use std::path::Path;

use rocksalt_core::Value;
use rocksalt_macros::function;

use super::{PATIENCE, failure, reboot};
use crate::catalog::Function;
use crate::grains::look;
use crate::machine::{Command, Probe, RebootRequest, System};
use crate::{Error, Result};

/// The files that mark a required reboot; the first is ours, the others are those of distributions.
const WITNESSES: [&str; 3] = ["/run/rocksalt-reboot-required", "/run/reboot-required", "/var/run/reboot-required"];

/// Whether a reboot of the target has been requested since the last one.
///
/// ```text
/// rocksalt '*' system.get_reboot_required_witnessed
/// ```
#[function("system.get_reboot_required_witnessed", reads)]
pub struct GetRebootRequiredWitnessed {}

impl Function for GetRebootRequiredWitnessed {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(is_pending(machine))
    }
}

/// Whether a reboot is required.
pub fn is_pending(machine: &dyn Probe) -> bool {
    WITNESSES.iter().any(|path| look::exists(machine, path))
}

/// Notes that the target should be rebooted; the note is gone after the next boot.
///
/// ```text
/// rocksalt '*' system.set_reboot_required_witnessed
/// ```
#[function("system.set_reboot_required_witnessed", changes)]
pub struct SetRebootRequiredWitnessed {}

impl Function for SetRebootRequiredWitnessed {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let path = WITNESSES[0];
        machine.write(Path::new(path), b"", None).map_err(|error| Error::io("write", path, &error))?;
        Ok(true)
    }
}

fn run(machine: &dyn System, doing: &str, words: &[&str]) -> Result<String> {
    let output = machine.run(&Command { timeout: Some(PATIENCE), ..Command::new(words.iter().copied()) })?;
    // A machine that shuts down may kill the command that requested it.
    if output.code > 0 {
        return Err(failure(doing, &output.stderr));
    }
    let text = output.text() + &String::from_utf8_lossy(&output.stderr);
    Ok(text.trim_end().to_owned())
}

/// Uses `shutdown` if it exists; busybox's programs only act at once.
fn go_down(machine: &dyn System, doing: &str, flag: &str, at_once: &str, at_time: &Value) -> Result<String> {
    let minutes = at_time.to_string();
    let when = match at_time {
        time if !time.truth() => "now".to_owned(),
        _ if minutes.bytes().all(|b| b.is_ascii_digit()) => format!("+{minutes}"),
        // A time such as 23:30, or +5.
        _ if minutes.bytes().all(|b| b.is_ascii_digit() || b":+".contains(&b)) || minutes == "now" => minutes,
        _ => return Err(Error::arguments(format!("'{minutes}' is no number of minutes"))),
    };
    match look::program(machine, "shutdown") {
        Some(shutdown) => run(machine, doing, &[&shutdown, flag, &when]),
        None if when == "now" => run(machine, doing, &[at_once]),
        None => {
            Err(Error::failed("'shutdown' is not on the target, so it can't be done later").hint("leave out at_time"))
        }
    }
}

/// Halts the target without powering it off.
///
/// ```text
/// rocksalt '*' system.halt
/// ```
#[function("system.halt", changes)]
pub struct Halt {}

impl Function for Halt {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        run(machine, "halt", &["halt"])
    }
}

/// Changes the runlevel, where there are runlevels.
///
/// ```text
/// rocksalt '*' system.init 3
/// ```
#[function("system.init", changes)]
pub struct Init {
    /// The runlevel.
    runlevel: String,
}

impl Function for Init {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        if !matches!(self.runlevel.as_str(), "0" | "1" | "2" | "3" | "4" | "5" | "6" | "s" | "S" | "q" | "Q") {
            return Err(Error::arguments(format!("'{}' is no runlevel", self.runlevel)));
        }
        run(machine, "change the runlevel", &["init", &self.runlevel])
    }
}

/// Powers the target off.
///
/// ```text
/// rocksalt '*' system.poweroff
/// ```
#[function("system.poweroff", changes)]
pub struct Poweroff {}

impl Function for Poweroff {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        run(machine, "turn it off", &["poweroff"])
    }
}

/// Restarts the target immediately.
pub fn restart(machine: &dyn System, message: Option<&str>) -> Result<String> {
    match (look::program(machine, "shutdown"), message) {
        (Some(shutdown), Some(message)) => run(machine, "reboot", &[&shutdown, "-r", "now", message]),
        _ => go_down(machine, "reboot", "-r", "reboot", &Value::Null),
    }
}

/// Reboots the target. In a state run, by `module.run`, the run resumes afterwards.
///
/// ```text
/// rocksalt '*' system.reboot
/// rocksalt '*' system.reboot 5
/// ```
#[function("system.reboot", changes)]
pub struct Reboot {
    /// In how many minutes; at once if it is left out.
    at_time: Value,
}

impl Function for Reboot {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        if !self.at_time.truth()
            && reboot::ask_for_reboot(machine, RebootRequest { message: None, wait: reboot::PATIENCE })
        {
            return Ok("The system is rebooted, then the run goes on".to_owned());
        }
        go_down(machine, "reboot", "-r", "reboot", &self.at_time)
    }
}

/// Shuts the target down.
///
/// ```text
/// rocksalt '*' system.shutdown 5
/// ```
#[function("system.shutdown", changes)]
pub struct Shutdown {
    /// In how many minutes; at once if it is left out.
    at_time: Value,
}

impl Function for Shutdown {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        go_down(machine, "shut it down", "-h", "poweroff", &self.at_time)
    }
}

#[cfg(test)]
mod tests {
    use rocksalt_core::Call;

    use super::*;
    use crate::catalog;
    use crate::machine::{Fake, Output};

    fn says(text: &str) -> Output {
        Output { stdout: text.into(), ..Output::default() }
    }

    #[test]
    fn a_machine_goes_down_as_it_can() {
        let busybox = Fake::new().command(&["reboot"], says(""));
        assert!(catalog::call(Call::new("system.reboot"), &busybox).success());
        assert!(!catalog::call(Call::new("system.reboot").arg(5i64), &busybox).success());
        let full = Fake::new().file("/sbin/shutdown", "").command(&["/sbin/shutdown", "-r", "+5"], says("soon"));
        full.set_mode(Path::new("/sbin/shutdown"), 0o755).expect("it is there");
        assert_eq!(catalog::call(Call::new("system.reboot").arg(5i64), &full).value, Value::from("soon"));
        assert!(!catalog::call(Call::new("system.shutdown").arg("now; rm"), &full).success());
    }
}
