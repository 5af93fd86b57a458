//! `pkg.group_installed`: the packages of a group are installed (dnf).

use rocksalt_core::Value;
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::super::condition::Judge;
use super::super::provider::{Options, provider};
use super::super::requests::PackageRequest;
use super::install::InstallAttempt;
use super::{Decision, State, Step, Touches, Verdict, problem};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

/// Makes sure that the packages of a group are installed, where the package manager has groups.
///
/// ```yaml
/// Development Tools:
///   pkg.group_installed:
///     - skip: [subversion]
/// ```
#[state("pkg.group_installed", aggregates)]
pub struct GroupInstalled {
    /// The group, by name or id.
    name: String,
    /// Packages that it has by default, and that are not wanted.
    skip: Value,
    /// Optional packages that are wanted.
    include: Value,
}

#[derive(Serialize, Deserialize)]
pub struct PackageGroupPlan {
    targets: Vec<PackageRequest>,
    required: Vec<String>,
    partly: bool,
}

impl State for GroupInstalled {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let settled = |text: String| Ok(Decision::Settled(Verdict::bad(text)));
        let (Some(skip), Some(include)) = (list(&self.skip), list(&self.include)) else {
            let which = if list(&self.skip).is_none() { "skip" } else { "include" };
            return settled(format!("{which} must be formatted as a list"));
        };
        let provider = provider(machine)?;
        let group = match provider.group(machine, &self.name) {
            Ok(Some(group)) => group,
            Ok(None) => return settled("pkg.group_install not available for this platform".into()),
            Err(error) => {
                let name = &self.name;
                return settled(format!("An error was encountered while installing/updating group '{name}': {error}."));
            }
        };
        let wrong: Vec<&str> = group.mandatory.iter().filter(|name| skip.contains(name)).map(String::as_str).collect();
        if !wrong.is_empty() {
            return settled(format!("The following mandatory packages cannot be skipped: {}", wrong.join(", ")));
        }
        let now = provider.packages(machine)?;
        let there = |name: &&String| now.installed.contains_key(*name);
        let missing = |names: &[String]| names.iter().filter(|name| !there(name)).cloned().collect::<Vec<_>>();
        let mut required = missing(&group.mandatory);
        let wanted = missing(&group.default).into_iter().filter(|name| !skip.contains(name));
        let mut names: Vec<String> = required.iter().cloned().chain(wanted).collect();
        let included = missing(&include);
        names.extend(included.iter().cloned());
        required.extend(included);
        if names.is_empty() {
            return Ok(Decision::Settled(Verdict::good(format!("Group '{}' is already installed", self.name))));
        }
        let partly = group.mandatory.iter().chain(&group.default).chain(&group.optional).any(|name| there(&name));
        let targets: Vec<PackageRequest> =
            names.into_iter().map(|name| PackageRequest { name, version: None }).collect();
        let plan = PackageGroupPlan { targets, required, partly };
        let mut would = Verdict::would(match partly {
            true => format!("Group '{}' is partially installed and will be updated", self.name),
            false => format!("Group '{}' will be installed", self.name),
        });
        if step.test {
            let options = Options::read(step.low);
            let forecast = attempt(provider, &plan.targets, &options).foresee(machine)?;
            would.changes = forecast.changes;
            would.warnings = forecast.warnings;
        }
        Decision::own(&plan, would)
    }

    fn apply(&self, plan: Plan, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        let plan: PackageGroupPlan = plan.into_own()?;
        let provider = provider(machine)?;
        let options = Options::read(step.low);
        let done = attempt(provider, &plan.targets, &options).execute(machine)?;
        if !done.report.errors.is_empty() {
            return Ok(problem("installing package(s)", &done.report.errors, done.changes));
        }
        let failed: Vec<&str> =
            plan.required.iter().filter(|name| !done.packages.contains_key(*name)).map(String::as_str).collect();
        Ok(match failed.is_empty() {
            true => {
                let how = if plan.partly { "updated" } else { "installed" };
                Verdict::good(format!("Group '{}' was {how}", self.name))
            }
            false => Verdict::bad(format!("Failed to install the following packages: {}", failed.join(", "))),
        }
        .changes(done.changes))
    }

    fn touches(&self) -> Touches {
        super::packages()
    }
}

fn attempt<'a>(
    provider: &'a dyn super::super::provider::PackageProvider,
    targets: &'a [PackageRequest],
    options: &'a Options,
) -> InstallAttempt<'a> {
    let judge = Judge { provider, ignore_epoch: None };
    InstallAttempt { judge, options, targets, reinstall: &[], files: &[], update_holds: false }
}

/// `None` if it is no list.
fn list(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::List(items) => Some(items.iter().map(ToString::to_string).collect()),
        _ => None,
    }
}
