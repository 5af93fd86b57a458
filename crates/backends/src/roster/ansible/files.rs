//! `group_vars` and `host_vars`: variables in files beside the inventory.

use std::path::{Path, PathBuf};

use rocksalt_core::yaml;

use super::HostVariables;
use crate::roster::{Error, FaultReport};

/// Loads the variables of one group or host: from `name`, `name.yml`, `name.yaml`, `name.json`, or all files of a
/// directory `name`.
pub(super) fn load(folder: Option<&Path>, kind: &str, name: &str, report: &mut FaultReport) -> HostVariables {
    let mut variables = HostVariables::new();
    // Names that are paths are reported where hosts and groups are checked.
    if name.contains('/') || name.starts_with('.') {
        return variables;
    }
    let base = folder.unwrap_or(Path::new("")).join(kind);
    for path in ["", ".yml", ".yaml", ".json"].iter().map(|end| base.join(format!("{name}{end}"))) {
        for path in files(path) {
            let mut own = FaultReport::new(path.display().to_string());
            variables.extend(read(&path, &mut own));
            if let Err(Error::Faults(faults)) = own.finish(()) {
                report.absorb(faults);
            }
        }
    }
    variables
}

fn files(path: PathBuf) -> Vec<PathBuf> {
    if !path.is_dir() {
        return if path.is_file() { vec![path] } else { Vec::new() };
    }
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&path).into_iter().flatten().flatten().map(|file| file.path()).collect();
    let is_hidden = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    files.retain(|path| path.is_file() && !is_hidden(path) && !path.to_string_lossy().ends_with('~'));
    files.sort();
    files
}

fn read(path: &Path, report: &mut FaultReport) -> HostVariables {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            report.add(0, error.to_string());
            return HostVariables::new();
        }
    };
    if text.starts_with("$ANSIBLE_VAULT") {
        report.add(1, "files encrypted with Ansible's vault are not supported; decrypt it, or move it to pillar");
        return HostVariables::new();
    }
    match yaml::load(&text) {
        Ok(node) => super::yaml::variables(&node, report),
        Err(error) => {
            report.add(error.place.line, error.message);
            HostVariables::new()
        }
    }
}
