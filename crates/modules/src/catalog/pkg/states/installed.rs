//! `pkg.installed`: packages are installed, in the requested versions.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::super::condition::Judge;
use super::super::provider::{Options, PackageProvider, PackageVersions, Packages, provider};
use super::super::requests::{self, PackageRequest};
use super::super::sources::{self, PackageFile};
use super::super::{changes, hold, refresh};
use super::install::{self, InstallAttempt};
use super::manager_arguments::ManagerArguments;
use super::{Decision, Flag, State, Step, StepJoin, Touches, Verdict, count, joined, problem};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

/// Makes sure that packages are installed, and at the versions that are requested.
///
/// ```yaml
/// nginx:
///   pkg.installed
/// tools:
///   pkg.installed:
///     - pkgs:
///       - curl
///       - rsync: '>=3.2, <4'
///       - git: latest
/// own:
///   pkg.installed:
///     - sources:
///       - mytool: salt://packages/mytool_1.2_amd64.deb
/// ```
///
/// The lists of what there is are fetched once in a run, when the first package has to be installed.
/// A dry run takes them as they are, and predicts all that would come along.
#[state("pkg.installed", watches, aggregates)]
pub struct Installed {
    /// The package, if neither `pkgs` nor `sources` are given.
    name: String,
    /// Its version: `1.2`, `1.2*`, `>=1.2, <2`, `!=1.3`, or `latest`.
    version: Value,
    /// Fetch the lists of what there is first; unless told, once in a run.
    refresh: Value,
    /// Accepted and ignored: nothing is suggested.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    skip_suggestions: Value,
    /// Several packages, each a name or `{name: version}`, in one transaction.
    pkgs: Value,
    /// Package files, each `{name: salt://… or http(s)://… or a path}`.
    sources: Value,
    /// A version that is newer than the requested one will do.
    allow_updates: Flag,
    /// Not there: files of packages are not verified.
    pkg_verify: Value,
    /// Belongs to `pkg_verify`.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    ignore_types: Value,
    /// Accepted and ignored: a name is found with and without its architecture.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    normalize: Value,
    /// Compare versions without what stands before a colon; unless told, where the request has no colon.
    ignore_epoch: Value,
    /// Install once more what is there already.
    reinstall: Flag,
    /// Change packages that are held, and hold them again.
    update_holds: Flag,
    /// Hold them (`True`), or let them go (`False`).
    hold: Value,
    /// Package lists younger than this many seconds are not refreshed.
    cache_valid_time: Value,
    #[flatten]
    #[allow(dead_code, reason = "read with the step's other options")]
    manager: ManagerArguments,
}

/// The result of comparing requests and installed packages.
#[derive(Serialize, Deserialize)]
pub struct InstallPlan {
    desired: Vec<PackageRequest>,
    targets: Vec<PackageRequest>,
    reinstall: Vec<PackageRequest>,
    unpurge: Vec<String>,
    files: Vec<PackageFile>,
}

/// The requested packages, by what became of them.
struct InstallOutcome {
    modified: Vec<PackageRequest>,
    stayed: Vec<PackageRequest>,
    failed: Vec<PackageRequest>,
}

enum InstallDecision {
    Settled(Verdict),
    PackageTransaction(Box<InstallPlan>),
}

impl State for Installed {
    const JOIN: Option<&'static StepJoin> = Some(&joined::INSTALLED);
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        if let Some(verdict) = self.refused() {
            return Ok(Decision::Settled(verdict));
        }
        let provider = provider(machine)?;
        if !step.test && self.wants_latest() && refresh::is_due(machine, &self.refresh) {
            return Decision::own(&None::<InstallPlan>, Verdict::would(""));
        }
        match self.find(machine, provider, step)? {
            InstallDecision::Settled(verdict) if verdict.result == Some(true) && !self.hold.is_null() => {
                let held = hold::foresee(machine, provider, &self.desired().unwrap_or_default(), self.hold.truth())?;
                if held.iter().all(|one| one.result == Some(true)) {
                    return Ok(Decision::Settled(with_holds(verdict, &held)));
                }
                let nothing = InstallPlan::nothing(self.desired().unwrap_or_default());
                Decision::own(&Some(Box::new(nothing)), with_holds(verdict, &held))
            }
            InstallDecision::Settled(verdict) => Ok(Decision::Settled(verdict)),
            InstallDecision::PackageTransaction(plan) => {
                let would = if step.test { self.dry(machine, provider, &plan, step)? } else { Verdict::would("") };
                Decision::own(&Some(plan), would)
            }
        }
    }

    fn apply(&self, plan: Plan, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        let plan: Option<Box<InstallPlan>> = plan.into_own()?;
        let provider = provider(machine)?;
        let mut plan = plan;
        let needs_lists = plan.as_ref().is_none_or(|plan| !plan.targets.is_empty() && plan.files.is_empty());
        if needs_lists && refresh::is_due(machine, &self.refresh) && !self.is_known(machine, provider, &plan, step)? {
            if let Err(said) = refresh::refresh(machine, provider, joined::seconds(&self.cache_valid_time))? {
                let text = format!("An error was encountered while installing package(s): {said}");
                return Ok(Verdict::bad(text));
            }
            plan = None;
        }
        let plan = match plan {
            Some(plan) => plan,
            None => match self.find(machine, provider, step)? {
                InstallDecision::PackageTransaction(plan) => plan,
                InstallDecision::Settled(verdict) if verdict.result == Some(true) && !self.hold.is_null() => {
                    Box::new(InstallPlan::nothing(self.desired().unwrap_or_default()))
                }
                InstallDecision::Settled(verdict) => return Ok(verdict),
            },
        };
        self.install(machine, provider, &plan, step)
    }

    fn touches(&self) -> Touches {
        super::packages()
    }
}

impl InstallPlan {
    fn nothing(desired: Vec<PackageRequest>) -> InstallPlan {
        InstallPlan { desired, targets: Vec::new(), reinstall: Vec::new(), unpurge: Vec::new(), files: Vec::new() }
    }
}

impl Installed {
    /// A verdict on invalid arguments, or one that needs no looking.
    fn refused(&self) -> Option<Verdict> {
        if self.pkgs.as_list().is_some_and(<[Value]>::is_empty) {
            return Some(Verdict::good("No packages to install provided"));
        }
        if self.pkgs.truth() && self.sources.truth() {
            return Some(Verdict::bad("Only one of \"pkgs\" and \"sources\" is permitted."));
        }
        if self.pkg_verify.truth() {
            return Some(Verdict::bad("pkg.verify not implemented"));
        }
        let Some(desired) = self.desired() else {
            let which = if self.sources.truth() { "sources" } else { "pkgs" };
            let text = format!("Invalidly formatted '{which}' parameter. See minion log.");
            return Some(Verdict::bad(text));
        };
        if let Some(text) = requests::twice(&self.pkgs, &desired) {
            return Some(Verdict::bad(text));
        }
        requests::sound_names(&desired).err().map(|error| Verdict::bad(error.to_string()))
    }

    fn desired(&self) -> Option<Vec<PackageRequest>> {
        if self.pkgs.truth() {
            return requests::of_packages(&self.pkgs);
        }
        if self.sources.truth() {
            return requests::of_sources(&self.sources);
        }
        let version = Some(&self.version).filter(|version| version.truth()).map(ToString::to_string);
        Some(vec![PackageRequest { name: self.name.clone(), version }])
    }

    fn wants_latest(&self) -> bool {
        let latest = |request: &PackageRequest| request.version.as_deref() == Some("latest");
        !self.sources.truth() && self.desired().is_some_and(|all| all.iter().any(latest))
    }

    fn judge<'a>(&self, provider: &'a dyn PackageProvider) -> Judge<'a> {
        let ignore_epoch = Some(&self.ignore_epoch).filter(|value| !value.is_null()).map(Value::truth);
        Judge { provider, ignore_epoch }
    }

    /// Whether the lists contain all requested versions as the newest ones, so that they need no refresh.
    fn is_known(
        &self,
        machine: &dyn Probe,
        provider: &dyn PackageProvider,
        plan: &Option<Box<InstallPlan>>,
        step: &Step<'_>,
    ) -> Result<bool> {
        let Some(plan) = plan.as_ref().filter(|plan| plan.targets.iter().all(|request| request.version.is_some()))
        else {
            return Ok(false);
        };
        let names: Vec<String> = plan.targets.iter().map(|request| request.name.clone()).collect();
        let newest = provider.candidates(machine, &names, &Options::read(step.low)).unwrap_or_default();
        Ok(plan.targets.iter().all(|request| newest.get(&request.name) == request.version.as_ref())
            && !self.refresh.truth())
    }

    fn find(&self, machine: &dyn Probe, provider: &dyn PackageProvider, step: &Step<'_>) -> Result<InstallDecision> {
        let mut desired = self.desired().unwrap_or_default();
        let now = provider.packages(machine)?;
        let there = install::there(&now);
        let from_files = self.sources.truth();
        let files = match from_files {
            true => match sources::look(machine, provider, &desired, step.saltenv)? {
                Ok(files) => files,
                Err(text) => return Ok(InstallDecision::Settled(Verdict::bad(text))),
            },
            false => Vec::new(),
        };
        if !from_files {
            self.resolve_latest(machine, provider, step, &mut desired, &now)?;
        }
        let judge = self.judge(provider);
        let (mut targets, mut reinstall) = (Vec::new(), Vec::new());
        let mut exact = false;
        for request in &desired {
            let installed = there.get(&request.name).or_else(|| there.get(&provider.normal(machine, &request.name)));
            let Some(installed) = installed else {
                targets.push(request.clone());
                continue;
            };
            if self.reinstall.0 {
                reinstall.push(request.clone());
                continue;
            }
            let file = files.iter().find(|file| file.name == request.name).map(|file| &file.package.version);
            let Some(version) = file.or(request.version.as_ref()).filter(|version| !version.is_empty()) else {
                continue;
            };
            exact = true;
            if !judge.fulfilled(installed, version, self.allow_updates.0 && !from_files) {
                targets.push(request.clone());
            }
        }
        let doomed = |request: &&PackageRequest| now.purge_desired.contains_key(&request.name);
        let unpurge: Vec<String> = desired.iter().filter(doomed).map(|request| request.name.clone()).collect();
        if targets.is_empty() && reinstall.is_empty() && unpurge.is_empty() {
            return Ok(InstallDecision::Settled(Verdict::good(already(exact && !from_files))));
        }
        Ok(InstallDecision::PackageTransaction(Box::new(InstallPlan { desired, targets, reinstall, unpurge, files })))
    }

    /// Replaces `latest` by the version that it means; `None` if the package is unknown.
    fn resolve_latest(
        &self,
        machine: &dyn Probe,
        provider: &dyn PackageProvider,
        step: &Step<'_>,
        desired: &mut [PackageRequest],
        now: &Packages,
    ) -> Result<()> {
        let latest = |request: &PackageRequest| request.version.as_deref() == Some("latest");
        let names: Vec<String> =
            desired.iter().filter(|request| latest(request)).map(|request| request.name.clone()).collect();
        if names.is_empty() {
            return Ok(());
        }
        let newest = provider.candidates(machine, &names, &Options::read(step.low))?;
        for request in desired.iter_mut().filter(|request| latest(request)) {
            let installed = now.of(machine, provider, &request.name).last();
            request.version = match (newest.get(&request.name), installed) {
                (Some(newest), Some(installed)) if provider.compare(installed, newest).is_ge() => {
                    Some(installed.clone())
                }
                (Some(newest), _) => Some(newest.clone()),
                (None, installed) => installed.cloned(),
            };
        }
        Ok(())
    }

    fn attempt<'a>(
        &self,
        provider: &'a dyn PackageProvider,
        plan: &'a InstallPlan,
        options: &'a Options,
    ) -> InstallAttempt<'a> {
        InstallAttempt {
            judge: self.judge(provider),
            options,
            targets: &plan.targets,
            reinstall: &plan.reinstall,
            files: &plan.files,
            update_holds: self.update_holds.0,
        }
    }

    fn dry(
        &self,
        machine: &dyn Probe,
        provider: &dyn PackageProvider,
        plan: &InstallPlan,
        step: &Step<'_>,
    ) -> Result<Verdict> {
        let options = Options::read(step.low);
        let forecast = self.attempt(provider, plan, &options).foresee(machine)?;
        let mut changes = forecast.changes;
        let mut comment = Vec::new();
        if !plan.targets.is_empty() {
            let text = format!("The following packages would be installed/updated: {}", names(&plan.targets));
            comment.push(text);
        }
        if !plan.unpurge.is_empty() {
            comment.push(format!(
                "The following packages would have their selection status changed from 'purge' to 'install': {}",
                plan.unpurge.join(", ")
            ));
            changes.insert("purge_desired", unpurged(&*provider.packages(machine)?, &plan.unpurge));
        }
        if !plan.reinstall.is_empty() {
            comment.push(format!("The following packages would be reinstalled: {}", self.shown(&plan.reinstall)));
        }
        if !self.hold.is_null() {
            add_holds(&mut changes, &hold::foresee(machine, provider, &plan.desired, self.hold.truth())?);
        }
        let targets: Vec<Value> = plan.targets.iter().map(|request| request.name.as_str().into()).collect();
        let verdict = Verdict::would(comment.join("\n")).changes(changes).output(joined::TARGETS, targets);
        Ok(Verdict { warnings: forecast.warnings, ..verdict })
    }

    fn install(
        &self,
        machine: &dyn System,
        provider: &dyn PackageProvider,
        plan: &InstallPlan,
        step: &Step<'_>,
    ) -> Result<Verdict> {
        let options = Options::read(step.low);
        let done = self.attempt(provider, plan, &options).execute(machine)?;
        let warnings = done.report.warnings;
        if !done.report.errors.is_empty() {
            let verdict = problem("installing package(s)", &done.report.errors, done.changes);
            return Ok(Verdict { warnings, ..verdict });
        }
        let mut changes = done.changes;
        let mut comment = Vec::new();
        let held = match self.hold.is_null() {
            true => Vec::new(),
            false => hold::execute(machine, provider, &plan.desired, self.hold.truth())?,
        };
        if !plan.unpurge.is_empty() {
            let undone = unpurged(&*provider.packages(machine)?, &plan.unpurge);
            let all: Vec<(String, Option<String>)> = plan.unpurge.iter().map(|name| (name.clone(), None)).collect();
            provider.set_hold(machine, &all, false)?;
            changes.insert("purge_desired", undone);
        }
        let InstallOutcome { modified, stayed, failed } = self.outcome(machine, provider, plan, &done.packages);
        if !modified.is_empty() {
            comment.push(installed_text(modified.len(), &self.shown(&modified)));
        }
        for one in held.iter().filter(|one| !one.changes.is_empty()) {
            comment.push(one.comment.clone());
        }
        add_holds(&mut changes, &held);
        if plan.targets.is_empty() && plan.reinstall.is_empty() && plan.unpurge.is_empty() {
            // Only holds were changed: Salt reports them after the other text.
            let exact = plan.desired.iter().any(|request| request.version.is_some());
            return Ok(with_holds(Verdict::good(already(exact && !self.sources.truth())), &held));
        }
        if !stayed.is_empty() {
            comment.push(stayed_text(stayed.len(), &self.shown(&stayed)));
        }
        for one in held.iter().filter(|one| one.changes.is_empty() && one.result == Some(true)) {
            comment.push(one.comment.clone());
        }
        let mut result = true;
        if !failed.is_empty() {
            comment.insert(0, format!("The following packages failed to install/update: {}", self.shown(&failed)));
            result = false;
        }
        for one in held.iter().filter(|one| one.result == Some(false)) {
            comment.push(one.comment.clone());
            result = false;
        }
        for request in &plan.reinstall {
            comment.push(format!("Package {} was reinstalled.", self.shown(std::slice::from_ref(request))));
        }
        let targets: Vec<Value> = plan.targets.iter().map(|request| request.name.as_str().into()).collect();
        let verdict = Verdict::good(comment.join("\n")).changes(changes).output(joined::TARGETS, targets);
        Ok(Verdict { result: Some(result), warnings, ..verdict })
    }

    /// Compares the packages after the installation with the requested ones.
    fn outcome(
        &self,
        machine: &dyn Probe,
        provider: &dyn PackageProvider,
        plan: &InstallPlan,
        packages: &PackageVersions,
    ) -> InstallOutcome {
        let judge = self.judge(provider);
        let is_right = |request: &&PackageRequest| {
            let now = packages.get(&request.name).or_else(|| packages.get(&provider.normal(machine, &request.name)));
            let file = plan.files.iter().find(|file| file.name == request.name).map(|file| &file.package.version);
            let wanted = file.or(request.version.as_ref());
            now.is_some_and(|now| wanted.is_none_or(|wanted| judge.fulfilled(now, wanted, false)))
        };
        let in_list =
            |list: &[PackageRequest], request: &PackageRequest| list.iter().any(|one| one.name == request.name);
        let (right, wrong): (Vec<&PackageRequest>, Vec<&PackageRequest>) = plan.desired.iter().partition(is_right);
        let stayed =
            |request: &&&PackageRequest| !in_list(&plan.targets, request) && !in_list(&plan.reinstall, request);
        InstallOutcome {
            modified: right.iter().filter(|request| in_list(&plan.targets, request)).copied().cloned().collect(),
            stayed: right.iter().filter(stayed).copied().cloned().collect(),
            failed: wrong.into_iter().filter(|request| in_list(&plan.targets, request)).cloned().collect(),
        }
    }

    /// The names with the requested versions; for files only the names.
    fn shown(&self, requests: &[PackageRequest]) -> String {
        match self.sources.truth() {
            true => names(requests),
            false => requests.iter().map(PackageRequest::shown).collect::<Vec<_>>().join(", "),
        }
    }
}

pub fn already(exact: bool) -> String {
    let which = if exact { " and are at the desired version" } else { "" };
    format!("All specified packages are already installed{which}")
}

/// Salt lists the names only if the list is short.
pub fn installed_text(number: usize, shown: &str) -> String {
    let (s, were) = count(number);
    match shown.chars().count() < 20 {
        true => format!("The following packages were installed/updated: {shown}"),
        false => format!("{number} targeted package{s} {were} installed/updated."),
    }
}

pub fn stayed_text(number: usize, shown: &str) -> String {
    let (s, were) = count(number);
    match number <= 20 {
        true => format!("The following packages were already installed: {shown}"),
        false => format!("{number} targeted package{s} {were} already installed"),
    }
}

pub fn names(requests: &[PackageRequest]) -> String {
    requests.iter().map(|request| request.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn unpurged(packages: &Packages, names: &[String]) -> Map {
    let one = |name: &String| {
        let old = changes::text(&packages.purge_desired, name);
        (name.as_str().into(), changes::change(&old, "").into())
    };
    names.iter().map(one).collect()
}

/// A hold is listed after the installed version.
fn add_holds(changes: &mut Map, held: &[hold::HoldResult]) {
    for one in held.iter().filter(|one| !one.changes.is_empty()) {
        let Some(Value::Map(known)) = changes.get_mut(&one.name) else {
            let new = one.changes.get("new").cloned().unwrap_or_default();
            changes.insert(one.name.as_str(), Map::from_iter([("new".into(), new)]));
            continue;
        };
        for key in ["new", "old"] {
            let was = known.get(key).map(ToString::to_string).unwrap_or_default();
            let more = one.changes.get(key).map(ToString::to_string).unwrap_or_default();
            let gap = if was.is_empty() { "" } else { "\n" };
            known.insert(key, format!("{was}{gap}{more}"));
        }
    }
}

/// The verdict, followed by the results of holds.
fn with_holds(mut verdict: Verdict, held: &[hold::HoldResult]) -> Verdict {
    let rank = |one: &&hold::HoldResult| match (one.changes.is_empty(), one.result) {
        (false, _) => 0,
        (true, Some(true)) => 1,
        _ => 2,
    };
    let mut ordered: Vec<&hold::HoldResult> = held.iter().collect();
    ordered.sort_by_key(rank);
    for one in ordered {
        verdict.comment += &format!(".\n{}", one.comment);
        if !one.changes.is_empty() {
            verdict.changes.insert(one.name.as_str(), one.changes.clone());
        }
        if one.result != Some(true) {
            verdict.result = one.result;
        }
    }
    verdict
}
