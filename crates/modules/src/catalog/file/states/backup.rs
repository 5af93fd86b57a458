//! Backups of old content in the target's cache (`backup: minion`).

use rocksalt_core::Value;

use super::missing_directories;
use super::{Action, look};
use crate::catalog::cp;
use crate::machine::{Command, Probe};

/// Whether to back up old content: by the state's argument, otherwise by the configuration.
pub fn wanted(machine: &dyn Probe, backup: &Value) -> bool {
    let mode = match backup.truth() {
        true => Some(backup),
        false => machine.options().get("backup_mode"),
    };
    matches!(mode.and_then(Value::as_str), Some("minion" | "both"))
}

/// Copies a file to the directory that `file.list_backups` lists.
pub fn actions(machine: &dyn Probe, path: &str) -> Vec<Action> {
    let root = cp::directory(machine).join("file_backup");
    let directory = format!("{}{}", root.display(), look::above(path));
    let name = format!("{}_{}", look::last_part(path), stamp(machine));
    let missing = missing_directories(machine, &directory);
    let make = |path| Action::MakeDirectory { path, mode: 0o700, uid: None, gid: None };
    let mut actions: Vec<Action> = missing.into_iter().map(make).collect();
    actions.push(Action::Copy { from: path.to_owned(), to: look::join(&directory, &name) });
    actions
}

/// The time as `Mon_Nov_16_00:28:07_123456_2026`, in the machine's time zone.
fn stamp(machine: &dyn Probe) -> String {
    let mut command = Command::new(["date", "+%a_%b_%d_%H:%M:%S %Y"]);
    command.env = vec![("LC_ALL".into(), Some("C".into()))];
    let micros = (machine.now().fract() * 1e6) as u32;
    let now = machine.query(&command).ok().filter(|output| output.success()).map(|output| output.text());
    match now.as_deref().map(str::trim).and_then(|now| now.rsplit_once(' ')) {
        Some((day, year)) => format!("{day}_{micros:06}_{year}"),
        None => format!("{}_{micros:06}", machine.now() as u64),
    }
}
