//! `pkg.uptodate`: all installed packages have the newest available version.

use std::collections::BTreeMap;

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::provider::{
    Options, PackageOperation, PackageProvider, PackageTransaction, TransactionPackage, provider,
};
use super::super::requests;
use super::super::{changes, refresh};
use super::{Decision, Flag, State, Step, Touches, Verdict, problem};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

/// Makes sure that there is nothing to upgrade.
///
/// ```yaml
/// all of it:
///   pkg.uptodate:
///     - refresh: True
/// ```
#[state("pkg.uptodate", aggregates)]
pub struct Uptodate {
    /// Any text.
    #[allow(dead_code, reason = "every state has one")]
    name: String,
    /// Refresh the package lists first.
    refresh: Value,
    /// Only these.
    pkgs: Value,
    /// Whatever has to come or go for it may do so (apt's `dist-upgrade`).
    dist_upgrade: Flag,
    /// Accept unsigned packages.
    #[allow(dead_code, reason = "read with the other options")]
    skip_verify: Value,
    /// The repository (of apt: the release) to take them from.
    #[allow(dead_code, reason = "read with the other options")]
    fromrepo: Value,
    /// Package lists younger than this many seconds are not refreshed.
    cache_valid_time: Value,
    /// Put the packages' configuration files over changed ones (apt).
    #[allow(dead_code, reason = "read with the other options")]
    force_conf_new: Value,
    /// Repositories to use besides (dnf).
    #[allow(dead_code, reason = "read with the other options")]
    enablerepo: Value,
    /// Repositories not to use (dnf).
    #[allow(dead_code, reason = "read with the other options")]
    disablerepo: Value,
}

impl State for Uptodate {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        if !matches!(self.refresh, Value::Bool(_) | Value::Null) {
            return Ok(Decision::Settled(Verdict::bad("refresh must be either True or False")));
        }
        if !step.test && self.refresh.truth() {
            return Decision::own(&None::<PackageTransaction>, Verdict::would(""));
        }
        let provider = provider(machine)?;
        match self.find(machine, provider, step)? {
            Err(verdict) => Ok(Decision::Settled(verdict)),
            Ok((transaction, new)) => {
                let now = provider.packages(machine)?;
                let changes = match provider.foresee(machine, &transaction).ok().flatten() {
                    Some(Ok(found)) if step.test => changes::foreseen(&now, &found),
                    _ => {
                        let one = |(name, new): (&String, &String)| {
                            let old = changes::text(&now.installed, name);
                            (Value::from(name.as_str()), Value::from(changes::change(&old, new)))
                        };
                        new.iter().map(one).collect::<Map>()
                    }
                };
                Decision::own(&Some(transaction), Verdict::would("System update will be performed").changes(changes))
            }
        }
    }

    fn apply(&self, plan: Plan, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        let transaction: Option<PackageTransaction> = plan.into_own()?;
        let provider = provider(machine)?;
        let transaction = match transaction {
            Some(transaction) => transaction,
            None => {
                let seconds = super::joined::seconds(&self.cache_valid_time);
                if let Err(said) = refresh::refresh(machine, provider, seconds)? {
                    return Ok(Verdict::bad(said));
                }
                match self.find(machine, provider, step)? {
                    Ok((transaction, _)) => transaction,
                    Err(verdict) => return Ok(verdict),
                }
            }
        };
        let before = provider.packages(machine)?;
        let report = provider.execute(machine, &transaction)?;
        let after = provider.packages(machine)?;
        let changes = changes::between(&before.installed, &after.installed);
        let verdict = match report.errors.is_empty() {
            false => problem("upgrading packages", &report.errors, changes),
            true => {
                let missing = transaction.targets.iter().filter(|target| !changes.contains_key(&target.name));
                let missing: Vec<&str> = missing.map(|target| target.name.as_str()).collect();
                match missing.is_empty() {
                    true => Verdict::good("Upgrade ran successfully").changes(changes),
                    false => {
                        let text = format!("The following package(s) failed to update: {}", missing.join(", "));
                        Verdict::bad(text).changes(changes)
                    }
                }
            }
        };
        Ok(Verdict { warnings: report.warnings, ..verdict })
    }

    fn touches(&self) -> Touches {
        super::packages()
    }
}

/// The transaction, and the new versions.
type UpgradeSet = (PackageTransaction, BTreeMap<String, String>);

impl Uptodate {
    /// The transaction and the new versions; a verdict if there is nothing to do.
    #[allow(clippy::result_large_err, reason = "a verdict found on the way is how most runs end")]
    fn find(
        &self,
        machine: &dyn Probe,
        provider: &dyn PackageProvider,
        step: &Step<'_>,
    ) -> Result<Result<UpgradeSet, Verdict>> {
        let options = Options::read(step.low);
        let mut new = match provider.upgrades(machine, &options, self.dist_upgrade.0)? {
            Ok(new) => new,
            Err(said) => return Ok(Err(Verdict::bad(said))),
        };
        let mut targets = Vec::new();
        if self.pkgs.as_list().is_some() {
            let Some(only) = requests::of_packages(&self.pkgs) else {
                return Ok(Err(Verdict::bad("Invalidly formatted \"pkgs\" parameter. See minion log.")));
            };
            if let Err(error) = requests::sound_names(&only) {
                return Ok(Err(Verdict::bad(error.to_string())));
            }
            new.retain(|name, _| only.iter().any(|request| request.name == *name));
            targets.extend(new.keys().map(|name| TransactionPackage { name: name.clone(), version: None, file: None }));
        }
        if new.is_empty() {
            return Ok(Err(Verdict::good("System is already up-to-date")));
        }
        let verb = if self.dist_upgrade.0 && targets.is_empty() {
            PackageOperation::DistUpgrade
        } else {
            PackageOperation::Upgrade
        };
        Ok(Ok((PackageTransaction { verb, targets, downgrade: false, held: false, options }, new)))
    }
}
