//! The files, directories and links on the machine that a directory of the controller's tree maps to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rocksalt_core::Value;

use super::look;
use super::source::tree_url;
use super::walk::Patterns;
use crate::Result;
use crate::catalog::file::path::normal;
use crate::machine::{EntryKind, Probe};

/// The request.
pub struct TreeQuery<'a> {
    /// The directory on the machine.
    pub name: &'a str,
    /// `salt://…`
    pub sources: &'a [String],
    pub saltenv: &'a str,
    pub patterns: Patterns,
    pub max_depth: Option<u64>,
    pub include_empty: bool,
    pub keep_links: bool,
}

/// The resulting paths on the machine.
#[derive(Default)]
pub struct TreeContents {
    /// Path to source.
    pub files: BTreeMap<String, String>,
    pub directories: BTreeSet<String>,
    /// Path to target.
    pub links: BTreeMap<String, String>,
    /// Directories that are requested even if they are empty.
    empty: BTreeSet<String>,
}

impl TreeContents {
    /// All paths that a clean-up must keep.
    pub fn keep(&self) -> BTreeSet<String> {
        self.files.keys().chain(self.links.keys()).chain(&self.empty).cloned().collect()
    }

    /// Whether an earlier source provides this path.
    fn is_occupied(&self, path: &str) -> bool {
        self.empty.contains(path)
            || self.files.keys().any(|file| Path::new(file).starts_with(path) && file != path)
            || Path::new(path)
                .ancestors()
                .filter_map(Path::to_str)
                .any(|above| self.files.contains_key(above) || self.links.contains_key(above))
    }
}

/// The sources that are directories of the tree; Salt's text if there is none.
pub fn sources(machine: &dyn Probe, source: &Value, saltenv: &str) -> Result<Vec<String>, String> {
    let list = match source {
        Value::List(items) => items.iter().map(ToString::to_string).collect(),
        other => vec![other.to_string()],
    };
    let list: Vec<String> = list.iter().map(|text| text.trim_end_matches('/').to_owned()).collect();
    if let Some(wrong) = list.iter().find(|text| !text.starts_with("salt://")) {
        return Err(format!("Invalid source '{wrong}' (must be a salt:// URI)"));
    }
    let is_directory = |text: &&String| {
        let (path, asked) = tree_url(text);
        let Ok(entries) = machine.tree().entries(asked.unwrap_or(saltenv)) else { return false };
        let below = format!("{path}/");
        entries
            .iter()
            .any(|entry| entry.path.starts_with(&below) || (entry.path == path && entry.kind == EntryKind::Directory))
    };
    let found: Vec<String> = list.iter().filter(is_directory).cloned().collect();
    if found.is_empty() { Err("none of the specified sources were found".into()) } else { Ok(found) }
}

pub fn wanted(machine: &dyn Probe, wanted: &TreeQuery<'_>) -> Result<TreeContents> {
    let mut found = TreeContents::default();
    for source in wanted.sources {
        add(machine, wanted, source, &mut found)?;
    }
    Ok(found)
}

fn add(machine: &dyn Probe, wanted: &TreeQuery<'_>, source: &str, found: &mut TreeContents) -> Result<()> {
    let (root, asked) = tree_url(source);
    let saltenv = asked.unwrap_or(wanted.saltenv);
    let below = format!("{}/", root.trim_end_matches('/'));
    let entries = machine.tree().entries(saltenv)?;
    let mut here = TreeContents::default();
    // The path below the root; `None` if it is excluded.
    let place = |path: &str| {
        let relative = path.strip_prefix(&below)?;
        let deep = relative.matches('/').count() as u64;
        let safe = !relative.is_empty() && !format!("/{relative}/").contains("/../");
        let taken = safe && wanted.max_depth.is_none_or(|depth| deep <= depth) && wanted.patterns.take(relative);
        taken.then(|| look::join(wanted.name, relative)).filter(|path| !found.is_occupied(path))
    };
    for entry in entries.iter() {
        let Some(path) = place(&entry.path) else { continue };
        match &entry.kind {
            EntryKind::Link { target } if wanted.keep_links => {
                here.links.insert(path, target.clone());
            }
            EntryKind::Directory if wanted.include_empty => {
                here.empty.insert(path.clone());
                here.directories.insert(path);
            }
            EntryKind::Directory => {}
            EntryKind::File { .. } | EntryKind::Link { .. } => {
                let in_link = wanted.keep_links && is_below_link(&entries, &entry.path);
                // A link to a directory has no content of its own.
                if !in_link
                    && (matches!(entry.kind, EntryKind::File { .. })
                        || machine.tree().hash(saltenv, &entry.path)?.is_some())
                {
                    here.directories.insert(look::above(&path).to_owned());
                    here.files.insert(path, format!("salt://{}?saltenv={saltenv}", entry.path));
                }
            }
        }
    }
    if wanted.keep_links && !wanted.include_empty {
        drop_links_to_nothing(&entries, &below, wanted.name, &mut here);
    }
    found.files.extend(here.files);
    found.directories.extend(here.directories);
    found.links.extend(here.links);
    found.empty.extend(here.empty);
    Ok(())
}

fn is_below_link(entries: &[crate::machine::TreeEntry], path: &str) -> bool {
    entries.iter().any(|entry| {
        matches!(entry.kind, EntryKind::Link { .. })
            && path.strip_prefix(&entry.path).is_some_and(|rest| rest.starts_with('/'))
    })
}

/// Drops links to directories of the tree that are empty and so are not created: the links would dangle.
fn drop_links_to_nothing(entries: &[crate::machine::TreeEntry], below: &str, name: &str, found: &mut TreeContents) {
    loop {
        let stale: Vec<String> = found
            .links
            .iter()
            .filter(|(_, target)| {
                let in_tree = normal(&Path::new(below).join(target));
                let on_machine = normal(&Path::new(name).join(target));
                entries.iter().any(|entry| entry.kind == EntryKind::Directory && Path::new(&entry.path) == in_tree)
                    && !found
                        .files
                        .keys()
                        .chain(found.links.keys())
                        .any(|path| Path::new(path).starts_with(&on_machine))
            })
            .map(|(path, _)| path.clone())
            .collect();
        if stale.is_empty() {
            return;
        }
        stale.iter().for_each(|path| {
            found.links.remove(path);
        });
    }
}
