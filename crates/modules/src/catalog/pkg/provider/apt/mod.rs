//! Debian's apt and dpkg.

mod info;
mod list;
mod policy;
mod run;
mod simulate;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rocksalt_core::{Map, Value};

use super::super::compare;
use super::{
    Foreseen, Options, Package, PackageArchive, PackageOperation, PackageProvider, PackageTransaction, PackageVersions,
    Packages, TransactionPackage, TransactionReport, command, failure, sound, sound_version,
};
use crate::machine::{Probe, System};
use crate::{Error, Result};

pub struct Apt;

/// The directory of the package lists; it changes with each refresh.
const LISTS: &str = "/var/lib/apt/lists";

impl PackageProvider for Apt {
    fn name(&self) -> &'static str {
        "apt"
    }

    fn families(&self) -> &'static [&'static str] {
        &["Debian"]
    }

    fn program(&self) -> &'static str {
        "apt-get"
    }

    fn compare(&self, one: &str, other: &str) -> Ordering {
        compare::dpkg(one, other)
    }

    fn normal(&self, machine: &dyn Probe, name: &str) -> String {
        match name.rsplit_once(':') {
            Some((plain, "all" | "any")) => plain.to_owned(),
            Some((plain, architecture)) if architecture == own_architecture(machine) => plain.to_owned(),
            _ => name.to_owned(),
        }
    }

    fn packages(&self, machine: &dyn Probe) -> Result<Arc<Packages>> {
        list::packages(machine)
    }

    fn candidates(&self, machine: &dyn Probe, names: &[String], options: &Options) -> Result<BTreeMap<String, String>> {
        let policy = policy::ask(machine, names, options)?;
        Ok(policy.into_iter().filter_map(|(name, known)| Some((name, known.candidate?))).collect())
    }

    fn versions(&self, machine: &dyn Probe, names: &[String], options: &Options) -> Result<PackageVersions> {
        let policy = policy::ask(machine, names, options)?;
        Ok(policy.into_iter().map(|(name, known)| (name, known.versions)).collect())
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
        let found = simulate::ask(machine, &transaction)?;
        Ok(found.map(|all| all.into_iter().filter_map(|one| Some((one.name, one.new?))).collect()))
    }

    fn foresee(
        &self,
        machine: &dyn Probe,
        transaction: &PackageTransaction,
    ) -> Result<Option<std::result::Result<Vec<Foreseen>, String>>> {
        if transaction.verb == PackageOperation::Download {
            return Ok(Some(Ok(Vec::new())));
        }
        Ok(Some(simulate::ask(machine, transaction)?))
    }

    fn execute(&self, machine: &dyn System, transaction: &PackageTransaction) -> Result<TransactionReport> {
        run::execute(machine, &words(transaction)?, &transaction.options.env)
    }

    fn refresh(&self, machine: &dyn System) -> Result<std::result::Result<Map, String>> {
        let argv = ["apt-get", "-q", "update"].map(str::to_owned);
        let (report, said) = run::run(machine, &argv, &[])?;
        Ok(match report.errors.is_empty() {
            true => Ok(policy::fetched(&said)),
            false => Err(report.errors.join("\n")),
        })
    }

    fn refreshed(&self, machine: &dyn Probe) -> Option<f64> {
        let stat = |path: &str| machine.stat(Path::new(path), true).ok().flatten();
        // A directory that apt has only created contains no lists.
        let has_lists = |name: &String| name.contains("_Packages") || name.contains("Release");
        let any = machine.list(Path::new(LISTS)).is_ok_and(|names| names.iter().any(has_lists));
        stat(LISTS).filter(|_| any).map(|stat| stat.mtime)
    }

    fn inspect(&self, machine: &dyn Probe, archive: &PackageArchive) -> Result<Package> {
        let (place, stdin) = match archive {
            PackageArchive::Path(path) => (path.to_string_lossy().into_owned(), None),
            PackageArchive::Content(content) => ("-".to_owned(), Some(content.to_vec())),
        };
        let mut look = command(["dpkg-deb", "-f", &place, "Package", "Version", "Architecture"]);
        look.stdin = stdin;
        let output = machine.query(&look)?;
        if !output.success() {
            return Err(Error::failed(format!("Unable to get info for {place}: {}", failure(&look, &output))));
        }
        let text = output.text();
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        match (field("Package"), field("Version"), field("Architecture")) {
            (Some(name), Some(version), Some(architecture)) => {
                Ok(Package { name: list::named(machine, &name, &architecture), version })
            }
            _ => Err(Error::failed(format!("Unable to get name, version, arch for {place}"))),
        }
    }

    fn holds(&self, machine: &dyn Probe) -> Result<BTreeMap<String, Option<String>>> {
        let selections = info::selections(machine, None)?;
        let held = selections.into_iter().filter(|(_, state)| state == "hold");
        Ok(held.map(|(name, _)| (name, None)).collect())
    }

    fn set_hold(&self, machine: &dyn System, packages: &[(String, Option<String>)], hold: bool) -> Result<()> {
        let names: Vec<&str> = packages.iter().map(|(name, _)| name.as_str()).collect();
        info::select(machine, &names, if hold { "hold" } else { "install" })
    }

    fn hold_change(&self, hold: bool) -> (Value, Value) {
        match hold {
            true => ("install".into(), "hold".into()),
            false => ("hold".into(), "install".into()),
        }
    }

    fn breaks_holds(&self) -> bool {
        true
    }

    fn keeps_configuration(&self) -> bool {
        true
    }

    fn ending(&self) -> &'static str {
        "deb"
    }

    fn owner(&self, machine: &dyn Probe, path: &Path) -> Result<String> {
        info::owner(machine, path)
    }

    fn files(&self, machine: &dyn Probe, names: &[String]) -> Result<BTreeMap<String, Vec<String>>> {
        info::files(machine, names)
    }

    fn info(&self, machine: &dyn Probe, names: &[String]) -> Result<Map> {
        info::of(machine, names)
    }
}

fn own_architecture(machine: &dyn Probe) -> String {
    machine.grains().get("osarch").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Never prompts, and keeps files that an administrator changed.
fn prefix(options: &Options) -> Vec<String> {
    let mut words = vec!["apt-get".to_owned(), "-q".into(), "-y".into()];
    let choices: &[&str] = if options.force_conf_new { &["confnew"] } else { &["confold", "confdef"] };
    for choice in choices {
        words.extend(["-o".to_owned(), format!("DPkg::Options::=--force-{choice}")]);
    }
    words
}

fn words(transaction: &PackageTransaction) -> Result<Vec<String>> {
    let options = &transaction.options;
    let mut words = prefix(options);
    let mut add = |word: &str| words.push(word.to_owned());
    match options.install_recommends {
        Some(true) => add("--install-recommends"),
        Some(false) => add("--no-install-recommends"),
        None => {}
    }
    if options.only_upgrade || (transaction.verb == PackageOperation::Upgrade && !transaction.targets.is_empty()) {
        add("--only-upgrade");
    }
    if options.skip_verify {
        add("--allow-unauthenticated");
    }
    if transaction.downgrade {
        add("--allow-downgrades");
    }
    if transaction.verb == PackageOperation::Reinstall {
        add("--reinstall");
    }
    if transaction.verb == PackageOperation::Download {
        add("--download-only");
    }
    if let Some(release) = options
        .fromrepo
        .as_deref()
        .filter(|_| !matches!(transaction.verb, PackageOperation::Remove | PackageOperation::Purge))
    {
        add("-t");
        add(sound(release)?);
    }
    add(match transaction.verb {
        PackageOperation::Install | PackageOperation::Reinstall | PackageOperation::Download => "install",
        PackageOperation::Remove => "remove",
        PackageOperation::Purge => "purge",
        PackageOperation::Upgrade if !transaction.targets.is_empty() => "install",
        PackageOperation::Upgrade => "upgrade",
        PackageOperation::DistUpgrade => "dist-upgrade",
    });
    for target in &transaction.targets {
        words.push(target_word(target)?);
    }
    Ok(words)
}

fn target_word(target: &TransactionPackage) -> Result<String> {
    if let Some(file) = &target.file {
        return Ok(file.to_string_lossy().into_owned());
    }
    let name = sound(&target.name)?;
    Ok(match &target.version {
        Some(version) => format!("{name}={}", sound_version(version)?),
        None => name.to_owned(),
    })
}
