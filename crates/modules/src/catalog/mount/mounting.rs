//! Mounts and unmounts with the target's own `mount` and `umount`.

use rocksalt_core::Value;
use rocksalt_macros::function;

use super::super::file::Flag;
use super::super::{Function, tool};
use super::{active, listed, trimmed};
use crate::grains::look;
use crate::machine::{Command, System};
use crate::{Error, Result};

/// The device and mount point. Without a device, `/etc/fstab` defines it.
#[derive(Default)]
pub struct MountRequest<'a> {
    pub name: &'a str,
    pub device: Option<&'a str>,
    pub fstype: &'a str,
    pub options: &'a [String],
    pub user: Option<&'a str>,
}

impl MountRequest<'_> {
    pub fn mount(&self) -> Command {
        self.command(self.options.to_vec())
    }

    pub fn remount(&self) -> Command {
        let mut options = self.options.to_vec();
        if !options.iter().any(|option| option == "remount") {
            options.push("remount".into());
        }
        self.command(options)
    }

    fn command(&self, options: Vec<String>) -> Command {
        let mut argv = vec!["mount".to_owned()];
        if let Some(device) = self.device {
            if !options.is_empty() {
                argv.extend(["-o".into(), options.join(",")]);
            }
            if !self.fstype.is_empty() {
                argv.extend(["-t".into(), self.fstype.to_owned()]);
            }
            argv.extend(["--".into(), device.to_owned(), self.name.to_owned()]);
        } else {
            argv.extend(["--".into(), self.name.to_owned()]);
        }
        Command { user: self.user.map(str::to_owned), ..tool::command(&argv) }
    }
}

pub fn umount(name: &str, lazy: bool, user: Option<&str>) -> Command {
    let argv: &[&str] = if lazy { &["umount", "-l", "--", name] } else { &["umount", "--", name] };
    Command { user: user.map(str::to_owned), ..tool::command(argv) }
}

/// Runs a command; the error is its output.
pub fn run(machine: &dyn System, command: &Command) -> Result<()> {
    let output = machine.run(command)?;
    if output.success() { Ok(()) } else { Err(Error::failed(tool::fault(&command.argv, &output))) }
}

/// Mounts a device.
///
/// ```text
/// rocksalt '*' mount.mount /mnt/foo /dev/sdz1 True
/// ```
#[function("mount.mount", changes)]
pub struct Mount {
    /// The mount point.
    name: String,
    /// The device; without one, as `/etc/fstab` has it.
    device: Value,
    /// Create the directory if it doesn't exist.
    mkmnt: Flag,
    /// The type of the file system.
    #[default]
    fstype: String,
    /// Options, as a list or a comma-separated text.
    #[default("defaults")]
    opts: Value,
    /// The user to mount as.
    user: Option<String>,
}

impl Function for Mount {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let device = self.device.truth().then(|| self.device.to_string());
        if self.mkmnt.0 && !look::exists(machine, &self.name) {
            tool::make_directories(machine, &self.name, 0o755)?;
        }
        let request = MountRequest {
            name: &self.name,
            device: device.as_deref(),
            fstype: &self.fstype,
            options: &listed(&self.opts),
            user: self.user.as_deref(),
        };
        run(machine, &request.mount()).map(|()| true)
    }
}

/// Remounts with other options; mounts it if it isn't mounted.
///
/// ```text
/// rocksalt '*' mount.remount /mnt/foo /dev/sdz1 fstype=ext4 opts=ro
/// ```
#[function("mount.remount", changes)]
pub struct Remount {
    /// The mount point.
    name: String,
    /// The device.
    device: String,
    /// Create the directory if it doesn't exist.
    mkmnt: Flag,
    /// The type of the file system.
    #[default]
    fstype: String,
    /// Options, as a list or a comma-separated text.
    #[default("defaults")]
    opts: Value,
    /// The user to mount as.
    user: Option<String>,
}

impl Function for Remount {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let Remount { name, device, mkmnt, fstype, opts, user } = self;
        if active::at(&active::all(machine)?, trimmed(&name)).is_none() {
            return Mount { name, device: device.into(), mkmnt, fstype, opts, user }.call(machine);
        }
        let options = listed(&opts);
        let request = MountRequest {
            name: &name,
            device: Some(&device),
            fstype: &fstype,
            options: &options,
            user: user.as_deref(),
        };
        run(machine, &request.remount()).map(|()| true)
    }
}

/// Unmounts a file system by its mount point.
///
/// ```text
/// rocksalt '*' mount.umount /mnt/foo
/// ```
#[function("mount.umount", changes)]
pub struct Umount {
    /// The mount point.
    name: String,
    /// The device, if it is to be unmounted by its own name.
    device: Option<String>,
    /// The user to unmount as.
    user: Option<String>,
    /// Detach it now, and clean up when it is no longer busy.
    lazy: Flag,
}

impl Function for Umount {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        if active::at(&active::all(machine)?, trimmed(&self.name)).is_none() {
            return Ok(format!("{} does not have anything mounted", self.name).into());
        }
        let what = self.device.as_deref().unwrap_or(&self.name);
        run(machine, &umount(what, self.lazy.0, self.user.as_deref())).map(|()| Value::Bool(true))
    }
}
