//! The Debian base root: debootstrap, and a user for every way to log in and to become root.

use std::path::Path;
use std::process::Command;

use crate::error::Error;
use crate::tool;

pub(super) const SUITE: &str = "bookworm";

/// Python is missing on purpose: a target must not need it.
const PACKAGES: &[&str] =
    &["ca-certificates", "dbus", "iproute2", "opendoas", "openssh-server", "sudo", "systemd", "systemd-sysv"];

const SETUP: &str = include_str!("debian.sh");

pub(super) fn recipe() -> String {
    format!("{SUITE}\n{}\n{SETUP}", PACKAGES.join(","))
}

pub(super) fn make(root: &Path) -> Result<(), Error> {
    let mut command = Command::new("debootstrap");
    command.arg("--variant=minbase").arg(format!("--include={}", PACKAGES.join(","))).arg(SUITE).arg(root);
    if let Some(mirror) = mirror() {
        command.arg(mirror);
    }
    tool::run(&mut command)?;
    tool::feed(Command::new("chroot").arg(root).args(["/bin/sh", "-e"]), SETUP).map(drop)
}

/// The mirror from which the machine's own apt gets the suite, so that a local mirror is used here too; `None` means
/// debootstrap's default.
pub(super) fn mirror() -> Option<String> {
    if let Some(mirror) = std::env::var("ROCKSALT_TESTBED_MIRROR").ok().filter(|mirror| !mirror.is_empty()) {
        return Some(mirror);
    }
    let format = "$(RELEASE) $(COMPONENT) $(REPO_URI)";
    let targets = tool::words(&["apt-get", "indextargets", "--format", format, "Created-By: Packages"]).ok()?;
    let of_suite = |line: &str| Some(line.strip_prefix(&format!("{SUITE} main "))?.to_owned());
    targets.lines().find_map(of_suite)
}
