//! An installation: its transactions, the predicted changes, and the report.

use rocksalt_core::{Map, Value};

use super::super::changes;
use super::super::condition::Judge;
use super::super::provider::{
    Options, PackageOperation, PackageTransaction, PackageVersions, Packages, TransactionPackage, TransactionReport,
};
use super::super::requests::PackageRequest;
use super::super::sources::{Laid, PackageFile};
use crate::Result;
use crate::machine::{Probe, System};

/// The packages to install, and the options.
pub struct InstallAttempt<'a> {
    pub judge: Judge<'a>,
    pub options: &'a Options,
    pub targets: &'a [PackageRequest],
    pub reinstall: &'a [PackageRequest],
    /// Files to install instead of a repository's packages.
    pub files: &'a [PackageFile],
    /// Temporarily releases held packages that are requested.
    pub update_holds: bool,
}

/// The predicted changes, if they can be predicted.
pub struct Forecast {
    pub changes: Map,
    /// Why it is currently impossible.
    pub warnings: Vec<String>,
}

/// The report of an installation.
pub struct InstallReport {
    pub changes: Map,
    pub report: TransactionReport,
    /// The packages afterwards.
    pub packages: PackageVersions,
}

impl InstallAttempt<'_> {
    /// The transactions, and reasons against them.
    fn transactions(
        &self,
        machine: &dyn Probe,
        now: &Packages,
    ) -> Result<std::result::Result<Vec<PackageTransaction>, Vec<String>>> {
        let provider = self.judge.provider;
        let mut errors = Vec::new();
        let mut transactions = Vec::new();
        let plain: Vec<&PackageRequest> = self.targets.iter().chain(self.reinstall).collect();
        let asked = plain.iter().filter(|request| request.version.is_some() && self.file(request).is_none());
        let asked: Vec<String> = asked.map(|request| request.name.clone()).collect();
        let known =
            if asked.is_empty() { PackageVersions::new() } else { provider.versions(machine, &asked, self.options)? };
        for (verb, requests) in
            [(PackageOperation::Install, self.targets), (PackageOperation::Reinstall, self.reinstall)]
        {
            let mut transaction = PackageTransaction {
                verb,
                targets: Vec::new(),
                downgrade: false,
                held: false,
                options: self.options.clone(),
            };
            for request in requests {
                let installed = now.of(machine, provider, &request.name);
                let target = match (self.file(request), &request.version) {
                    (Some(found), _) => found.target(found.path().map(ToOwned::to_owned)),
                    (None, None) => TransactionPackage { name: request.name.clone(), version: None, file: None },
                    (None, Some(version)) => {
                        let available = known.get(&request.name).map_or(&[][..], Vec::as_slice);
                        match self.judge.choose(&request.name, version, available) {
                            Ok(version) => {
                                TransactionPackage { name: request.name.clone(), version: Some(version), file: None }
                            }
                            Err(text) => {
                                errors.push(text);
                                continue;
                            }
                        }
                    }
                };
                let older = |version: &String| installed.iter().any(|now| provider.compare(version, now).is_lt());
                transaction.downgrade |= target.version.as_ref().is_some_and(older);
                transaction.targets.push(target);
            }
            if !transaction.targets.is_empty() {
                transactions.push(transaction);
            }
        }
        Ok(if errors.is_empty() { Ok(transactions) } else { Err(errors) })
    }

    fn file(&self, request: &PackageRequest) -> Option<&PackageFile> {
        self.files.iter().find(|found| found.name == request.name)
    }

    /// The result of a dry run.
    pub fn foresee(&self, machine: &dyn Probe) -> Result<Forecast> {
        let provider = self.judge.provider;
        let now = provider.packages(machine)?;
        let transactions = match self.transactions(machine, &now)? {
            Ok(transactions) => transactions,
            Err(warnings) => return Ok(Forecast { changes: self.guess(machine, &now)?, warnings }),
        };
        let mut changes = Map::new();
        let held = self.held(machine)?;
        for mut transaction in transactions {
            transaction.held =
                transaction.targets.iter().any(|target| held.iter().any(|(name, _)| *name == target.name));
            let transaction = &transaction;
            let laid = self.files.is_empty() || transaction.targets.iter().all(|target| target.file.is_some());
            let said = if laid { provider.foresee(machine, transaction)? } else { None };
            match said {
                Some(Ok(found)) => changes.extend(changes::foreseen(&now, &found)),
                Some(Err(said)) => return Ok(Forecast { changes: self.guess(machine, &now)?, warnings: vec![said] }),
                None => changes.extend(self.guess(machine, &now)?),
            }
        }
        // A reinstalled package may not change its version.
        for request in self.reinstall {
            let old = changes::text(&now.installed, &request.name);
            if !changes.contains_key(&request.name) {
                changes.insert(request.name.as_str(), changes::change(&old, &old));
            }
        }
        changes.sort();
        Ok(Forecast { changes, warnings: Vec::new() })
    }

    /// Only the requested packages, each with the newest version if it is known.
    fn guess(&self, machine: &dyn Probe, now: &Packages) -> Result<Map> {
        let names: Vec<String> = self.targets.iter().map(|request| request.name.clone()).collect();
        let newest = match self.files.is_empty() {
            true => self.judge.provider.candidates(machine, &names, self.options).unwrap_or_default(),
            false => std::collections::BTreeMap::new(),
        };
        let one = |request: &PackageRequest| {
            let file = self.file(request).map(|found| found.package.version.clone());
            let new = file.or_else(|| newest.get(&request.name).filter(|_| request.version.is_none()).cloned());
            let old = now.of(machine, self.judge.provider, &request.name).join(",");
            let new = new.unwrap_or_else(|| "installed".into());
            (Value::from(request.name.as_str()), Value::from(changes::change(&old, &new)))
        };
        Ok(self.targets.iter().map(one).collect())
    }

    /// Runs the installation.
    pub fn execute(&self, machine: &dyn System) -> Result<InstallReport> {
        let provider = self.judge.provider;
        let before = provider.packages(machine)?;
        let transactions = match self.transactions(machine, &before)? {
            Ok(transactions) => transactions,
            Err(errors) => {
                let report = TransactionReport { errors, ..TransactionReport::default() };
                return Ok(InstallReport { changes: Map::new(), report, packages: before.installed.clone() });
            }
        };
        let held = self.held(machine)?;
        if !held.is_empty() && !self.update_holds && !provider.breaks_holds() {
            let names: Vec<&str> = held.iter().map(|(name, _)| name.as_str()).collect();
            let text =
                format!("The following package(s) are being held and will not be upgraded: {}", names.join(", "));
            let report = TransactionReport { errors: vec![text], ..TransactionReport::default() };
            return Ok(InstallReport { changes: Map::new(), report, packages: before.installed.clone() });
        }
        if !held.is_empty() {
            provider.set_hold(machine, &held, false)?;
        }
        let report = self.run(machine, transactions);
        if !held.is_empty() {
            // Whether or not it succeeded.
            provider.set_hold(machine, &held, true)?;
        }
        let report = report?;
        let after = provider.packages(machine)?;
        let mut changes = changes::between(&there(&before), &there(&after));
        if report.errors.is_empty() {
            for request in self.reinstall {
                let text = |packages: &Packages| packages.of(machine, provider, &request.name).join(",");
                changes.insert(provider.normal(machine, &request.name), changes::change(&text(&before), &text(&after)));
            }
            changes.sort();
        }
        Ok(InstallReport { changes, report, packages: there(&after) })
    }

    fn run(&self, machine: &dyn System, transactions: Vec<PackageTransaction>) -> Result<TransactionReport> {
        let provider = self.judge.provider;
        let mut report = TransactionReport::default();
        for mut transaction in transactions {
            let meant = |found: &&PackageFile| transaction.targets.iter().any(|target| target.name == found.name);
            let files: Vec<&PackageFile> = self.files.iter().filter(meant).collect();
            let laid = Laid::new(machine, &files, provider.ending())?;
            if !files.is_empty() {
                transaction.targets.clone_from(&laid.targets);
            }
            let said = provider.execute(machine, &transaction)?;
            report.warnings.extend(said.warnings);
            report.errors.extend(said.errors);
            if !report.errors.is_empty() {
                break;
            }
        }
        Ok(report)
    }

    /// The requested packages that are installed and held.
    fn held(&self, machine: &dyn Probe) -> Result<Vec<(String, Option<String>)>> {
        let provider = self.judge.provider;
        let now = provider.packages(machine)?;
        let meant: Vec<&str> = self.targets.iter().chain(self.reinstall).map(|request| request.name.as_str()).collect();
        if !meant.iter().any(|name| !now.of(machine, provider, name).is_empty()) {
            return Ok(Vec::new());
        }
        let holds = provider.holds(machine)?;
        Ok(holds.into_iter().filter(|(name, _)| meant.contains(&name.as_str())).collect())
    }
}

/// The installed packages, including those marked to be purged.
pub fn there(packages: &Packages) -> PackageVersions {
    let mut all = packages.purge_desired.clone();
    all.extend(packages.installed.iter().map(|(name, versions)| (name.clone(), versions.clone())));
    all
}
