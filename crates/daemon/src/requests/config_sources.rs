//! [`ConfigSources`]: the files that the configuration was read from, and whether one has changed.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The state of a file or directory; `None` if it did not exist.
type Stamp = Option<(i64, i64, u64, u64)>;

#[derive(Clone, Debug, Default)]
pub struct ConfigSources(Vec<(PathBuf, Stamp)>);

impl ConfigSources {
    /// Call this before reading the files, so that a change meanwhile is noticed.
    pub fn of(paths: impl IntoIterator<Item = PathBuf>) -> ConfigSources {
        ConfigSources(paths.into_iter().map(|path| (path.clone(), stamp(&path))).collect())
    }

    #[must_use]
    pub fn and(mut self, more: ConfigSources) -> ConfigSources {
        self.0.extend(more.0);
        self
    }

    pub fn changed(&self) -> bool {
        self.0.iter().any(|(path, before)| stamp(path) != *before)
    }

    /// The current state of the same files.
    #[must_use]
    pub fn now(&self) -> ConfigSources {
        ConfigSources::of(self.0.iter().map(|(path, _)| path.clone()))
    }
}

fn stamp(path: &Path) -> Stamp {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.ctime(), metadata.ctime_nsec(), metadata.size(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_comes_changes_or_goes_is_seen() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("roster");
        let none = ConfigSources::of([path.clone()]);
        assert!(!none.changed());
        std::fs::write(&path, "a").expect("write");
        assert!(none.changed());
        let one = none.now();
        assert!(!one.changed());
        std::fs::write(&path, "ab").expect("write");
        assert!(one.changed());
        let two = one.now();
        std::fs::remove_file(&path).expect("remove");
        assert!(two.changed());
    }
}
