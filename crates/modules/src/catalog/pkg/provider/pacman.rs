//! Arch's pacman.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rocksalt_core::Map;

use super::super::compare;
use super::{
    Foreseen, Options, Package, PackageArchive, PackageOperation, PackageProvider, PackageTransaction, PackageVersions,
    Packages, TransactionReport, command, failure, output, sound,
};
use crate::machine::{Probe, System};
use crate::{Error, Result};

pub struct Pacman;

const CONFIGURATION: &str = "/etc/pacman.conf";

fn words(transaction: &PackageTransaction) -> Result<Vec<String>> {
    let mut words = vec!["pacman".to_owned()];
    let files = transaction.targets.iter().any(|target| target.file.is_some());
    words.push(
        match transaction.verb {
            PackageOperation::Install | PackageOperation::Reinstall if files => "-U",
            PackageOperation::Install | PackageOperation::Reinstall => "-S",
            PackageOperation::Download => "-Sw",
            PackageOperation::Remove => "-R",
            // Also removes backup copies of configuration files.
            PackageOperation::Purge => "-Rn",
            PackageOperation::Upgrade | PackageOperation::DistUpgrade if transaction.targets.is_empty() => "-Su",
            PackageOperation::Upgrade | PackageOperation::DistUpgrade => "-S",
        }
        .to_owned(),
    );
    words.push("--noconfirm".into());
    if transaction.verb == PackageOperation::Install {
        words.push("--needed".into());
    }
    for target in &transaction.targets {
        words.push(match (&target.file, &transaction.options.fromrepo) {
            (Some(file), _) => file.to_string_lossy().into_owned(),
            (None, Some(repository)) => format!("{}/{}", sound(repository)?, sound(&target.name)?),
            (None, None) => sound(&target.name)?.to_owned(),
        });
    }
    Ok(words)
}

impl Pacman {
    fn run(&self, machine: &dyn System, argv: Vec<String>, env: &[(String, String)]) -> Result<TransactionReport> {
        let mut transaction = super::transaction(argv);
        transaction.merge_stderr = true;
        transaction.env.extend(env.iter().map(|(name, value)| (name.clone(), Some(value.clone()))));
        let mut waited = 0.0;
        loop {
            let output = machine.run(&transaction)?;
            if output.success() {
                return Ok(TransactionReport::default());
            }
            // Another process is running, or was killed: the lock file doesn't show which.
            if output.text().contains("unable to lock database") && waited < 60.0 {
                machine.sleep(1.0)?;
                waited += 1.0;
                continue;
            }
            return Ok(TransactionReport {
                errors: vec![failure(&transaction, &output)],
                ..TransactionReport::default()
            });
        }
    }

    /// The fields of `pacman -Si` or `-Qi`, a map for each package.
    fn details(&self, machine: &dyn Probe, verb: &str, names: &[String]) -> Result<Vec<BTreeMap<String, String>>> {
        let mut words = vec!["pacman".to_owned(), verb.to_owned()];
        for name in names {
            words.push(sound(name)?.to_owned());
        }
        // Unknown names cause an error exit, but the others are still printed.
        let output = machine.query(&command(words))?;
        Ok(blocks(&output.text()))
    }
}

fn blocks(text: &str) -> Vec<BTreeMap<String, String>> {
    let field = |line: &str| {
        let (key, value) = line.split_once(" : ")?;
        Some((key.trim().to_owned(), value.trim().to_owned()))
    };
    let block = |block: &str| block.lines().filter_map(field).collect::<BTreeMap<_, _>>();
    text.split("\n\n").map(block).filter(|fields| !fields.is_empty()).collect()
}

impl PackageProvider for Pacman {
    fn name(&self) -> &'static str {
        "pacman"
    }

    fn families(&self) -> &'static [&'static str] {
        &["Arch"]
    }

    fn program(&self) -> &'static str {
        "pacman"
    }

    fn compare(&self, one: &str, other: &str) -> Ordering {
        compare::pacman(one, other)
    }

    fn packages(&self, machine: &dyn Probe) -> Result<Arc<Packages>> {
        let look = command(["pacman", "-Q"]);
        let output = machine.query(&look)?;
        // It fails without output if no package is installed.
        if !output.success() && !output.stderr.is_empty() {
            return Err(Error::failed(failure(&look, &output)));
        }
        let text = output.text();
        let rows = text.lines().filter_map(|line| line.split_once(' '));
        let installed = rows.map(|(name, version)| (name.to_owned(), vec![version.trim().to_owned()])).collect();
        Ok(Arc::new(Packages { installed, ..Packages::default() }))
    }

    fn candidates(&self, machine: &dyn Probe, names: &[String], _: &Options) -> Result<BTreeMap<String, String>> {
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        let all = self.details(machine, "-Si", names)?;
        Ok(all.into_iter().filter_map(|mut one| Some((one.remove("Name")?, one.remove("Version")?))).collect())
    }

    /// A repository has only one version of each package.
    fn versions(&self, machine: &dyn Probe, names: &[String], options: &Options) -> Result<PackageVersions> {
        let all = self.candidates(machine, names, options)?;
        Ok(all.into_iter().map(|(name, version)| (name, vec![version])).collect())
    }

    fn upgrades(
        &self,
        machine: &dyn Probe,
        _: &Options,
        _: bool,
    ) -> Result<std::result::Result<BTreeMap<String, String>, String>> {
        // It exits with an error if there are none.
        let output = machine.query(&command(["pacman", "-Qu"]))?;
        let text = output.text();
        let row = |line: &str| match line.split_whitespace().collect::<Vec<_>>().as_slice() {
            [name, _, "->", new] => Some(((*name).to_owned(), (*new).to_owned())),
            _ => None,
        };
        Ok(Ok(text.lines().filter_map(row).collect()))
    }

    fn foresee(
        &self,
        machine: &dyn Probe,
        transaction: &PackageTransaction,
    ) -> Result<Option<std::result::Result<Vec<Foreseen>, String>>> {
        let goes = matches!(transaction.verb, PackageOperation::Remove | PackageOperation::Purge);
        let mut argv = words(transaction)?;
        argv.retain(|word| word != "--noconfirm");
        argv.splice(2..2, ["--print", "--print-format", "%n %v"].map(str::to_owned));
        let look = command(argv);
        let output = machine.query(&look)?;
        if !output.success() {
            return Ok(Some(Err(failure(&look, &output))));
        }
        let row = |line: &str| {
            let (name, version) = line.split_once(' ').filter(|(_, version)| !version.contains(' '))?;
            Some(Foreseen { name: name.to_owned(), new: (!goes).then(|| version.to_owned()), purged: goes })
        };
        let mut found: Vec<Foreseen> = output.text().lines().filter_map(row).collect();
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Some(Ok(found)))
    }

    fn execute(&self, machine: &dyn System, transaction: &PackageTransaction) -> Result<TransactionReport> {
        let available = match transaction.targets.iter().any(|target| target.version.is_some() && target.file.is_none())
        {
            true => {
                let names: Vec<String> = transaction.targets.iter().map(|target| target.name.clone()).collect();
                self.candidates(machine, &names, &transaction.options)?
            }
            false => BTreeMap::new(),
        };
        for target in transaction.targets.iter().filter(|target| target.file.is_none()) {
            // pacman can't install a given version, so the available one is checked before.
            if let Some(version) = &target.version
                && available.get(&target.name) != Some(version)
            {
                let there = available.get(&target.name).map_or("None", String::as_str);
                let text =
                    format!("No version matching '{}={version}' could be found (available: {there})", target.name);
                return Ok(TransactionReport { errors: vec![text], ..TransactionReport::default() });
            }
        }
        self.run(machine, words(transaction)?, &transaction.options.env)
    }

    fn refresh(&self, machine: &dyn System) -> Result<std::result::Result<Map, String>> {
        let report = self.run(machine, ["pacman", "-Sy", "--noconfirm"].map(str::to_owned).to_vec(), &[])?;
        Ok(if report.errors.is_empty() { Ok(Map::new()) } else { Err(report.errors.join("\n")) })
    }

    fn inspect(&self, machine: &dyn Probe, archive: &PackageArchive) -> Result<Package> {
        let PackageArchive::Path(path) = archive else {
            return Err(Error::failed("pacman only looks at package files that are on the machine")
                .hint("bring it there with file.managed, and give its path"));
        };
        let text = output(machine, &["pacman", "-Qp", &path.to_string_lossy()])?;
        match text.trim().split_once(' ') {
            Some((name, version)) => Ok(Package { name: name.to_owned(), version: version.to_owned() }),
            None => Err(Error::failed(format!("Unable to get info for {}", path.display()))),
        }
    }

    /// `IgnorePkg` in its configuration.
    fn holds(&self, machine: &dyn Probe) -> Result<BTreeMap<String, Option<String>>> {
        let path = Path::new(CONFIGURATION);
        let content = machine.read(path).map_err(|error| Error::io("read", path, &error))?;
        let text = String::from_utf8_lossy(&content).into_owned();
        let lists = text.lines().filter_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == "IgnorePkg").then_some(value)
        });
        Ok(lists.flat_map(str::split_whitespace).map(|name| (name.to_owned(), None)).collect())
    }

    fn set_hold(&self, machine: &dyn System, packages: &[(String, Option<String>)], hold: bool) -> Result<()> {
        let path = Path::new(CONFIGURATION);
        let mut names: Vec<String> = self.holds(machine)?.into_keys().collect();
        let meant: Vec<&String> = packages.iter().map(|(name, _)| name).collect();
        names.retain(|name| !meant.contains(&name));
        if hold {
            names.extend(meant.into_iter().cloned());
        }
        let content = machine.read(path).map_err(|error| Error::io("read", path, &error))?;
        let mut text = String::new();
        let mut line = (!names.is_empty()).then(|| format!("IgnorePkg = {}\n", names.join(" ")));
        for old in String::from_utf8_lossy(&content).split_inclusive('\n') {
            if old.split_once('=').is_some_and(|(key, _)| key.trim() == "IgnorePkg") {
                text += &line.take().unwrap_or_default();
                continue;
            }
            text += old;
            if old.trim() == "[options]" && !String::from_utf8_lossy(&content).lines().any(is_ignore) {
                text += &line.take().unwrap_or_default();
            }
        }
        machine.write(path, text.as_bytes(), None).map_err(|error| Error::io("write", path, &error))
    }

    fn ending(&self) -> &'static str {
        "pkg.tar.zst"
    }

    fn owner(&self, machine: &dyn Probe, path: &Path) -> Result<String> {
        let output = machine.query(&command(["pacman", "-Qqo", &path.to_string_lossy()]))?;
        Ok(output.text().trim().to_owned())
    }

    fn files(&self, machine: &dyn Probe, names: &[String]) -> Result<BTreeMap<String, Vec<String>>> {
        let mut words = vec!["pacman", "-Ql"];
        for name in names {
            words.push(sound(name)?);
        }
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, path) in output(machine, &words)?.lines().filter_map(|line| line.split_once(' ')) {
            found.entry(name.to_owned()).or_default().push(path.to_owned());
        }
        Ok(found)
    }

    fn info(&self, machine: &dyn Probe, names: &[String]) -> Result<Map> {
        let keys = [
            ("Version", "version"),
            ("Description", "description"),
            ("Architecture", "arch"),
            ("URL", "url"),
            ("Licenses", "license"),
            ("Packager", "packager"),
            ("Installed Size", "size"),
            ("Install Date", "install_date"),
        ];
        let mut found = Map::new();
        for mut one in self.details(machine, "-Qi", names)? {
            let known =
                keys.iter().filter_map(|(theirs, ours)| Some(((*ours).into(), one.get(*theirs)?.as_str().into())));
            let known: Map = known.collect();
            if let Some(name) = one.remove("Name") {
                found.insert(name, known);
            }
        }
        Ok(found)
    }
}

fn is_ignore(line: &str) -> bool {
    line.split_once('=').is_some_and(|(key, _)| key.trim() == "IgnorePkg")
}
