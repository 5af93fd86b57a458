//! The file from which parameters are set at boot.

use std::path::Path;

use rocksalt_core::Map;

use super::super::tool;
use super::kernel::same;
use crate::machine::Probe;
use crate::{Error, Result};

const HEADER: &str = "#\n# Kernel sysctl configuration\n#\n";

/// systemd does not read `/etc/sysctl.conf` by itself.
pub fn default_path(machine: &dyn Probe) -> &'static str {
    if tool::booted_by_systemd(machine) { "/etc/sysctl.d/99-salt.conf" } else { "/etc/sysctl.conf" }
}

pub struct SysctlConfig {
    text: String,
}

impl SysctlConfig {
    /// Reads the file; `None` if it doesn't exist.
    pub fn read(machine: &dyn Probe, path: &str) -> Result<Option<SysctlConfig>> {
        match machine.read(Path::new(path)) {
            Ok(content) => Ok(Some(SysctlConfig { text: String::from_utf8_lossy(&content).into_owned() })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", path, &error)),
        }
    }

    pub fn fresh() -> SysctlConfig {
        SysctlConfig { text: HEADER.to_owned() }
    }

    pub fn values(&self) -> Map {
        self.text.lines().filter_map(setting).map(|(key, value)| (key.into(), value.into())).collect()
    }

    pub fn names(&self, name: &str) -> bool {
        self.text.lines().filter_map(setting).any(|(key, _)| key == name)
    }

    /// Whether it sets a parameter to this value and no other.
    pub fn sets(&self, name: &str, value: &str) -> bool {
        let mut found = self.text.lines().filter_map(setting).filter(|(key, _)| *key == name).peekable();
        found.peek().is_some() && found.all(|(_, set)| same(set, value))
    }

    /// The text with the lines of a parameter replaced, or a line added at the end. All other lines stay unchanged.
    pub fn with(&self, name: &str, value: &str) -> String {
        let line = format!("{name} = {value}\n");
        let mut found = false;
        let mut text = String::new();
        for old in self.text.split_inclusive('\n') {
            match setting(old) {
                Some((key, set)) if key == name => {
                    found = true;
                    text += if same(set, value) { old } else { &line };
                }
                _ => text += old,
            }
        }
        if !found {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text += &line;
        }
        text
    }
}

/// The name and the value of a line that sets a parameter.
fn setting(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    (!key.starts_with(['#', ';'])).then_some((key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_of_the_parameter_change() {
        let text = "# a=1\n\n a = 1  \nb=2\na=9";
        let config = SysctlConfig { text: text.into() };
        assert_eq!(config.with("a", "1"), "# a=1\n\n a = 1  \nb=2\na = 1\n");
        assert_eq!(config.with("c", "3"), "# a=1\n\n a = 1  \nb=2\na=9\nc = 3\n");
        assert!(!config.sets("a", "1"));
        assert!(config.sets("b", "2") && !config.sets("c", "3"));
        assert_eq!(SysctlConfig { text: "t = 1\t2  3\n".into() }.with("t", "1 2 3"), "t = 1\t2  3\n");
    }
}
