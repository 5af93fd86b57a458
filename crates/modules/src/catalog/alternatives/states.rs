//! `alternatives`'s states.

use rocksalt_core::Map;
use rocksalt_macros::state;

use super::super::{Decision, State, Step, Thing, Touches, Verdict};
use super::group::{AlternativesGroup, current, program};
use crate::catalog::Plan;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// Registers a path that a name can stand for.
///
/// ```yaml
/// editor:
///   alternatives.install:
///     - link: /usr/bin/editor
///     - path: /usr/local/bin/vim
///     - priority: 60
/// ```
#[state("alternatives.install", strict, required("link", "path", "priority"))]
pub struct Install {
    /// The name.
    name: String,
    /// The link that leads to what the name stands for.
    link: String,
    /// The path.
    path: String,
    /// The path with the highest one is taken, unless somebody chose another.
    priority: i64,
}

impl State for Install {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let Install { name, link, path, priority } = self;
        for path in [link, path] {
            absolute(path)?;
        }
        if AlternativesGroup::look(machine, name)?.is_some_and(|group| group.has(path)) {
            let text = format!("Alternative {path} for {name} is already registered");
            return Ok(Decision::Settled(Verdict::good(text)));
        }
        let changes: Map = [
            ("name".into(), name.as_str().into()),
            ("link".into(), link.as_str().into()),
            ("path".into(), path.as_str().into()),
            ("priority".into(), (*priority).into()),
        ]
        .into_iter()
        .collect();
        let plan = Plan::new(Verdict::default().changes(changes))
            .run(&[program(machine), "--install", link, name, path, &priority.to_string()])
            .or(format!("Alternative for {name} not installed:"));
        Ok(plan.announced(format!("Alternative will be set for {name} to {path} with priority {priority}")))
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let verdict = plan.carry_out(machine)?;
        if verdict.result == Some(false) {
            return Ok(verdict);
        }
        let Install { name, path, priority, .. } = self;
        let comment = match current(machine, name)?.as_ref() == Some(path) {
            true => format!("Alternative for {name} set to path {path} with priority {priority}"),
            false => {
                format!("Alternative {path} for {name} registered with priority {priority} and not set to default")
            }
        };
        Ok(Verdict { changes: verdict.changes, ..Verdict::good(comment) })
    }

    fn touches(&self) -> Touches {
        touches().writes(Thing::Path(self.link.clone())).reads(Thing::Path(self.path.clone()))
    }
}

/// Removes a path from those that a name can stand for.
///
/// ```yaml
/// editor:
///   alternatives.remove:
///     - path: /usr/local/bin/vim
/// ```
#[state("alternatives.remove", strict, required("path"))]
pub struct Remove {
    /// The name.
    name: String,
    /// The path.
    path: String,
}

impl State for Remove {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let Remove { name, path } = self;
        absolute(path)?;
        let now = current(machine, name)?;
        let Some(group) = AlternativesGroup::look(machine, name)?.filter(|group| group.has(path)) else {
            return Ok(Decision::Settled(match now {
                Some(now) => Verdict::good(format!("Alternative for {name} is set to it's default path {now}")),
                None => Verdict::bad(format!("Alternative for {name} doesn't exist")),
            }));
        };
        let falls = match now {
            Some(now) if now != *path => Some(now),
            _ => group.best_without(Some(path)).map(str::to_owned),
        };
        let done = match &falls {
            Some(now) => Verdict::good(format!("Alternative for {name} removed. Falling back to path {now}")),
            None => Verdict::good(format!("Alternative for {name} removed")),
        };
        // Removing the last path removes the name; Salt reports no change then.
        let plan = Plan::new(done.change("path", falls.unwrap_or_default()))
            .run(&[program(machine), "--remove", name, path])
            .or(format!("Alternative for {name} not removed:"));
        Ok(plan.announced(format!("Alternative for {name} will be removed")))
    }

    fn touches(&self) -> Touches {
        // The link may have any path.
        Touches::everything()
    }
}

/// Makes a name stand for the path with the highest priority.
///
/// ```yaml
/// editor:
///   alternatives.auto
/// ```
#[state("alternatives.auto", strict)]
pub struct Auto {
    /// The name.
    name: String,
}

impl State for Auto {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = &self.name;
        let Some(group) = AlternativesGroup::look(machine, name)? else {
            return Ok(Decision::Settled(Verdict::bad(format!("Alternative for {name} doesn't exist"))));
        };
        if group.automatic {
            return Ok(Decision::Settled(Verdict::good(format!("{name} already in auto mode"))));
        }
        // Salt's change is the program's output, which is empty if the user had chosen the best path.
        let best = group.best_without(None).unwrap_or_default();
        let plan = Plan::new(Verdict::good(format!("{name} put in auto mode")).change("result", best))
            .run(&[program(machine), "--auto", name])
            .or(format!("{name} was not put in auto mode:"));
        Ok(plan.announced(format!("{name} will be put in auto mode")))
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

/// Makes a name stand for a path, regardless of priorities.
///
/// ```yaml
/// editor:
///   alternatives.set:
///     - path: /usr/bin/vim.basic
/// ```
#[state("alternatives.set", strict, required("path"))]
pub struct Set {
    /// The name.
    name: String,
    /// The path.
    path: String,
}

impl State for Set {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let Set { name, path } = self;
        absolute(path)?;
        if current(machine, name)?.as_ref() == Some(path) {
            return Ok(Decision::Settled(Verdict::good(format!("Alternative for {name} already set to {path}"))));
        }
        if !AlternativesGroup::look(machine, name)?.is_some_and(|group| group.has(path)) {
            return Ok(Decision::Settled(Verdict::bad(format!("Alternative {path} for {name} doesn't exist"))));
        }
        let done = Verdict::good(format!("Alternative for {name} set to path {path}")).change("path", path.as_str());
        let plan = Plan::new(done)
            .run(&[program(machine), "--set", name, path])
            .or(format!("Alternative for {name} not updated:"));
        Ok(plan.announced(format!("Alternative for {name} will be set to path {path}")))
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

fn absolute(path: &str) -> Result<()> {
    match path.starts_with('/') && !path.contains(['\0', '\n']) {
        true => Ok(()),
        false => Err(Error::arguments(format!("'{path}' is no absolute path"))),
    }
}

fn touches() -> Touches {
    ["/etc/alternatives", "/var/lib/dpkg/alternatives", "/var/lib/alternatives", "/var/lib/rpm/alternatives"]
        .into_iter()
        .fold(Touches::nothing(), |touches, path| touches.writes(Thing::Path(path.into())))
}
