//! Directories of this machine, by environment. The first directory that has a file wins.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rocksalt_core::{Map, Value, nearest};
use tokio::io::AsyncRead;

use super::{Error, Files, Kind, Listed, Name};

pub struct Roots(Vec<(String, Vec<PathBuf>)>);

impl Roots {
    pub fn new(roots: &Map) -> Roots {
        let directories = |value: &Value| match value {
            Value::List(items) => items.iter().map(|item| PathBuf::from(item.to_string())).collect(),
            Value::Null => Vec::new(),
            one => vec![PathBuf::from(one.to_string())],
        };
        Roots(roots.iter().map(|(name, value)| (name.to_string(), directories(value))).collect())
    }

    fn directories(&self, environment: &str) -> Result<&[PathBuf], Error> {
        match self.0.iter().find(|(name, _)| name == environment) {
            Some((_, directories)) => Ok(directories),
            None => {
                let hint = match self.0.is_empty() {
                    true => ": `file_roots` is not set in the configuration".to_owned(),
                    false => nearest::hint(environment, self.0.iter().map(|(name, _)| name.as_str())),
                };
                Err(Error::NoEnvironment { name: environment.to_owned(), hint })
            }
        }
    }

    /// Links may lead about inside a root, but not out of it.
    fn find(directory: &Path, name: &Name) -> Option<PathBuf> {
        let root = directory.canonicalize().ok()?;
        let path = root.join(name.as_str()).canonicalize().ok()?;
        (path.starts_with(&root) && path.is_file()).then_some(path)
    }
}

#[async_trait]
impl Files for Roots {
    fn environments(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }

    async fn list(&self, environment: &str) -> Result<Vec<String>, Error> {
        let entries = self.entries(environment).await?;
        Ok(entries.into_iter().filter(|entry| entry.kind != Kind::Directory).map(|entry| entry.path).collect())
    }

    async fn entries(&self, environment: &str) -> Result<Vec<Listed>, Error> {
        let directories = self.directories(environment)?.to_vec();
        let listed = tokio::task::spawn_blocking(move || {
            let mut entries = BTreeMap::new();
            directories.iter().for_each(|directory| walk(directory, "", &mut entries));
            entries.into_iter().map(|(path, kind)| Listed { path, kind }).collect()
        });
        Ok(listed.await.unwrap_or_default())
    }

    async fn open(&self, environment: &str, name: &Name) -> Result<(Box<dyn AsyncRead + Send + Unpin>, u64), Error> {
        let found = self.directories(environment)?.iter().find_map(|directory| Roots::find(directory, name));
        let Some(path) = found else {
            return Err(Error::NoFile { environment: environment.to_owned(), name: name.as_str().to_owned() });
        };
        let fault = |source| Error::Io { name: name.as_str().to_owned(), source };
        let file = tokio::fs::File::open(&path).await.map_err(fault)?;
        let size = file.metadata().await.map_err(fault)?.len();
        Ok((Box::new(file), size))
    }
}

/// What an earlier directory has stays as it is.
fn walk(directory: &Path, prefix: &str, entries: &mut BTreeMap<String, Kind>) {
    let mut empty = true;
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        empty = false;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            walk(&entry.path(), &format!("{name}/"), entries);
        // A link to a directory could lead anywhere, and round in circles: it isn't followed.
        } else if kind.is_symlink() && entry.path().is_file() {
            if let Ok(target) = std::fs::read_link(entry.path()) {
                entries.entry(name).or_insert(Kind::Link { target: target.to_string_lossy().into_owned() });
            }
        } else if kind.is_file()
            && let Ok(metadata) = entry.metadata()
        {
            let mode = metadata.permissions().mode() & 0o7777;
            entries.entry(name).or_insert(Kind::File { size: metadata.len(), mode });
        }
    }
    if empty && !prefix.is_empty() {
        entries.entry(prefix.trim_end_matches('/').to_owned()).or_insert(Kind::Directory);
    }
}
