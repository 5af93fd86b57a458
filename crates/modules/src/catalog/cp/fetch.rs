//! Functions that copy files from the controller to the target.

use std::path::{Path, PathBuf};

use rocksalt_core::Value;
use rocksalt_macros::function;

use super::Function;
use super::cache::{cached, has_sum};
use super::list;
use super::source::{self, ContentSource};
use super::template;
use crate::catalog::file;
use crate::machine::{FileKind, System};
use crate::{Error, Result};

/// Copies a file of the controller's tree to the target and returns the path; an empty text if there is none.
///
/// ```text
/// rocksalt '*' cp.get_file salt://path/to/file /srv/file
/// rocksalt '*' cp.get_file salt://path/to/file /srv/new/dir/ makedirs=True
/// ```
///
/// Whoever reads the file sees the old or the new content, never half of it. Without `dest` it
/// goes into the cache.
#[function("cp.get_file", changes)]
pub struct GetFile {
    /// `salt://…`
    path: String,
    /// The path on the target, or a directory.
    dest: String,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
    /// Create parent directories.
    makedirs: bool,
    /// A template language in which the two paths are written; `cp.get_template` renders the file itself.
    template: Option<String>,
    /// Accepted and ignored: the link compresses.
    #[allow(dead_code, reason = "the link compresses")]
    gzip: Value,
}

impl Function for GetFile {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let saltenv = self.saltenv.as_deref();
        let path = template::name(machine, &self.path, self.template.as_deref(), saltenv)?;
        let dest = template::name(machine, &self.dest, self.template.as_deref(), saltenv)?;
        let source = ContentSource::parse(machine, &path, saltenv)?;
        let path = if dest.is_empty() {
            cached(machine, &source, None)?
        } else {
            place(machine, &source, &dest, self.makedirs)?
        };
        Ok(path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default())
    }
}

/// The content of a file of the controller's tree; `False` if there is none.
///
/// ```text
/// rocksalt '*' cp.get_file_str salt://path/to/file
/// ```
#[function("cp.get_file_str", reads)]
pub struct GetFileStr {
    /// `salt://…`
    path: String,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
}

impl Function for GetFileStr {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        Ok(source::content(machine, &self.path, self.saltenv.as_deref())?
            .map_or(Value::Bool(false), file::text_or_bytes))
    }
}

/// Copies a directory of the controller's tree into one on the target and returns the files' paths.
///
/// ```text
/// rocksalt '*' cp.get_dir salt://path/to/dir /srv/dest
/// ```
///
/// The directory itself is made under `dest`: the example writes `/srv/dest/dir/…`.
#[function("cp.get_dir", changes)]
pub struct GetDir {
    /// `salt://…`
    path: String,
    /// The directory on the target; it is made where needed.
    dest: String,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
    /// A template language in which the two paths are written; `cp.get_template` renders the file itself.
    template: Option<String>,
    /// Accepted and ignored: the link compresses.
    #[allow(dead_code, reason = "the link compresses")]
    gzip: Value,
}

impl Function for GetDir {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let saltenv = self.saltenv.as_deref();
        let path = template::name(machine, &self.path, self.template.as_deref(), saltenv)?;
        let dest = template::name(machine, &self.dest, self.template.as_deref(), saltenv)?;
        let ContentSource::Tree { path, saltenv } = ContentSource::parse(machine, &path, saltenv)? else {
            return Err(
                Error::arguments(format!("'{}' is no directory of the tree", self.path)).hint("begin with salt://")
            );
        };
        let dest = file::absolute(machine, &dest)?;
        // The path before the directory's own name isn't repeated on the target.
        let above = path.rsplit_once('/').map_or(0, |(above, _)| above.len() + 1);
        let mut written = Vec::new();
        for name in list::below(machine, &path, &saltenv)? {
            let source = ContentSource::Tree { path: source::tree_path(&name)?, saltenv: saltenv.clone() };
            let target = dest.join(source::tree_path(&name[above.min(name.len())..])?);
            if let Some(path) = place(machine, &source, &target.to_string_lossy(), true)? {
                written.push(path.to_string_lossy().into_owned());
            }
        }
        Ok(written)
    }
}

/// Fetches a file from anywhere and returns its path, or with `dest=None` its content.
///
/// ```text
/// rocksalt '*' cp.get_url salt://my/file /srv/mine
/// rocksalt '*' cp.get_url https://example.com/index.html /srv/index.html
/// rocksalt '*' cp.get_url https://example.com/index.html None
/// ```
///
/// Without `dest` it goes into the cache. The controller fetches `http(s)://` for the target.
#[function("cp.get_url", changes)]
pub struct GetUrl {
    /// `salt://…`, `http(s)://…` or a path on the target.
    path: String,
    /// The path on the target, or a directory.
    #[default(nowhere())]
    dest: Option<String>,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
    /// Create parent directories.
    makedirs: bool,
    /// The checksum that the file must have: `sha256=…`, or the bare digits.
    source_hash: Option<String>,
}

fn nowhere() -> Option<String> {
    Some(String::new())
}

impl Function for GetUrl {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        // On a command line `None` is text.
        let Some(dest) = self.dest.filter(|dest| dest != "None") else {
            let content = source::content(machine, &self.path, self.saltenv.as_deref())?;
            return Ok(content.map_or(Value::Bool(false), file::text_or_bytes));
        };
        let source = ContentSource::parse(machine, &self.path, self.saltenv.as_deref())?;
        let path = match &self.source_hash {
            None if dest.is_empty() => cached(machine, &source, None)?,
            None => place(machine, &source, &dest, self.makedirs)?,
            // Verified in the cache first, so that wrong content never reaches the destination.
            Some(wanted) => match cached(machine, &source, Some(wanted))? {
                Some(copy) if !has_sum(machine, &copy, wanted)? => {
                    return Err(Error::failed(format!(
                        "{source} doesn't have the checksum {wanted}; nothing was changed"
                    )));
                }
                Some(copy) if !dest.is_empty() => {
                    let dest = target(machine, &source, &dest, self.makedirs)?;
                    source::download(machine, &ContentSource::Local(copy), &dest, None)?.then_some(dest)
                }
                other => other,
            },
        };
        Ok(path.map_or(Value::Bool(false), |path| path.to_string_lossy().into_owned().into()))
    }
}

/// Installs a file; `None` if the source doesn't exist.
fn place(machine: &dyn System, source: &ContentSource, dest: &str, makedirs: bool) -> Result<Option<PathBuf>> {
    let path = target(machine, source, dest, makedirs)?;
    Ok(source::download(machine, source, &path, None)?.then_some(path))
}

/// The destination path of a file; makes its directory.
pub fn target(machine: &dyn System, source: &ContentSource, dest: &str, makedirs: bool) -> Result<PathBuf> {
    let mut path = file::absolute(machine, dest)?;
    let is_directory =
        |path: &Path| matches!(machine.stat(path, true), Ok(Some(stat)) if stat.kind == FileKind::Directory);
    if dest.ends_with('/') || is_directory(&path) {
        path.push(source.name());
    }
    let path = file::followed(machine, &path);
    let above = path.parent().unwrap_or(Path::new("/"));
    if !is_directory(above) {
        if !makedirs {
            return Err(
                Error::failed(format!("there is no directory {}", above.display())).hint("makedirs=True makes it")
            );
        }
        file::make_all(machine, above, None)?;
    }
    Ok(path)
}
