//! Walks a directory as Python's `os.walk` does, and finds the paths that a clean-up removes.

use std::collections::BTreeSet;
use std::path::Path;

use rocksalt_core::Value;
use rocksalt_core::pattern::{Flags, Pattern};

use super::super::path::normal;
use super::look;
use crate::machine::Probe;
use crate::text::glob;
use crate::{Error, Result};

/// A directory, with the names in it. A link to a directory is listed among the directories, but not entered.
pub struct Level {
    pub path: String,
    pub directories: Vec<String>,
    pub files: Vec<String>,
}

/// The directories from the top down, to a maximum depth.
pub fn levels(machine: &dyn Probe, top: &str, max_depth: Option<u64>) -> Result<Vec<Level>> {
    let mut found = Vec::new();
    enter(machine, top, max_depth, &mut found)?;
    Ok(found)
}

fn enter(machine: &dyn Probe, path: &str, depth: Option<u64>, found: &mut Vec<Level>) -> Result<()> {
    if machine.cancelled() {
        return Err(Error::cancelled());
    }
    if depth == Some(0) || !look::is_directory(machine, path) {
        return Ok(());
    }
    let names = machine.list(Path::new(path)).unwrap_or_default();
    let (directories, files): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|name| look::is_directory(machine, &look::join(path, name)));
    let below: Vec<String> = directories.iter().map(|name| look::join(path, name)).collect();
    found.push(Level { path: path.to_owned(), directories, files });
    for path in below.iter().filter(|path| !look::is_link(machine, path)) {
        enter(machine, path, depth.map(|depth| depth - 1), found)?;
    }
    Ok(())
}

/// Patterns that include or exclude paths: shell patterns, or `E@` and a regular expression.
#[derive(Default)]
pub struct Patterns {
    include: Vec<One>,
    exclude: Vec<One>,
}

enum One {
    Glob(String),
    Expression(Pattern),
}

impl Patterns {
    pub fn read(include: &Value, exclude: &Value) -> Result<Patterns> {
        Ok(Patterns { include: read(include)?, exclude: read(exclude)? })
    }

    pub fn take(&self, path: &str) -> bool {
        let fits = |one: &One| match one {
            One::Glob(pattern) => glob::matches(pattern, path),
            One::Expression(pattern) => pattern.matches(path).unwrap_or(false),
        };
        (self.include.is_empty() || self.include.iter().any(fits)) && !self.exclude.iter().any(fits)
    }
}

fn read(value: &Value) -> Result<Vec<One>> {
    let texts = match value {
        _ if !value.truth() => Vec::new(),
        Value::List(items) => items.iter().map(ToString::to_string).collect(),
        other => vec![other.to_string()],
    };
    let one = |text: String| match text.strip_prefix("E@") {
        Some(expression) => Ok(One::Expression(Pattern::new(expression, Flags::NONE)?)),
        None => Ok(One::Glob(text)),
    };
    texts.into_iter().map(one).collect()
}

/// The content of a directory except for the paths to keep and their parents; sorted.
pub fn stray(
    machine: &dyn Probe,
    root: &str,
    keep: &BTreeSet<String>,
    patterns: &Patterns,
    levels: &[Level],
) -> Vec<String> {
    let mut kept = BTreeSet::from([root.to_owned()]);
    for path in keep.iter().filter(|path| look::is_absolute(path)) {
        for above in normal(Path::new(path)).ancestors() {
            kept.insert(above.to_string_lossy().into_owned());
        }
    }
    let mut stray: Vec<String> = Vec::new();
    for level in levels {
        for name in level.directories.iter().chain(&level.files) {
            let path = look::join(&level.path, name);
            let relative = path.strip_prefix(root).unwrap_or(&path).trim_start_matches('/');
            let gone = stray.iter().any(|gone| Path::new(&path).starts_with(gone));
            if !gone && !kept.contains(&path) && patterns.take(relative) && look::exists_itself(machine, &path) {
                stray.push(path);
            }
        }
    }
    stray.sort();
    stray
}
