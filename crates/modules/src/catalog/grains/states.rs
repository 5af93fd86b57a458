//! `grains`'s states: grains in the target's grains file.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::write::{self, Set};
use super::{colon, lookup};
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::file::Flag;
use crate::catalog::{Decision, Function, State, Step, Thing, Touches, Verdict};
use crate::machine::{Probe, System};

/// Makes sure that a grain is there.
///
/// ```yaml
/// role:
///   grains.exists
/// ```
#[state("grains.exists", strict)]
pub struct Exists {
    /// The name, or a path such as `a:b`.
    name: String,
    /// The delimiter of a path.
    #[default(colon())]
    delimiter: String,
}

impl State for Exists {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(Decision::Settled(match lookup(machine, &self.name, &self.delimiter) {
            Some(_) => Verdict::good("Grain exists"),
            None => Verdict::bad("Grain does not exist"),
        }))
    }

    fn touches(&self) -> Touches {
        Touches::nothing().reads(Thing::Path("/etc/rocksalt/grains".into()))
    }
}

/// Makes sure that a grain has a value. Lists and maps are only overwritten by force.
///
/// ```yaml
/// cheese:
///   grains.present:
///     - value: edam
/// ```
#[state("grains.present", strict, required("value"))]
pub struct Present {
    /// The name, or a path such as `a:b`.
    name: String,
    /// Its value.
    #[required]
    value: Value,
    /// The delimiter of a path.
    #[default(colon())]
    delimiter: String,
    /// Overwrite lists and maps too.
    force: Flag,
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = plain(&self.name, &self.delimiter);
        let existing = lookup(machine, &name, ":");
        if existing.as_ref() == Some(&self.value) {
            return Ok(Decision::Settled(Verdict::good("Grain is already set")));
        }
        let set = Set::request(name.clone(), self.value.clone(), self.force.0, false);
        let changes = match set.foreseen(machine) {
            Ok(changes) => changes,
            Err(text) => return Ok(Decision::Settled(Verdict::bad(text))),
        };
        let what = if existing.is_none() { "added" } else { "changed" };
        let done = Verdict::good(format!("Set grain {name} to {}", self.value)).changes(changes.clone());
        Ok(Decision::Change(
            Plan::new(done),
            Verdict::would(format!("Grain {name} is set to be {what}")).changes(changes),
        ))
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let name = plain(&self.name, &self.delimiter);
        Set::request(name, self.value.clone(), self.force.0, false).call(machine)?;
        Ok(plan.done)
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

/// Makes sure that a grain has no value, or is not there at all.
///
/// ```yaml
/// cheese:
///   grains.absent:
///     - destructive: true
/// ```
#[state("grains.absent", strict)]
pub struct Absent {
    /// The name, or a path such as `a:b`.
    name: String,
    /// Remove the key, too.
    destructive: Flag,
    /// The delimiter of a path.
    #[default(colon())]
    delimiter: String,
    /// Also if it is a list or a map.
    force: Flag,
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = plain(&self.name, &self.delimiter);
        let destructive = self.destructive.0;
        let Some(grain) = lookup(machine, &name, ":") else {
            return Ok(Decision::Settled(Verdict::good(format!("Grain {name} does not exist"))));
        };
        if grain.is_null() && !destructive {
            return Ok(Decision::Settled(Verdict::good("Grain is already set")));
        }
        let set = Set::request(name.clone(), Value::Null, self.force.0, destructive);
        if let Err(text) = set.foreseen(machine) {
            return Ok(Decision::Settled(Verdict::bad(text)));
        }
        let (would, done, changes) = match destructive {
            true => (
                format!("Grain {name} is set to be deleted"),
                format!("Grain {name} was deleted"),
                Map::from_iter([("deleted".into(), name.as_str().into())]),
            ),
            false => (
                format!("Value for grain {name} is set to be deleted (None)"),
                format!("Value for grain {name} was set to None"),
                Map::from_iter([("grain".into(), name.as_str().into()), ("value".into(), Value::Null)]),
            ),
        };
        let done = Verdict::good(done).changes(changes.clone());
        Ok(Decision::Change(Plan::new(done), Verdict::would(would).changes(changes)))
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let name = plain(&self.name, &self.delimiter);
        Set::request(name, Value::Null, self.force.0, self.destructive.0).call(machine)?;
        Ok(plan.done)
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

/// Makes sure that a list that is there has a value.
///
/// ```yaml
/// roles:
///   grains.append:
///     - value: web
/// ```
#[state("grains.append", strict, required("value"))]
pub struct Append {
    /// The list's name, or a path to it.
    name: String,
    /// What it has.
    #[required]
    value: Value,
    /// Make a list of what is no list yet.
    convert: Flag,
    /// The delimiter of a path.
    #[default(colon())]
    delimiter: String,
}

impl State for Append {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let (name, value) = (plain(&self.name, &self.delimiter), &self.value);
        let bad = |text: String| Ok(Decision::Settled(Verdict::bad(text)));
        let (mut list, would) = match lookup(machine, &name, ":") {
            None => return bad(format!("Grain {name} does not exist")),
            Some(Value::List(list)) if list.contains(value) => {
                let text = format!("Value {value} is already in the list for grain {name}");
                return Ok(Decision::Settled(Verdict::good(text)));
            }
            Some(Value::List(list)) => (list, format!("Value {value} in grain {name} is set to be added")),
            Some(grain) if self.convert.0 => {
                let list = if grain.is_null() { Vec::new() } else { vec![grain] };
                (list, format!("Grain {name} is set to be converted to list and value {value} will be added"))
            }
            Some(_) => return bad(format!("Grain {name} is not a valid list")),
        };
        match value {
            Value::List(items) => list.extend(items.iter().cloned()),
            item => list.push(item.clone()),
        }
        let done = Verdict::good(format!("Value {value} was added to grain {name}")).change("added", value.clone());
        Ok(Decision::Change(Plan::new(done).with_own(&list)?, Verdict::would(would).change("added", value.clone())))
    }

    fn apply(&self, mut plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let list: Vec<Value> = plan.take_own()?;
        write::put_back(machine, &plain(&self.name, &self.delimiter), Value::List(list), ":")?;
        Ok(plan.done)
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

/// Makes sure that a list, which is made if it isn't there, has values.
///
/// ```yaml
/// roles:
///   grains.list_present:
///     - value:
///       - web
///       - dev
/// ```
#[state("grains.list_present", strict, required("value"))]
pub struct ListPresent {
    /// The list's name, or a path to it.
    name: String,
    /// A value, or a list of them.
    #[required]
    value: Value,
    /// The delimiter of a path.
    #[default(colon())]
    delimiter: String,
}

impl State for ListPresent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = plain(&self.name, &self.delimiter);
        let grain = lookup(machine, &name, ":").filter(Value::truth);
        let mut list = match grain.clone() {
            None => Vec::new(),
            Some(Value::List(list)) => list,
            Some(_) => return Ok(Decision::Settled(Verdict::bad(format!("Grain {name} is not a valid list")))),
        };
        let single = std::slice::from_ref(&self.value);
        let wanted = self.value.as_list().unwrap_or(single);
        let (known, new): (Vec<Value>, Vec<Value>) = wanted.iter().cloned().partition(|value| list.contains(value));
        if new.is_empty() {
            let text = format!("Value {} is already in grain {name} (or pending)", self.value);
            return Ok(Decision::Settled(Verdict::good(text)));
        }
        let shown = if self.value.as_list().is_some() { Value::List(new.clone()) } else { self.value.clone() };
        let mut comment = String::new();
        if !known.is_empty() {
            let known = Value::List(known);
            comment = format!("Removed value {known} from update due to value found in \"{name}\" (or pending).\n");
        }
        list.extend(new);
        let (key, whole) = write::whole(machine, &name, Value::List(list.clone()), ":");
        let changes = Map::from_iter([("new".into(), Value::Map(Map::from_iter([(key.into(), whole)])))]);
        let would = match grain {
            Some(_) => format!("Value {shown} is set to be appended to grain {name}"),
            None => format!("Grain {name} is set to be added"),
        };
        let done = Verdict::good(format!("{comment}Append value {shown} to grain {name}")).changes(changes.clone());
        Ok(Decision::Change(Plan::new(done).with_own(&list)?, Verdict::would(would).changes(changes)))
    }

    fn apply(&self, mut plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let list: Vec<Value> = plan.take_own()?;
        write::put_back(machine, &plain(&self.name, &self.delimiter), Value::List(list), ":")?;
        Ok(plan.done)
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

/// Makes sure that a list does not have values.
///
/// ```yaml
/// roles:
///   grains.list_absent:
///     - value: dev
/// ```
#[state("grains.list_absent", strict, required("value"))]
pub struct ListAbsent {
    /// The list's name, or a path to it.
    name: String,
    /// A value, or a list of them.
    #[required]
    value: Value,
    /// The delimiter of a path.
    #[default(colon())]
    delimiter: String,
}

impl State for ListAbsent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = plain(&self.name, &self.delimiter);
        let mut list = match lookup(machine, &name, ":").filter(Value::truth) {
            None => return Ok(Decision::Settled(Verdict::good(format!("Grain {name} does not exist")))),
            Some(Value::List(list)) => list,
            Some(_) => return Ok(Decision::Settled(Verdict::bad(format!("Grain {name} is not a valid list")))),
        };
        let single = std::slice::from_ref(&self.value);
        let (mut would, mut done, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        for value in self.value.as_list().unwrap_or(single) {
            let Some(at) = list.iter().position(|item| item == value) else {
                would.push(format!("Value {value} is absent from grain {name}"));
                done.push(format!("Value {value} is absent from grain {name}"));
                continue;
            };
            list.remove(at);
            gone.push(value.clone());
            would.push(format!("Value {value} in grain {name} is set to be deleted"));
            done.push(format!("Value {value} was deleted from grain {name}"));
        }
        let done = Verdict::good(done.join("\n"));
        if gone.is_empty() {
            return Ok(Decision::Settled(done));
        }
        let would = Verdict::would(would.join("\n")).change("deleted", gone.clone());
        Ok(Decision::Change(Plan::new(done.change("deleted", gone)).with_own(&list)?, would))
    }

    fn apply(&self, mut plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let list: Vec<Value> = plan.take_own()?;
        write::put_back(machine, &plain(&self.name, &self.delimiter), Value::List(list), ":")?;
        Ok(plan.done)
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

/// Converts a path with any delimiter to one with colons.
fn plain(name: &str, delimiter: &str) -> String {
    if delimiter.is_empty() { name.to_owned() } else { name.replace(delimiter, ":") }
}

/// Every step that reads grains reads this.
fn touches() -> Touches {
    Touches::everything()
}
