//! The paths that `clean` must keep: those of the states that a directory requires.

use std::collections::BTreeSet;

use rocksalt_core::Value;

use super::{Step, look, recurse, walk};
use crate::Result;
use crate::machine::Probe;

/// The key of a step's low data that contains the required steps, in the form of `state show-low`.
const REQUIRED: &str = "__required__";

/// The paths of required `file` states, including everything below directories.
pub fn required(machine: &dyn Probe, step: &Step<'_>, root: &str) -> Result<BTreeSet<String>> {
    let mut keep = BTreeSet::new();
    let wanted = step.low.get("require").and_then(Value::as_list).unwrap_or_default();
    let known = step.low.get(REQUIRED).and_then(Value::as_list).unwrap_or_default();
    for wanted in wanted.iter().filter_map(|one| one.as_map()?.get("file")) {
        let mut named = false;
        for low in known.iter().filter_map(Value::as_map) {
            let is = |key: &str| low.get(key) == Some(wanted);
            if !is("name") && !is("__id__") {
                continue;
            }
            named = true;
            let name = low.get("name").map(ToString::to_string).unwrap_or_default();
            if low.get("fun").and_then(Value::as_str) == Some("recurse") && is_below(&name, root) {
                keep.extend(recurse::kept(machine, low, step)?);
            } else {
                add(machine, &name, root, &mut keep)?;
            }
        }
        if !named {
            add(machine, &wanted.to_string(), root, &mut keep)?;
        }
    }
    Ok(keep)
}

fn add(machine: &dyn Probe, name: &str, root: &str, keep: &mut BTreeSet<String>) -> Result<()> {
    if !look::is_directory(machine, name) {
        keep.insert(name.to_owned());
        return Ok(());
    }
    if !is_below(name, root) {
        return Ok(());
    }
    keep.insert(name.to_owned());
    for level in walk::levels(machine, name, None)? {
        let names = level.directories.iter().chain(&level.files);
        keep.extend(names.map(|name| look::join(&level.path, name)));
    }
    Ok(())
}

fn is_below(path: &str, root: &str) -> bool {
    std::path::Path::new(path).starts_with(root)
}
