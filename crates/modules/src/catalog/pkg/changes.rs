//! Changes in Salt's form: `{name: {old: version, new: version}}`.

use rocksalt_core::Map;

use super::provider::{Foreseen, PackageVersions, Packages};

/// The differences between two lists.
pub fn between(old: &PackageVersions, new: &PackageVersions) -> Map {
    let mut names: Vec<&String> = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name))).collect();
    names.sort();
    let changed = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
    changed.map(|name| (name.as_str().into(), change(&text(old, name), &text(new, name)).into())).collect()
}

/// The predicted changes of the installed packages.
pub fn foreseen(packages: &Packages, all: &[Foreseen]) -> Map {
    let mut changes: Map = all
        .iter()
        .map(|one| {
            let (old, new) = (text(&packages.installed, &one.name), one.new.clone().unwrap_or_default());
            (one.name.as_str().into(), change(&old, &new).into())
        })
        .collect();
    changes.sort();
    changes
}

/// As [`foreseen`], for a purge, which also changes the list of removed packages.
pub fn foreseen_purge(packages: &Packages, all: &[Foreseen]) -> Map {
    let (mut installed, mut removed) = (Map::new(), Map::new());
    for one in all {
        let name = one.name.as_str();
        let (old, left) = (text(&packages.installed, name), text(&packages.removed, name));
        match &one.new {
            Some(new) => drop(installed.insert(name, change(&old, new))),
            None if !old.is_empty() => {
                installed.insert(name, change(&old, ""));
                if !one.purged {
                    removed.insert(name, change("", &old));
                }
            }
            None if !left.is_empty() => drop(removed.insert(name, change(&left, ""))),
            None => {}
        }
    }
    purge(installed, removed)
}

pub fn purge(mut installed: Map, mut removed: Map) -> Map {
    installed.sort();
    removed.sort();
    Map::from_iter([("installed".into(), installed.into()), ("removed".into(), removed.into())])
}

pub fn change(old: &str, new: &str) -> Map {
    Map::from_iter([("old".into(), old.into()), ("new".into(), new.into())])
}

/// The versions of a package; empty if there are none.
pub fn text(versions: &PackageVersions, name: &str) -> String {
    versions.get(name).map(|versions| versions.join(",")).unwrap_or_default()
}
