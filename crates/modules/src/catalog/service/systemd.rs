//! systemd, through `systemctl`; also if it is not running, as in a chroot or a container.

use std::collections::BTreeSet;
use std::path::Path;

use rocksalt_core::{Map, Value};

use super::{Boot, Masks, ServiceAction, ServiceOptions, ServiceProvider, run, sysv, unit};
use crate::grains::look;
use crate::machine::{Command, Output, Probe, System};
use crate::{Error, Result};

/// With `offline`, systemd does not run: units can be enabled and masked, but not started.
pub struct Systemd {
    pub offline: bool,
}

impl ServiceProvider for Systemd {
    fn fits(&self, machine: &dyn Probe, name: Option<&str>) -> bool {
        match self.offline {
            // The same test as in sd_booted(3).
            false => look::is_directory(machine, "/run/systemd/system"),
            true => {
                look::program(machine, "systemctl").is_some()
                    && name.is_none_or(|name| unit::has_file(machine, &unit::full(name)))
            }
        }
    }

    fn available(&self, machine: &dyn Probe, name: &str) -> Result<bool> {
        let unit = unit::full(name);
        if self.offline || unit.contains("@.") {
            return Ok(unit::has_file(machine, &unit));
        }
        // systemd reads a new unit file before any action on the unit.
        Ok(UnitProperties::of(machine, &unit)?.is_loaded() || unit::has_file(machine, &unit))
    }

    fn runs(&self, machine: &dyn Probe, name: &str) -> Result<bool> {
        let unit = unit::full(name);
        if self.offline || unit.contains("@.") {
            return Ok(false);
        }
        Ok(matches!(UnitProperties::of(machine, &unit)?.active.as_str(), "active" | "reloading" | "refreshing"))
    }

    fn enabled(&self, machine: &dyn Probe, name: &str) -> Result<bool> {
        let unit = unit::full(name);
        let output = query(machine, &["is-enabled", "--", &unit])?;
        if output.text().trim() == "alias" {
            let behind = query(machine, &["show", "--property=Id", "--value", "--", &unit])?;
            return Ok(query(machine, &["is-enabled", "--", behind.text().trim()])?.success());
        }
        if !output.success() && self.offline && sysv::script(machine, name).is_some() {
            return Ok(sysv::starts(machine, name));
        }
        Ok(output.success())
    }

    fn can_toggle(&self, machine: &dyn Probe, name: &str) -> Result<bool> {
        let output = query(machine, &["is-enabled", "--", &unit::full(name)])?;
        Ok(!matches!(output.text().trim(), "static" | "generated" | "transient"))
    }

    fn all(&self, machine: &dyn Probe) -> Result<Vec<String>> {
        let mut found: BTreeSet<String> = unit::all(machine).into_iter().collect();
        found.extend(sysv::scripts(machine));
        Ok(found.into_iter().collect())
    }

    fn at_boot(&self, machine: &dyn Probe, wanted: Boot) -> Result<Vec<String>> {
        let state = match wanted {
            Boot::Enabled => "enabled",
            Boot::Disabled => "disabled",
            Boot::Static => "static",
        };
        let output = query(machine, &["list-unit-files", "--full", "--no-legend", "--no-pager"])?;
        let text = output.text();
        let files = text.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            let name = words.next()?;
            if words.next()? == state { unit::short(name) } else { None }
        });
        let mut found: BTreeSet<String> = files.map(str::to_owned).collect();
        if wanted != Boot::Static {
            let units: BTreeSet<String> = unit::all(machine).into_iter().collect();
            let only_script = sysv::scripts(machine).into_iter().filter(|name| !units.contains(name));
            found.extend(only_script.filter(|name| sysv::starts(machine, name) == (wanted == Boot::Enabled)));
        }
        Ok(found.into_iter().collect())
    }

    fn running(&self, machine: &dyn Probe) -> Result<Vec<String>> {
        if self.offline {
            return Ok(Vec::new());
        }
        let output = query(machine, &["list-units", "--full", "--plain", "--no-legend", "--no-pager"])?;
        let text = output.text();
        let running = text.lines().filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().take(4).collect();
            if words.get(3) == Some(&"running") { unit::short(words[0]) } else { None }
        });
        let found: BTreeSet<String> = running.map(str::to_owned).collect();
        Ok(found.into_iter().collect())
    }

    fn act(&self, machine: &dyn System, act: ServiceAction, name: &str, how: &ServiceOptions) -> Result<()> {
        let unit = unit::full(name);
        if self.offline {
            return Err(Error::failed(format!("could not {} {unit}: systemd does not run here", act.word())));
        }
        self.refresh(machine, &unit)?;
        self.unmask(machine, name, how)?;
        let mut words = vec!["systemctl"];
        if how.no_block {
            words.push("--no-block");
        }
        words.extend([act.word(), "--", &unit]);
        let output = machine.run(&Command { timeout: how.timeout, ..Command::new(words.iter().copied()) })?;
        if !output.success() {
            return Err(self.failure(machine, name, &words, &output));
        }
        if matches!(act, ServiceAction::Start | ServiceAction::Restart | ServiceAction::FullRestart) && !how.no_block {
            settle(machine, &unit)?;
        }
        Ok(())
    }

    fn set_boot(&self, machine: &dyn System, name: &str, enable: bool, how: &ServiceOptions) -> Result<()> {
        let unit = unit::full(name);
        if !self.offline {
            self.refresh(machine, &unit)?;
        }
        if enable {
            self.unmask(machine, name, how)?;
        }
        let words = ["systemctl", if enable { "enable" } else { "disable" }, "--", &unit];
        let output = run(machine, &words, &ServiceOptions::default())?;
        if output.success() { Ok(()) } else { Err(said(&words, &output)) }
    }

    fn log(&self, machine: &dyn Probe, name: &str) -> Option<String> {
        let unit = unit::full(name);
        let journal = ["journalctl", "--no-pager", "--quiet", "--output=cat", "--lines=10", &format!("--unit={unit}")];
        let lines = machine.query(&Command::new(journal)).ok().map(|output| output.text());
        let journal = lines.filter(|text| !text.trim().is_empty() && !text.contains("-- No entries --"));
        let status = || {
            let output = query(machine, &["status", "--no-pager", "--full", "--lines=10", "--", &unit]).ok()?;
            Some(output.text())
        };
        let text = journal.or_else(status)?;
        let text = text.trim_end();
        (!text.is_empty()).then(|| format!("The last lines of its log:\n{text}"))
    }

    fn restart_is_full(&self) -> bool {
        true
    }

    fn masks(&self) -> Option<&dyn Masks> {
        Some(self)
    }

    fn offline(&self) -> bool {
        self.offline
    }
}

impl Masks for Systemd {
    fn masked(&self, machine: &dyn Probe, name: &str, runtime: bool) -> Result<bool> {
        let link = format!("{}/systemd/system/{}", if runtime { "/run" } else { "/etc" }, unit::full(name));
        Ok(machine.read_link(Path::new(&link)).is_ok_and(|target| target == Path::new("/dev/null")))
    }

    fn set_mask(&self, machine: &dyn System, name: &str, runtime: bool, mask: bool) -> Result<()> {
        let unit = unit::full(name);
        let mut words = vec!["systemctl", if mask { "mask" } else { "unmask" }];
        if runtime {
            words.push("--runtime");
        }
        words.extend(["--", &unit]);
        let output = machine.run(&Command::new(words.iter().copied()))?;
        if output.success() { Ok(()) } else { Err(said(&words, &output)) }
    }
}

impl Systemd {
    /// Makes systemd reload its files if the file of this unit has changed since it was read.
    fn refresh(&self, machine: &dyn System, unit: &str) -> Result<()> {
        if unit.contains("@.") {
            return Ok(());
        }
        let shown = UnitProperties::of(machine, unit)?;
        if shown.is_stale || (!shown.is_loaded() && unit::has_file(machine, unit)) {
            reload_all(machine)?;
        }
        Ok(())
    }

    fn unmask(&self, machine: &dyn System, name: &str, how: &ServiceOptions) -> Result<()> {
        for (wanted, runtime) in [(how.unmask, false), (how.unmask_runtime, true)] {
            if wanted && self.masked(machine, name, runtime)? {
                self.set_mask(machine, name, runtime, false)?;
            }
        }
        Ok(())
    }

    /// The output of `systemctl`, with the log of the service if the service itself failed.
    fn failure(&self, machine: &dyn Probe, name: &str, words: &[&str], output: &Output) -> Error {
        let error = said(words, output).to_string();
        let log = if error.starts_with("Job for") || output.timed_out { self.log(machine, name) } else { None };
        Error::failed(log.map_or_else(|| error.clone(), |log| format!("{error}\n\n{log}")))
    }
}

/// The manager's properties of a unit.
struct UnitProperties {
    load: String,
    active: String,
    /// Its file has changed since systemd read it.
    is_stale: bool,
}

impl UnitProperties {
    fn of(machine: &dyn Probe, unit: &str) -> Result<UnitProperties> {
        let output = query(machine, &["show", "--property=LoadState,ActiveState,NeedDaemonReload", "--", unit])?;
        let text = output.text();
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().trim();
        if !output.success() && value("LoadState=").is_empty() {
            return Err(Error::failed(format!(
                "could not look at {unit}: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            )));
        }
        Ok(UnitProperties {
            load: value("LoadState=").to_owned(),
            active: value("ActiveState=").to_owned(),
            is_stale: value("NeedDaemonReload=") == "yes",
        })
    }

    fn is_loaded(&self) -> bool {
        !matches!(self.load.as_str(), "" | "not-found")
    }
}

/// Waits a moment: for these types `systemctl start` only waits for the start of the process, so a service that fails
/// at once does so later.
fn settle(machine: &dyn System, unit: &str) -> Result<()> {
    let kind = query(machine, &["show", "--property=Type", "--value", "--", unit])?;
    match kind.text().trim() {
        "simple" | "idle" | "exec" => machine.sleep(0.1),
        _ => Ok(()),
    }
}

pub fn reload_all(machine: &dyn System) -> Result<()> {
    let output = machine.run(&Command::new(["systemctl", "--system", "daemon-reload"]))?;
    if output.success() {
        return Ok(());
    }
    let said = output.text() + &String::from_utf8_lossy(&output.stderr);
    Err(Error::failed(format!("Problem performing systemctl daemon-reload: {}", said.trim())))
}

/// All properties of a unit, in Salt's form.
pub fn show(machine: &dyn Probe, name: &str) -> Result<Map> {
    let output = query(machine, &["show", "--", &unit::full(name)])?;
    Ok(properties(&output.text()))
}

/// The program of each service.
pub fn programs(machine: &dyn Probe, names: &[String]) -> Result<Map> {
    let units: Vec<String> = names.iter().map(|name| unit::full(name)).filter(|unit| !unit.contains("@.")).collect();
    let words = ["show", "--property=Names", "--property=ExecStart", "--"];
    let words: Vec<&str> = words.into_iter().chain(units.iter().map(String::as_str)).collect();
    let text = query(machine, &words)?.text();
    let mut found = Map::new();
    for block in text.split("\n\n").map(properties) {
        let Some(program) = block.get("ExecStart").and_then(Value::as_map).and_then(|exec| exec.get("path")) else {
            continue;
        };
        let own = block.get("Names").map(ToString::to_string).unwrap_or_default();
        for name in names.iter().filter(|name| own.split(' ').any(|own| own == unit::full(name))) {
            found.insert(name.as_str(), program.clone());
        }
    }
    found.sort();
    Ok(found)
}

fn properties(text: &str) -> Map {
    let mut found = Map::new();
    for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
        let value: Value = if let Some(inner) = value.strip_prefix('{') {
            let inner = inner.replace(['{', '}'], "");
            let parts = inner.split(" ; ").filter_map(|item| item.split_once('='));
            Value::Map(parts.map(|(key, value)| (key.trim().into(), value.trim().into())).collect())
        } else if matches!(key, "Before" | "After" | "Wants") {
            Value::List(value.split_whitespace().map(Value::from).collect())
        } else {
            value.into()
        };
        found.insert(key, value);
    }
    found
}

fn query(machine: &dyn Probe, words: &[&str]) -> Result<Output> {
    machine.query(&Command::new(std::iter::once("systemctl").chain(words.iter().copied())))
}

/// The tool's own message, as in Salt; if there is none, the command and its exit code.
fn said(words: &[&str], output: &Output) -> Error {
    let text = output.text() + &String::from_utf8_lossy(&output.stderr);
    let run = words.join(" ");
    Error::failed(match text.trim() {
        text if output.timed_out => format!("'{run}' took too long. {text}").trim().to_owned(),
        "" => format!("'{run}' ended with {}", output.code),
        text => text.to_owned(),
    })
}
