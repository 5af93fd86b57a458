//! [`SlsTree`]: the sls of each environment, and their files.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexSet;
use rocksalt_core::pattern::glob::{Glob, is_pattern};

use crate::sources::FileSources;

/// The sls of all environments. An environment is listed when it is first needed.
pub(crate) struct SlsTree {
    sources: Rc<dyn FileSources>,
    environments: Vec<String>,
    listed: RefCell<HashMap<String, Rc<IndexSet<String>>>>,
}

/// A file of the tree.
pub(crate) struct SlsFile {
    pub path: String,
    pub contents: Arc<[u8]>,
}

/// The size limit of a state file.
pub(crate) const MAX_FILE: usize = 16 << 20;

impl SlsTree {
    pub fn new(sources: Rc<dyn FileSources>) -> SlsTree {
        SlsTree { environments: sources.environments(), sources, listed: RefCell::default() }
    }

    pub fn environments(&self) -> &[String] {
        &self.environments
    }

    /// Whether the environment exists. `base` always does.
    pub fn has_environment(&self, saltenv: &str) -> bool {
        saltenv == "base" || self.environments.iter().any(|name| name == saltenv || name == "__env__")
    }

    /// The tree to read from: `__env__` serves every environment without its own tree.
    fn place_of<'n>(&self, saltenv: &'n str) -> &'n str {
        let has = |name: &str| self.environments.iter().any(|known| known == name);
        if !has(saltenv) && has("__env__") { "__env__" } else { saltenv }
    }

    /// The names of all sls, sorted. The name of `a/b.sls` and of `a/b/init.sls` is `a.b`.
    pub fn names(&self, saltenv: &str) -> Rc<IndexSet<String>> {
        if let Some(names) = self.listed.borrow().get(saltenv) {
            return names.clone();
        }
        let paths = self.sources.list(self.place_of(saltenv)).unwrap_or_default();
        let mut names: Vec<String> = paths.iter().filter_map(|path| sls_of(path)).collect();
        names.sort_unstable();
        let names: Rc<IndexSet<String>> = Rc::new(names.into_iter().collect());
        self.listed.borrow_mut().insert(saltenv.to_owned(), names.clone());
        names
    }

    /// The names that match a pattern, sorted; a name without wildcards matches only itself.
    pub fn matching(&self, saltenv: &str, pattern: &str) -> Vec<String> {
        let names = self.names(saltenv);
        if !is_pattern(pattern) {
            return names.get(pattern).cloned().into_iter().collect();
        }
        let glob = Glob::new(pattern);
        names.iter().filter(|name| glob.matches(name)).cloned().collect()
    }

    /// Finds the file of an sls: `a/b.sls` has precedence over `a/b/init.sls`.
    pub fn find(&self, saltenv: &str, sls: &str) -> Result<Option<SlsFile>, String> {
        let stem = sls.replace('.', "/");
        for path in [format!("{stem}.sls"), format!("{stem}/init.sls")] {
            if let Some(contents) = self.read(saltenv, &path)? {
                return Ok(Some(SlsFile { path, contents }));
            }
        }
        Ok(None)
    }

    /// Reads a file by its path, if the path stays within the tree.
    pub fn read(&self, saltenv: &str, path: &str) -> Result<Option<Arc<[u8]>>, String> {
        let path = path.trim_start_matches('/');
        if path.split('/').any(|part| part == "..") {
            return Ok(None);
        }
        match self.sources.read(self.place_of(saltenv), path)? {
            Some(contents) if contents.len() > MAX_FILE => {
                Err(format!("{path} has {} bytes; {MAX_FILE} are the most that a template may have", contents.len()))
            }
            found => Ok(found),
        }
    }
}

fn sls_of(path: &str) -> Option<String> {
    let stem = path.strip_suffix(".sls")?;
    Some(stem.strip_suffix("/init").unwrap_or(stem).replace('/', "."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::MemorySources;

    #[test]
    fn sls_are_named_by_their_files() {
        let mut files = MemorySources::new();
        for path in ["b/init.sls", "b.sls", "a/c.sls", "init.sls", "a/x.txt"] {
            files.add("base", path, path.as_bytes());
        }
        let tree = SlsTree::new(Rc::new(files));
        assert_eq!(tree.names("base").iter().collect::<Vec<_>>(), ["a.c", "b", "init"]);
        assert_eq!(tree.find("base", "b").expect("memory can be read").map(|found| found.path), Some("b.sls".into()));
        assert_eq!(tree.matching("base", "a.*"), ["a.c"]);
        assert!(tree.read("base", "a/../b.sls").expect("memory can be read").is_none());
    }
}
