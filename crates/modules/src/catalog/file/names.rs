//! Functions on paths as text; they don't access the machine.

use std::path::{Path, PathBuf};

use rocksalt_macros::function;

use super::Function;
use super::path::normal;
use crate::Result;
use crate::machine::System;

/// The last part of a path.
///
/// ```text
/// rocksalt '*' file.basename 'test/test.config'
/// ```
#[function("file.basename", reads)]
pub struct Basename {
    /// The path.
    path: String,
}

impl Function for Basename {
    type Output = String;

    fn call(self, _: &dyn System) -> Result<String> {
        Ok(self.path.rsplit('/').next().unwrap_or_default().to_owned())
    }
}

/// The directory part of a path.
///
/// ```text
/// rocksalt '*' file.dirname 'test/path/filename.config'
/// ```
#[function("file.dirname", reads)]
pub struct Dirname {
    /// The path.
    path: String,
}

impl Function for Dirname {
    type Output = String;

    fn call(self, _: &dyn System) -> Result<String> {
        let end = self.path.rfind('/').map_or(0, |slash| slash + 1);
        let above = &self.path[..end];
        let bare = above.trim_end_matches('/');
        Ok(if bare.is_empty() { above } else { bare }.to_owned())
    }
}

/// Joins parts to one path; an absolute part replaces those before it.
///
/// ```text
/// rocksalt '*' file.join '/' 'usr' 'local' 'bin'
/// ```
#[function("file.join", reads)]
pub struct Join {
    /// The parts.
    args: Vec<String>,
}

impl Function for Join {
    type Output = String;

    fn call(self, _: &dyn System) -> Result<String> {
        let path = self.args.iter().fold(PathBuf::new(), |path, part| path.join(part));
        Ok(path.to_string_lossy().into_owned())
    }
}

/// A path without `.`, `..` and doubled slashes.
///
/// ```text
/// rocksalt '*' file.normpath /a/b/c/..
/// ```
#[function("file.normpath", reads)]
pub struct Normpath {
    /// The path.
    path: String,
}

impl Function for Normpath {
    type Output = String;

    fn call(self, _: &dyn System) -> Result<String> {
        Ok(normal(Path::new(&self.path)).to_string_lossy().into_owned())
    }
}

/// The name of the directory above: `..`
///
/// ```text
/// rocksalt '*' file.pardir
/// ```
#[function("file.pardir", reads)]
pub struct Pardir {}

impl Function for Pardir {
    type Output = &'static str;

    fn call(self, _: &dyn System) -> Result<&'static str> {
        Ok("..")
    }
}
