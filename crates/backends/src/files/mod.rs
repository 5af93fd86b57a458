//! File backends: the sources of `salt://` files.
//!
//! To add a kind: a file here and a line in [`KINDS`].

mod roots;

use std::collections::BTreeSet;

use async_trait::async_trait;
use rocksalt_core::pattern::{Flags, Pattern, glob};
use rocksalt_core::{Map, Value, nearest};
use tokio::io::{AsyncRead, AsyncReadExt};

/// The kinds that the configuration may name.
pub const KINDS: [&str; 1] = ["roots"];

#[async_trait]
pub trait FileBackend: Send + Sync {
    /// The names of all environments.
    fn environments(&self) -> Vec<String>;

    /// Everything in an environment, sorted by path.
    async fn entries(&self, environment: &str) -> Result<Vec<FileTreeEntry>, Error>;

    /// Opens a file; returns its content and size.
    async fn open(&self, environment: &str, name: &TreePath)
    -> Result<(Box<dyn AsyncRead + Send + Unpin>, u64), Error>;

    /// The names of all files of an environment, sorted.
    async fn list(&self, environment: &str) -> Result<Vec<String>, Error> {
        let entries = self.entries(environment).await?;
        let directories: BTreeSet<&str> =
            entries.iter().filter_map(|entry| entry.path.rsplit_once('/')).map(|(above, _)| above).collect();
        // A link with entries below it points to a directory.
        let is_file =
            |entry: &&FileTreeEntry| entry.kind != FileTreeEntryKind::Directory && !directories.contains(&*entry.path);
        Ok(entries.iter().filter(is_file).map(|entry| entry.path.clone()).collect())
    }

    /// Reads a whole file; an error if it is larger than the limit.
    async fn read(&self, environment: &str, name: &TreePath, limit: u64) -> Result<Vec<u8>, Error> {
        let (file, size) = self.open(environment, name).await?;
        let too_large = || Error::TooLarge { name: name.as_str().to_owned(), limit };
        if size > limit {
            return Err(too_large());
        }
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        // The file may grow while it is read.
        let read = file.take(limit + 1).read_to_end(&mut content).await;
        read.map_err(|source| Error::Io { name: name.as_str().to_owned(), source })?;
        if content.len() as u64 > limit { Err(too_large()) } else { Ok(content) }
    }
}

/// A file, directory or link in an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileTreeEntry {
    pub path: String,
    pub kind: FileTreeEntryKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileTreeEntryKind {
    /// `mode` are the permission bits.
    File { size: u64, mode: u32 },
    /// A directory, even if it is empty.
    Directory,
    /// A link to a file or a directory. If links are followed, the directory's entries are listed below the link.
    Link { target: String },
}

/// Which files of a tree targets can see.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Salt's `fileserver_followsymlinks`: links may point out of a root, and links to directories are followed.
    pub follow_links: bool,
    ignore_globs: Vec<String>,
    ignore_patterns: Vec<Pattern>,
}

impl Options {
    /// `globs` and `patterns` are Salt's `file_ignore_glob` and `file_ignore_regex`, each a string or a list of strings.
    pub fn new(follow_links: bool, globs: &Value, patterns: &Value) -> Result<Options, Error> {
        let texts = |value: &Value| -> Vec<String> {
            match value {
                Value::Null => Vec::new(),
                Value::List(items) => items.iter().map(ToString::to_string).collect(),
                one => vec![one.to_string()],
            }
        };
        let pattern = |text: String| {
            Pattern::new(&text, Flags::NONE).map_err(|error| Error::BadPattern { text, why: error.to_string() })
        };
        let ignore_patterns = texts(patterns).into_iter().map(pattern).collect::<Result<_, _>>()?;
        Ok(Options { follow_links, ignore_globs: texts(globs), ignore_patterns })
    }

    /// Whether a path is hidden from targets.
    pub fn ignores(&self, path: &str) -> bool {
        self.ignore_globs.iter().any(|glob| glob::matches(glob, path))
            || self.ignore_patterns.iter().any(|pattern| pattern.matches(path).unwrap_or(true))
    }
}

/// Checks that an environment's name can be part of a path. It may have slashes, as git branches do.
fn check_environment_name(name: &str) -> Result<&str, Error> {
    let odd = |part: &str| part.is_empty() || part == "." || part == "..";
    match name.contains(['\0', '\\', '\n']) || name.split('/').any(odd) {
        true => Err(Error::NoEnvironment { name: name.to_owned(), hint: ": not a valid name".into() }),
        false => Ok(name),
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no file 'salt://{name}' in environment '{environment}'")]
    NoFile { environment: String, name: String },
    #[error("there is no environment '{name}'{hint}")]
    NoEnvironment { name: String, hint: String },
    #[error("'{name}' is not a valid file name: {why}")]
    BadName { name: String, why: &'static str },
    #[error("unknown file backend '{name}'{hint}")]
    UnknownKind { name: String, hint: String },
    #[error("'salt://{name}' is larger than {limit} bytes")]
    TooLarge { name: String, limit: u64 },
    #[error("file_ignore_regex: '{text}' is not a regular expression: {why}")]
    BadPattern { text: String, why: String },
    #[error("could not read '{name}'")]
    Io {
        name: String,
        #[source]
        source: std::io::Error,
    },
}

/// A relative path below a root that can't leave it (`docs/security-rules.md#r6`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreePath(String);

impl TreePath {
    /// Accepts `salt://a/b`, `a/b` and `/a/b`. A query (`?saltenv=x`) must be removed before.
    pub fn parse(text: &str) -> Result<TreePath, Error> {
        let bad = |why| Error::BadName { name: text.to_owned(), why };
        let name = text.strip_prefix("salt://").unwrap_or(text).trim_start_matches('/');
        if name.is_empty() {
            return Err(bad("it is empty"));
        }
        if name.contains(['\0', '\\', '\n']) {
            return Err(bad("it contains a forbidden character"));
        }
        let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.contains(&"..") {
            return Err(bad("it leaves the tree"));
        }
        Ok(TreePath(parts.join("/")))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Opens a backend by kind. `roots` is Salt's `file_roots`: directories by environment.
pub fn open(kind: &str, roots: &Map) -> Result<Box<dyn FileBackend>, Error> {
    open_with(kind, roots, Options::default())
}

/// Like [`open`], with options.
pub fn open_with(kind: &str, roots: &Map, options: Options) -> Result<Box<dyn FileBackend>, Error> {
    match kind {
        "roots" => Ok(Box::new(roots::Roots::new(roots, options))),
        other => Err(Error::UnknownKind { name: other.to_owned(), hint: nearest::hint(other, KINDS) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_leaves_its_tree() {
        for text in ["", "/", "..", "a/../../b", "salt://../x", "a\0b", "salt://"] {
            assert!(TreePath::parse(text).is_err(), "{text:?}");
        }
        for (text, name) in [("salt://a/b", "a/b"), ("//a//./b", "a/b"), ("a..b", "a..b")] {
            assert_eq!(TreePath::parse(text).map(|name| name.0).ok().as_deref(), Some(name));
        }
    }
}
