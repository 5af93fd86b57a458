//! `pip.removed` and `pip.uptodate`.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::change;
use super::super::{Decision, State, Step, Thing, Touches, Verdict};
use super::find;
use super::options::{Options, said};
use super::requirement::normal;
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

/// Makes sure that a Python package is not installed.
///
/// ```yaml
/// gunicorn:
///   pip.removed:
///     - bin_env: /srv/app/venv
/// ```
#[state("pip.removed", strict)]
#[allow(dead_code, reason = "some arguments are accepted only for compatibility with Salt")]
pub struct Removed {
    /// The package.
    name: String,
    /// Accepted and ignored.
    requirements: Value,
    /// The virtual environment, its python, or a pip; else the target's own.
    bin_env: Option<String>,
    /// A file for pip's log.
    log: Option<String>,
    /// The proxy.
    proxy: Option<String>,
    /// Seconds until a connection is given up.
    timeout: Option<u64>,
    /// The user to run pip as.
    user: Option<String>,
    /// The directory to run in.
    cwd: Option<String>,
    /// Accepted and ignored.
    use_vt: Value,
    /// Further options as they are.
    extra_args: Vec<Value>,
}

impl State for Removed {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = &self.name;
        let mut options = options(&self.bin_env, &self.user, &self.cwd);
        options.value("--log", self.log.as_deref());
        options.further(&self.extra_args)?;
        if name.starts_with('-') || name.is_empty() {
            return Ok(Decision::Settled(Verdict::bad(format!("'{name}' is no name of a package"))));
        }
        let known = options.tool(machine).and_then(|tool| find::installed(machine, &tool));
        let known = match known {
            Ok(known) => known,
            Err(error) => return Ok(Decision::Settled(Verdict::bad(format!("Error uninstalling '{name}': {error}")))),
        };
        if !known.contains_key(normal(name).as_str()) {
            return Ok(Decision::Settled(Verdict::good("Package is not installed.")));
        }
        let dry = Verdict::would(format!("Package {name} is set to be removed")).change(name.as_str(), "Removed");
        Decision::own(&options, dry)
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let options: Options = plan.into_own()?;
        let words =
            [vec!["uninstall".to_owned(), "-y".into()], options.words.clone(), vec!["--".into(), self.name.clone()]];
        let output = options.tool(machine)?.act(machine, &words.concat())?;
        if output.success() {
            return Ok(Verdict::good("Package was successfully removed.").change(self.name.as_str(), "Removed"));
        }
        let (stdout, stderr) = said(&output);
        Ok(Verdict::bad(format!("Could not remove package. {stdout} {stderr}").trim_end().to_owned()))
    }

    fn touches(&self) -> Touches {
        touches(self.bin_env.as_deref())
    }
}

/// Makes sure that all Python packages are the newest.
///
/// ```yaml
/// the packages of the application:
///   pip.uptodate:
///     - bin_env: /srv/app/venv
/// ```
#[state("pip.uptodate", strict)]
#[allow(dead_code, reason = "some arguments are accepted only for compatibility with Salt")]
pub struct Uptodate {
    /// Any name.
    name: String,
    /// The virtual environment, its python, or a pip; else the target's own.
    bin_env: Option<String>,
    /// The user to run pip as.
    user: Option<String>,
    /// The directory to run in.
    cwd: Option<String>,
    /// Accepted and ignored.
    use_vt: Value,
}

impl State for Uptodate {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let options = options(&self.bin_env, &self.user, &self.cwd);
        let old = match options.tool(machine).and_then(|tool| find::outdated(machine, &tool)) {
            Ok(old) => old,
            Err(error) => return Ok(Decision::Settled(Verdict::bad(error.to_string()))),
        };
        if old.is_empty() {
            return Ok(Decision::Settled(Verdict::good("System is already up-to-date.")));
        }
        let changes: Map = old
            .iter()
            .map(|[name, version, latest, _]| (normal(name).into(), change(version.as_str(), latest.as_str()).into()))
            .collect();
        let names: Vec<String> = old.into_iter().map(|[name, ..]| name).collect();
        Decision::own(&(options, names), Verdict::would("System update will be performed").changes(changes))
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let (options, names): (Options, Vec<String>) = plan.into_own()?;
        let (changes, errors) = upgrade(machine, &options, &names)?;
        Ok(match errors.is_empty() {
            true => Verdict::good("Upgrade successful.").changes(changes),
            false => Verdict::bad(format!("Upgrade failed.\n{}", errors.join("\n"))).changes(changes),
        })
    }

    fn touches(&self) -> Touches {
        touches(self.bin_env.as_deref())
    }
}

/// Upgrades packages one by one. Returns the changes and the failures.
pub fn upgrade(machine: &dyn System, options: &Options, names: &[String]) -> Result<(Map, Vec<String>)> {
    let tool = options.tool(machine)?;
    let old = find::installed(machine, &tool)?;
    let mut errors = Vec::new();
    for name in names {
        let words = ["install", "--upgrade", "--", name];
        let output = tool.act(machine, &words)?;
        if !output.success() {
            errors.push(tool.failed(&words, &output).to_string());
        }
    }
    let new = find::installed(machine, &tool)?;
    let mut changes = Map::new();
    for (name, version) in new.iter() {
        let known = old.get_value(name);
        if known != Some(version) {
            changes.insert(name.clone(), change(known.cloned().unwrap_or("".into()), version.clone()));
        }
    }
    Ok((changes, errors))
}

pub fn options(bin_env: &Option<String>, user: &Option<String>, cwd: &Option<String>) -> Options {
    Options { bin_env: bin_env.clone(), user: user.clone(), cwd: cwd.clone(), ..Options::default() }
}

fn touches(bin_env: Option<&str>) -> Touches {
    match bin_env.filter(|place| !place.contains("/bin/")) {
        Some(place) => Touches::nothing().writes(Thing::Path(place.to_owned())).reads(Thing::Network),
        None => Touches::everything(),
    }
}
