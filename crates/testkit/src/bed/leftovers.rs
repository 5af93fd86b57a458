//! Finds and removes beds by their files, including those whose process was killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::base::{cache, locked};
use crate::bed::network::Network;
use crate::error::{Error, FileContext};
use crate::process::{self, Identity, poll};
use crate::tool;

/// Removes the beds whose process no longer runs, except for lasting beds.
pub fn remove_stale() -> Result<(), Error> {
    locked(&beds()?.join(".lock"), || {
        let stale = names()?.into_iter().filter(|name| {
            let owner = directory(name).ok().and_then(|directory| read_identity(&directory.join("owner")));
            owner.is_some_and(|owner| !owner.alive())
        });
        stale.into_iter().try_for_each(|name| remove(&name))
    })
}

/// Removes all beds, and everything kept for later ones.
pub fn remove_all() -> Result<(), Error> {
    names()?.iter().try_for_each(|name| remove(name))?;
    let cache = cache()?;
    fs::remove_dir_all(&cache).file("remove", &cache)
}

/// The names of all beds.
fn names() -> Result<Vec<String>, Error> {
    let beds = beds()?;
    let entries = fs::read_dir(&beds).file("list", &beds)?;
    let directories = entries.flatten().filter(|entry| entry.path().is_dir());
    Ok(directories.filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

pub(super) fn directory(name: &str) -> Result<PathBuf, Error> {
    Ok(beds()?.join(name))
}

/// Creates the directory of a new bed. The owner is written under the lock, so that nobody takes it for a leftover.
pub(super) fn claim(name: &str, owner: Option<Identity>) -> Result<PathBuf, Error> {
    let directory = directory(name)?;
    locked(&beds()?.join(".lock"), || {
        if directory.exists() {
            return Err(Error::BedExists { bed: name.into() });
        }
        fs::create_dir_all(&directory).file("create", &directory)?;
        let path = directory.join("owner");
        let text = serde_json::to_string(&owner).map_err(std::io::Error::from);
        text.and_then(|text| fs::write(&path, text)).file("write", &path)
    })?;
    Ok(directory)
}

pub(super) fn remove(name: &str) -> Result<(), Error> {
    let directory = directory(name)?;
    let network = Network { bed: name };
    let mut supervisors = Vec::new();
    if let Ok(entries) = fs::read_dir(&directory) {
        supervisors.extend(entries.flatten().filter_map(|entry| read_identity(&entry.path().join("pid"))));
    }
    // Signals all of them before it waits, so that the kernel tears them down in parallel.
    supervisors.iter().filter(|one| one.alive()).for_each(|one| process::signal(one.pid, Signal::KILL));
    supervisors.iter().for_each(|one| one.kill());

    let listed = tool::words(&["ip", "netns", "list"])?;
    let namespaces = listed.lines().filter_map(|line| line.split_whitespace().next());
    let own: Vec<&str> = namespaces.filter(|name| name.starts_with(&network.prefix())).collect();
    for namespace in &own {
        // A keeper on the controller's side may outlive its command.
        let pids = tool::words(&["ip", "netns", "pids", namespace]).unwrap_or_default();
        pids.split_whitespace().filter_map(|pid| pid.parse().ok()).for_each(|pid| process::signal(pid, Signal::KILL));
        let group = control_group(namespace);
        if let Ok(group) = group.as_ref().map_err(drop)
            && group.exists()
        {
            poll(Duration::from_secs(2), || fs::remove_dir(group).ok());
        }
    }
    let deletions: String = own.iter().map(|namespace| format!("netns del {namespace}\n")).collect();
    tool::feed(Command::new("ip").args(["-batch", "-"]), &deletions)?;
    if directory.exists() {
        fs::remove_dir_all(&directory).file("remove", &directory)?;
    }
    Ok(())
}

/// The control group of a systemd host, below the unified hierarchy, wherever that is mounted.
pub(super) fn control_group(namespace: &str) -> Result<PathBuf, Error> {
    let mounted = tool::words(&["findmnt", "--noheadings", "--types", "cgroup2", "--output", "TARGET"])?;
    let hierarchy = mounted.lines().next().unwrap_or("/sys/fs/cgroup").trim();
    Ok(Path::new(hierarchy).join(namespace))
}

fn beds() -> Result<PathBuf, Error> {
    let beds = cache()?.join("beds");
    fs::create_dir_all(&beds).file("create", &beds)?;
    Ok(beds)
}

fn read_identity(path: &Path) -> Option<Identity> {
    serde_json::from_str::<Option<Identity>>(&fs::read_to_string(path).ok()?).ok()?
}
