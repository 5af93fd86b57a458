//! Alpine's apk.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rocksalt_core::Map;

use super::super::compare;
use super::{
    Foreseen, Options, Package, PackageArchive, PackageOperation, PackageProvider, PackageTransaction, PackageVersions,
    Packages, TransactionReport, command, failure, output, sound, sound_version,
};
use crate::machine::{Probe, System};
use crate::{Error, Result};

pub struct Apk;

const DATABASE: &str = "/lib/apk/db/installed";
const WORLD: &str = "/etc/apk/world";

fn words(transaction: &PackageTransaction) -> Result<Vec<String>> {
    let mut words = vec!["apk".to_owned()];
    match transaction.verb {
        PackageOperation::Install | PackageOperation::Download => words.push("add".into()),
        PackageOperation::Reinstall => words.push("fix".into()),
        PackageOperation::Remove => words.push("del".into()),
        PackageOperation::Purge => words.extend(["del".to_owned(), "--purge".into()]),
        PackageOperation::Upgrade | PackageOperation::DistUpgrade if transaction.targets.is_empty() => {
            words.push("upgrade".into())
        }
        PackageOperation::Upgrade | PackageOperation::DistUpgrade => {
            words.extend(["add".to_owned(), "--upgrade".into()])
        }
    }
    if let Some(repository) = &transaction.options.fromrepo {
        words.extend(["--repository".to_owned(), repository.clone()]);
    }
    if transaction.options.skip_verify || transaction.targets.iter().any(|target| target.file.is_some()) {
        words.push("--allow-untrusted".into());
    }
    for target in &transaction.targets {
        let name = sound(&target.name)?;
        words.push(match (&target.file, &target.version) {
            (Some(file), _) => file.to_string_lossy().into_owned(),
            (None, Some(version)) => format!("{name}={}", sound_version(version)?),
            (None, None) => name.to_owned(),
        });
    }
    if transaction.verb == PackageOperation::Install
        && transaction.targets.iter().all(|target| target.version.is_none())
    {
        // Installed packages may be requested in a newer version.
        words.insert(2, "--upgrade".into());
    }
    Ok(words)
}

impl PackageProvider for Apk {
    fn name(&self) -> &'static str {
        "apk"
    }

    fn families(&self) -> &'static [&'static str] {
        &["Alpine"]
    }

    fn program(&self) -> &'static str {
        "apk"
    }

    fn compare(&self, one: &str, other: &str) -> Ordering {
        compare::apk(one, other)
    }

    fn packages(&self, machine: &dyn Probe) -> Result<Arc<Packages>> {
        let path = Path::new(DATABASE);
        let content = machine.read(path).map_err(|error| Error::io("read", path, &error))?;
        let mut installed = PackageVersions::new();
        let mut name = None;
        for line in String::from_utf8_lossy(&content).lines() {
            match line.split_once(':') {
                Some(("P", value)) => name = Some(value.to_owned()),
                Some(("V", value)) => {
                    if let Some(name) = name.take() {
                        installed.entry(name).or_default().push(value.to_owned());
                    }
                }
                _ => {}
            }
        }
        Ok(Arc::new(Packages { installed, ..Packages::default() }))
    }

    fn candidates(&self, machine: &dyn Probe, names: &[String], options: &Options) -> Result<BTreeMap<String, String>> {
        let versions = self.versions(machine, names, options)?;
        Ok(versions.into_iter().filter_map(|(name, all)| Some((name, all.into_iter().next()?))).collect())
    }

    fn versions(&self, machine: &dyn Probe, names: &[String], _: &Options) -> Result<PackageVersions> {
        if names.is_empty() {
            return Ok(PackageVersions::new());
        }
        let mut words = vec!["apk", "policy"];
        for name in names {
            words.push(sound(name)?);
        }
        Ok(policy(&output(machine, &words)?))
    }

    fn upgrades(
        &self,
        machine: &dyn Probe,
        options: &Options,
        _: bool,
    ) -> Result<std::result::Result<BTreeMap<String, String>, String>> {
        let transaction = PackageTransaction {
            verb: PackageOperation::Upgrade,
            targets: Vec::new(),
            downgrade: false,
            held: false,
            options: options.clone(),
        };
        let found = self.foresee(machine, &transaction)?.unwrap_or(Ok(Vec::new()));
        Ok(found.map(|all| all.into_iter().filter_map(|one| Some((one.name, one.new?))).collect()))
    }

    fn foresee(
        &self,
        machine: &dyn Probe,
        transaction: &PackageTransaction,
    ) -> Result<Option<std::result::Result<Vec<Foreseen>, String>>> {
        let mut argv = words(transaction)?;
        argv.insert(2, "--simulate".into());
        let look = command(argv);
        let output = machine.query(&look)?;
        Ok(Some(match output.success() {
            true => Ok(steps(&output.text())),
            false => Err(failure(&look, &output)),
        }))
    }

    fn execute(&self, machine: &dyn System, transaction: &PackageTransaction) -> Result<TransactionReport> {
        let mut argv = words(transaction)?;
        // Waits this long for other holders of its lock.
        argv.splice(1..1, ["--wait".to_owned(), "300".into()]);
        let mut work_command = super::transaction(argv);
        work_command.merge_stderr = true;
        work_command
            .env
            .extend(transaction.options.env.iter().map(|(name, value)| (name.clone(), Some(value.clone()))));
        let output = machine.run(&work_command)?;
        let errors = if output.success() { Vec::new() } else { vec![failure(&work_command, &output)] };
        Ok(TransactionReport { errors, ..TransactionReport::default() })
    }

    fn refresh(&self, machine: &dyn System) -> Result<std::result::Result<Map, String>> {
        let transaction = super::transaction(["apk", "update"]);
        let output = machine.run(&transaction)?;
        Ok(if output.success() { Ok(Map::new()) } else { Err(failure(&transaction, &output)) })
    }

    fn inspect(&self, machine: &dyn Probe, archive: &PackageArchive) -> Result<Package> {
        let PackageArchive::Path(path) = archive else {
            return Err(Error::failed("apk only looks at package files that are on the machine")
                .hint("bring it there with file.managed, and give its path"));
        };
        let text = output(machine, &["tar", "-xzOf", &path.to_string_lossy(), ".PKGINFO"])?;
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_prefix("= "));
        match (field("pkgname"), field("pkgver")) {
            (Some(name), Some(version)) => Ok(Package { name: name.to_owned(), version: version.to_owned() }),
            _ => Err(Error::failed(format!("Unable to get info for {}", path.display()))),
        }
    }

    /// The packages of `world` with a fixed version.
    fn holds(&self, machine: &dyn Probe) -> Result<BTreeMap<String, Option<String>>> {
        let content = machine.read(Path::new(WORLD)).unwrap_or_default();
        let text = String::from_utf8_lossy(&content).into_owned();
        let held = text.split_whitespace().filter_map(|word| word.split_once('='));
        let held = held.filter(|(name, _)| !name.ends_with(['<', '>', '~', '!']));
        Ok(held.map(|(name, version)| (name.to_owned(), Some(version.to_owned()))).collect())
    }

    fn set_hold(&self, machine: &dyn System, packages: &[(String, Option<String>)], hold: bool) -> Result<()> {
        let now = self.packages(machine)?;
        let mut words = vec!["apk".to_owned(), "add".into()];
        for (name, version) in packages {
            let name = sound(name)?;
            let installed = now.installed.get(name).and_then(|versions| versions.last());
            words.push(match version.as_ref().or(installed).filter(|_| hold) {
                Some(version) => format!("{name}={}", sound_version(version)?),
                None => name.to_owned(),
            });
        }
        let transaction = super::transaction(words);
        let output = machine.run(&transaction)?;
        if output.success() { Ok(()) } else { Err(Error::failed(failure(&transaction, &output))) }
    }

    fn ending(&self) -> &'static str {
        "apk"
    }

    fn owner(&self, machine: &dyn Probe, path: &Path) -> Result<String> {
        let output = machine.query(&command(["apk", "info", "--who-owns", &path.to_string_lossy()]))?;
        // `/bin/x is owned by busybox-1.36.1-r2`
        let text = output.text();
        let whole =
            text.lines().find_map(|line| line.split_once(" is owned by ")).map_or("", |(_, whole)| whole.trim());
        Ok(split_version(whole).map_or("", |(name, _)| name).to_owned())
    }

    fn files(&self, machine: &dyn Probe, names: &[String]) -> Result<BTreeMap<String, Vec<String>>> {
        let mut found = BTreeMap::new();
        let all: Vec<String> =
            if names.is_empty() { self.packages(machine)?.installed.keys().cloned().collect() } else { names.to_vec() };
        for name in all {
            let text = output(machine, &["apk", "info", "--contents", sound(&name)?])?;
            let paths = text.lines().skip(1).filter(|line| !line.is_empty()).map(|line| format!("/{line}")).collect();
            found.insert(name, paths);
        }
        Ok(found)
    }

    fn info(&self, machine: &dyn Probe, names: &[String]) -> Result<Map> {
        let content = machine.read(Path::new(DATABASE)).map_err(|error| Error::io("read", DATABASE, &error))?;
        let keys = [
            ("V", "version"),
            ("A", "arch"),
            ("T", "description"),
            ("U", "url"),
            ("L", "license"),
            ("I", "size"),
            ("m", "packager"),
        ];
        let mut found = Map::new();
        for block in String::from_utf8_lossy(&content).split("\n\n") {
            let field = |key: &str| block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            let Some(name) = field("P").filter(|name| names.is_empty() || names.iter().any(|one| one == name)) else {
                continue;
            };
            let known: Map =
                keys.iter().filter_map(|(theirs, ours)| Some(((*ours).into(), field(theirs)?.into()))).collect();
            found.insert(name, known);
        }
        Ok(found)
    }
}

/// `name-1.2-r3` as name and version.
fn split_version(whole: &str) -> Option<(&str, &str)> {
    let (rest, _) = whole.rsplit_once('-')?;
    let (name, _) = rest.rsplit_once('-')?;
    Some((name, &whole[name.len() + 1..]))
}

/// Parses `apk policy`: a name with a colon, then indented versions, each with its further indented sources.
fn policy(text: &str) -> PackageVersions {
    let mut found = PackageVersions::new();
    let mut versions: Option<&mut Vec<String>> = None;
    let mut version: Option<String> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let trimmed = line.trim();
        match indent {
            0 => {
                let name = trimmed.split_whitespace().next().unwrap_or_default().trim_end_matches(':');
                versions = Some(found.entry(name.to_owned()).or_default());
            }
            1..=3 => version = Some(trimmed.trim_end_matches(':').to_owned()),
            _ => {
                // A version that is only installed is not available.
                if trimmed != "lib/apk/db/installed"
                    && let (Some(versions), Some(version)) = (versions.as_mut(), version.take())
                {
                    versions.push(version);
                }
            }
        }
    }
    for versions in found.values_mut() {
        versions.sort_by(|a, b| compare::apk(b, a));
    }
    found
}

/// `(1/2) Installing foo (1.0-r0)`, `(2/2) Upgrading bar (1.0-r0 -> 1.1-r0)`, `(1/1) Purging baz (1.0-r0)`.
fn steps(text: &str) -> Vec<Foreseen> {
    let row = |line: &str| {
        let (_, rest) = line.strip_prefix('(')?.split_once(") ")?;
        let (verb, rest) = rest.split_once(' ')?;
        let (name, versions) = rest.split_once(" (")?;
        let versions = versions.split(')').next()?;
        let new = versions.rsplit_once(" -> ").map_or(versions, |(_, new)| new);
        let goes = match verb {
            "Installing" | "Upgrading" | "Downgrading" | "Replacing" | "Reinstalling" => false,
            "Purging" => true,
            _ => return None,
        };
        Some(Foreseen { name: name.to_owned(), new: (!goes).then(|| new.to_owned()), purged: goes })
    };
    let mut found: Vec<Foreseen> = text.lines().filter_map(row).collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_apk_says_is_read() {
        let text = "busybox policy:\n  1.36.1-r2:\n    lib/apk/db/installed\n    https://x.test/main\n  1.36.1-r5:\n    https://x.test/main\nzsh policy:\n  5.9-r0:\n    https://x.test/main\n";
        let found = policy(text);
        assert_eq!(found["busybox"], ["1.36.1-r5", "1.36.1-r2"]);
        assert_eq!(found["zsh"], ["5.9-r0"]);
        let said =
            "(1/3) Installing a (1.0-r0)\n(2/3) Upgrading b (1.0-r0 -> 1.1-r0)\n(3/3) Purging c (2-r1)\nOK: 8 MiB\n";
        let one = |name: &str, new: Option<&str>| Foreseen {
            name: name.into(),
            new: new.map(str::to_owned),
            purged: new.is_none(),
        };
        assert_eq!(steps(said), [one("a", Some("1.0-r0")), one("b", Some("1.1-r0")), one("c", None)]);
        assert_eq!(split_version("busybox-binsh-1.36.1-r2"), Some(("busybox-binsh", "1.36.1-r2")));
    }
}
