//! `pkg.latest`: packages are installed in the newest available version.

use rocksalt_core::Value;
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::super::condition::Judge;
use super::super::provider::{Options, PackageProvider, provider};
use super::super::refresh;
use super::super::requests::{self, PackageRequest};
use super::install::InstallAttempt;
use super::manager_arguments::ManagerArguments;
use super::{Decision, Flag, State, Step, StepJoin, Touches, Verdict, joined, problem};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

/// Makes sure that packages are installed, and are the newest that there are.
///
/// ```yaml
/// openssl:
///   pkg.latest
/// several:
///   pkg.latest:
///     - pkgs: [openssl, ca-certificates]
/// ```
///
/// The lists of what there is are fetched first, once in a run. A dry run takes them as they are.
#[state("pkg.latest", watches, aggregates)]
pub struct Latest {
    /// The package, if `pkgs` is not given.
    name: String,
    /// Fetch the lists of what there is first; unless told, once in a run.
    refresh: Value,
    /// Several packages, in one transaction.
    pkgs: Value,
    /// Refused: there is nothing newer than a file.
    sources: Value,
    /// Accepted and ignored: it is for Gentoo.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    watch_flags: Value,
    /// Change packages that are held, and hold them again.
    update_holds: Flag,
    /// Package lists younger than this many seconds are not refreshed.
    cache_valid_time: Value,
    #[flatten]
    #[allow(dead_code, reason = "read with the step's other options")]
    manager: ManagerArguments,
}

#[derive(Serialize, Deserialize)]
pub struct UpgradePlan {
    /// The packages to install, with their new versions.
    targets: Vec<PackageRequest>,
    /// The packages that have the newest version already, with it.
    stay: Vec<(String, String)>,
}

impl State for Latest {
    const JOIN: Option<&'static StepJoin> = Some(&joined::LATEST);
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        if let Some(verdict) = self.refused() {
            return Ok(Decision::Settled(verdict));
        }
        let provider = provider(machine)?;
        if !step.test && refresh::is_due(machine, &self.refresh) {
            return Decision::own(&None::<UpgradePlan>, Verdict::would(""));
        }
        match self.find(machine, provider, step)? {
            Err(verdict) => Ok(Decision::Settled(verdict)),
            Ok(plan) => {
                let would = if step.test { self.dry(machine, provider, &plan, step)? } else { Verdict::would("") };
                Decision::own(&Some(plan), would)
            }
        }
    }

    fn apply(&self, plan: Plan, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        let plan: Option<UpgradePlan> = plan.into_own()?;
        let provider = provider(machine)?;
        let plan = match plan {
            Some(plan) => plan,
            None => {
                if let Err(said) = refresh::refresh(machine, provider, joined::seconds(&self.cache_valid_time))? {
                    return Ok(Verdict::bad(format!(
                        "An error was encountered while checking the newest available version of package(s): {said}"
                    )));
                }
                match self.find(machine, provider, step)? {
                    Ok(plan) => plan,
                    Err(verdict) => return Ok(verdict),
                }
            }
        };
        self.install(machine, provider, &plan, step)
    }

    fn touches(&self) -> Touches {
        super::packages()
    }
}

impl Latest {
    fn refused(&self) -> Option<Verdict> {
        if self.sources.truth() {
            return Some(Verdict::bad("The \"sources\" parameter is not supported."));
        }
        if self.pkgs.as_list().is_some_and(<[Value]>::is_empty) {
            return Some(Verdict::good("No packages to install provided"));
        }
        let Some(desired) = self.desired() else {
            return Some(Verdict::bad("Invalidly formatted \"pkgs\" parameter. See minion log."));
        };
        if let Some(text) = requests::twice(&self.pkgs, &desired) {
            return Some(Verdict::bad(text));
        }
        requests::sound_names(&desired).err().map(|error| Verdict::bad(error.to_string()))
    }

    fn desired(&self) -> Option<Vec<PackageRequest>> {
        match self.pkgs.truth() {
            true => requests::of_packages(&self.pkgs),
            false => Some(vec![PackageRequest { name: self.name.clone(), version: None }]),
        }
    }

    #[allow(clippy::result_large_err, reason = "a verdict found on the way is how most runs end")]
    fn find(
        &self,
        machine: &dyn Probe,
        provider: &dyn PackageProvider,
        step: &Step<'_>,
    ) -> Result<Result<UpgradePlan, Verdict>> {
        let desired = requests::normal(machine, provider, self.desired().unwrap_or_default());
        let names: Vec<String> = desired.iter().map(|request| request.name.clone()).collect();
        let newest = match provider.candidates(machine, &names, &Options::read(step.low)) {
            Ok(newest) => newest,
            Err(error) => {
                return Ok(Err(Verdict::bad(format!(
                    "An error was encountered while checking the newest available version of package(s): {error}"
                ))));
            }
        };
        let now = provider.packages(machine)?;
        let (mut targets, mut stay, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        for name in names {
            let installed = now.of(machine, provider, &name);
            match (newest.get(&name), installed) {
                (None, []) => problems.push(format!("No information found for '{name}'.")),
                (Some(newest), installed)
                    if !installed.iter().any(|version| provider.compare(version, newest).is_ge()) =>
                {
                    targets.push(PackageRequest { name, version: Some(newest.clone()) });
                }
                (_, installed) => stay.push((name, installed.join(","))),
            }
        }
        if !problems.is_empty() {
            return Ok(Err(Verdict::bad(problems.join(" "))));
        }
        if targets.is_empty() {
            return Ok(Err(Verdict::good(up_to_date(&desired))));
        }
        Ok(Ok(UpgradePlan { targets, stay }))
    }

    fn attempt<'a>(
        &self,
        provider: &'a dyn PackageProvider,
        targets: &'a [PackageRequest],
        options: &'a Options,
    ) -> InstallAttempt<'a> {
        let judge = Judge { provider, ignore_epoch: None };
        InstallAttempt { judge, options, targets, reinstall: &[], files: &[], update_holds: self.update_holds.0 }
    }

    fn dry(
        &self,
        machine: &dyn Probe,
        provider: &dyn PackageProvider,
        plan: &UpgradePlan,
        step: &Step<'_>,
    ) -> Result<Verdict> {
        let options = Options::read(step.low);
        let forecast = self.attempt(provider, &asked(provider, &plan.targets), &options).foresee(machine)?;
        let names = sorted(plan.targets.iter().map(|request| request.name.clone()));
        let mut comment = vec![format!("The following packages would be installed/upgraded: {}", names.join(", "))];
        if !plan.stay.is_empty() {
            let shown = sorted(plan.stay.iter().map(|(name, version)| format!("{name} ({version})")));
            comment.push(match shown.len() <= 10 {
                true => format!("The following packages are already up-to-date: {}", shown.join(", ")),
                false => format!("{} packages are already up-to-date", shown.len()),
            });
        }
        let verdict = Verdict::would(comment.join("\n")).changes(forecast.changes);
        Ok(Verdict { warnings: forecast.warnings, ..verdict.output(joined::TARGETS, targets(&plan.targets)) })
    }

    fn install(
        &self,
        machine: &dyn System,
        provider: &dyn PackageProvider,
        plan: &UpgradePlan,
        step: &Step<'_>,
    ) -> Result<Verdict> {
        let options = Options::read(step.low);
        let done = self.attempt(provider, &asked(provider, &plan.targets), &options).execute(machine)?;
        let warnings = done.report.warnings;
        if !done.report.errors.is_empty() {
            let inner = problem("installing package(s)", &done.report.errors, done.changes);
            let comment = format!("An error was encountered while installing package(s): {}", inner.comment);
            return Ok(Verdict { comment, warnings, ..inner });
        }
        let updated = |request: &&PackageRequest| {
            let new = done.changes.get(&request.name).and_then(|change| change.as_map()?.get("new")?.as_str());
            new.is_some_and(|new| new.split(',').any(|version| Some(version) == request.version.as_deref()))
        };
        let (good, failed): (Vec<&PackageRequest>, Vec<&PackageRequest>) = plan.targets.iter().partition(updated);
        let names = |all: Vec<&PackageRequest>| sorted(all.into_iter().map(|request| request.name.clone())).join(", ");
        let result = Some(failed.is_empty());
        let mut comment = Vec::new();
        if !failed.is_empty() {
            comment.push(format!("The following packages failed to update: {}", names(failed)));
        }
        if !good.is_empty() {
            comment.push(format!("The following packages were successfully installed/upgraded: {}", names(good)));
        }
        if !plan.stay.is_empty() {
            let shown = sorted(plan.stay.iter().map(|(name, _)| name.clone()));
            comment.push(match shown.len() <= 10 {
                true => format!("The following packages were already up-to-date: {}", shown.join(", ")),
                false => format!("{} packages were already up-to-date ", shown.len()),
            });
        }
        let verdict = Verdict::good(comment.join(" ")).changes(done.changes);
        Ok(Verdict { result, warnings, ..verdict.output(joined::TARGETS, targets(&plan.targets)) })
    }
}

pub fn up_to_date(requests: &[PackageRequest]) -> String {
    match requests {
        [request] => format!("Package {} is already up-to-date", request.name),
        requests if requests.len() > 10 => format!("All {} packages are up-to-date.", requests.len()),
        requests => {
            let names = sorted(requests.iter().map(|request| request.name.clone()));
            format!("All packages are up-to-date ({}).", names.join(", "))
        }
    }
}

fn sorted(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Most managers choose the newest version by themselves.
fn asked(provider: &dyn PackageProvider, targets: &[PackageRequest]) -> Vec<PackageRequest> {
    let version = |request: &PackageRequest| request.version.clone().filter(|_| !provider.install_upgrades());
    targets.iter().map(|request| PackageRequest { name: request.name.clone(), version: version(request) }).collect()
}

fn targets(requests: &[PackageRequest]) -> Vec<Value> {
    requests.iter().map(|request| request.name.as_str().into()).collect()
}
