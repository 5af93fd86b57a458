//! [`unpacked`]: Debian packages unpacked in a cache, for programs that a test runs without installing them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::base::{cache, once};
use crate::error::{Error, FileContext};
use crate::tool;

/// Unpacks exactly these packages into a directory; name also the dependencies that a plain Debian lacks.
pub fn unpacked(name: &str, packages: &[&str]) -> Result<PathBuf, Error> {
    let root = cache()?.join(format!("unpacked-{name}"));
    once(&root, |root| unpack(packages, root))?;
    Ok(root)
}

fn unpack(packages: &[&str], root: &Path) -> Result<(), Error> {
    let directory = root.join("packages");
    fs::create_dir_all(&directory).file("create", &directory)?;
    let download = || tool::run(Command::new("apt-get").arg("download").args(packages).current_dir(&directory));
    if download().is_err() {
        // The package lists may be old or missing. Without root this fails, and the download reports the cause.
        let _ = tool::words(&["apt-get", "update", "-qq"]);
        download()?;
    }
    for entry in fs::read_dir(&directory).file("read", &directory)? {
        let path = entry.file("read", &directory)?.path();
        tool::run(Command::new("dpkg-deb").arg("-x").arg(&path).arg(root))?;
    }
    fs::remove_dir_all(&directory).file("remove", &directory)
}
