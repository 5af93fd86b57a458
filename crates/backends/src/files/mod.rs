//! Where the files of `salt://` come from.
//!
//! A new kind is a file here and a line in [`KINDS`].

mod roots;

use std::collections::BTreeSet;

use async_trait::async_trait;
use rocksalt_core::pattern::{Flags, Pattern, glob};
use rocksalt_core::{Map, Value, nearest};
use tokio::io::{AsyncRead, AsyncReadExt};

/// The kinds that the configuration may name.
pub const KINDS: [&str; 1] = ["roots"];

#[async_trait]
pub trait Files: Send + Sync {
    /// The environments there are.
    fn environments(&self) -> Vec<String>;

    /// Everything in an environment, sorted by path.
    async fn entries(&self, environment: &str) -> Result<Vec<Entry>, Error>;

    /// A file's content, and its size.
    async fn open(&self, environment: &str, name: &Name) -> Result<(Box<dyn AsyncRead + Send + Unpin>, u64), Error>;

    /// The names of all files of an environment, sorted.
    async fn list(&self, environment: &str) -> Result<Vec<String>, Error> {
        let entries = self.entries(environment).await?;
        let directories: BTreeSet<&str> =
            entries.iter().filter_map(|entry| entry.path.rsplit_once('/')).map(|(above, _)| above).collect();
        // A link that has something below it leads to a directory.
        let is_file = |entry: &&Entry| entry.kind != EntryKind::Directory && !directories.contains(&*entry.path);
        Ok(entries.iter().filter(is_file).map(|entry| entry.path.clone()).collect())
    }

    /// A small file as a whole; an error if it is larger than the limit.
    async fn read(&self, environment: &str, name: &Name, limit: u64) -> Result<Vec<u8>, Error> {
        let (file, size) = self.open(environment, name).await?;
        let too_large = || Error::TooLarge { name: name.as_str().to_owned(), limit };
        if size > limit {
            return Err(too_large());
        }
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        // It may grow while it is read.
        let read = file.take(limit + 1).read_to_end(&mut content).await;
        read.map_err(|source| Error::Io { name: name.as_str().to_owned(), source })?;
        if content.len() as u64 > limit { Err(too_large()) } else { Ok(content) }
    }
}

/// Something in an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub path: String,
    pub kind: EntryKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// `mode` are the permission bits.
    File { size: u64, mode: u32 },
    /// Also one with nothing in it.
    Directory,
    /// To a file, or to a directory: then what is in that is listed below it, if links are followed.
    Link { target: String },
}

/// What of a tree is shown.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Salt's `fileserver_followsymlinks`: links may lead out of a root, and those to directories are walked.
    pub follow_links: bool,
    ignore_globs: Vec<String>,
    ignore_patterns: Vec<Pattern>,
}

impl Options {
    /// With Salt's `file_ignore_glob` and `file_ignore_regex`, each a text or a list of them.
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

/// An environment's name that can become part of a path: git's branches may have slashes.
fn environment_name(name: &str) -> Result<&str, Error> {
    let odd = |part: &str| part.is_empty() || part == "." || part == "..";
    match name.contains(['\0', '\\', '\n']) || name.split('/').any(odd) {
        true => Err(Error::NoEnvironment { name: name.to_owned(), hint: ": that is no name of one".into() }),
        false => Ok(name),
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no file 'salt://{name}' in environment '{environment}'")]
    NoFile { environment: String, name: String },
    #[error("there is no environment '{name}'{hint}")]
    NoEnvironment { name: String, hint: String },
    #[error("'{name}' is no name of a file in a tree: {why}")]
    BadName { name: String, why: &'static str },
    #[error("there are no files of kind '{name}'{hint}")]
    UnknownKind { name: String, hint: String },
    #[error("'salt://{name}' is larger than {limit} bytes")]
    TooLarge { name: String, limit: u64 },
    #[error("file_ignore_regex: '{text}' is no regular expression: {why}")]
    BadPattern { text: String, why: String },
    #[error("could not read '{name}'")]
    Io {
        name: String,
        #[source]
        source: std::io::Error,
    },
}

/// A name below a root: relative, with no way out of it (rule R6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

impl Name {
    /// Takes `salt://a/b`, `a/b` and `/a/b` alike; a query (`?saltenv=x`) is not part of it.
    pub fn parse(text: &str) -> Result<Name, Error> {
        let bad = |why| Error::BadName { name: text.to_owned(), why };
        let name = text.strip_prefix("salt://").unwrap_or(text).trim_start_matches('/');
        if name.is_empty() {
            return Err(bad("it is empty"));
        }
        if name.contains(['\0', '\\', '\n']) {
            return Err(bad("it has a character that no file of a tree has"));
        }
        let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.contains(&"..") {
            return Err(bad("it leaves the tree"));
        }
        Ok(Name(parts.join("/")))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Opens what the configuration names. `roots` is Salt's `file_roots`: directories by environment.
pub fn open(kind: &str, roots: &Map) -> Result<Box<dyn Files>, Error> {
    open_with(kind, roots, Options::default())
}

/// As [`open`], with what of it is shown.
pub fn open_with(kind: &str, roots: &Map, options: Options) -> Result<Box<dyn Files>, Error> {
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
            assert!(Name::parse(text).is_err(), "{text:?}");
        }
        for (text, name) in [("salt://a/b", "a/b"), ("//a//./b", "a/b"), ("a..b", "a..b")] {
            assert_eq!(Name::parse(text).map(|name| name.0).ok().as_deref(), Some(name));
        }
    }
}
