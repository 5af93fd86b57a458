//! [`FileSources`]: provides state files by environment and path.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;

/// A tree of files for each environment. Paths are relative and use slashes.
pub trait FileSources {
    /// The environments in the order of the configuration.
    fn environments(&self) -> Vec<String>;

    /// The contents of a file; `None` if it doesn't exist, an error if it can't be read.
    fn read(&self, saltenv: &str, path: &str) -> Result<Option<Arc<[u8]>>, String>;

    /// All paths of an environment, sorted.
    fn list(&self, saltenv: &str) -> Result<Arc<Vec<String>>, String>;
}

/// Files in memory, for tests and for trees that are sent as a whole.
#[derive(Clone, Debug, Default)]
pub struct MemorySources(IndexMap<String, BTreeMap<String, Arc<[u8]>>>);

impl MemorySources {
    pub fn new() -> MemorySources {
        MemorySources::default()
    }

    pub fn add_environment(&mut self, saltenv: &str) {
        self.0.entry(saltenv.to_owned()).or_default();
    }

    /// Adds a file unless the path exists: the first directory of an environment wins.
    pub fn add(&mut self, saltenv: &str, path: &str, contents: impl Into<Arc<[u8]>>) {
        self.0.entry(saltenv.to_owned()).or_default().entry(path.to_owned()).or_insert_with(|| contents.into());
    }
}

impl FileSources for MemorySources {
    fn environments(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn read(&self, saltenv: &str, path: &str) -> Result<Option<Arc<[u8]>>, String> {
        Ok(self.0.get(saltenv).and_then(|files| files.get(path)).cloned())
    }

    fn list(&self, saltenv: &str) -> Result<Arc<Vec<String>>, String> {
        Ok(Arc::new(self.0.get(saltenv).map(|files| files.keys().cloned().collect()).unwrap_or_default()))
    }
}
