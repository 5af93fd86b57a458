//! [`unpacked`]: Debian packages taken apart in a cache, for programs that a test starts itself and nobody installs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::base::{cache, once};
use crate::error::{Error, FileContext};
use crate::tool;

/// A directory with the content of these packages and no others: name what they need that a plain Debian lacks.
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
        // A machine whose lists are old or missing. Without root this fails, and the download says why.
        let _ = tool::words(&["apt-get", "update", "-qq"]);
        download()?;
    }
    for entry in fs::read_dir(&directory).file("read", &directory)? {
        let path = entry.file("read", &directory)?.path();
        tool::run(Command::new("dpkg-deb").arg("-x").arg(&path).arg(root))?;
    }
    fs::remove_dir_all(&directory).file("remove", &directory)
}
