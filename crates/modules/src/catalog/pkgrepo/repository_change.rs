//! Changes the files and keys of repositories.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::cp;
use super::super::file::make_all;
use super::super::pkg::refresh;
use super::key;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// Files to write or remove, a key to install, and what to do afterwards.
#[derive(Default, Serialize, Deserialize)]
pub struct RepositoryChange {
    pub files: Vec<(PathBuf, Option<String>)>,
    pub key: Option<RepositoryKey>,
    /// Refresh the package lists.
    pub refresh: bool,
}

/// A key and its file.
#[derive(Serialize, Deserialize)]
pub struct RepositoryKey {
    pub from: From,
    pub path: PathBuf,
}

#[derive(Serialize, Deserialize)]
pub enum From {
    Url(String),
    Text(String),
    Server { server: String, ids: Vec<String> },
}

impl RepositoryKey {
    /// Whether it is installed already, as far as known without fetching it.
    pub fn is_there(&self, machine: &dyn Probe) -> bool {
        let Ok(content) = machine.read(&self.path) else { return false };
        match &self.from {
            From::Url(_) => !content.is_empty(),
            From::Text(text) => self.formed(text.as_bytes()).is_ok_and(|wanted| wanted == content),
            From::Server { ids, .. } => key::bare(&content).is_ok_and(|bytes| {
                let known = key::fingerprints(&bytes);
                ids.iter().all(|id| key::is_among(id, &known))
            }),
        }
    }

    /// With armour if the file's name ends with `.asc`, otherwise without: apt decides by the name.
    fn formed(&self, content: &[u8]) -> Result<Vec<u8>> {
        let bytes = key::bare(content)?;
        match self.path.extension().is_some_and(|ending| ending == "asc") {
            true => Ok(content.to_vec()),
            false => Ok(bytes),
        }
    }

    fn bring(&self, machine: &dyn System, saltenv: &str) -> Result<()> {
        let content = match &self.from {
            From::Text(text) => self.formed(text.as_bytes())?,
            From::Url(url) => {
                let content = cp::source::content(machine, url, Some(saltenv))?
                    .ok_or_else(|| Error::failed(format!("Error: file not found: {url}")))?;
                self.formed(&content).map_err(|error| Error::failed(format!("{url}: {error}")))?
            }
            From::Server { server, ids } => {
                let mut all = Vec::new();
                for id in ids {
                    let url = key::address(server, id);
                    let bytes = key::bare(&cp::url_content(machine, &url)?)
                        .map_err(|error| Error::failed(format!("{url}: {error}")))?;
                    if !key::is_among(id, &key::fingerprints(&bytes)) {
                        return Err(Error::failed(format!("{url} gave another key than {id}")));
                    }
                    all.extend(bytes);
                }
                all
            }
        };
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        make_all(machine, folder, Some(0o755))?;
        machine.write(&self.path, &content, Some(0o644)).map_err(|error| Error::io("write", &self.path, &error))
    }
}

impl RepositoryChange {
    /// The key first: without it every refresh of the repository would fail.
    pub fn carry_out(&self, machine: &dyn System, saltenv: &str) -> Result<()> {
        if let Some(key) = &self.key {
            key.bring(machine, saltenv)?;
        }
        for (path, content) in &self.files {
            match content {
                Some(content) => {
                    make_all(machine, path.parent().unwrap_or(Path::new("/")), Some(0o755))?;
                    machine.write(path, content.as_bytes(), None).map_err(|error| Error::io("write", path, &error))?;
                }
                None => machine.remove(path).map_err(|error| Error::io("remove", path, &error))?,
            }
        }
        match self.refresh {
            true => refresh::anew(machine),
            false => {
                refresh::forget(machine);
                Ok(())
            }
        }
    }
}
