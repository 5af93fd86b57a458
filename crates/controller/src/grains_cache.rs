//! [`GrainsCache`]: the last known grains of targets, for targeting without a connection.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rocksalt_core::{Map, Value, json};

/// Stores a file for each target.
#[derive(Clone, Debug)]
pub struct GrainsCache {
    pub directory: PathBuf,
    /// Older grains are requested again.
    pub fresh: Duration,
}

impl GrainsCache {
    /// The grains of a target, if they are known and fresh.
    pub fn grains(&self, id: &str) -> Option<Map> {
        let path = self.path(id)?;
        let age = SystemTime::now().duration_since(fs::metadata(&path).ok()?.modified().ok()?).unwrap_or_default();
        if age > self.fresh {
            return None;
        }
        match json::parse(&fs::read_to_string(path).ok()?).ok()? {
            Value::Map(grains) => Some(grains),
            _ => None,
        }
    }

    /// Stores the grains of a target.
    pub fn remember(&self, id: &str, grains: &Map) -> io::Result<()> {
        let Some(path) = self.path(id) else { return Ok(()) };
        // Grains may contain data that other users must not see (docs/security-rules.md#r10).
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let temporary = path.with_extension(format!("{}.new", std::process::id()));
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        io::Write::write_all(&mut file, json::compact(&Value::Map(grains.clone())).as_bytes())?;
        fs::rename(temporary, path)
    }

    pub fn forget(&self, id: &str) {
        if let Some(path) = self.path(id) {
            let _ = fs::remove_file(path);
        }
    }

    /// The id comes from a roster, so the path must be checked to stay in the directory.
    fn path(&self, id: &str) -> Option<PathBuf> {
        let plain = !id.is_empty() && !id.contains(['/', '\0']) && id != "." && id != "..";
        plain.then(|| self.directory.join(format!("{id}.json")))
    }
}
