//! Package files from outside of repositories: `sources: [{name: salt://x.deb}]`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::cp::{self, source::ContentSource};
use super::super::file::make_all;
use super::provider::{Package, PackageArchive, PackageProvider, TransactionPackage};
use super::requests::PackageRequest;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// An inspected package file.
#[derive(Serialize, Deserialize)]
pub struct PackageFile {
    pub name: String,
    pub package: Package,
    archive: PackageArchive,
}

impl PackageFile {
    /// Its path, if it is on the machine already.
    pub fn path(&self) -> Option<&Path> {
        match &self.archive {
            PackageArchive::Path(path) => Some(path),
            PackageArchive::Content(_) => None,
        }
    }

    pub fn target(&self, file: Option<PathBuf>) -> TransactionPackage {
        TransactionPackage { name: self.name.clone(), version: Some(self.package.version.clone()), file }
    }
}

/// Inspects each file; the first fault is returned.
pub fn look(
    machine: &dyn Probe,
    provider: &dyn PackageProvider,
    requests: &[PackageRequest],
    saltenv: &str,
) -> Result<Result<Vec<PackageFile>, String>> {
    let mut found = Vec::new();
    for request in requests {
        let place = request.version.as_deref().unwrap_or_default();
        let archive = match archive(machine, place, saltenv)? {
            Ok(archive) => archive,
            Err(text) => return Ok(Err(text)),
        };
        let package = match provider.inspect(machine, &archive) {
            Ok(package) => package,
            Err(error) => return Ok(Err(error.to_string())),
        };
        if provider.normal(machine, &request.name) != provider.normal(machine, &package.name) {
            let text = format!("{place} is a file of the package {}, not of {}", package.name, request.name);
            return Ok(Err(text));
        }
        found.push(PackageFile { name: request.name.clone(), package, archive });
    }
    Ok(Ok(found))
}

fn archive(machine: &dyn Probe, place: &str, saltenv: &str) -> Result<Result<PackageArchive, String>> {
    let missing = |why: &str| Err(format!("Unable to cache {place}: {why}"));
    Ok(match ContentSource::parse(machine, place, Some(saltenv))? {
        ContentSource::Local(path) => match machine.stat(&path, true) {
            Ok(Some(_)) => Ok(PackageArchive::Path(path)),
            _ => Err(format!("{place} does not exist on minion")),
        },
        ContentSource::Tree { path, saltenv } => match machine.tree().read(&saltenv, &path)? {
            Some(content) => Ok(PackageArchive::Content(content)),
            None => missing("file not found"),
        },
        ContentSource::Url(url) => match cp::url_content(machine, &url) {
            Ok(content) => Ok(PackageArchive::Content(content.into())),
            Err(error) => missing(&error.to_string()),
        },
        ContentSource::Given(_) => missing("there is no such kind of source"),
    })
}

/// Stores files where the manager can read them; removes its copies when dropped.
pub struct Laid<'a> {
    machine: &'a dyn System,
    pub targets: Vec<TransactionPackage>,
    made: Vec<PathBuf>,
}

impl<'a> Laid<'a> {
    pub fn new(machine: &'a dyn System, found: &[&PackageFile], ending: &str) -> Result<Laid<'a>> {
        let mut laid = Laid { machine, targets: Vec::new(), made: Vec::new() };
        for one in found {
            let path = match &one.archive {
                PackageArchive::Path(path) => path.clone(),
                PackageArchive::Content(content) => {
                    let place = cp::directory(machine).join("packages");
                    make_all(machine, &place, Some(0o700))?;
                    let path = place.join(format!("{}_{}.{ending}", safe(&one.name), safe(&one.package.version)));
                    machine.write(&path, content, Some(0o600)).map_err(|error| Error::io("write", &path, &error))?;
                    laid.made.push(path.clone());
                    path
                }
            };
            laid.targets.push(one.target(Some(path)));
        }
        Ok(laid)
    }
}

impl Drop for Laid<'_> {
    fn drop(&mut self) {
        for path in &self.made {
            // If this fails, only a copy remains.
            let _ = self.machine.remove(path);
        }
    }
}

fn safe(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || "+.-~".contains(letter) { letter } else { '_' })
        .collect()
}
