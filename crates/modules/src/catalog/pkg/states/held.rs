//! `pkg.held` and `pkg.unheld`: holds on packages.

use std::collections::BTreeMap;

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::super::hold;
use super::super::provider::{PackageProvider, provider};
use super::super::requests::{self, PackageRequest};
use super::{Decision, Flag, State, Step, Touches, Verdict};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

/// Makes sure that packages are held: no upgrade changes them.
///
/// ```yaml
/// linux-image-amd64:
///   pkg.held
/// only these:
///   pkg.held:
///     - pkgs: [postgresql-15, linux-image-amd64]
///     - replace: True
/// ```
#[state("pkg.held", aggregates)]
pub struct Held {
    /// The package, if `pkgs` is not given.
    name: String,
    /// The version that it is held at, where the manager holds versions (zypper).
    version: Value,
    /// Several packages.
    pkgs: Value,
    /// Let all others go.
    replace: Flag,
}

/// Makes sure that packages are not held.
///
/// ```yaml
/// linux-image-amd64:
///   pkg.unheld
/// ```
#[state("pkg.unheld", aggregates)]
pub struct Unheld {
    /// The package, if `pkgs` is not given.
    name: String,
    /// Only if it is held at this version.
    version: Value,
    /// Several packages.
    pkgs: Value,
    /// Every package that is held.
    all: Flag,
}

/// The packages to hold and to release.
#[derive(Default, Serialize, Deserialize)]
pub struct HoldPlan {
    hold: Vec<PackageRequest>,
    /// The packages that are held at another version.
    anew: Vec<PackageRequest>,
    release: Vec<PackageRequest>,
}

impl State for Held {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        if self.pkgs.as_list().is_some_and(<[Value]>::is_empty) && !self.replace {
            return Ok(Decision::Settled(Verdict::good("No packages to be held provided")));
        }
        let requests = match wanted(&self.name, &self.version, &self.pkgs) {
            Ok(requests) => requests,
            Err(verdict) => return Ok(Decision::Settled(verdict)),
        };
        let provider = provider(machine)?;
        let locks = provider.holds(machine)?;
        let mut plan = HoldPlan::default();
        let mut comments = Vec::new();
        for request in &requests {
            let version = request.version.as_ref().map(|version| format!(" (version = {version})")).unwrap_or_default();
            match locks.get(&request.name) {
                Some(locked) if provider.holds_versions() && *locked != request.version => {
                    comments
                        .push(format!("The following package's hold rule would be updated: {}{version}", request.name));
                    plan.anew.push(request.clone());
                    plan.hold.push(request.clone());
                }
                Some(_) => {}
                None => {
                    comments.push(format!("The following package would be held: {}{version}", request.name));
                    plan.hold.push(request.clone());
                }
            }
        }
        if self.replace.0 {
            let others = locks.keys().filter(|name| !requests.iter().any(|request| request.name == **name));
            for name in others {
                comments.push(format!("The following package would be unheld: {name}"));
                plan.release.push(PackageRequest { name: name.clone(), version: None });
            }
        }
        decide(machine, provider, plan, &comments)?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: HoldPlan = plan.into_own()?;
        execute(&plan, machine)
    }

    fn touches(&self) -> Touches {
        super::packages()
    }
}

impl State for Unheld {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        if self.pkgs.as_list().is_some_and(<[Value]>::is_empty) && !self.all {
            return Ok(Decision::Settled(Verdict::good("No packages to be unheld provided")));
        }
        let requests = match wanted(&self.name, &self.version, &self.pkgs) {
            Ok(requests) => requests,
            Err(verdict) => return Ok(Decision::Settled(verdict)),
        };
        let provider = provider(machine)?;
        let locks: BTreeMap<String, Option<String>> = provider.holds(machine)?;
        let mut plan = HoldPlan::default();
        let mut comments = Vec::new();
        for (name, locked) in &locks {
            let request = requests.iter().find(|request| request.name == *name);
            let meant = request
                .is_some_and(|request| !provider.holds_versions() || locked.is_none() || *locked == request.version);
            if self.all.0 || meant {
                let shown = request.and_then(|request| request.version.as_ref()).and(locked.as_ref());
                let version = shown.map(|version| format!(" (version = {version})")).unwrap_or_default();
                comments.push(format!("The following package would be unheld: {name}{version}"));
                plan.release.push(PackageRequest { name: name.clone(), version: None });
            }
        }
        decide(machine, provider, plan, &comments)?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: HoldPlan = plan.into_own()?;
        execute(&plan, machine)
    }

    fn touches(&self) -> Touches {
        super::packages()
    }
}

#[allow(clippy::result_large_err, reason = "a verdict found on the way is how most runs end")]
fn wanted(name: &str, version: &Value, pkgs: &Value) -> Result<Vec<PackageRequest>, Verdict> {
    let requests = match pkgs {
        Value::Null => {
            let version = Some(version).filter(|version| version.truth()).map(ToString::to_string);
            vec![PackageRequest { name: name.to_owned(), version }]
        }
        pkgs => requests::of_packages(pkgs)
            .ok_or_else(|| Verdict::bad("Invalidly formatted pkgs parameter. See minion log."))?,
    };
    requests::sound_names(&requests).map_err(|error| Verdict::bad(error.to_string()))?;
    Ok(requests)
}

fn decide(
    machine: &dyn Probe,
    provider: &dyn PackageProvider,
    plan: HoldPlan,
    comments: &[String],
) -> Result<Decision<HoldPlan>> {
    if comments.is_empty() {
        return Ok(Decision::Settled(Verdict::good("No changes made")));
    }
    let mut changes = Map::new();
    for (requests, holds) in [(&plan.hold, true), (&plan.release, false)] {
        for mut one in hold::foresee(machine, provider, requests, holds)? {
            // The result of the real run.
            one.result = Some(true);
            one.comment = hold::done_text(provider, &one.name, holds);
            changes.insert(one.name.as_str(), one.to_value());
        }
    }
    Ok(Decision::Change(plan, Verdict::would(comments.join("\n")).changes(changes)))
}

fn execute(plan: &HoldPlan, machine: &dyn System) -> Result<Verdict> {
    let provider = provider(machine)?;
    let mut comments = Vec::new();
    let mut changes = Map::new();
    let mut result = true;
    if !plan.anew.is_empty() {
        hold::execute(machine, provider, &plan.anew, false)?;
    }
    for one in hold::execute(machine, provider, &plan.hold, true)? {
        let good = one.result == Some(true);
        result &= good;
        let name = &one.name;
        comments.push(match (good, plan.anew.iter().any(|request| request.name == *name)) {
            (true, true) => format!("Package {name} was updated with hold rule"),
            (true, false) => format!("Package {name} is now being held"),
            (false, _) => format!("Package {name} was not held"),
        });
        changes.insert(name.as_str(), one.to_value());
    }
    for one in hold::execute(machine, provider, &plan.release, false)? {
        result &= one.result == Some(true);
        comments.push(one.comment.clone());
        changes.insert(one.name.as_str(), one.to_value());
    }
    let comment = comments.join("\n");
    Ok(Verdict { result: Some(result), ..Verdict::good(comment).changes(changes) })
}
