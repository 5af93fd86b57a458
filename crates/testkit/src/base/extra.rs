//! Further Debian packages for hosts: a layer over the Debian base root, built once for each set of packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{cache, debian, hash, once};
use crate::error::{Error, FileContext};
use crate::host::HostKind;
use crate::tool;

const INSTALL: &str = include_str!("extra.sh");

/// Returns the layer with these packages; builds it if necessary.
pub fn prepare(kind: HostKind, packages: &[String]) -> Result<PathBuf, Error> {
    if kind == HostKind::Busybox {
        return Err(Error::Unsupported("a busybox host can't have packages: it has no package manager".into()));
    }
    // The names become arguments of apt, so none may look like an option.
    let odd = |name: &&String| !name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if let Some(name) = packages.iter().find(odd) {
        return Err(Error::Unsupported(format!("{name:?} is not the name of a package")));
    }
    let mut names = packages.to_vec();
    names.sort();
    names.dedup();
    let base = super::prepare(kind)?;
    let recipe = format!("{}\n{}\n{INSTALL}", base.display(), names.join(" "));
    let layer = cache()?.join(format!("extra-{}", hash(&recipe)));
    once(&layer, |layer| install(&base, &names, layer, None))?;
    Ok(layer)
}

/// Downloads these packages, and the dependencies that the base lacks, into a directory.
pub(crate) fn fetch(names: &[String], directory: &Path) -> Result<(), Error> {
    let layer = tempfile::tempdir_in(cache()?).file("create a directory in", cache()?)?;
    let upper = layer.path().join("layer");
    fs::create_dir(&upper).file("create", &upper)?;
    install(&super::prepare(HostKind::Debian)?, names, &upper, Some(directory))
}

fn install(base: &Path, names: &[String], layer: &Path, only_fetch: Option<&Path>) -> Result<(), Error> {
    let source = debian::mirror().map(|mirror| format!("deb {mirror} {} main", debian::SUITE)).unwrap_or_default();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child=KILL", "sh", "-ec", INSTALL, "sh"]);
    command.arg(base).arg(layer).arg(source).arg(only_fetch.unwrap_or(Path::new(""))).args(names);
    tool::run(&mut command).map(drop)
}
