//! SUSE's zypper.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rocksalt_core::{Map, Value};

use super::super::compare;
use super::{
    Foreseen, Options, Package, PackageArchive, PackageOperation, PackageProvider, PackageTransaction, PackageVersions,
    Packages, TransactionReport, command, failure, rpm, sound, sound_version,
};
use crate::machine::{Command, Probe, System};
use crate::{Error, Result};

pub struct Zypper;

/// Never prompts, and prints XML.
fn prefix(options: &Options) -> Vec<String> {
    let mut words: Vec<String> = ["zypper", "--non-interactive", "--xmlout"].map(str::to_owned).to_vec();
    if options.skip_verify {
        words.push("--no-gpg-checks".into());
    }
    words
}

fn words(transaction: &PackageTransaction) -> Result<Vec<String>> {
    let mut words = prefix(&transaction.options);
    words.push("--no-refresh".into());
    match transaction.verb {
        PackageOperation::Install | PackageOperation::Reinstall | PackageOperation::Download => {
            words.extend(["install", "--auto-agree-with-licenses"].map(str::to_owned));
            match transaction.options.install_recommends {
                Some(true) => words.push("--recommends".into()),
                Some(false) => words.push("--no-recommends".into()),
                None => {}
            }
            if transaction.verb == PackageOperation::Reinstall {
                words.push("--force".into());
            }
            if transaction.verb == PackageOperation::Download {
                words.push("--download-only".into());
            }
            if transaction.downgrade {
                words.push("--oldpackage".into());
            }
        }
        PackageOperation::Remove | PackageOperation::Purge => words.push("remove".into()),
        PackageOperation::DistUpgrade => {
            words.extend(["dist-upgrade", "--auto-agree-with-licenses"].map(str::to_owned))
        }
        PackageOperation::Upgrade => words.extend(["update", "--auto-agree-with-licenses"].map(str::to_owned)),
    }
    if let Some(repository) = transaction
        .options
        .fromrepo
        .as_ref()
        .filter(|_| !matches!(transaction.verb, PackageOperation::Remove | PackageOperation::Purge))
    {
        words.extend(["--repo".to_owned(), repository.clone()]);
    }
    if !matches!(transaction.verb, PackageOperation::DistUpgrade | PackageOperation::Upgrade) {
        // Only names, not what packages provide.
        words.push("--name".into());
    }
    for target in &transaction.targets {
        let name = sound(&target.name)?;
        words.push(match (&target.file, &target.version) {
            (Some(file), _) => file.to_string_lossy().into_owned(),
            (None, Some(version)) => format!("{name}={}", sound_version(version)?),
            (None, None) => name.to_owned(),
        });
    }
    if transaction.targets.iter().any(|target| target.file.is_some()) {
        words.retain(|word| word != "--name");
    }
    Ok(words)
}

/// Codes from 100 on are information: a reboot is needed, and similar.
fn went_well(code: i32) -> bool {
    matches!(code, 0 | 100..=103 | 106)
}

impl Zypper {
    fn ask(&self, machine: &dyn Probe, words: &[&str]) -> Result<std::result::Result<String, String>> {
        let look = command(prefix(&Options::default()).into_iter().chain(words.iter().map(|word| (*word).to_owned())));
        let output = machine.query(&look)?;
        Ok(match went_well(output.code) {
            true => Ok(output.text()),
            false => Err(failure(&look, &output)),
        })
    }

    fn run(&self, machine: &dyn System, mut transaction: Command) -> Result<TransactionReport> {
        transaction.merge_stderr = true;
        // Waits this long for other holders of its lock.
        transaction.env.push(("ZYPP_LOCK_TIMEOUT".into(), Some("300".into())));
        let output = machine.run(&transaction)?;
        let errors = if went_well(output.code) { Vec::new() } else { vec![failure(&transaction, &output)] };
        Ok(TransactionReport { errors, ..TransactionReport::default() })
    }
}

impl PackageProvider for Zypper {
    fn name(&self) -> &'static str {
        "zypper"
    }

    fn families(&self) -> &'static [&'static str] {
        &["Suse"]
    }

    fn program(&self) -> &'static str {
        "zypper"
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
        let versions = self.versions(machine, names, options)?;
        Ok(versions.into_iter().filter_map(|(name, all)| Some((name, all.into_iter().next()?))).collect())
    }

    fn versions(&self, machine: &dyn Probe, names: &[String], options: &Options) -> Result<PackageVersions> {
        let mut found = PackageVersions::new();
        for name in names {
            let mut words = vec!["--no-refresh", "search", "--details", "--match-exact", "--type", "package"];
            if let Some(repository) = &options.fromrepo {
                words.extend(["--repo", repository]);
            }
            words.push(sound(name)?);
            // zypper exits with an error if nothing is found.
            let Ok(text) = self.ask(machine, &words)? else { continue };
            for solvable in solvables(&text) {
                if solvable.get("repository").is_none_or(|repository| repository != "(System Packages)") {
                    found.entry(name.clone()).or_default().extend(solvable.get("edition").cloned());
                }
            }
        }
        for versions in found.values_mut() {
            versions.sort_by(|a, b| compare::rpm(b, a));
            versions.dedup();
        }
        Ok(found)
    }

    fn upgrades(
        &self,
        machine: &dyn Probe,
        options: &Options,
        everything: bool,
    ) -> Result<std::result::Result<BTreeMap<String, String>, String>> {
        let verb = if everything { PackageOperation::DistUpgrade } else { PackageOperation::Upgrade };
        let transaction =
            PackageTransaction { verb, targets: Vec::new(), downgrade: false, held: false, options: options.clone() };
        let found = self.foresee(machine, &transaction)?.unwrap_or(Ok(Vec::new()));
        Ok(found.map(|all| all.into_iter().filter_map(|one| Some((one.name, one.new?))).collect()))
    }

    fn foresee(
        &self,
        machine: &dyn Probe,
        transaction: &PackageTransaction,
    ) -> Result<Option<std::result::Result<Vec<Foreseen>, String>>> {
        let mut argv = words(transaction)?;
        let verb =
            argv.iter().position(|word| matches!(word.as_str(), "install" | "remove" | "update" | "dist-upgrade"));
        argv.insert(verb.map_or(argv.len(), |verb| verb + 1), "--dry-run".into());
        let look = command(argv);
        let output = machine.query(&look)?;
        Ok(Some(match went_well(output.code) {
            true => Ok(summary(&output.text())),
            false => Err(failure(&look, &output)),
        }))
    }

    fn execute(&self, machine: &dyn System, transaction: &PackageTransaction) -> Result<TransactionReport> {
        let mut argv = words(transaction)?;
        // Plain text, because a failure is shown to people.
        argv.retain(|word| word != "--xmlout");
        let mut command = super::transaction(argv);
        command.env.extend(transaction.options.env.iter().map(|(name, value)| (name.clone(), Some(value.clone()))));
        self.run(machine, command)
    }

    fn refresh(&self, machine: &dyn System) -> Result<std::result::Result<Map, String>> {
        let report = self.run(machine, command(["zypper", "--non-interactive", "refresh", "--force"]))?;
        Ok(if report.errors.is_empty() { Ok(Map::new()) } else { Err(report.errors.join("\n")) })
    }

    fn inspect(&self, machine: &dyn Probe, archive: &PackageArchive) -> Result<Package> {
        rpm::inspect(machine, archive)
    }

    fn holds(&self, machine: &dyn Probe) -> Result<BTreeMap<String, Option<String>>> {
        let text = self.ask(machine, &["locks"])?.map_err(Error::failed)?;
        let inner = |block: &str, tag: &str| {
            let (_, rest) = block.split_once(&format!("<{tag}>"))?;
            Some(unescaped(rest.split_once(&format!("</{tag}>"))?.0))
        };
        let locks =
            text.split("<lock ").skip(1).filter(|block| inner(block, "type").is_none_or(|kind| kind == "package"));
        Ok(locks
            .filter_map(|block| {
                let version = inner(block, "version").map(|text| text.trim_start_matches(['=', ' ']).to_owned());
                Some((inner(block, "name")?, version))
            })
            .collect())
    }

    fn set_hold(&self, machine: &dyn System, packages: &[(String, Option<String>)], hold: bool) -> Result<()> {
        let mut words: Vec<String> = ["zypper", "--non-interactive"].map(str::to_owned).to_vec();
        words.push(if hold { "addlock" } else { "removelock" }.into());
        for (name, version) in packages {
            let name = sound(name)?;
            words.push(match version.as_ref().filter(|_| hold) {
                Some(version) => format!("{name} = {}", sound_version(version)?),
                None => name.to_owned(),
            });
        }
        match self.run(machine, command(words))?.errors.into_iter().next() {
            None => Ok(()),
            Some(error) => Err(Error::failed(error)),
        }
    }

    fn holds_versions(&self) -> bool {
        true
    }

    fn released(&self) -> &'static str {
        "is no longer held."
    }

    fn hold_change(&self, hold: bool) -> (Value, Value) {
        if hold { ("".into(), "hold".into()) } else { ("hold".into(), "".into()) }
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
}

/// The attributes of each `<solvable …>`.
fn solvables(text: &str) -> Vec<BTreeMap<String, String>> {
    let attributes = |tag: &str| {
        let tag = tag.split_once('>').map_or(tag, |(tag, _)| tag);
        let mut found = BTreeMap::new();
        let mut rest = tag;
        while let Some((key, after)) = rest.split_once("=\"") {
            let Some((value, after)) = after.split_once('"') else { break };
            found.insert(key.trim().to_owned(), unescaped(value));
            rest = after;
        }
        found
    };
    text.split("<solvable ").skip(1).map(attributes).collect()
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'").replace("&amp;", "&")
}

/// Parses `<install-summary>`: installed, changed and removed packages.
fn summary(text: &str) -> Vec<Foreseen> {
    let mut found = Vec::new();
    for (tag, goes) in [
        ("to-install", false),
        ("to-upgrade", false),
        ("to-downgrade", false),
        ("to-reinstall", false),
        ("to-upgrade-change-arch", false),
        ("to-remove", true),
    ] {
        let Some((_, rest)) = text.split_once(&format!("<{tag}>")) else { continue };
        let block = rest.split_once(&format!("</{tag}>")).map_or(rest, |(block, _)| block);
        for solvable in solvables(block).into_iter().filter(|one| one.get("type").is_none_or(|kind| kind == "package"))
        {
            let Some(name) = solvable.get("name").cloned() else { continue };
            let new = solvable.get("edition").cloned().filter(|_| !goes);
            found.push(Foreseen { name, new, purged: goes });
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from zypper 1.14.42.
    #[test]
    fn summaries_are_read() {
        let text = "<install-summary>\n<to-install>\n<solvable type=\"package\" name=\"rs-lib\" edition=\"1.0-1\" arch=\"noarch\" summary=\"a &lt;b&gt; test\">\n<description>A test.</description></solvable>\n</to-install>\n<to-upgrade>\n<solvable type=\"package\" name=\"rs-tool\" edition=\"2:2.0-1\" edition-old=\"1.5-1\"/>\n</to-upgrade>\n<to-remove>\n<solvable type=\"package\" name=\"gone\" edition=\"1-1\"/>\n</to-remove>\n</install-summary>";
        let one = |name: &str, new: Option<&str>| Foreseen {
            name: name.into(),
            new: new.map(str::to_owned),
            purged: new.is_none(),
        };
        assert_eq!(summary(text), [one("gone", None), one("rs-lib", Some("1.0-1")), one("rs-tool", Some("2:2.0-1"))]);
    }
}
