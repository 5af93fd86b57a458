//! `pkg.removed` and `pkg.purged`: packages are not installed.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::super::condition::Judge;
use super::super::provider::{
    Options, PackageOperation, PackageProvider, PackageTransaction, Packages, TransactionPackage, provider,
};
use super::super::requests::{self, PackageRequest};
use super::super::{changes, provider::TransactionReport};
use super::{Decision, State, Step, StepJoin, Touches, Verdict, joined, problem};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

/// Makes sure that packages are not installed. What they were configured with stays.
///
/// ```yaml
/// telnetd:
///   pkg.removed
/// several:
///   pkg.removed:
///     - pkgs: [telnetd, rsh-server]
/// ```
#[state("pkg.removed", watches, aggregates)]
pub struct Removed {
    /// The package, if `pkgs` is not given.
    name: String,
    /// Only if it has this version, or one that fits (`<2`).
    version: Value,
    /// Several packages, each a name or `{name: version}`.
    pkgs: Value,
    /// Accepted and ignored: a name is found with and without its architecture.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    normalize: Value,
    /// Compare versions without what stands before a colon.
    ignore_epoch: Value,
    /// Variables for the manager and the packages' scripts.
    #[allow(dead_code, reason = "read with the other options")]
    env: Value,
}

/// Makes sure that nothing of packages is left, not even their configuration.
///
/// ```yaml
/// apache2:
///   pkg.purged
/// ```
///
/// Where a package manager knows no such thing they are removed.
#[state("pkg.purged", watches, aggregates)]
pub struct Purged {
    /// The package, if `pkgs` is not given.
    name: String,
    /// Only if it has this version, or one that fits (`<2`).
    version: Value,
    /// Several packages, each a name or `{name: version}`.
    pkgs: Value,
    /// Accepted and ignored: a name is found with and without its architecture.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    normalize: Value,
    /// Compare versions without what stands before a colon.
    ignore_epoch: Value,
    /// Variables for the manager and the packages' scripts.
    #[allow(dead_code, reason = "read with the other options")]
    env: Value,
}

impl State for Removed {
    const JOIN: Option<&'static StepJoin> = Some(&joined::REMOVED);
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        self.order().plan(machine, step)?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: UninstallPlan = plan.into_own()?;
        self.order().execute(plan, machine)
    }

    fn touches(&self) -> Touches {
        super::packages()
    }
}

impl State for Purged {
    const JOIN: Option<&'static StepJoin> = Some(&joined::PURGED);
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        self.order().plan(machine, step)?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: UninstallPlan = plan.into_own()?;
        self.order().execute(plan, machine)
    }

    fn touches(&self) -> Touches {
        super::packages()
    }
}

impl Removed {
    fn order(&self) -> Order<'_> {
        let ignore_epoch = &self.ignore_epoch;
        Order { purge: false, name: &self.name, version: &self.version, pkgs: &self.pkgs, ignore_epoch }
    }
}

impl Purged {
    fn order(&self) -> Order<'_> {
        let ignore_epoch = &self.ignore_epoch;
        Order { purge: true, name: &self.name, version: &self.version, pkgs: &self.pkgs, ignore_epoch }
    }
}

/// The arguments that both states share.
struct Order<'a> {
    purge: bool,
    name: &'a str,
    version: &'a Value,
    pkgs: &'a Value,
    ignore_epoch: &'a Value,
}

#[derive(Serialize, Deserialize)]
pub struct UninstallPlan {
    requests: Vec<PackageRequest>,
    targets: Vec<String>,
    transaction: PackageTransaction,
}

impl Order<'_> {
    fn action(&self) -> &'static str {
        if self.purge { "purge" } else { "remove" }
    }

    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision<UninstallPlan>> {
        let requests = match self.requests() {
            Ok(requests) => requests,
            Err(verdict) => return Ok(Decision::Settled(verdict)),
        };
        let provider = provider(machine)?;
        let now = provider.packages(machine)?;
        let ignore_epoch = Some(self.ignore_epoch).filter(|value| !value.is_null()).map(Value::truth);
        let judge = Judge { provider, ignore_epoch };
        let mut exact = false;
        let mut targets = Vec::new();
        for request in &requests {
            let name = found(machine, provider, &now, &request.name);
            let left = self.purge && now.removed.contains_key(&name);
            let there = super::install::there(&now).get(&name).is_some_and(|versions| match &request.version {
                None => true,
                Some(version) => {
                    exact = true;
                    judge.fulfilled(versions, version, false)
                }
            });
            if there || left {
                targets.push(name);
            }
        }
        targets.sort();
        if targets.is_empty() {
            let text = if self.purge { none_there(true) } else { absent(exact) };
            return Ok(Decision::Settled(Verdict::good(text)));
        }
        let target = |name: &String| TransactionPackage { name: name.clone(), version: None, file: None };
        let transaction = PackageTransaction {
            verb: if self.purge { PackageOperation::Purge } else { PackageOperation::Remove },
            targets: targets.iter().map(target).collect(),
            downgrade: false,
            held: false,
            options: Options::read(step.low),
        };
        let plan = UninstallPlan { requests, targets, transaction };
        let would = if step.test { self.dry(machine, provider, &now, &plan)? } else { Verdict::would("") };
        Ok(Decision::Change(plan, would))
    }

    #[allow(clippy::result_large_err, reason = "a verdict found on the way is how most runs end")]
    fn requests(&self) -> Result<Vec<PackageRequest>, Verdict> {
        let requests = match self.pkgs.truth() {
            true => requests::of_packages(self.pkgs)
                .filter(|requests| !requests.is_empty())
                .ok_or_else(|| Verdict::bad("Invalidly formatted pkgs parameter. See minion log."))?,
            false => {
                let version = Some(self.version).filter(|version| version.truth()).map(ToString::to_string);
                vec![PackageRequest { name: self.name.to_owned(), version }]
            }
        };
        if let Some(text) = requests::twice(self.pkgs, &requests) {
            return Err(Verdict::bad(format!("An error was encountered while parsing targets: {text}")));
        }
        requests::sound_names(&requests).map_err(|error| Verdict::bad(error.to_string()))?;
        Ok(requests)
    }

    fn dry(
        &self,
        machine: &dyn Probe,
        provider: &dyn PackageProvider,
        now: &Packages,
        plan: &UninstallPlan,
    ) -> Result<Verdict> {
        let verdict = Verdict::would(will_be(self.action(), &plan.targets.join(", ")));
        let verdict = verdict.output(joined::TARGETS, names(&plan.targets));
        let plain = || {
            let one = |name: &String| {
                let old = changes::text(&super::install::there(now), name);
                (Value::from(name.as_str()), Value::from(changes::change(&old, "")))
            };
            plan.targets.iter().map(one).collect::<Map>()
        };
        Ok(match provider.foresee(machine, &plan.transaction)? {
            Some(Ok(found)) if self.purge && provider.keeps_configuration() => {
                verdict.changes(changes::foreseen_purge(now, &found))
            }
            Some(Ok(found)) => verdict.changes(changes::foreseen(now, &found)),
            Some(Err(said)) => verdict.changes(plain()).warning(said),
            None => verdict.changes(plain()),
        })
    }

    fn execute(&self, plan: UninstallPlan, machine: &dyn System) -> Result<Verdict> {
        let provider = provider(machine)?;
        let before = provider.packages(machine)?;
        let TransactionReport { errors, warnings } = provider.execute(machine, &plan.transaction)?;
        let after = provider.packages(machine)?;
        let there = super::install::there;
        let installed = changes::between(&there(&before), &there(&after));
        let changes = match self.purge && provider.keeps_configuration() {
            true => changes::purge(installed, changes::between(&before.removed, &after.removed)),
            false => installed,
        };
        if !errors.is_empty() {
            let verdict = problem("removing package(s)", &errors, changes);
            return Ok(Verdict { warnings, ..verdict });
        }
        let still =
            |name: &&String| there(&after).contains_key(*name) || (self.purge && after.removed.contains_key(*name));
        let failed: Vec<&str> = plan.targets.iter().filter(still).map(String::as_str).collect();
        if !failed.is_empty() {
            let text = format!("The following packages failed to {}: {}.", self.action(), failed.join(", "));
            return Ok(Verdict { warnings, ..Verdict::bad(text).changes(changes) });
        }
        let others = |request: &&PackageRequest| {
            !plan.targets.contains(&request.name) && !plan.targets.contains(&provider.normal(machine, &request.name))
        };
        let mut others: Vec<&str> = plan.requests.iter().filter(others).map(|request| request.name.as_str()).collect();
        others.sort_unstable();
        let text = were(self.action(), &plan.targets.join(", "), &others.join(", "));
        let verdict = Verdict::good(text).changes(changes).output(joined::TARGETS, names(&plan.targets));
        Ok(Verdict { warnings, ..verdict })
    }
}

/// The name under which the package is installed.
fn found(machine: &dyn Probe, provider: &dyn PackageProvider, now: &Packages, name: &str) -> String {
    let known = |name: &str| {
        now.installed.contains_key(name) || now.removed.contains_key(name) || now.purge_desired.contains_key(name)
    };
    match known(name) {
        true => name.to_owned(),
        false => provider.normal(machine, name),
    }
}

fn names(targets: &[String]) -> Vec<Value> {
    targets.iter().map(|name| name.as_str().into()).collect()
}

fn absent(exact: bool) -> String {
    format!("All specified packages{} are already absent", if exact { " (matching specified versions)" } else { "" })
}

/// The comment if nothing was to be done.
pub fn none_there(purge: bool) -> String {
    match purge {
        true => "None of the targeted packages are installed or partially installed".into(),
        false => absent(false),
    }
}

pub fn will_be(action: &str, targets: &str) -> String {
    format!("The following packages will be {action}d: {targets}.")
}

pub fn were(action: &str, targets: &str, others: &str) -> String {
    match others.is_empty() {
        true => format!("All targeted packages were {action}d."),
        false => {
            format!(
                "The following packages were not installed: {others} The following packages were {action}d: {targets}."
            )
        }
    }
}
