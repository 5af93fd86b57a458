//! `roots`: local directories by environment. The first directory that has a file wins.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rocksalt_core::{Map, Value, nearest};
use tokio::io::AsyncRead;

use super::{Error, FileBackend, FileTreeEntry, FileTreeEntryKind, Options, TreePath, check_environment_name};

/// The roots of all environments without an entry of their own. In paths it stands for the environment's name.
const ANY_ENVIRONMENT: &str = "__env__";

/// Guards against endless nesting.
const MAX_DEPTH: usize = 128;

pub struct Roots {
    roots: Vec<(String, Vec<String>)>,
    options: Options,
}

impl Roots {
    pub fn new(roots: &Map, options: Options) -> Roots {
        let directories = |value: &Value| match value {
            Value::List(items) => items.iter().map(ToString::to_string).collect(),
            Value::Null => Vec::new(),
            one => vec![one.to_string()],
        };
        Roots { roots: roots.iter().map(|(name, value)| (name.to_string(), directories(value))).collect(), options }
    }

    fn directories(&self, environment: &str) -> Result<Vec<PathBuf>, Error> {
        let directories_of =
            |wanted: &str| self.roots.iter().find(|(name, _)| name == wanted).map(|(_, directories)| directories);
        if let Some(directories) = directories_of(environment).filter(|_| environment != ANY_ENVIRONMENT) {
            return Ok(directories.iter().map(PathBuf::from).collect());
        }
        if let Some(directories) = directories_of(ANY_ENVIRONMENT) {
            // The name becomes part of a path.
            let name = check_environment_name(environment)?;
            return Ok(directories
                .iter()
                .map(|directory| PathBuf::from(directory.replace(ANY_ENVIRONMENT, name)))
                .collect());
        }
        let hint = match self.roots.is_empty() {
            true => ": `file_roots` is not set in the configuration".to_owned(),
            false => nearest::hint(environment, self.roots.iter().map(|(name, _)| name.as_str())),
        };
        Err(Error::NoEnvironment { name: environment.to_owned(), hint })
    }

    /// Finds a file below a root. A link may point out of the root only if the options allow it.
    fn find(&self, directory: &Path, name: &TreePath) -> Option<PathBuf> {
        let root = directory.canonicalize().ok()?;
        let path = root.join(name.as_str()).canonicalize().ok()?;
        ((path.starts_with(&root) || self.options.follow_links) && path.is_file()).then_some(path)
    }
}

#[async_trait]
impl FileBackend for Roots {
    fn environments(&self) -> Vec<String> {
        self.roots.iter().map(|(name, _)| name.clone()).collect()
    }

    async fn entries(&self, environment: &str) -> Result<Vec<FileTreeEntry>, Error> {
        let directories = self.directories(environment)?;
        let options = self.options.clone();
        let listed = tokio::task::spawn_blocking(move || {
            let mut found = BTreeMap::new();
            for root in directories {
                let Ok(root) = root.canonicalize() else { continue };
                Walk { root: &root, options: &options, found: &mut found, parents: vec![root.clone()] }.walk(&root, "");
            }
            found.into_iter().map(|(path, kind)| FileTreeEntry { path, kind }).collect()
        });
        Ok(listed.await.unwrap_or_default())
    }

    async fn open(
        &self,
        environment: &str,
        name: &TreePath,
    ) -> Result<(Box<dyn AsyncRead + Send + Unpin>, u64), Error> {
        let missing = || Error::NoFile { environment: environment.to_owned(), name: name.as_str().to_owned() };
        let directories = self.directories(environment)?;
        if self.options.ignores(name.as_str()) {
            return Err(missing());
        }
        let found = directories.iter().find_map(|directory| self.find(directory, name));
        let path = found.ok_or_else(missing)?;
        let fault = |source| Error::Io { name: name.as_str().to_owned(), source };
        let file = tokio::fs::File::open(&path).await.map_err(fault)?;
        let size = file.metadata().await.map_err(fault)?.len();
        Ok((Box::new(file), size))
    }
}

struct Walk<'a> {
    root: &'a Path,
    options: &'a Options,
    found: &'a mut BTreeMap<String, FileTreeEntryKind>,
    /// The real paths of the parent directories. A link back to one of them is not followed.
    parents: Vec<PathBuf>,
}

impl Walk<'_> {
    fn walk(&mut self, directory: &Path, prefix: &str) {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            // A file whose name isn't UTF-8 can't be requested.
            let Ok(file_name) = entry.file_name().into_string() else { continue };
            let name = if prefix.is_empty() { file_name } else { format!("{prefix}/{file_name}") };
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                self.add(&name, FileTreeEntryKind::Directory);
                self.descend(&path, &name);
            } else if kind.is_file() {
                let Ok(stat) = entry.metadata() else { continue };
                let mode = stat.permissions().mode() & 0o7777;
                self.add(&name, FileTreeEntryKind::File { size: stat.len(), mode });
            } else if kind.is_symlink() {
                self.link(&path, &name);
            }
        }
    }

    fn link(&mut self, path: &Path, name: &str) {
        let Ok(target) = std::fs::read_link(path) else { return };
        let real = path.canonicalize().ok();
        let inside = real.as_ref().is_none_or(|real| real.starts_with(self.root));
        match (inside, self.options.follow_links) {
            (true, _) => self.add(name, FileTreeEntryKind::Link { target: target.to_string_lossy().into_owned() }),
            // Targets see the link's target as if it were here.
            (false, true) => match real.as_ref().and_then(|real| std::fs::metadata(real).ok()) {
                Some(stat) if stat.is_dir() => self.add(name, FileTreeEntryKind::Directory),
                Some(stat) if stat.is_file() => {
                    self.add(
                        name,
                        FileTreeEntryKind::File { size: stat.len(), mode: stat.permissions().mode() & 0o7777 },
                    );
                }
                _ => {}
            },
            (false, false) => return,
        }
        if self.options.follow_links && path.is_dir() {
            self.descend(path, name);
        }
    }

    fn descend(&mut self, path: &Path, name: &str) {
        let Ok(real) = path.canonicalize() else { return };
        if self.parents.contains(&real) || self.parents.len() >= MAX_DEPTH {
            return;
        }
        self.parents.push(real);
        self.walk(path, name);
        self.parents.pop();
    }

    /// An entry of an earlier root wins.
    fn add(&mut self, name: &str, kind: FileTreeEntryKind) {
        if !self.options.ignores(name) {
            self.found.entry(name.to_owned()).or_insert(kind);
        }
    }
}
