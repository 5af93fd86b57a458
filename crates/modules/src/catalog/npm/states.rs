//! `npm`'s states.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::file::Flag;
use super::super::{Decision, State, Step, Thing, Touches, Verdict};
use super::{listed, parts, sound, tool, words};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::Probe;

/// Makes sure that packages are installed.
///
/// ```yaml
/// coffee-script@1.12.7:
///   npm.installed:
///     - dir: /srv/app
/// ```
#[state("npm.installed", strict)]
pub struct Installed {
    /// The package, with a version behind an `@`.
    name: String,
    /// Several packages.
    pkgs: Value,
    /// The directory; else for the whole machine.
    dir: Option<String>,
    /// The user to run as.
    user: Option<String>,
    /// Install again what is there.
    force_reinstall: Flag,
    /// Where to get them from.
    registry: Option<String>,
    /// Variables for npm.
    env: Value,
}

impl State for Installed {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let dir = self.dir.as_deref();
        let wanted = if self.pkgs.truth() { crate::text::words::listed(&self.pkgs) } else { vec![self.name.clone()] };
        wanted.iter().try_for_each(|name| sound(name).map(drop))?;
        let tool = tool(dir, self.user.as_deref(), self.registry.as_deref(), &self.env)?;
        let known = match listed(machine, &tool, dir) {
            Ok(known) => known,
            Err(error) => {
                return Ok(Decision::Settled(Verdict::bad(format!("Error looking up '{}': {error}", self.name))));
            }
        };
        let (mut satisfied, mut missing) = (Vec::new(), Vec::new());
        for package in wanted {
            let (name, request) = parts(&package);
            let version = known.get(name).and_then(|package| package.as_map()?.get("version")).map(ToString::to_string);
            match version.filter(|version| !self.force_reinstall && request.is_none_or(|request| request == version)) {
                Some(version) => satisfied.push(format!("{name}@{version}")),
                None => missing.push(package),
            }
        }
        let mut comments = Vec::new();
        if !satisfied.is_empty() {
            comments.push(format!("Package(s) '{}' satisfied by {}", self.shown(), satisfied.join(", ")));
        }
        if missing.is_empty() {
            return Ok(Decision::Settled(Verdict::good(comments.join(". "))));
        }
        let shown = missing.join(", ");
        let changes = Map::from_iter([
            ("old".into(), Value::List(Vec::new())),
            ("new".into(), Value::List(missing.iter().map(|name| name.as_str().into()).collect())),
        ]);
        let mut dry = comments.clone();
        dry.push(format!("NPM package(s) '{shown}' are set to be installed"));
        comments.push(format!("Package(s) '{shown}' successfully installed"));
        let mut line = words(dir, &["install"]);
        line.extend(missing);
        let command = tool.command(machine, &line)?;
        let done = Verdict::good(comments.join(". ")).changes(changes.clone());
        let plan = Plan::command(command, done, format!("Error installing '{shown}': "));
        Ok(Decision::Change(plan, Verdict::would(dry.join(". ")).changes(changes)))
    }

    fn touches(&self) -> Touches {
        touches(self.dir.as_deref(), self.user.as_deref())
    }
}

impl Installed {
    fn shown(&self) -> String {
        if self.pkgs.truth() { crate::text::words::listed(&self.pkgs).join(", ") } else { self.name.clone() }
    }
}

/// Makes sure that a package is not installed.
///
/// ```yaml
/// coffee-script:
///   npm.removed:
///     - dir: /srv/app
/// ```
#[state("npm.removed", strict)]
pub struct Removed {
    /// The package.
    name: String,
    /// The directory; else for the whole machine.
    dir: Option<String>,
    /// The user to run as.
    user: Option<String>,
}

impl State for Removed {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let (name, dir) = (sound(&self.name)?, self.dir.as_deref());
        let tool = tool(dir, self.user.as_deref(), None, &Value::Null)?;
        let known = match listed(machine, &tool, dir) {
            Ok(known) => known,
            Err(error) => return Ok(Decision::Settled(Verdict::bad(format!("Error uninstalling '{name}': {error}")))),
        };
        if !known.contains_key(name) {
            return Ok(Decision::Settled(Verdict::good(format!("Package '{name}' is not installed"))));
        }
        let command = tool.command(machine, &words(dir, &["uninstall", name]))?;
        let done = Verdict::good(format!("Package '{name}' was successfully removed")).change(name, "Removed");
        let plan = Plan::command(command, done, format!("Error uninstalling '{name}': "));
        let dry = Verdict::would(format!("Package '{name}' is set to be removed")).change(name, "Removed");
        Ok(Decision::Change(plan, dry))
    }

    fn touches(&self) -> Touches {
        touches(self.dir.as_deref(), self.user.as_deref())
    }
}

/// Makes sure that all is installed that a directory's `package.json` asks for.
///
/// ```yaml
/// /srv/app:
///   npm.bootstrap:
///     - user: app
/// ```
#[state("npm.bootstrap", strict)]
#[allow(dead_code, reason = "some arguments are accepted only for compatibility with Salt")]
pub struct Bootstrap {
    /// The directory.
    name: String,
    /// The user to run as.
    user: Option<String>,
    /// Accepted and ignored.
    silent: Value,
}

impl State for Bootstrap {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = &self.name;
        let tool = tool(Some(name), self.user.as_deref(), None, &Value::Null)?;
        // `npm list` exits with an error if something is missing.
        if tool.look(machine, &["list", "--depth=0"])?.success() {
            return Ok(Decision::Settled(Verdict::good("Directory is already bootstrapped")));
        }
        let command = tool.command(machine, &["install"])?;
        let done = Verdict::good("Directory was successfully bootstrapped").change(name.as_str(), "Bootstrapped");
        let plan = Plan::command(command, done, format!("Error Bootstrapping '{name}': "));
        let dry = Verdict::would(format!("'{name}' is set to be bootstrapped")).change(name.as_str(), "Bootstrapped");
        Ok(Decision::Change(plan, dry))
    }

    fn touches(&self) -> Touches {
        touches(Some(&self.name), self.user.as_deref())
    }
}

/// Empties npm's cache, whatever is in it.
///
/// ```yaml
/// npm's cache:
///   npm.cache_cleaned:
///     - force: True
/// ```
#[state("npm.cache_cleaned", strict)]
#[allow(dead_code, reason = "some arguments are accepted only for compatibility with Salt")]
pub struct CacheCleaned {
    /// Any name.
    name: String,
    /// The user to run as.
    user: Option<String>,
    /// Newer npms only do it so.
    force: Flag,
}

impl State for CacheCleaned {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let mut words = vec!["cache".to_owned(), "clean".into()];
        if self.force.0 {
            words.push("--force".into());
        }
        let command = tool(None, self.user.as_deref(), None, &Value::Null)?.command(machine, &words)?;
        let done = Verdict::good("Cached packages removed").change("cache", "Removed");
        let plan = Plan::command(command, done, "Error cleaning cached packages: ");
        Ok(Decision::Change(plan, Verdict::would("Cached packages set to be removed").change("cache", "Removed")))
    }

    fn touches(&self) -> Touches {
        let home = self.user.as_deref().map_or("/root".into(), |user| format!("/home/{user}"));
        Touches::nothing().writes(Thing::Path(format!("{home}/.npm")))
    }
}

fn touches(dir: Option<&str>, user: Option<&str>) -> Touches {
    let Some(dir) = dir else { return Touches::everything() };
    let home = user.map_or("/root".into(), |user| format!("/home/{user}"));
    let touches = Touches::nothing().writes(Thing::Path(dir.to_owned())).writes(Thing::Path(format!("{home}/.npm")));
    touches.reads(Thing::Network)
}
