//! The booleans of the policy.

use rocksalt_core::{Map, Value};
use rocksalt_macros::{function, state};

use super::super::file::Flag;
use super::super::{Decision, Function, State, Step, Thing, Touches, Verdict, tool};
use crate::catalog::Plan;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// All booleans: `State`, `Default` and `Description` of each.
fn all(machine: &dyn Probe) -> Result<Map> {
    let text = tool::told(machine, &[&tool::find(machine, "semanage")?, "boolean", "--list"])?;
    Ok(read(&text))
}

fn read(text: &str) -> Map {
    let mut all = Map::new();
    for line in text.lines().skip(1) {
        // name   (off  ,  off)  words
        let Some((name, rest)) = line.split_once('(') else { continue };
        let Some((values, description)) = rest.split_once(')') else { continue };
        let (state, default) = values.split_once(',').unwrap_or((values, values));
        let mut data = Map::new();
        data.insert("State", state.trim());
        data.insert("Default", default.trim());
        data.insert("Description", description.split_whitespace().collect::<Vec<_>>().join(" "));
        all.insert(name.trim(), data);
    }
    all
}

fn refined(value: &Value) -> Option<&'static str> {
    match value.to_string().to_lowercase().as_str() {
        "1" | "on" | "yes" | "true" => Some("on"),
        "0" | "off" | "no" | "false" => Some("off"),
        _ => None,
    }
}

fn command(machine: &dyn Probe, pairs: &[(String, &str)], persist: bool) -> Result<Vec<String>> {
    let mut argv = vec![tool::find(machine, "setsebool")?];
    if persist {
        argv.push("-P".into());
    }
    for (name, value) in pairs {
        if name.is_empty() || name.starts_with('-') || name.contains(|c: char| c.is_whitespace() || c == '=') {
            return Err(Error::arguments(format!("'{name}' is no name of a switch")));
        }
        argv.push(format!("{name}={value}"));
    }
    Ok(argv)
}

/// Sets switches of the policy.
///
/// ```yaml
/// virt_use_nfs:
///   selinux.boolean:
///     - value: True
///     - persist: True
/// ```
#[state("selinux.boolean", strict, aggregates)]
pub struct Boolean {
    /// The switch, unless `booleans` names some.
    name: String,
    /// On or off.
    value: Value,
    /// Several switches: a list of names for `value`, or a map of names and values.
    booleans: Value,
    /// After the next boot too.
    persist: Flag,
}

impl Boolean {
    fn wanted(&self) -> Map {
        match &self.booleans {
            Value::Map(all) if !all.is_empty() => all.clone(),
            Value::List(all) if !all.is_empty() => {
                let mut wanted = Map::new();
                for one in all {
                    match one {
                        Value::Map(pairs) => wanted.extend(pairs.clone()),
                        name => {
                            wanted.insert(name.to_string(), self.value.clone());
                        }
                    }
                }
                wanted
            }
            _ => [(self.name.as_str().into(), self.value.clone())].into_iter().collect(),
        }
    }
}

impl State for Boolean {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let known = all(machine)?;
        let bad = |text: String| Ok(Decision::Settled(Verdict::bad(text)));
        let (mut correct, mut pairs, mut changes) = (Vec::new(), Vec::new(), Map::new());
        for (name, value) in self.wanted() {
            let name = name.to_string();
            let Some(data) = known.get(&name).and_then(Value::as_map) else {
                return bad(format!("Boolean {name} is not available"));
            };
            let Some(wanted) = refined(&value) else {
                return bad(format!("{value} is not a valid value for the boolean {name}"));
            };
            let now = |key: &str| data.get(key).map(ToString::to_string).unwrap_or_default();
            let (state, default) = (now("State"), now("Default"));
            if state == wanted && (default == wanted || !self.persist) {
                correct.push(name);
                continue;
            }
            let pair = |one: &str, two: &str| match self.persist.0 {
                true => Value::List(vec![one.into(), two.into()]),
                false => one.into(),
            };
            let change: Map =
                [("old".into(), pair(&state, &default)), ("new".into(), pair(wanted, wanted))].into_iter().collect();
            changes.insert(name.as_str(), change);
            pairs.push((name, wanted));
        }
        let mut comment = String::new();
        if !correct.is_empty() {
            correct.sort();
            comment = format!("The following booleans were in the correct state: {}", correct.join(", "));
        }
        if pairs.is_empty() {
            return Ok(Decision::Settled(Verdict::good(comment)));
        }
        let mut names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        let names = names.join(", ");
        let with = |text: String| if comment.is_empty() { text } else { format!("{comment}\n{text}") };
        let done = Verdict::good(with(format!("The following booleans have been changed: {names}"))).changes(changes);
        let plan = Plan::new(done)
            .run(&command(machine, &pairs, self.persist.0)?)
            .or(format!("Failed to set the following booleans: {names}"));
        Ok(plan.announced(with(format!("The following booleans would be changed: {names}"))))
    }

    fn touches(&self) -> Touches {
        Touches::nothing().writes(Thing::Path("/etc/selinux".into())).writes(Thing::Path("/sys/fs/selinux".into()))
    }
}

/// All booleans, with their state, their default and their description.
///
/// ```text
/// rocksalt '*' selinux.list_sebool
/// ```
#[function("selinux.list_sebool", reads)]
pub struct ListSebool {}

impl Function for ListSebool {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        all(machine)
    }
}

/// A boolean; an empty map if there is none.
///
/// ```text
/// rocksalt '*' selinux.getsebool virt_use_usb
/// ```
#[function("selinux.getsebool", reads)]
pub struct Getsebool {
    /// The switch.
    boolean: String,
}

impl Function for Getsebool {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(all(machine)?.get(&self.boolean).and_then(Value::as_map).cloned().unwrap_or_default())
    }
}

/// Sets a boolean.
///
/// ```text
/// rocksalt '*' selinux.setsebool virt_use_usb off
/// ```
#[function("selinux.setsebool", changes)]
pub struct Setsebool {
    /// The switch.
    boolean: String,
    /// On or off.
    #[required]
    value: Value,
    /// After the next boot too.
    persist: Flag,
}

impl Function for Setsebool {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let pairs: Map = [(self.boolean.into(), self.value)].into_iter().collect();
        Setsebools { pairs, persist: self.persist }.call(machine)
    }
}

/// Sets several booleans.
///
/// ```text
/// rocksalt '*' selinux.setsebools '{virt_use_usb: on, squid_use_tproxy: off}'
/// ```
#[function("selinux.setsebools", changes)]
pub struct Setsebools {
    /// Names and values.
    #[required]
    pairs: Map,
    /// After the next boot too.
    persist: Flag,
}

impl Function for Setsebools {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let mut pairs = Vec::new();
        for (name, value) in self.pairs {
            let value =
                refined(&value).ok_or_else(|| Error::arguments(format!("{value} is not a valid value for {name}")))?;
            pairs.push((name.to_string(), value));
        }
        tool::done(machine, &command(machine, &pairs, self.persist.0)?)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_read() {
        let text = "SELinux boolean                State  Default Description\n\nvirt_use_nfs   (off  ,  on)  Allow virt to use nfs\n";
        assert_eq!(
            Value::from(read(text)).to_string(),
            "{'virt_use_nfs': {'State': 'off', 'Default': 'on', 'Description': 'Allow virt to use nfs'}}"
        );
    }
}
