//! [`FileCache`]: the controller's files, each fetched once in a run.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use rocksalt_core::Value;
use rocksalt_core::frame::Ask;
use rocksalt_core::log::LogLevel;
use rocksalt_core::sort::sort_by;
use rocksalt_modules::machine::{EntryKind, FileTree, HostSystem, Probe, TreeEntry, Upward};
use rocksalt_modules::{Error, Result};

use super::upgrade;

/// State files and the files that they import are fetched together with the first one, in one request.
const TOGETHER: [&str; 7] = [".sls", ".jinja", ".j2", ".yaml", ".yml", ".json", ".map"];

/// Larger files are requested one by one.
const SMALL: u64 = 64 * 1024;

/// The limit of bytes that are fetched ahead.
const ALL: u64 = 512 * 1024;

type Entries = BTreeMap<String, Arc<Vec<TreeEntry>>>;
type FileName = (String, String);

pub struct FileCache {
    host: Weak<HostSystem>,
    entries: OnceLock<Entries>,
    contents: Mutex<HashMap<FileName, Option<Arc<[u8]>>>>,
    hashes: Mutex<HashMap<FileName, Option<String>>>,
}

impl FileTree for FileCache {
    fn environments(&self) -> Result<Vec<String>> {
        Ok(self.all(upgrade(&self.host)?.controller())?.keys().cloned().collect())
    }

    /// `None` for an environment that does not exist.
    fn entries(&self, saltenv: &str) -> Result<Arc<Vec<TreeEntry>>> {
        Ok(self.all(upgrade(&self.host)?.controller())?.get(saltenv).cloned().unwrap_or_default())
    }

    fn read(&self, saltenv: &str, path: &str) -> Result<Option<Arc<[u8]>>> {
        let name = (saltenv.to_owned(), path.to_owned());
        if let Some(known) = self.contents().get(&name) {
            return Ok(known.clone());
        }
        let host = upgrade(&self.host)?;
        let controller = host.controller();
        let entries = self.entries(saltenv)?;
        let Some(size) = size(&entries, path) else { return Ok(None) };
        if size <= SMALL && TOGETHER.iter().any(|end| path.ends_with(end)) {
            let count = self.fetch_together(controller, saltenv, path, &entries)?;
            host.log(LogLevel::Debug, "files", format_args!("fetched {count} small files of {saltenv} together"));
            if let Some(known) = self.contents().get(&name) {
                return Ok(known.clone());
            }
        }
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or_default().min(1 << 20));
        let ask = Ask::File { path: path.to_owned(), saltenv: saltenv.to_owned() };
        controller.fetch(ask, &mut |piece| {
            content.extend_from_slice(piece);
            Ok(())
        })?;
        host.log(LogLevel::Debug, "files", format_args!("fetched salt://{path} ({saltenv}): {} bytes", content.len()));
        let content: Option<Arc<[u8]>> = Some(content.into());
        self.contents().insert(name, content.clone());
        Ok(content)
    }

    fn hash(&self, saltenv: &str, path: &str) -> Result<Option<String>> {
        let name = (saltenv.to_owned(), path.to_owned());
        let known = self.hashes.lock().unwrap_or_else(PoisonError::into_inner).get(&name).cloned();
        if let Some(hash) = known {
            return Ok(hash);
        }
        let ask = Ask::HashFile { path: path.to_owned(), saltenv: saltenv.to_owned() };
        let hash = upgrade(&self.host)?.controller().ask(ask)?.as_str().map(str::to_owned);
        self.hashes.lock().unwrap_or_else(PoisonError::into_inner).insert(name, hash.clone());
        Ok(hash)
    }
}

impl FileCache {
    pub fn new(host: Weak<HostSystem>) -> FileCache {
        FileCache { host, entries: OnceLock::new(), contents: Mutex::default(), hashes: Mutex::default() }
    }

    fn contents(&self) -> std::sync::MutexGuard<'_, HashMap<FileName, Option<Arc<[u8]>>>> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all(&self, controller: &dyn Upward) -> Result<&Entries> {
        if let Some(entries) = self.entries.get() {
            return Ok(entries);
        }
        let entries = parse_tree(&controller.ask(Ask::Tree)?)?;
        Ok(self.entries.get_or_init(|| entries))
    }

    /// Fetches the file together with the other small files that templates and state files are made of, up to a limit.
    /// Returns how many.
    fn fetch_together(
        &self,
        controller: &dyn Upward,
        saltenv: &str,
        path: &str,
        entries: &[TreeEntry],
    ) -> Result<usize> {
        let wanted = |below: &str| -> Vec<(&str, u64)> {
            let small = entries.iter().filter_map(|entry| match entry.kind {
                EntryKind::File { size, .. } if size <= SMALL => Some((entry.path.as_str(), size)),
                _ => None,
            });
            small
                .filter(|(name, _)| name.starts_with(below) && TOGETHER.iter().any(|end| name.ends_with(end)))
                .filter(|(name, _)| !self.contents().contains_key(&(saltenv.to_owned(), (*name).to_owned())))
                .collect()
        };
        let directory = path.split_once('/').map_or("", |(first, _)| first);
        let mut names = wanted("");
        if names.iter().map(|(_, size)| size).sum::<u64>() > ALL {
            names = wanted(&format!("{directory}/"));
            let mut sum = 0;
            names.retain(|(name, size)| {
                sum += size;
                sum <= ALL || *name == path
            });
        }
        if !names.iter().any(|(name, _)| *name == path) {
            return Ok(0);
        }
        let paths: Vec<String> = names.iter().map(|(name, _)| (*name).to_owned()).collect();
        let answer = controller.ask(Ask::Files { saltenv: saltenv.to_owned(), paths: paths.clone() })?;
        let Value::List(contents) = answer else { return Err(not_understood()) };
        let count = paths.len();
        let mut known = self.contents();
        for (path, content) in paths.into_iter().zip(contents) {
            let content = match content {
                Value::Bytes(bytes) => Some(bytes.into()),
                // The file has been removed since the list was made, or it didn't fit into the answer: then it is
                // requested alone.
                _ => continue,
            };
            known.insert((saltenv.to_owned(), path), content);
        }
        Ok(count)
    }
}

fn size(entries: &[TreeEntry], path: &str) -> Option<u64> {
    let place = entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).ok()?;
    match entries[place].kind {
        EntryKind::File { size, .. } => Some(size),
        // Counts as large, so that a link is requested alone, by its own name.
        EntryKind::Link { .. } => Some(u64::MAX),
        EntryKind::Directory => None,
    }
}

/// The controller's answer to [`Ask::Tree`].
fn parse_tree(answer: &Value) -> Result<Entries> {
    let mut all = Entries::new();
    for (saltenv, entries) in answer.as_map().ok_or_else(not_understood)?.iter() {
        let mut list = Vec::new();
        for entry in entries.as_list().ok_or_else(not_understood)? {
            list.push(entry_of(entry).ok_or_else(not_understood)?);
        }
        sort_by(&mut list, |a, b| a.path.cmp(&b.path));
        all.insert(saltenv.to_string(), Arc::new(list));
    }
    Ok(all)
}

fn entry_of(entry: &Value) -> Option<TreeEntry> {
    let fields = entry.as_list()?;
    let path = fields.first()?.as_str()?.to_owned();
    let number = |place: usize| fields.get(place).and_then(Value::as_i64).and_then(|number| u64::try_from(number).ok());
    let kind = match fields.get(1)?.as_str()? {
        "f" => EntryKind::File { size: number(2)?, mode: u32::try_from(number(3)?).ok()? },
        "l" => EntryKind::Link { target: fields.get(2)?.as_str()?.to_owned() },
        _ => EntryKind::Directory,
    };
    Some(TreeEntry { path, kind })
}

fn not_understood() -> Error {
    Error::failed("the controller's answer about its files is not understood")
        .hint("controller and agent may be of different versions: `rocksalt links close`, then again")
}
