//! Where the files of `salt://` come from.
//!
//! A new kind is a file here and a line in [`KINDS`].

mod roots;

use async_trait::async_trait;
use rocksalt_core::{Map, nearest};
use tokio::io::AsyncRead;

/// The kinds that the configuration may name.
pub const KINDS: [&str; 1] = ["roots"];

#[async_trait]
pub trait Files: Send + Sync {
    /// The environments there are.
    fn environments(&self) -> Vec<String>;

    /// The names of all files of an environment, sorted.
    async fn list(&self, environment: &str) -> Result<Vec<String>, Error>;

    /// Everything in an environment, sorted by path: files, links, and directories that are empty.
    async fn entries(&self, environment: &str) -> Result<Vec<Listed>, Error>;

    /// A file's content, and its size.
    async fn open(&self, environment: &str, name: &Name) -> Result<(Box<dyn AsyncRead + Send + Unpin>, u64), Error>;
}

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    pub path: String,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    File {
        size: u64,
        /// Permission bits.
        mode: u32,
    },
    /// Without anything in it.
    Directory,
    /// To a file of the tree.
    Link { target: String },
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
    match kind {
        "roots" => Ok(Box::new(roots::Roots::new(roots))),
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
