//! Swap: `mount.swap`, and its functions.

use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::{function, state};
use serde::{Deserialize, Serialize};

use super::super::file::{Flag, canonical};
use super::super::{Decision, Function, State, Step, Thing, Touches, Verdict, tool};
use super::fstab::{FstabChange, FstabLine, FstabTable, MatchOn};
use super::fstab_path;
use crate::catalog::Plan;
use crate::grains::look;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// Uses a device or file for swap, and writes it to `/etc/fstab`.
///
/// ```yaml
/// /swapfile:
///   mount.swap
/// ```
#[state("mount.swap", strict)]
pub struct Swap {
    /// The device or file.
    name: String,
    /// Write an entry.
    #[default(true)]
    persist: Flag,
    /// The file with the entries.
    #[default(fstab_path())]
    config: String,
}

#[derive(Serialize, Deserialize)]
pub struct SwapPlan {
    real: String,
    activate: bool,
    entry: Option<String>,
    done: Verdict,
}

impl State for Swap {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = &self.name;
        let real = canonical(machine, Path::new(name)).to_string_lossy().into_owned();
        let is_on = swaps(machine).contains_key(&real);
        let mut done = Verdict::good(match is_on {
            true => format!("Swap {name} already active"),
            false => format!("Swap {name} activated"),
        });
        let mut would = if is_on { done.comment.clone() } else { format!("Swap {name} is set to be activated") };
        let mut entry = None;
        if self.persist.0 {
            let table = match FstabTable::read(machine, &self.config) {
                Ok(table) => table,
                Err(error) => return Ok(Decision::Settled(Verdict::bad(error.to_string()))),
            };
            let line = FstabLine {
                device: name.clone(),
                name: "none".into(),
                fstype: "swap".into(),
                options: "defaults".into(),
                dump: "0".into(),
                pass: "0".into(),
            };
            let (change, text) = table.with(&line, &MatchOn::new(&Value::Null, "swap")?, false);
            let told = match change {
                FstabChange::Present => None,
                FstabChange::New => Some(("new", ". Added new entry to the fstab.")),
                FstabChange::Update => Some(("update", ". Updated the entry in the fstab.")),
            };
            if let Some((word, text)) = told {
                done.changes.insert("persist", word);
                done.comment += text;
                if is_on {
                    would = format!("Swap {name} is set to be added to the fstab and to be activated");
                }
            }
            entry = (change != FstabChange::Present).then_some(text);
        }
        if is_on && entry.is_none() {
            return Ok(Decision::Settled(done));
        }
        let would = Verdict { result: None, comment: would, ..done.clone() };
        Decision::own(&SwapPlan { real, activate: !is_on, entry, done }, would)
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: SwapPlan = plan.into_own()?;
        let mut done = plan.done;
        if plan.activate {
            let ran = tool::done(machine, &["swapon", "--", &plan.real]);
            let Some(Value::Map(stats)) = swaps(machine).get(&plan.real).cloned() else {
                let why = ran.err().map(|error| format!("\n{error}")).unwrap_or_default();
                return Ok(Verdict::bad(format!("Swap {} failed to activate{why}", self.name)));
            };
            let persist = std::mem::replace(&mut done.changes, stats);
            done.changes.extend(persist);
        }
        if let Some(text) = plan.entry {
            tool::write(machine, &self.config, text.as_bytes(), None)?;
        }
        Ok(done)
    }

    fn touches(&self) -> Touches {
        let touches =
            Touches::nothing().writes(Thing::Path("/proc/swaps".into())).reads(Thing::Path(self.name.clone()));
        if self.persist.0 { touches.writes(Thing::Path(self.config.clone())) } else { touches }
    }
}

/// The swap in use, by path.
fn swaps(machine: &dyn Probe) -> Map {
    let text = look::text(machine, "/proc/swaps").unwrap_or_default();
    let mut all = Map::new();
    for line in text.lines().skip(1) {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        let mut stats = Map::new();
        for key in ["type", "size", "used", "priority"] {
            stats.insert(key, words.next().unwrap_or_default());
        }
        all.insert(crate::text::octal::unescaped(name), stats);
    }
    all
}

/// The active swap devices and files.
///
/// ```text
/// rocksalt '*' mount.swaps
/// ```
#[function("mount.swaps", reads)]
pub struct Swaps {}

impl Function for Swaps {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(swaps(machine))
    }
}

/// Uses a device or file for swap until the next boot.
///
/// ```text
/// rocksalt '*' mount.swapon /swapfile
/// ```
#[function("mount.swapon", changes)]
pub struct Swapon {
    /// The device or file.
    name: String,
    /// The priority; the highest one is used first.
    priority: Option<i64>,
}

impl Function for Swapon {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let answer = |stats: Value, new: bool| {
            [("stats".into(), stats), ("new".into(), new.into())].into_iter().collect::<Map>()
        };
        if let Some(stats) = swaps(machine).get(&self.name) {
            return Ok(answer(stats.clone(), false));
        }
        let mut argv = vec!["swapon".to_owned()];
        argv.extend(self.priority.map(|priority| format!("--priority={priority}")));
        argv.extend(["--".to_owned(), self.name.clone()]);
        tool::done(machine, &argv)?;
        let stats = swaps(machine).get(&self.name).cloned();
        stats
            .map(|stats| answer(stats, true))
            .ok_or_else(|| Error::failed(format!("{} is not in use after swapon", self.name)))
    }
}

/// Stops using a device or file for swap; null if it is not in use.
///
/// ```text
/// rocksalt '*' mount.swapoff /swapfile
/// ```
#[function("mount.swapoff", changes)]
pub struct Swapoff {
    /// The device or file.
    name: String,
}

impl Function for Swapoff {
    type Output = Option<bool>;

    fn call(self, machine: &dyn System) -> Result<Option<bool>> {
        if !swaps(machine).contains_key(&self.name) {
            return Ok(None);
        }
        tool::done(machine, &["swapoff", "--", &self.name])?;
        Ok(Some(!swaps(machine).contains_key(&self.name)))
    }
}
