//! Shared code of dnf and zypper: rpm's database.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rocksalt_core::{Map, Value};

use super::super::compare;
use super::{Package, PackageArchive, Packages, command, failure, output, sound};
use crate::machine::Probe;
use crate::{Error, Result};

const FORMAT: &str = "%{NAME} %|EPOCH?{%{EPOCH}}:{0}| %{VERSION}-%{RELEASE} %{ARCH}\n";

pub fn packages(machine: &dyn Probe) -> Result<Arc<Packages>> {
    let text = output(machine, &["rpm", "-qa", "--nodigest", "--nosignature", "--queryformat", FORMAT])?;
    let own = own_architecture(machine);
    let mut packages = Packages::default();
    for (name, version, architecture) in text.lines().filter_map(row) {
        // Keys aren't packages; names of another architecture contain the architecture.
        if name != "gpg-pubkey" {
            let foreign = !own.is_empty() && architecture != "noarch" && architecture != own;
            let name = if foreign { format!("{name}.{architecture}") } else { name };
            packages.installed.entry(name).or_default().push(version);
        }
    }
    packages.installed.values_mut().for_each(|versions| versions.sort_by(|a, b| compare::rpm(a, b)));
    Ok(Arc::new(packages))
}

fn own_architecture(machine: &dyn Probe) -> String {
    let grains = machine.grains();
    let own = grains.get("osarch").and_then(Value::as_str).unwrap_or_default();
    // Debian's name of the architecture, for rpm on Debian.
    if own == "amd64" { "x86_64".into() } else { own.to_owned() }
}

fn row(line: &str) -> Option<(String, String, String)> {
    let mut words = line.split_whitespace();
    let (name, epoch, version, architecture) = (words.next()?, words.next()?, words.next()?, words.next()?);
    Some((name.to_owned(), with_epoch(epoch, version), architecture.to_owned()))
}

/// An epoch of zero is left out.
pub fn with_epoch(epoch: &str, version: &str) -> String {
    if matches!(epoch, "0" | "" | "(none)") { version.to_owned() } else { format!("{epoch}:{version}") }
}

/// The name without the machine's own architecture.
pub fn normal(machine: &dyn Probe, name: &str) -> String {
    match name.rsplit_once('.') {
        Some((plain, "noarch")) => plain.to_owned(),
        Some((plain, architecture)) if architecture == own_architecture(machine) => plain.to_owned(),
        _ => name.to_owned(),
    }
}

pub fn inspect(machine: &dyn Probe, archive: &PackageArchive) -> Result<Package> {
    let (place, stdin) = match archive {
        PackageArchive::Path(path) => (path.to_string_lossy().into_owned(), None),
        PackageArchive::Content(content) => ("-".to_owned(), Some(content.to_vec())),
    };
    let mut look = command(["rpm", "-qp", "--nodigest", "--nosignature", "--queryformat", FORMAT, &place]);
    look.stdin = stdin;
    let output = machine.query(&look)?;
    match output.text().lines().find_map(row).filter(|_| output.success()) {
        Some((name, version, _)) => Ok(Package { name, version }),
        None => Err(Error::failed(format!("Unable to get info for {place}: {}", failure(&look, &output)))),
    }
}

pub fn owner(machine: &dyn Probe, path: &Path) -> Result<String> {
    let path = path.to_string_lossy();
    let output = machine.query(&command(["rpm", "-qf", "--queryformat", "%{NAME}\n", &path]))?;
    Ok(output.text().lines().next().filter(|_| output.success()).unwrap_or_default().to_owned())
}

pub fn files(machine: &dyn Probe, names: &[String]) -> Result<BTreeMap<String, Vec<String>>> {
    let mut words =
        vec!["rpm", if names.is_empty() { "-qa" } else { "-q" }, "--queryformat", "[%{=NAME} %{FILENAMES}\n]"];
    for name in names {
        words.push(sound(name)?);
    }
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, path) in output(machine, &words)?.lines().filter_map(|line| line.split_once(' ')) {
        found.entry(name.to_owned()).or_default().push(path.to_owned());
    }
    Ok(found)
}

pub fn info(machine: &dyn Probe, names: &[String]) -> Result<Map> {
    let fields = [
        ("name", "NAME"),
        ("epoch", "EPOCH"),
        ("version", "VERSION"),
        ("release", "RELEASE"),
        ("arch", "ARCH"),
        ("vendor", "VENDOR"),
        ("group", "GROUP"),
        ("license", "LICENSE"),
        ("packager", "PACKAGER"),
        ("url", "URL"),
        ("summary", "SUMMARY"),
        ("size", "SIZE"),
        ("install_date_time_t", "INSTALLTIME"),
    ];
    let mut format: String = fields.iter().map(|(key, tag)| format!("{key}: %{{{tag}}}\n")).collect();
    format.push_str("end\n");
    let mut words = vec!["rpm", if names.is_empty() { "-qa" } else { "-q" }, "--queryformat", &format];
    for name in names {
        words.push(sound(name)?);
    }
    let text = output(machine, &words)?;
    let mut found = Map::new();
    for block in text.split("\nend\n") {
        let mut known = Map::new();
        for (key, value) in block.lines().filter_map(|line| line.split_once(": ")) {
            if value != "(none)" {
                known.insert(key, value);
            }
        }
        if let Some(name) = known.remove("name") {
            found.insert(name, known);
        }
    }
    Ok(found)
}
