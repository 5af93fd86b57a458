//! The smallest base root: a static busybox and dropbear; no bash, no Python, no coreutils, no package manager.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, FileContext};
use crate::tool;

const LAYOUT: &str =
    "bin dev/pts dev/shm etc/dropbear home mnt proc root/.ssh run sbin sys tmp usr/bin usr/sbin var/tmp";

const FILES: &[(&str, &str)] = &[
    ("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"),
    ("etc/group", "root:x:0:\ntty:x:5:\n"),
    ("etc/shadow", "root:*:19000:0:99999:7:::\n"),
    ("etc/shells", "/bin/sh\n"),
];

pub(super) fn recipe() -> Result<String, Error> {
    // A new version of either program makes a new root.
    let busybox = find("busybox")?;
    let applets = tool::run(Command::new(&busybox).arg("--list"))?;
    let dropbear = find("dropbear")?;
    let size = fs::metadata(&dropbear).file("look at", &dropbear)?.len();
    Ok(format!("{LAYOUT}\n{FILES:?}\n{applets}\n{size}"))
}

pub(super) fn make(root: &Path) -> Result<(), Error> {
    for directory in LAYOUT.split_whitespace() {
        let directory = root.join(directory);
        fs::create_dir_all(&directory).file("create", &directory)?;
    }
    for (directory, mode) in [("root", 0o700), ("root/.ssh", 0o700), ("tmp", 0o1777), ("var/tmp", 0o1777)] {
        let directory = root.join(directory);
        fs::set_permissions(&directory, fs::Permissions::from_mode(mode)).file("set the mode of", &directory)?;
    }
    for (path, text) in FILES {
        let path = root.join(path);
        fs::write(&path, text).file("write", &path)?;
    }
    for (node, minor) in [("null", "3"), ("zero", "5"), ("full", "7"), ("random", "8"), ("urandom", "9")] {
        tool::run(Command::new("mknod").args(["-m", "666"]).arg(root.join("dev").join(node)).args(["c", "1", minor]))?;
    }
    tool::run(Command::new("mknod").args(["-m", "666"]).arg(root.join("dev/tty")).args(["c", "5", "0"]))?;
    let ptmx = root.join("dev/ptmx");
    symlink("pts/ptmx", &ptmx).file("link", &ptmx)?;

    let busybox = find("busybox")?;
    copy(&busybox, &root.join("bin/busybox"))?;
    let applets = tool::run(Command::new(&busybox).arg("--list"))?;
    for applet in applets.lines().filter(|applet| *applet != "busybox") {
        let link = root.join("bin").join(applet);
        symlink("busybox", &link).file("link", &link)?;
    }
    let dropbear = find("dropbear")?;
    copy(&dropbear, &root.join("usr/sbin/dropbear"))?;
    libraries(&dropbear)?.iter().try_for_each(|library| {
        let relative = library.strip_prefix("/").unwrap_or(library);
        copy(library, &root.join(relative))
    })
}

/// The shared libraries of a program and the loader, by the paths at which the program looks for them.
fn libraries(program: &Path) -> Result<Vec<PathBuf>, Error> {
    let listed = tool::run(Command::new("ldd").arg(program))?;
    let path = |line: &str| {
        let word = line.split_whitespace().find(|word| word.starts_with('/'))?;
        Some(PathBuf::from(word))
    };
    Ok(listed.lines().filter_map(path).collect())
}

fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    if let Some(directory) = to.parent() {
        fs::create_dir_all(directory).file("create", directory)?;
    }
    fs::copy(from, to).file("copy a program to", to).map(drop)
}

fn find(program: &str) -> Result<PathBuf, Error> {
    let places = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];
    let found = places.iter().map(|place| Path::new(place).join(program)).find(|path| path.exists());
    found.ok_or_else(|| Error::Start { program: program.into(), source: std::io::ErrorKind::NotFound.into() })
}
