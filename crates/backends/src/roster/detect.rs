//! Detects the kind of roster at a path.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rocksalt_core::yaml::{self, Node};

use super::{Error, RosterSource, Settings, open};

/// Opens the roster at a path, of any kind.
pub fn open_path(path: &Path, settings: &Settings) -> Result<Box<dyn RosterSource>, Error> {
    open(kind(path)?, &Settings { path: Some(path.to_owned()), ..settings.clone() })
}

pub(super) fn kind(path: &Path) -> Result<&'static str, Error> {
    let failed = |cause| Error::Read { path: path.to_owned(), cause };
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Ok("directory");
    }
    let mut head = Vec::new();
    std::fs::File::open(path).and_then(|file| file.take(1024 * 1024).read_to_end(&mut head)).map_err(failed)?;
    // The mode alone isn't enough: on some file systems every file is executable.
    let executable = metadata.permissions().mode() & 0o111 != 0;
    if executable && (head.starts_with(b"#!/") || head.starts_with(b"#! /") || head.starts_with(b"\x7fELF")) {
        return Ok("script");
    }
    let text = String::from_utf8_lossy(&head);
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    Ok(kind_of_text(&text, extension))
}

fn kind_of_text(text: &str, extension: &str) -> &'static str {
    if extension.eq_ignore_ascii_case("ini") {
        return "ansible";
    }
    let is_content = |line: &&str| !line.is_empty() && !line.starts_with(['#', ';']) && *line != "---";
    let Some(first) = text.lines().map(str::trim).find(is_content) else { return "flat" };
    let word = first.split([' ', '\t', '=']).next().unwrap_or_default();
    if ["host", "match", "include"].iter().any(|keyword| word.eq_ignore_ascii_case(keyword)) && first != word {
        return "sshconfig";
    }
    let is_section = |line: &str| line.starts_with('[') && line.ends_with(']') && !line.contains([',', '"', '\'']);
    if text.lines().map(str::trim).any(is_section) && yaml::load(text).is_err() {
        return "ansible";
    }
    match yaml::load(text) {
        Ok(node) if is_inventory(&node) => "ansible",
        _ => "flat",
    }
}

/// Whether the top level has groups with hosts, which no flat roster has.
fn is_inventory(node: &Node) -> bool {
    let has = |node: &Node, names: &[&str]| {
        let is_map = |value: &Node| value.pairs().is_some() || value.is_null();
        let found = |pairs: &[(Node, Node)]| {
            pairs.iter().any(|(key, value)| key.as_str().is_some_and(|key| names.contains(&key)) && is_map(value))
        };
        node.pairs().is_some_and(found)
    };
    let groups = node.pairs().unwrap_or_default();
    let is_group = |(key, group): &(Node, Node)| {
        has(group, &["hosts", "children"]) || (key.as_str() == Some("all") && has(group, &["vars"]))
    };
    groups.iter().any(is_group)
}
