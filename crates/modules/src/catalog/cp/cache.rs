//! The target's cache of files.

use std::path::{Component, Path, PathBuf};

use rocksalt_core::Value;
use rocksalt_core::pattern::{Flags, Pattern};
use rocksalt_macros::function;

use super::Function;
use super::list;
use super::source::{self, ContentSource};
use crate::catalog::file::{self, sum_of};
use crate::machine::{FileKind, Probe, System, accounts};
use crate::text::{digest, glob};
use crate::{Error, Result};

/// Puts a copy of a file into the target's cache and returns its path; `False` if there is no such file.
///
/// ```text
/// rocksalt '*' cp.cache_file salt://path/to/file
/// ```
///
/// A copy that is still the same as the controller's file is not sent again.
#[function("cp.cache_file", changes)]
pub struct CacheFile {
    /// `salt://…`, `http(s)://…` or a path on the target.
    path: String,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
    /// The checksum that the file must have: `sha256=…`, or the bare digits.
    source_hash: Option<String>,
    /// Accepted for compatibility with Salt; it can't be switched off.
    #[allow(dead_code, reason = "certificates are always checked")]
    verify_ssl: Value,
    /// Accepted and ignored.
    #[allow(dead_code, reason = "only a checksum says that a copy is good")]
    use_etag: Value,
}

impl Function for CacheFile {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let source = ContentSource::parse(machine, &self.path, self.saltenv.as_deref())?;
        Ok(found(cached(machine, &source, self.source_hash.as_deref())?))
    }
}

/// As `cp.cache_file`, for several files.
///
/// ```text
/// rocksalt '*' cp.cache_files '[salt://one, salt://two]'
/// ```
#[function("cp.cache_files", changes)]
pub struct CacheFiles {
    /// The files, as a list or a comma-separated text.
    #[required]
    paths: Vec<String>,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
}

impl Function for CacheFiles {
    type Output = Vec<Value>;

    fn call(self, machine: &dyn System) -> Result<Vec<Value>> {
        let paths = self.paths.iter().flat_map(|paths| paths.split(',')).map(str::trim);
        paths
            .map(|path| {
                let source = ContentSource::parse(machine, path, self.saltenv.as_deref())?;
                Ok(found(cached(machine, &source, None)?))
            })
            .collect()
    }
}

/// Puts copies of all files under a directory into the target's cache and returns their paths.
///
/// ```text
/// rocksalt '*' cp.cache_dir salt://path/to/dir include_pat='*.conf'
/// ```
#[function("cp.cache_dir", changes)]
pub struct CacheDir {
    /// `salt://…`
    path: String,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
    /// Accepted and ignored: the tree knows files only.
    #[allow(dead_code, reason = "the controller lists no empty directories")]
    include_empty: bool,
    /// Only files whose path matches: a shell pattern, or `E@` and a regular expression.
    include_pat: Option<String>,
    /// No files whose path matches.
    exclude_pat: Option<String>,
}

impl Function for CacheDir {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let ContentSource::Tree { path, saltenv } = ContentSource::parse(machine, &self.path, self.saltenv.as_deref())?
        else {
            return Err(
                Error::arguments(format!("'{}' is no directory of the tree", self.path)).hint("begin with salt://")
            );
        };
        let mut copies = Vec::new();
        for name in list::below(machine, &path, &saltenv)? {
            if !selected(&name, self.include_pat.as_deref(), self.exclude_pat.as_deref())? {
                continue;
            }
            let source = ContentSource::Tree { path: source::tree_path(&name)?, saltenv: saltenv.clone() };
            copies.extend(cached(machine, &source, None)?.map(|path| path.to_string_lossy().into_owned()));
        }
        Ok(copies)
    }
}

/// The path of a file's copy in the cache, or an empty text if there is none.
///
/// ```text
/// rocksalt '*' cp.is_cached salt://path/to/file
/// ```
#[function("cp.is_cached", reads)]
pub struct IsCached {
    /// `salt://…` or `http(s)://…`
    path: String,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
}

impl Function for IsCached {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let source = ContentSource::parse(machine, &self.path, self.saltenv.as_deref())?;
        let path = destination(machine, &source)?;
        let there = matches!(machine.stat(&path, true), Ok(Some(stat)) if stat.kind == FileKind::File);
        Ok(if there { path.to_string_lossy().into_owned() } else { String::new() })
    }
}

/// The path that a file's copy has in the cache, whether it exists or not.
///
/// ```text
/// rocksalt '*' cp.cache_dest salt://path/to/file
/// ```
#[function("cp.cache_dest", reads)]
pub struct CacheDest {
    /// `salt://…` or `http(s)://…`
    url: String,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
}

impl Function for CacheDest {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let source = ContentSource::parse(machine, &self.url, self.saltenv.as_deref())?;
        Ok(destination(machine, &source)?.to_string_lossy().into_owned())
    }
}

/// All files in the target's cache.
///
/// ```text
/// rocksalt '*' cp.list_minion
/// ```
#[function("cp.list_minion", reads)]
pub struct ListMinion {
    /// Only those of this environment.
    saltenv: Option<String>,
}

impl Function for ListMinion {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let mut place = directory(machine);
        if self.saltenv.is_some() {
            place = place.join("files").join(source::environment(machine, self.saltenv.as_deref())?);
        }
        let mut files = Vec::new();
        file::walk(machine, &place, &mut |path, stat| {
            if stat.kind != FileKind::Directory {
                files.push(path.to_string_lossy().into_owned());
            }
            Ok(true)
        })?;
        Ok(files)
    }
}

/// The cache directory of the target.
pub fn directory(machine: &dyn Probe) -> PathBuf {
    if let Some(path) = machine.options().get("cachedir").and_then(Value::as_str) {
        return PathBuf::from(path);
    }
    match machine.env("HOME") {
        Some(home) if accounts::own_uid(machine) != 0 && home.starts_with('/') => {
            Path::new(&home).join(".cache/rocksalt")
        }
        _ => PathBuf::from("/var/cache/rocksalt"),
    }
}

/// The path of a copy in the cache, made or updated if needed; `None` if the file doesn't exist.
pub fn cached(machine: &dyn System, source: &ContentSource, source_hash: Option<&str>) -> Result<Option<PathBuf>> {
    if let ContentSource::Local(path) = source {
        return Ok(matches!(machine.stat(path, true), Ok(Some(_))).then(|| path.clone()));
    }
    let path = destination(machine, source)?;
    let there = matches!(machine.stat(&path, true), Ok(Some(stat)) if stat.kind == FileKind::File);
    let right = match source {
        ContentSource::Tree { path, saltenv } => match source::tree_sum(machine, path, saltenv)? {
            None => return Ok(None),
            Some(sum) => Some(sum),
        },
        _ => source_hash.map(str::to_owned),
    };
    if let Some(right) = &right
        && there
        && has_sum(machine, &path, right)?
    {
        return Ok(Some(path));
    }
    make_private(machine, path.parent().unwrap_or(Path::new("/")))?;
    if !source::download(machine, source, &path, Some(0o600))? {
        return Ok(None);
    }
    match source_hash {
        Some(wanted) if !has_sum(machine, &path, wanted)? => {
            let _ = machine.remove(&path);
            Err(Error::failed(format!("{source} doesn't have the checksum {wanted}; it was not kept")))
        }
        _ => Ok(Some(path)),
    }
}

/// Whether a file has this checksum, given as `sha256=…` or as digits.
pub fn has_sum(machine: &dyn Probe, path: &Path, wanted: &str) -> Result<bool> {
    let (kind, digits) = match wanted.split_once(['=', ':']) {
        Some((name, digits)) => (digest::DigestAlgorithm::named(name), digits),
        None => (digest::DigestAlgorithm::of_length(wanted.len()), wanted),
    };
    let kind = kind.ok_or_else(|| {
        Error::arguments(format!("'{wanted}' is no checksum"))
            .hint(format!("known are {}", digest::DigestAlgorithm::list()))
    })?;
    Ok(sum_of(machine, path, kind)?.eq_ignore_ascii_case(digits))
}

pub fn destination(machine: &dyn Probe, source: &ContentSource) -> Result<PathBuf> {
    let place = directory(machine);
    Ok(match source {
        ContentSource::Tree { path, saltenv } => place.join("files").join(saltenv).join(path),
        // A URL may contain anything; its checksum is safe in a path.
        ContentSource::Url(url) | ContentSource::Given(url) => {
            let name = digest::of(digest::DigestAlgorithm::Sha256, url.as_bytes());
            place.join("extrn_files").join(&name[..32]).join(safe(&source.name()))
        }
        ContentSource::Local(path) => path.clone(),
    })
}

fn safe(name: &str) -> String {
    let name: String = name.chars().filter(|letter| letter.is_alphanumeric() || "._-+".contains(*letter)).collect();
    if name.trim_matches('.').is_empty() { "file".into() } else { name }
}

/// Makes a directory and its parents, private to this user.
fn make_private(machine: &dyn System, path: &Path) -> Result<()> {
    let mut whole = PathBuf::new();
    for part in path.components() {
        whole.push(part);
        if part == Component::RootDir || matches!(machine.stat(&whole, true), Ok(Some(_))) {
            continue;
        }
        match machine.make_dir(&whole, 0o700) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(Error::io("make the directory", &whole, &error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn selected(name: &str, include: Option<&str>, exclude: Option<&str>) -> Result<bool> {
    let fits = |pattern: &str| -> Result<bool> {
        match pattern.strip_prefix("E@") {
            Some(expression) => Ok(Pattern::new(expression, Flags::NONE)?.matches(name)?),
            None => Ok(glob::matches(pattern, name)),
        }
    };
    Ok(include.map_or(Ok(true), fits)? && !exclude.map_or(Ok(false), fits)?)
}

fn found(path: Option<PathBuf>) -> Value {
    path.map_or(Value::Bool(false), |path| path.to_string_lossy().into_owned().into())
}
