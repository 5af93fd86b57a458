//! dnf, or yum if there is no dnf.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rocksalt_core::Map;

use super::super::compare;
use super::{
    Foreseen, Options, Package, PackageArchive, PackageGroup, PackageOperation, PackageProvider, PackageTransaction,
    PackageVersions, Packages, TransactionReport, command, failure, has, rpm, sound, sound_version,
};
use crate::machine::{Probe, System};
use crate::{Error, Result};

pub struct Dnf;

fn program(machine: &dyn Probe) -> &'static str {
    if has(machine, "dnf") || !has(machine, "yum") { "dnf" } else { "yum" }
}

/// The options for repositories and settings; never prompts.
fn prefix(machine: &dyn Probe, options: &Options) -> Vec<String> {
    let mut words = vec![program(machine).to_owned(), "--quiet".into(), "--assumeyes".into()];
    if let Some(repository) = &options.fromrepo {
        words.extend(["--disablerepo=*".to_owned(), format!("--enablerepo={repository}")]);
    }
    words.extend(options.disablerepo.iter().map(|name| format!("--disablerepo={name}")));
    words.extend(options.enablerepo.iter().map(|name| format!("--enablerepo={name}")));
    words.extend(options.disableexcludes.iter().map(|name| format!("--disableexcludes={name}")));
    words.extend(options.setopt.iter().map(|setting| format!("--setopt={setting}")));
    if options.skip_verify {
        words.push("--nogpgcheck".into());
    }
    if let Some(recommends) = options.install_recommends {
        words.push(format!("--setopt=install_weak_deps={recommends}"));
    }
    words
}

fn words(machine: &dyn Probe, transaction: &PackageTransaction) -> Result<Vec<String>> {
    let mut words = prefix(machine, &transaction.options);
    match transaction.verb {
        PackageOperation::Install => words.push("install".into()),
        PackageOperation::Reinstall => words.push("reinstall".into()),
        PackageOperation::Remove | PackageOperation::Purge => words.push("remove".into()),
        PackageOperation::Upgrade | PackageOperation::DistUpgrade => words.push("upgrade".into()),
        PackageOperation::Download => words.extend(["--downloadonly".to_owned(), "install".into()]),
    }
    for target in &transaction.targets {
        let name = sound(&target.name)?;
        words.push(match (&target.file, &target.version) {
            (Some(file), _) => file.to_string_lossy().into_owned(),
            (None, Some(version)) => format!("{name}-{}", sound_version(version)?),
            (None, None) => name.to_owned(),
        });
    }
    Ok(words)
}

impl Dnf {
    /// Queries existing lists with `repoquery`: names and versions.
    fn ask(&self, machine: &dyn Probe, names: &[String], options: &Options) -> Result<PackageVersions> {
        let mut found = PackageVersions::new();
        if names.is_empty() {
            return Ok(found);
        }
        let mut words = prefix(machine, options);
        words.extend(
            ["-C", "repoquery", "--available", "--qf", "%{name} %{epoch} %{version}-%{release}\n"].map(str::to_owned),
        );
        for name in names {
            words.push(sound(name)?.to_owned());
        }
        let look = command(words);
        let output = machine.query(&look)?;
        if !output.success() {
            return Err(Error::failed(failure(&look, &output)));
        }
        for line in output.text().lines() {
            if let [name, epoch, version] = line.split_whitespace().collect::<Vec<_>>().as_slice() {
                let asked = names.iter().find(|asked| asked == name || rpm::normal(machine, asked) == **name);
                let name = asked.map_or_else(|| (*name).to_owned(), String::clone);
                found.entry(name).or_default().push(rpm::with_epoch(epoch, version));
            }
        }
        for versions in found.values_mut() {
            versions.sort_by(|a, b| compare::rpm(b, a));
            versions.dedup();
        }
        Ok(found)
    }

    fn run(&self, machine: &dyn System, argv: Vec<String>, env: &[(String, String)]) -> Result<TransactionReport> {
        let mut transaction = super::transaction(argv);
        transaction.merge_stderr = true;
        transaction.env.extend(env.iter().map(|(name, value)| (name.clone(), Some(value.clone()))));
        // dnf waits for other holders of its locks by itself.
        let output = machine.run(&transaction)?;
        let errors = if output.success() { Vec::new() } else { vec![failure(&transaction, &output)] };
        Ok(TransactionReport { errors, ..TransactionReport::default() })
    }
}

impl PackageProvider for Dnf {
    fn name(&self) -> &'static str {
        "dnf"
    }

    fn families(&self) -> &'static [&'static str] {
        &["RedHat"]
    }

    fn program(&self) -> &'static str {
        "rpm"
    }

    fn compare(&self, one: &str, other: &str) -> Ordering {
        compare::rpm(one, other)
    }

    fn normal(&self, machine: &dyn Probe, name: &str) -> String {
        rpm::normal(machine, name)
    }

    fn packages(&self, machine: &dyn Probe) -> Result<Arc<Packages>> {
        rpm::packages(machine)
    }

    fn candidates(&self, machine: &dyn Probe, names: &[String], options: &Options) -> Result<BTreeMap<String, String>> {
        let versions = self.ask(machine, names, options)?;
        Ok(versions.into_iter().filter_map(|(name, all)| Some((name, all.into_iter().next()?))).collect())
    }

    fn versions(&self, machine: &dyn Probe, names: &[String], options: &Options) -> Result<PackageVersions> {
        self.ask(machine, names, options)
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
        let mut argv = words(machine, transaction)?;
        argv.retain(|word| word != "--quiet" && word != "--assumeyes");
        argv.splice(1..1, ["-C".to_owned(), "--assumeno".into()]);
        let look = command(argv);
        let output = machine.query(&look)?;
        let text = output.text();
        // The exit code is an error because the prompt is declined; the output shows whether it is possible.
        Ok(Some(match output.success() || text.contains("Transaction Summary") {
            true => Ok(table(&text)),
            false => Err(failure(&look, &output)),
        }))
    }

    fn execute(&self, machine: &dyn System, transaction: &PackageTransaction) -> Result<TransactionReport> {
        self.run(machine, words(machine, transaction)?, &transaction.options.env)
    }

    fn refresh(&self, machine: &dyn System) -> Result<std::result::Result<Map, String>> {
        let base = prefix(machine, &Options::default());
        let with = |words: &[&str]| base.iter().cloned().chain(words.iter().map(|word| (*word).to_owned())).collect();
        self.run(machine, with(&["clean", "expire-cache"]), &[])?;
        let report = self.run(machine, with(&["makecache"]), &[])?;
        Ok(if report.errors.is_empty() { Ok(Map::new()) } else { Err(report.errors.join("\n")) })
    }

    fn inspect(&self, machine: &dyn Probe, archive: &PackageArchive) -> Result<Package> {
        rpm::inspect(machine, archive)
    }

    fn holds(&self, machine: &dyn Probe) -> Result<BTreeMap<String, Option<String>>> {
        let look = command([program(machine), "--quiet", "-C", "versionlock", "list"]);
        let output = machine.query(&look)?;
        if !output.success() {
            return match String::from_utf8_lossy(&output.stderr).contains("No such command") {
                // Without the plugin nothing can be held.
                true => Ok(BTreeMap::new()),
                false => Err(Error::failed(failure(&look, &output))),
            };
        }
        Ok(output.text().lines().filter_map(lock).collect())
    }

    fn set_hold(&self, machine: &dyn System, packages: &[(String, Option<String>)], hold: bool) -> Result<()> {
        let mut words = prefix(machine, &Options::default());
        words.extend(["versionlock".to_owned(), if hold { "add" } else { "delete" }.into()]);
        for (name, _) in packages {
            words.push(sound(name)?.to_owned());
        }
        let report = self.run(machine, words, &[])?;
        match report.errors.first() {
            None => Ok(()),
            Some(error) if error.contains("No such command") => {
                Err(Error::failed("Cannot proceed, python3-dnf-plugin-versionlock is not installed."))
            }
            Some(error) => Err(Error::failed(error.clone())),
        }
    }

    fn install_upgrades(&self) -> bool {
        false
    }

    fn released(&self) -> &'static str {
        "is no longer held."
    }

    fn owner(&self, machine: &dyn Probe, path: &Path) -> Result<String> {
        rpm::owner(machine, path)
    }

    fn files(&self, machine: &dyn Probe, names: &[String]) -> Result<BTreeMap<String, Vec<String>>> {
        rpm::files(machine, names)
    }

    fn info(&self, machine: &dyn Probe, names: &[String]) -> Result<Map> {
        rpm::info(machine, names)
    }

    fn group(&self, machine: &dyn Probe, name: &str) -> Result<Option<PackageGroup>> {
        let look = command([program(machine), "--quiet", "-C", "group", "info", name]);
        let output = machine.query(&look)?;
        let group = group(&output.text());
        match group.name.is_empty() && group.id.is_empty() {
            true => Err(Error::failed(format!("Group '{name}' not found"))),
            false => Ok(Some(group)),
        }
    }
}

/// Parses `rs-tool-0:1.5-1.*`: the name, and the held version.
fn lock(line: &str) -> Option<(String, Option<String>)> {
    let line = line.trim();
    let body = line.rsplit_once('.').map(|(body, _)| body)?;
    let (rest, release) = body.rsplit_once('-')?;
    let (name, version) = rest.rsplit_once('-')?;
    let (epoch, version) = version.split_once(':').unwrap_or(("0", version));
    Some((name.to_owned(), Some(rpm::with_epoch(epoch, &format!("{version}-{release}")))))
}

/// Parses the table of predicted changes. A long name has its own line.
fn table(text: &str) -> Vec<Foreseen> {
    let mut found: Vec<Foreseen> = Vec::new();
    let mut removes = None;
    let mut row: Vec<&str> = Vec::new();
    for line in text.lines() {
        if line.starts_with("Transaction Summary") {
            break;
        }
        if !line.starts_with(' ') && line.ends_with(':') {
            removes = match line.trim_end_matches(':').split_whitespace().next() {
                Some("Installing" | "Upgrading" | "Downgrading" | "Reinstalling") => Some(false),
                Some("Removing") => Some(true),
                _ => None,
            };
            row.clear();
            continue;
        }
        let Some(removes) = removes else { continue };
        if !line.starts_with(' ') {
            continue;
        }
        // A replaced package is listed below its replacement.
        if let Some(old) = line.trim().strip_prefix("replacing ") {
            let name =
                old.split_whitespace().next().and_then(|word| word.rsplit_once('.')).map_or("", |(name, _)| name);
            found.push(Foreseen { name: name.to_owned(), new: None, purged: true });
            continue;
        }
        row.extend(line.split_whitespace());
        if let [name, _, version, _, ..] = row.as_slice() {
            let new = (!removes).then(|| (*version).to_owned());
            found.push(Foreseen { name: (*name).to_owned(), new, purged: removes });
            row.clear();
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

fn group(text: &str) -> PackageGroup {
    let mut group = PackageGroup::default();
    let mut kind = String::new();
    for line in text.lines() {
        let trimmed = line.trim();
        match trimmed.split_once(':') {
            Some(("Group" | "Name", value)) => group.name = value.trim().to_owned(),
            Some(("Group-Id" | "Id", value)) => group.id = value.trim().to_owned(),
            Some(("Description", value)) => group.description = value.trim().to_owned(),
            Some((head, "")) if head.ends_with("Packages") => kind = head.to_ascii_lowercase(),
            _ if trimmed.is_empty() => {}
            _ => {
                let list = match kind.split(' ').next() {
                    Some("mandatory") => &mut group.mandatory,
                    Some("default") => &mut group.default,
                    Some("optional") => &mut group.optional,
                    Some("conditional") => &mut group.conditional,
                    _ => continue,
                };
                list.push(trimmed.trim_start_matches(['+', '-', '=']).trim().to_owned());
            }
        }
    }
    group
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from dnf 4.14.
    #[test]
    fn tables_are_read() {
        let text = "Dependencies resolved.\n====\n Package  Architecture  Version  Repository  Size\n====\nInstalling:\n rs-tool             noarch             2:1.5-1             own             6.0 k\nInstalling dependencies:\n a-very-long-name-of-a-package-that-does-not-fit\n                     noarch             1.0-1             own             6.0 k\nUpgrading:\n up  noarch  2.0-1  own  1 k\n     replacing  old.noarch 1.0-1\nRemoving dependent packages:\n gone noarch 1-1 @own 4\n\nTransaction Summary\n====\nInstall  2 Packages\n";
        let one = |name: &str, new: Option<&str>| Foreseen {
            name: name.into(),
            new: new.map(str::to_owned),
            purged: new.is_none(),
        };
        let expected = [
            one("a-very-long-name-of-a-package-that-does-not-fit", Some("1.0-1")),
            one("gone", None),
            one("old", None),
            one("rs-tool", Some("2:1.5-1")),
            one("up", Some("2.0-1")),
        ];
        assert_eq!(table(text), expected);
        assert_eq!(table("Nothing to do.\n"), []);
    }

    #[test]
    fn locks_and_groups_are_read() {
        assert_eq!(lock("rs-tool-2:1.5-1.*"), Some(("rs-tool".into(), Some("2:1.5-1".into()))));
        assert_eq!(lock("a-b-0:1.0-3.fc38.*"), Some(("a-b".into(), Some("1.0-3.fc38".into()))));
        let text = "Group: Tools\n Description: Some tools.\n Mandatory Packages:\n   rs-lib\n Default Packages:\n   rs-tool\n   rs-other\n Optional Packages:\n   rs-more\n";
        let found = group(text);
        assert_eq!((found.name.as_str(), found.mandatory.len(), found.default.len()), ("Tools", 1, 2));
        assert_eq!(found.optional, ["rs-more"]);
    }
}
