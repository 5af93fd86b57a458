//! `pip.installed`: Python packages are installed.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::super::tool::Tool;
use super::super::{Decision, State, Step, Thing, Touches, Verdict, cp};
use super::find;
use super::options::{Options, PipArguments, said};
use super::requirement::{self, Requirement};
use super::version::fulfills;
use crate::catalog::Plan;
use crate::machine::{Output, Probe, System, accounts};
use crate::{Error, Result};

/// Makes sure that Python packages are installed.
///
/// ```yaml
/// gunicorn >= 20, < 22:
///   pip.installed:
///     - bin_env: /srv/app/venv
/// ```
#[state("pip.installed")]
pub struct Installed {
    /// The package, with the versions that are right.
    name: String,
    /// Several packages.
    pkgs: Value,
    /// As `bin_env`.
    pip_bin: Option<String>,
    #[flatten]
    pip: PipArguments,
}

/// The packages to install.
#[derive(Serialize, Deserialize)]
pub struct PipPlan {
    options: Options,
    tool: Tool,
    /// Normalised names, with the original texts.
    targets: Vec<(String, String)>,
    already: Vec<String>,
    saltenv: String,
}

impl State for Installed {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        match self.decide(machine, step)? {
            Ok(decision) => decision.into_plan(),
            Err(text) => Ok(Decision::Settled(Verdict::bad(text))),
        }
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: PipPlan = plan.into_own()?;
        let requirements = match requirements(machine, &plan.options, &plan.saltenv)? {
            Ok(paths) => paths,
            Err(text) => return Ok(Verdict::bad(text)),
        };
        let before = find::installed(machine, &plan.tool).unwrap_or_default();
        let names: Vec<String> = plan.targets.iter().map(|(_, name)| name.clone()).collect();
        let output = plan.tool.act(machine, &plan.options.install(&names, &requirements))?;
        if !output.success() {
            return Ok(self.failed(&plan, &output));
        }
        if !plan.options.requirements.is_empty() || !plan.options.editable.is_empty() {
            let changed = output.text().lines().any(|line| line.trim_start().starts_with("Successfully installed"));
            return Ok(self.processed(&plan, changed));
        }
        let after = find::installed(machine, &plan.tool)?;
        let mut changes = Map::new();
        let mut lost = Vec::new();
        for (name, written) in &plan.targets {
            match after.get(name.as_str()) {
                _ if name.is_empty() => {
                    changes.insert(format!("{written}==???"), "Installed");
                }
                None => lost.push(format!(
                    "There was no error installing package '{written}' although it does not show when calling \
                     'pip.freeze'."
                )),
                Some(version) => {
                    if before.get(name.as_str()) != Some(version) || self.again() {
                        changes.insert(format!("{name}=={version}"), "Installed");
                    }
                }
            }
        }
        let last = if lost.is_empty() { "All packages were successfully installed".into() } else { lost.join("\n") };
        Ok(Verdict::good(lines(&plan.already, &last)).changes(changes))
    }

    fn touches(&self) -> Touches {
        // Python packages install programs and other files; only pip knows where, except for an environment.
        let place = self.pip.bin_env.as_deref().or(self.pip_bin.as_deref()).or(self.pip.target.as_deref());
        let Some(place) = place.filter(|place| !place.contains("/bin/")) else { return Touches::everything() };
        let requirements = crate::text::words::listed(&self.pip.requirements);
        let links = crate::text::words::listed(&self.pip.find_links);
        let paths = requirements.into_iter().chain(links).chain(crate::text::words::listed(&self.pip.editable));
        let touches = Touches::nothing().writes(Thing::Path(place.to_owned())).reads(Thing::Network);
        let touches =
            paths.filter(|path| path.starts_with('/')).fold(touches, |all, path| all.reads(Thing::Path(path)));
        match &self.pip.user {
            Some(user) => touches.reads(Thing::User(user.clone())).writes(Thing::Path(format!("/home/{user}/.cache"))),
            None => touches.writes(Thing::Path("/root".into())),
        }
    }
}

impl Installed {
    /// Whether installed packages are reinstalled.
    fn again(&self) -> bool {
        self.pip.force_reinstall.0 || self.pip.ignore_installed.0
    }

    fn decide(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Result<Decision<PipPlan>, String>> {
        let mut options = self.pip.options()?;
        options.bin_env = options.bin_env.or_else(|| self.pip_bin.clone());
        let packages = match &self.pkgs {
            Value::List(packages) if !packages.is_empty() => packages.iter().map(written).collect(),
            pkgs if pkgs.truth() => return Ok(Err("pkgs argument must be formatted as a list".into())),
            _ => vec![self.name.clone()],
        };
        let by_file = !options.requirements.is_empty() || !options.editable.is_empty();
        let mut details = Vec::new();
        if !by_file {
            let (read, wrong): (Vec<_>, Vec<_>) = packages
                .iter()
                .map(|text| requirement::read(text).map(|found| (found, text.clone())))
                .partition(Result::is_ok);
            if !wrong.is_empty() {
                return Ok(Err(wrong.into_iter().filter_map(Result::err).collect::<Vec<_>>().join("\n")));
            }
            details.extend(read.into_iter().flatten());
        }
        if let Some(user) = self.pip.user.as_deref().filter(|user| accounts::user(machine, user).is_none()) {
            return Ok(Err(format!("User {user} does not exist")));
        }
        let tool = match options.tool(machine) {
            Ok(tool) => tool,
            Err(error) => return Ok(Err(format!("Error installing '{}': {error}", self.name))),
        };
        let saltenv = step.saltenv.to_owned();
        let mut plan = PipPlan { options, tool, targets: Vec::new(), already: Vec::new(), saltenv };
        if by_file {
            return Ok(Ok(self.by_file(machine, plan, step.test)));
        }
        let known = match find::installed(machine, &plan.tool) {
            Ok(known) => known,
            Err(error) => return Ok(Err(format!("Error installing '{}': {error}", self.name))),
        };
        for (request, text) in &details {
            let version = known.get(request.name.as_str()).map(ToString::to_string);
            match version.filter(|_| !request.name.is_empty() && !self.again()) {
                Some(version) if self.is_right(machine, &plan, request, text, &version) => {
                    plan.already.push(format!("Python package {text} was already installed"));
                }
                _ => plan.targets.push((request.name.clone(), text.clone())),
            }
        }
        if plan.targets.is_empty() {
            let and = if self.pip.upgrade.0 { " and up-to-date" } else { "" };
            let last = format!("All specified packages are already installed{and}");
            return Ok(Ok(Decision::Settled(Verdict::good(lines(&plan.already, &last)))));
        }
        let text = match details.as_slice() {
            [(_, only)] => format!("Python package {only} is set to be installed"),
            all => {
                let all: String = all.iter().map(|(_, text)| format!("\n{text}")).collect();
                format!("Python package(s) set to be installed:{all}")
            }
        };
        let changes = if step.test { self.foreseen(machine, &plan, &details) } else { Map::new() };
        Ok(Ok(Decision::Change(plan, Verdict::would(text).changes(changes))))
    }

    fn is_right(&self, machine: &dyn Probe, plan: &PipPlan, request: &Requirement, text: &str, version: &str) -> bool {
        if !request.requests.is_empty() && !fulfills(version, &request.requests) {
            return false;
        }
        if !self.pip.upgrade {
            return true;
        }
        // Only pip and its index know whether there is a newer version.
        let words = plan.options.install(&[text.to_owned()], &[]);
        find::foreseen(machine, &plan.tool, &words)
            .is_some_and(|all| !all.iter().any(|(name, _)| *name == request.name))
    }

    /// The changes that the run will report, as far as pip predicts them.
    fn foreseen(&self, machine: &dyn Probe, plan: &PipPlan, details: &[(Requirement, String)]) -> Map {
        let names: Vec<String> = plan.targets.iter().map(|(_, text)| text.clone()).collect();
        let seen = find::foreseen(machine, &plan.tool, &plan.options.install(&names, &[]));
        let mut changes = Map::new();
        for (name, text) in &plan.targets {
            let exact = || {
                let (request, _) = details.iter().find(|(request, _)| request.name == *name)?;
                request.requests.iter().find(|(operator, _)| operator == "==").map(|(_, version)| version.clone())
            };
            let version = match &seen {
                Some(all) => all.iter().find(|(known, _)| known == name).map(|(_, version)| version.clone()),
                None => exact(),
            };
            match version {
                _ if name.is_empty() => {
                    changes.insert(format!("{text}==???"), "Installed");
                }
                Some(version) => {
                    changes.insert(format!("{name}=={version}"), "Installed");
                }
                None => {}
            }
        }
        changes
    }

    fn by_file(&self, machine: &dyn Probe, plan: PipPlan, test: bool) -> Decision<PipPlan> {
        let mut comments = Vec::new();
        let (requirements, editable) = (&plan.options.requirements, &plan.options.editable);
        if !requirements.is_empty() {
            comments.push(format!("Requirements file '{}' will be processed.", requirements.join(",")));
        }
        if !editable.is_empty() {
            comments.push(format!(
                "Package will be installed in editable mode (i.e. setuptools \"develop mode\") from {}.",
                editable.join(",")
            ));
        }
        let mut dry = Verdict::would(comments.join(" "));
        if test {
            // A file of the tree is not on the machine; its lines can be read from a pipe.
            let local: Option<Vec<String>> =
                requirements.iter().map(|path| path.starts_with('/').then(|| path.clone())).collect();
            let seen = local.and_then(|paths| find::foreseen(machine, &plan.tool, &plan.options.install(&[], &paths)));
            if !requirements.is_empty() && seen.as_ref().is_none_or(|all| !all.is_empty()) {
                dry = dry.change("requirements", true);
            }
            if !editable.is_empty() {
                dry = dry.change("editable", true);
            }
            if dry.changes.is_empty() {
                dry = Verdict::good("Requirements were already installed.");
            }
        }
        Decision::Change(plan, dry)
    }

    fn processed(&self, plan: &PipPlan, changed: bool) -> Verdict {
        let (requirements, editable) = (&plan.options.requirements, &plan.options.editable);
        let mut comments = Vec::new();
        let mut changes = Map::new();
        if !requirements.is_empty() {
            comments.push(match changed {
                true => format!("Successfully processed requirements file {}.", requirements.join(",")),
                false => "Requirements were already installed.".into(),
            });
            if changed {
                changes.insert("requirements", true);
            }
        }
        if !editable.is_empty() {
            comments.push(format!("Package successfully installed from VCS checkout {}.", editable.join(",")));
            changes.insert("editable", true);
        }
        Verdict::good(comments.join(" ")).changes(changes)
    }

    fn failed(&self, plan: &PipPlan, output: &Output) -> Verdict {
        let (stdout, stderr) = said(output);
        let error = format!("Error: {stdout} {stderr}");
        let (requirements, editable) = (&plan.options.requirements, &plan.options.editable);
        let mut comments = Vec::new();
        if !requirements.is_empty() {
            comments.push(format!("Unable to process requirements file \"{}\"", requirements.join(",")));
        }
        if !editable.is_empty() {
            comments.push(format!("Unable to install from VCS checkout {}.", editable.join(",")));
        }
        if comments.is_empty() {
            let names: Vec<&str> = plan.targets.iter().map(|(_, name)| name.as_str()).collect();
            let text = format!("Failed to install packages: {}. {error}", names.join(", "));
            return Verdict::bad(lines(&plan.already, &text));
        }
        comments.push(error);
        Verdict::bad(comments.join(" "))
    }
}

/// The paths of requirements files; those of the tree are copied to the cache. Salt's text if one doesn't exist.
pub fn requirements(machine: &dyn System, options: &Options, saltenv: &str) -> Result<Result<Vec<String>, String>> {
    let mut paths = Vec::new();
    for path in &options.requirements {
        if !path.starts_with("salt://") {
            paths.push(path.clone());
            continue;
        }
        let source = cp::source::ContentSource::parse(machine, path, Some(saltenv))?;
        let Some(copy) = cp::cached(machine, &source, None)? else {
            return Ok(Err(format!("pip requirements file '{path}' not found")));
        };
        if options.user.is_none() {
            paths.push(copy.to_string_lossy().into_owned());
            continue;
        }
        // The cache is only readable by the agent's own user.
        return Err(Error::failed(format!(
            "{path} can't be read by the user {}",
            options.user.as_deref().unwrap_or_default()
        ))
        .hint("put it on the target with file.managed, and name that path"));
    }
    Ok(Ok(paths))
}

/// A package from a list: `name`, or `name: '>=1'`.
fn written(package: &Value) -> String {
    match package {
        Value::Map(map) => map.iter().map(|(name, version)| format!("{name}{version}")).collect(),
        text => text.to_string(),
    }
}

fn lines(already: &[String], last: &str) -> String {
    let mut lines = already.to_vec();
    lines.push(last.to_owned());
    lines.join("\n")
}
