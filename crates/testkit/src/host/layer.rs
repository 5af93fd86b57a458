//! The files of one host that differ from its base root: a directory that is mounted over it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::error::{Error, FileContext};
use crate::host::{HostKind, Quirk, Spec, server};
use crate::keys::{self, SshKeyPair};
use crate::tool;

pub(crate) struct Layer<'a> {
    pub spec: &'a Spec,
    pub hostname: &'a str,
    pub address: &'a str,
    pub host_key: &'a SshKeyPair,
    /// The key that may log in.
    pub user_key: &'a SshKeyPair,
    pub authority: &'a SshKeyPair,
}

/// Units that are useless or fail in a namespace, and timers that would hold apt's lock or change files during a test.
const MASKED_UNITS: &[&str] = &[
    "apt-daily-upgrade.timer",
    "apt-daily.timer",
    "console-getty.service",
    "dev-hugepages.mount",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "fstrim.timer",
    "getty.target",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-modules-load.service",
    "systemd-sysctl.service",
    "systemd-udevd-control.socket",
    "systemd-udevd-kernel.socket",
    "systemd-udevd.service",
];

/// Writes the host's files below `root`, and the first shell lines of the host to `setup` and `start` beside it.
pub(crate) fn write(layer: &Layer<'_>, root: &Path) -> Result<(), Error> {
    let spec = layer.spec;
    put(root, "etc/hostname", &format!("{}\n", layer.hostname), 0o644)?;
    put(root, "etc/hosts", &format!("127.0.0.1 localhost\n{} {}\n", layer.address, layer.hostname), 0o644)?;
    let public = layer.user_key.public_text()?;
    let authorised = if spec.has(Quirk::KeyRefused) || spec.has(Quirk::UserCertificate) { "" } else { &*public };
    match spec.kind {
        HostKind::Busybox => {
            put(root, "root/.ssh/authorized_keys", &format!("{authorised}\n"), 0o600)?;
            mode(&root.join("root"), 0o700)?;
            mode(&root.join("root/.ssh"), 0o700)?;
            let key = root.join("etc/dropbear/host_key");
            create_parent(&key)?;
            tool::run(
                Command::new("dropbearconvert").args(["openssh", "dropbear"]).arg(&layer.host_key.private).arg(&key),
            )?;
        }
        HostKind::Debian | HostKind::Systemd => {
            // The mirrors can't be reached from the host: a test that needs a repository adds one.
            put(root, "etc/apt/sources.list", "", 0o644)?;
            put(root, "etc/ssh/sshd_config", &server::sshd_config(spec), 0o644)?;
            for user in ["root", "deploy", "ops", "nosudo"] {
                put(root, &format!("etc/ssh/authorized_keys/{user}"), &format!("{authorised}\n"), 0o644)?;
            }
            put_host_key(layer, root)?;
            put(root, "etc/ssh/authority.pub", &layer.authority.public_text()?, 0o644)?;
        }
    }
    if spec.kind == HostKind::Systemd {
        put(root, "etc/machine-id", "", 0o644)?;
        put(root, "etc/default/ssh", "SSHD_OPTS='-E /run/sshd.log'\n", 0o644)?;
        for unit in MASKED_UNITS {
            let link = root.join("etc/systemd/system").join(unit);
            create_parent(&link)?;
            std::os::unix::fs::symlink("/dev/null", &link).file("link", &link)?;
        }
    }
    for quirk in &spec.quirks {
        for (path, text) in quirk.files() {
            put(root, path, text, if path.contains("sudoers") { 0o440 } else { 0o644 })?;
        }
    }
    let directory = root.parent().unwrap_or(root);
    let mut setup: Vec<String> = spec.quirks.iter().map(|quirk| quirk.setup().to_owned()).collect();
    for mount in &spec.mounts {
        setup.push(format!(
            "show {} {}",
            quoted(&mount.from.to_string_lossy()),
            quoted(mount.at.trim_start_matches('/'))
        ));
    }
    put(directory, "setup", &setup.join("\n"), 0o644)?;
    put(directory, "start", server::start(spec), 0o644)
}

/// Quotes a text as one word for the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn put_host_key(layer: &Layer<'_>, root: &Path) -> Result<(), Error> {
    let key = SshKeyPair { private: root.join("etc/ssh/host_key") };
    for (from, to, bits) in
        [(layer.host_key.private.clone(), key.private.clone(), 0o600), (layer.host_key.public(), key.public(), 0o644)]
    {
        fs::copy(&from, &to).file("copy a key to", &to)?;
        mode(&to, bits)?;
    }
    if layer.spec.has(Quirk::HostCertificate) {
        keys::sign(layer.authority, &key, true, &[layer.hostname, layer.address])?;
    }
    Ok(())
}

fn put(root: &Path, path: &str, text: &str, bits: u32) -> Result<(), Error> {
    let path = root.join(path);
    create_parent(&path)?;
    fs::write(&path, text).file("write", &path)?;
    mode(&path, bits)
}

fn create_parent(path: &Path) -> Result<(), Error> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).file("create", parent)
}

fn mode(path: &Path, bits: u32) -> Result<(), Error> {
    fs::set_permissions(path, fs::Permissions::from_mode(bits)).file("set the mode of", path)
}
