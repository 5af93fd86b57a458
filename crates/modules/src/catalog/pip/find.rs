//! Finds the pip to use, and queries it.

use std::path::Path;

use rocksalt_core::{Map, Value, json};

use super::super::tool::Tool;
use super::options::looking;
use super::requirement::normal;
use crate::machine::{FileKind, Probe};
use crate::{Error, Result};

/// The pip of a virtual environment or a Python, or a pip itself; by default the target's own.
pub fn pip(machine: &dyn Probe, bin_env: Option<&str>) -> Result<Tool> {
    let stat = |path: &str| machine.stat(Path::new(path), true).ok().flatten();
    let quiet = |tool: Tool| tool.with("PIP_DISABLE_PIP_VERSION_CHECK", "1").with("PIP_NO_INPUT", "1");
    let Some(bin_env) = bin_env.filter(|place| !place.is_empty()) else {
        for argv in [&["python3", "-m", "pip"][..], &["pip3"], &["pip"]] {
            let tool = quiet(Tool::new(argv.iter().copied()));
            if looking(&tool).look(machine, &["--version"]).is_ok_and(|output| output.success()) {
                return Ok(tool);
            }
        }
        return Err(Error::failed("Could not find a `pip` binary")
            .hint("install python3-pip there, or name a virtual environment with bin_env"));
    };
    match stat(bin_env) {
        Some(found) if found.kind == FileKind::Directory => {
            let runs =
                |path: &String| stat(path).is_some_and(|stat| stat.kind == FileKind::File && stat.mode & 0o111 != 0);
            let places =
                [format!("{bin_env}/python"), format!("{bin_env}/bin/python"), format!("{bin_env}/bin/python3")];
            let python = places.into_iter().find(runs);
            let python =
                python.ok_or_else(|| Error::failed(format!("Could not find a pip binary in virtualenv {bin_env}")))?;
            Ok(quiet(Tool::new([python.as_str(), "-m", "pip"])).with("VIRTUAL_ENV", bin_env))
        }
        Some(found) if found.kind == FileKind::File && found.mode & 0o111 != 0 => {
            let is_python = bin_env.rsplit('/').next().is_some_and(|name| name.contains("python"));
            Ok(quiet(if is_python { Tool::new([bin_env, "-m", "pip"]) } else { Tool::new([bin_env]) }))
        }
        _ => Err(Error::failed(format!("Access denied to {bin_env}, could not find a pip binary"))),
    }
}

/// The installed packages: normalised names and versions.
pub fn installed(machine: &dyn Probe, tool: &Tool) -> Result<Map> {
    let text = looking(tool).text(machine, &["list", "--format=json"])?;
    let mut found = Map::new();
    for package in listed(&text)? {
        found.insert(normal(&field(&package, "name")), field(&package, "version"));
    }
    Ok(found)
}

/// The outdated packages: name, version and newest version.
pub fn outdated(machine: &dyn Probe, tool: &Tool) -> Result<Vec<[String; 4]>> {
    let text = looking(tool).text(machine, &["list", "--outdated", "--format=json"])?;
    let one = |package: Value| ["name", "version", "latest_version", "latest_filetype"].map(|key| field(&package, key));
    Ok(listed(&text)?.into_iter().map(one).collect())
}

/// The packages that an installation would install, with versions; `None` if this pip can't report that.
pub fn foreseen(machine: &dyn Probe, tool: &Tool, install: &[String]) -> Option<Vec<(String, String)>> {
    let mut words = install.to_vec();
    words.splice(1..1, ["--dry-run", "--quiet", "--report", "-"].map(str::to_owned));
    let output = looking(tool).look(machine, &words).ok().filter(|output| output.success())?;
    let report = json::parse(&output.text()).ok()?;
    let one = |step: &Value| {
        let metadata = step.as_map()?.get("metadata")?;
        Some((normal(&field(metadata, "name")), field(metadata, "version")))
    };
    report.as_map()?.get("install")?.as_list()?.iter().map(one).collect()
}

fn listed(text: &str) -> Result<Vec<Value>> {
    // Warnings may precede the JSON.
    let start = text.find('[').unwrap_or(0);
    let parsed = json::parse(&text[start..]).ok().and_then(|value| value.as_list().map(<[Value]>::to_vec));
    parsed.ok_or_else(|| Error::failed(format!("Invalid JSON: {text}")))
}

fn field(value: &Value, key: &str) -> String {
    value.as_map().and_then(|map| map.get(key)).map(ToString::to_string).unwrap_or_default()
}
