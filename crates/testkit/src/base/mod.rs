//! Base roots: the files that all throw-away hosts of a kind share, built once and kept.

mod busybox;
mod debian;
mod extra;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::{Error, FileContext};
use crate::host::HostKind;
use crate::keys::suffixed;

pub(crate) use extra::fetch;
pub use extra::prepare as prepare_extra;

/// Fills an empty directory with a root.
type Maker = fn(&Path) -> Result<(), Error>;

/// Returns the base root for hosts of this kind; builds it if necessary.
///
/// The name contains a hash of the recipe, so a changed recipe makes a new root. It is built in a temporary directory
/// under a lock and then renamed, so that an interrupted build leaves nothing that looks complete.
pub fn prepare(kind: HostKind) -> Result<PathBuf, Error> {
    let (name, recipe, make): (_, _, Maker) = match kind {
        HostKind::Debian | HostKind::Systemd => ("debian", debian::recipe(), debian::make),
        HostKind::Busybox => ("busybox", busybox::recipe()?, busybox::make),
    };
    let directory = cache()?;
    let root = directory.join(format!("base-{name}-{}", hash(&recipe)));
    once(&root, make)?;
    Ok(root)
}

/// Creates a permanent directory, unless it exists.
pub(crate) fn once(root: &Path, make: impl FnOnce(&Path) -> Result<(), Error>) -> Result<(), Error> {
    if root.exists() {
        return Ok(());
    }
    locked(&suffixed(root, ".lock"), || {
        if root.exists() {
            return Ok(());
        }
        let temporary = suffixed(root, ".new");
        if temporary.exists() {
            fs::remove_dir_all(&temporary).file("remove the unfinished", &temporary)?;
        }
        fs::create_dir_all(&temporary).file("create", &temporary)?;
        make(&temporary)?;
        fs::rename(&temporary, root).file("write", root)
    })
}

/// The directory for base roots, keys and the state of running beds. It is outside of any build directory.
pub(crate) fn cache() -> Result<PathBuf, Error> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    let cache = cache.ok_or_else(|| Error::Unsupported("neither HOME nor XDG_CACHE_HOME is set".into()))?;
    let directory = cache.join("rocksalt-testbed");
    if directory.to_string_lossy().contains([':', ',', '\\']) {
        let path = directory.display();
        return Err(Error::Unsupported(format!(
            "{path}: overlay mounts can't have a colon, comma or backslash in a path"
        )));
    }
    fs::create_dir_all(&directory).file("create", &directory)?;
    Ok(directory)
}

/// Runs `work` under a lock file, so that no other process does the same at that time. The file may stay.
pub(crate) fn locked<T>(lock: &Path, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let file = File::create(lock).file("create", lock)?;
    file.lock().file("lock", lock)?;
    work()
}

pub(crate) fn hash(recipe: &str) -> String {
    Sha256::digest(recipe.as_bytes()).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_recipe_is_another_root() {
        assert_eq!(hash("sudo").len(), 12);
        assert_eq!(hash("sudo"), hash("sudo"));
        assert_ne!(hash("sudo"), hash("sudo,doas"));
    }

    #[test]
    fn the_recipes_have_no_python() {
        assert!(!debian::recipe().contains("python"));
    }
}
