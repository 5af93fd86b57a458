//! `git.config_set` and `git.config_unset`: settings of a repository or a user.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::file::Flag;
use super::super::{Decision, State, Step, Thing, Touches, Verdict, change};
use super::config::{self, ConfigScope};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

/// Makes sure that a setting has a value, or several.
///
/// ```yaml
/// user.email:
///   git.config_set:
///     - value: me@example.com
///     - global: True
/// ```
#[state("git.config_set", strict)]
pub struct ConfigSet {
    /// The name of the setting.
    name: String,
    /// Its value.
    value: Option<String>,
    /// Its values, in this order.
    multivar: Value,
    /// The repository; needed unless `global` is set.
    repo: Option<String>,
    /// The user to run git as.
    user: Option<String>,
    /// Only used on Windows.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    #[secret]
    password: Option<String>,
    /// Accepted and ignored: output is read as UTF-8.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    output_encoding: Option<String>,
    /// For all repositories of the user.
    global: Flag,
}

impl State for ConfigSet {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let fail = |text: &str| Ok(Decision::Settled(Verdict::bad(text)));
        if self.value.is_some() && !self.multivar.is_null() {
            return fail("Only one of 'value' and 'multivar' is permitted");
        }
        if !self.global && self.repo.is_none() {
            return fail("Non-global config options require the 'repo' argument to be set");
        }
        let Some(wanted) = config::values(self.value.as_deref(), &self.multivar) else {
            return fail("One of 'value' and 'multivar' is required");
        };
        let place = self.place();
        let old = place.get(machine, &self.name)?;
        let key = if self.global.0 { "Global key " } else { "" };
        let (name, shown) = (&self.name, self.shown(&wanted));
        if old.as_ref() == Some(&wanted) {
            return Ok(Decision::Settled(Verdict::good(format!("{key}'{name}' is already set to {shown}"))));
        }
        let old = Value::from(old);
        let verb = if old.is_null() { "added as" } else { "set to" };
        let dry = Verdict::would(format!("{key}'{name}' would be {verb} {shown}"));
        let dry = dry.change(name.as_str(), change(old.clone(), Value::from(wanted.clone())));
        Decision::own(&(old, wanted), dry)
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let (old, wanted): (Value, Vec<String>) = plan.into_own()?;
        let place = self.place();
        let (name, shown) = (&self.name, self.shown(&wanted));
        let key = if self.global.0 { "global key " } else { "" };
        if let Err(fault) = place.set(machine, name, &wanted, false) {
            return Ok(Verdict::bad(format!("Failed to set {key}'{name}' to {shown}: {}", fault.reason())));
        }
        let new = place.get(machine, name)?;
        let mut verdict = match new.as_ref() == Some(&wanted) {
            true => {
                let key = if self.global.0 { "Global key " } else { "" };
                let verb = if old.is_null() { "added as" } else { "set to" };
                Verdict::good(format!("{key}'{name}' was {verb} {shown}"))
            }
            false => Verdict::bad(format!("Failed to set {key}'{name}' to {shown}")),
        };
        let new = Value::from(new);
        if old != new {
            verdict = verdict.change(name.as_str(), change(old, new));
        }
        Ok(verdict)
    }

    fn touches(&self) -> Touches {
        touches(self.repo.as_deref(), self.user.as_deref())
    }
}

impl ConfigSet {
    fn place(&self) -> ConfigScope<'_> {
        ConfigScope { repository: self.repo.as_deref(), global: self.global.0, user: self.user.as_deref() }
    }

    fn shown(&self, wanted: &[String]) -> String {
        match &self.value {
            Some(value) => format!("'{value}'"),
            None => Value::List(wanted.iter().map(|value| value.as_str().into()).collect()).to_string(),
        }
    }
}

/// Makes sure that settings are not there.
///
/// ```yaml
/// http.proxy:
///   git.config_unset:
///     - repo: /srv/site
/// ```
#[state("git.config_unset", strict)]
pub struct ConfigUnset {
    /// The name of the setting, or a regular expression for all of it.
    name: String,
    /// Only values that match.
    value_regex: Option<String>,
    /// The repository; needed unless `global` is set.
    repo: Option<String>,
    /// The user to run git as.
    user: Option<String>,
    /// Only used on Windows.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    #[secret]
    password: Option<String>,
    /// Accepted and ignored: output is read as UTF-8.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    output_encoding: Option<String>,
    /// For all repositories of the user.
    global: Flag,
    /// Also settings that have several values.
    all: Flag,
}

impl State for ConfigUnset {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        if !self.global && self.repo.is_none() {
            let text = "Non-global config options require the 'repo' argument to be set";
            return Ok(Decision::Settled(Verdict::bad(text)));
        }
        let found = self.place().matching(machine, &self.pattern(), self.value_regex.as_deref())?;
        if found.is_empty() {
            return Ok(Decision::Settled(Verdict::good("No matching keys are set")));
        }
        let several = |(_, values): &(&Value, &Value)| values.as_list().is_some_and(|values| values.len() > 1);
        let greedy: Vec<String> = found.iter().filter(several).map(shown).collect();
        if !self.all && !greedy.is_empty() {
            let what = match self.value_regex {
                Some(_) => "Multiple values are matched by value_regex for the following keys",
                None => "Multivar(s) matched by the key expression",
            };
            let text = format!("{what} (set 'all' to True to force removal): {}", greedy.join("; "));
            return Ok(Decision::Settled(Verdict::bad(text)));
        }
        let dry = Verdict::would(format!("{} key(s) would have value(s) unset", found.len())).changes(found.clone());
        Decision::own(&found, dry)
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let found: Map = plan.into_own()?;
        let place = self.place();
        let mut failed = Vec::new();
        for key in found.keys().map(ToString::to_string) {
            if let Err(text) = place.unset(machine, &key, self.value_regex.as_deref(), self.all.0) {
                failed.push(format!("{key} ({text})"));
            }
        }
        if !failed.is_empty() {
            let keys = failed.join(", ");
            return Ok(Verdict::bad(format!("Error(s) occurred unsetting values for the following keys: {keys}")));
        }
        let left = place.matching(machine, &self.pattern(), self.value_regex.as_deref())?;
        if !left.is_empty() {
            let left: Vec<String> = left.iter().map(shown).collect();
            return Ok(Verdict::bad(format!("Failed to unset value(s): {}", left.join("; "))));
        }
        Ok(Verdict::good("Value(s) successfully unset").changes(found))
    }

    fn touches(&self) -> Touches {
        touches(self.repo.as_deref(), self.user.as_deref())
    }
}

impl ConfigUnset {
    fn place(&self) -> ConfigScope<'_> {
        ConfigScope { repository: self.repo.as_deref(), global: self.global.0, user: self.user.as_deref() }
    }

    fn pattern(&self) -> String {
        format!("^{}$", self.name.trim_start_matches('^').trim_end_matches('$'))
    }
}

fn shown((key, values): (&Value, &Value)) -> String {
    let values: Vec<String> = values.as_list().unwrap_or_default().iter().map(ToString::to_string).collect();
    format!("{key} ({})", values.join(", "))
}

/// The repository's configuration file, or that of git's user.
fn touches(repository: Option<&str>, user: Option<&str>) -> Touches {
    let user = user.unwrap_or("root");
    let home = if user == "root" { "/root".to_owned() } else { format!("/home/{user}") };
    let path = repository.map_or(home, str::to_owned);
    Touches::nothing().writes(Thing::Path(path)).reads(Thing::User(user.to_owned()))
}
