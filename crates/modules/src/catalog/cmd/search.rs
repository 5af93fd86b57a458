//! Functions that find programs, shells and terminals.

use std::path::{Path, PathBuf};

use rocksalt_core::Map;
use rocksalt_macros::function;

use super::Function;
use crate::machine::{FileKind, Probe, System};
use crate::{Error, Result};

/// Where a program is, if it is anywhere in the agent's `PATH`.
///
/// ```text
/// rocksalt '*' cmd.which cat
/// ```
#[function("cmd.which", reads, small)]
pub struct Which {
    /// The program's name, or a path to it.
    cmd: String,
}

impl Function for Which {
    type Output = Option<String>;

    fn call(self, machine: &dyn System) -> Result<Option<String>> {
        Ok(which(machine, &self.cmd).map(|path| path.to_string_lossy().into_owned()))
    }
}

/// The path of the first of several programs that exists.
///
/// ```text
/// rocksalt '*' cmd.which_bin '[pip3, pip, pip-python]'
/// ```
#[function("cmd.which_bin", reads, small)]
pub struct WhichBin {
    /// The programs' names.
    #[required]
    cmds: Vec<String>,
}

impl Function for WhichBin {
    type Output = Option<String>;

    fn call(self, machine: &dyn System) -> Result<Option<String>> {
        let found = self.cmds.iter().find_map(|cmd| which(machine, cmd));
        Ok(found.map(|path| path.to_string_lossy().into_owned()))
    }
}

/// Whether a program exists.
///
/// ```text
/// rocksalt '*' cmd.has_exec cat
/// ```
#[function("cmd.has_exec", reads, small)]
pub struct HasExec {
    /// The program's name, or a path to it.
    cmd: String,
}

impl Function for HasExec {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(which(machine, &self.cmd).is_some())
    }
}

/// The shells that `/etc/shells` names.
///
/// ```text
/// rocksalt '*' cmd.shells
/// ```
#[function("cmd.shells", reads)]
pub struct Shells {}

impl Function for Shells {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let content = machine.read(Path::new("/etc/shells")).unwrap_or_default();
        let content = String::from_utf8_lossy(&content);
        let lines = content.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        Ok(lines.map(str::to_owned).collect())
    }
}

/// Writes a text to a terminal.
///
/// ```text
/// rocksalt '*' cmd.tty tty0 'This is a test'
/// rocksalt '*' cmd.tty pts3 'This is a test'
/// ```
#[function("cmd.tty", changes)]
pub struct Tty {
    /// `ttyN` or `ptsN`.
    device: String,
    /// The text.
    #[default]
    echo: String,
}

impl Function for Tty {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let number = |text: &str| !text.is_empty() && text.chars().all(|letter| letter.is_ascii_digit());
        let path = match (self.device.strip_prefix("tty"), self.device.strip_prefix("pts")) {
            (Some(rest), _) if rest.chars().all(|letter| letter.is_ascii_alphanumeric()) => {
                format!("/dev/{}", self.device)
            }
            (_, Some(rest)) if number(rest) => format!("/dev/pts/{rest}"),
            _ => {
                return Err(Error::arguments("The specified device is not a valid TTY").hint("name it as tty0 or pts3"));
            }
        };
        match machine.stat(Path::new(&path), true) {
            Ok(Some(stat)) if stat.kind == FileKind::CharDevice => {}
            _ => return Err(Error::failed(format!("there is no terminal {path}"))),
        }
        machine
            .append(Path::new(&path), format!("{}\n", self.echo).as_bytes())
            .map_err(|error| Error::io("write to", &path, &error))?;
        Ok([("Success".into(), format!("Message was successfully echoed to {path}").into())].into_iter().collect())
    }
}

/// The first program with this name in `PATH`.
pub fn which(machine: &dyn Probe, name: &str) -> Option<PathBuf> {
    let runs = |path: &Path| matches!(machine.stat(path, true), Ok(Some(stat)) if stat.kind == FileKind::File && stat.mode & 0o111 != 0);
    if name.contains('/') {
        let path = PathBuf::from(name);
        return runs(&path).then_some(path);
    }
    if name.is_empty() {
        return None;
    }
    // Administrative programs may be in directories that a user's PATH lacks.
    let path = machine.env("PATH").unwrap_or_default();
    let places = path.split(':').chain(["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]);
    places.filter(|place| place.starts_with('/')).map(|place| Path::new(place).join(name)).find(|path| runs(path))
}
