//! The machine's names: the host name, and the description for people.

use std::path::Path;

use rocksalt_core::Value;
use rocksalt_macros::function;

use crate::catalog::{Function, network};
use crate::grains::look;
use crate::machine::System;
use crate::{Error, Result};

/// The target's host name.
///
/// ```text
/// rocksalt '*' system.get_computer_name
/// ```
#[function("system.get_computer_name", reads)]
pub struct GetComputerName {}

impl Function for GetComputerName {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        Ok(look::line(machine, "/proc/sys/kernel/hostname").unwrap_or_default())
    }
}

/// Sets the target's host name, at once and permanently.
///
/// ```text
/// rocksalt '*' system.set_computer_name web01.example.com
/// ```
#[function("system.set_computer_name", changes)]
pub struct SetComputerName {
    /// The new name.
    hostname: String,
}

impl Function for SetComputerName {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        network::set_hostname(machine, &self.hostname)
    }
}

const MACHINE_INFO: &str = "/etc/machine-info";
const PRETTY: &str = "PRETTY_HOSTNAME=";

/// The target's description, or `False` if it has none.
///
/// ```text
/// rocksalt '*' system.get_computer_desc
/// ```
#[function("system.get_computer_desc", reads)]
pub struct GetComputerDesc {}

impl Function for GetComputerDesc {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let text = look::text(machine, MACHINE_INFO).unwrap_or_default();
        let line = text.lines().rev().find_map(|line| line.trim_start().strip_prefix(PRETTY));
        Ok(line.map_or(Value::Bool(false), |line| described(line.trim()).into()))
    }
}

/// Removes quotes and backslashes.
fn described(line: &str) -> String {
    let inner = ['"', '\''].iter().find_map(|quote| line.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(line);
    let mut text = String::new();
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        match (letter, letter == '\\') {
            (_, true) => match letters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                other => text.extend(other),
            },
            (letter, false) => text.push(letter),
        }
    }
    text
}

/// Sets the target's description, in `/etc/machine-info`.
///
/// ```text
/// rocksalt '*' system.set_computer_desc "Ann's laptop"
/// ```
#[function("system.set_computer_desc", changes)]
pub struct SetComputerDesc {
    /// The words.
    desc: String,
}

impl Function for SetComputerDesc {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let mut escaped = self.desc.replace('\\', "\\\\").replace('"', "\\\"");
        escaped = escaped.replace('\n', "\\n").replace('\t', "\\t").replace('$', "\\$").replace('`', "\\`");
        let text = look::text(machine, MACHINE_INFO).unwrap_or_default();
        let mut lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with(PRETTY)).collect();
        let line = format!("{PRETTY}\"{escaped}\"");
        lines.push(&line);
        let content = lines.join("\n") + "\n";
        machine
            .write(Path::new(MACHINE_INFO), content.as_bytes(), None)
            .map_err(|error| Error::io("write", MACHINE_INFO, &error))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn a_description_survives_its_file() {
        let machine = Fake::new().file(MACHINE_INFO, "CHASSIS=server\nPRETTY_HOSTNAME=\"old\"\n");
        let desc = "Ann's \"laptop\" \\ $HOME";
        assert!(SetComputerDesc { desc: desc.into() }.call(&machine).expect("it is written"));
        assert_eq!(GetComputerDesc {}.call(&machine).expect("it is read"), Value::from(desc));
        assert!(look::text(&machine, MACHINE_INFO).expect("a file").starts_with("CHASSIS=server\n"));
        assert_eq!(GetComputerDesc {}.call(&Fake::new()).expect("it is read"), Value::Bool(false));
    }
}
