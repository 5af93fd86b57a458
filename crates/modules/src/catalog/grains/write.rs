//! The functions that set grains, in the target's grains file.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;
use serde::Serialize;

use super::{colon, lookup};
use crate::Result;
use crate::catalog::Function;
use crate::grains::own;
use crate::machine::{Probe, System};

/// Writes values to the file; with `destructive`, null removes a key.
fn write(machine: &dyn System, grains: &Map, destructive: bool) -> Result<()> {
    own::change(machine, |file| {
        for (key, value) in grains.iter() {
            match key.as_str() {
                Some(name) if value.is_null() && destructive => drop(file.remove(name)),
                _ => drop(file.insert(key.clone(), value.clone())),
            }
        }
    })
}

/// Sets a grain, and returns what was written.
///
/// ```text
/// rocksalt '*' grains.setval role web
/// rocksalt '*' grains.setval deployment '{tier: production}'
/// ```
#[function("grains.setval", changes)]
pub struct Setval {
    /// The grain's name.
    key: String,
    /// Its value.
    #[required]
    val: Value,
    /// Remove the key if the value is null.
    destructive: bool,
    /// Accepted for compatibility with Salt: the next call has fresh pillar anyway.
    #[expect(dead_code, reason = "an argument without a meaning here")]
    refresh_pillar: Value,
}

impl Function for Setval {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let grains: Map = [(self.key.into(), self.val)].into_iter().collect();
        write(machine, &grains, self.destructive)?;
        Ok(grains)
    }
}

/// Sets several grains, and returns what was written.
///
/// ```text
/// rocksalt '*' grains.setvals '{role: web, rack: 4}'
/// ```
#[function("grains.setvals", changes)]
pub struct Setvals {
    /// Names and values.
    #[required]
    grains: Map,
    /// Remove the keys whose value is null.
    destructive: bool,
    /// Accepted for compatibility with Salt: the next call has fresh pillar anyway.
    #[expect(dead_code, reason = "an argument without a meaning here")]
    refresh_pillar: Value,
}

impl Function for Setvals {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        write(machine, &self.grains, self.destructive)?;
        Ok(self.grains)
    }
}

/// Puts a changed value back at its path, and writes the grain that contains it.
pub fn put_back(machine: &dyn System, key: &str, value: Value, delimiter: &str) -> Result<Value> {
    let (key, value) = whole(machine, key, value, delimiter);
    let grains: Map = [(key.into(), value)].into_iter().collect();
    write(machine, &grains, false)?;
    Ok(Value::Map(grains))
}

/// The grain that contains a changed value, with its whole content.
pub fn whole<'a>(machine: &dyn Probe, mut key: &'a str, mut value: Value, delimiter: &str) -> (&'a str, Value) {
    while let Some((above, rest)) = key.rsplit_once(delimiter).filter(|_| !delimiter.is_empty()) {
        let mut whole = lookup(machine, above, delimiter).unwrap_or_else(|| Value::Map(Map::new()));
        if let Value::Map(map) = &mut whole {
            map.insert(rest, value);
        }
        (key, value) = (above, whole);
    }
    (key, value)
}

/// Adds a value to a list, which is created if it doesn't exist.
///
/// ```text
/// rocksalt '*' grains.append roles web
/// rocksalt '*' grains.append deployment:teams ops
/// ```
#[function("grains.append", changes)]
pub struct Append {
    /// The list's name, or a path to it.
    key: String,
    /// What to add; the items of a list are added one by one.
    #[required]
    val: Value,
    /// Make a list of what is no list yet.
    convert: bool,
    /// The delimiter of a path.
    #[default(colon())]
    delimiter: String,
}

impl Function for Append {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let key = &self.key;
        let found = lookup(machine, key, &self.delimiter).unwrap_or_else(|| Value::List(Vec::new()));
        let mut list = match found {
            Value::List(list) => list,
            Value::Null if self.convert => Vec::new(),
            other if self.convert => vec![other],
            _ => return Ok(format!("The key {key} is not a valid list").into()),
        };
        if list.contains(&self.val) {
            return Ok(format!("The val {} was already in the list {key}", self.val).into());
        }
        match self.val {
            Value::List(items) => list.extend(items),
            item => list.push(item),
        }
        put_back(machine, key, Value::List(list), &self.delimiter)
    }
}

/// Removes a value from a list.
///
/// ```text
/// rocksalt '*' grains.remove roles web
/// ```
#[function("grains.remove", changes)]
pub struct Remove {
    /// The list's name, or a path to it.
    key: String,
    /// What to remove.
    #[required]
    val: Value,
    /// The delimiter of a path.
    #[default(colon())]
    delimiter: String,
}

impl Function for Remove {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let key = &self.key;
        let found = lookup(machine, key, &self.delimiter).unwrap_or_else(|| Value::List(Vec::new()));
        let Value::List(mut list) = found else { return Ok(format!("The key {key} is not a valid list").into()) };
        let Some(at) = list.iter().position(|item| *item == self.val) else {
            return Ok(format!("The val {} was not in the list {key}", self.val).into());
        };
        list.remove(at);
        put_back(machine, key, Value::List(list), &self.delimiter)
    }
}

/// The result of a cautious change.
#[derive(Serialize)]
pub struct GrainChange {
    comment: String,
    changes: Value,
    result: bool,
}

impl GrainChange {
    fn refused(comment: String) -> Result<GrainChange> {
        Ok(GrainChange { comment, changes: Value::Map(Map::new()), result: false })
    }
}

/// Sets a grain at any depth; lists and maps are only overwritten by force.
///
/// ```text
/// rocksalt '*' grains.set apps:shop:port 2209
/// ```
#[function("grains.set", changes)]
pub struct Set {
    /// The name, or a path.
    key: String,
    /// Its new value.
    #[default("")]
    val: Value,
    /// Overwrite lists and maps too.
    force: bool,
    /// Remove the key if the value is null.
    destructive: bool,
    /// The delimiter of a path.
    #[default(colon())]
    delimiter: String,
}

impl Function for Set {
    type Output = GrainChange;

    fn call(self, machine: &dyn System) -> Result<GrainChange> {
        if self.is_set(machine) {
            let comment = "Grain is already set".to_owned();
            return Ok(GrainChange { comment, changes: Value::Map(Map::new()), result: true });
        }
        match self.foreseen(machine) {
            Ok(grains) => {
                write(machine, &grains, self.destructive)?;
                Ok(GrainChange { comment: String::new(), changes: Value::Map(grains), result: true })
            }
            Err(text) => GrainChange::refused(text),
        }
    }
}

impl Set {
    pub fn request(key: String, val: Value, force: bool, destructive: bool) -> Set {
        Set { key, val, force, destructive, delimiter: colon() }
    }

    fn is_set(&self, machine: &dyn Probe) -> bool {
        let existing = lookup(machine, &self.key, &self.delimiter);
        existing.as_ref() == Some(&self.val) && !(self.val.is_null() && self.destructive)
    }

    /// The values to write, or why they can't be written.
    pub fn foreseen(&self, machine: &dyn Probe) -> Result<Map, String> {
        let Set { key, val, force, destructive, delimiter } = self;
        let existing = lookup(machine, key, delimiter);
        if let Some(existing) = existing.filter(|existing| !existing.is_null() && !force) {
            if !existing.is_scalar() {
                return Err(format!("The key '{key}' exists but is a dict or a list. Use 'force=True' to overwrite."));
            }
            if !val.is_scalar() {
                return Err(format!(
                    "The key '{key}' exists and the given value is a dict or a list. Use 'force=True' to overwrite."
                ));
            }
        }
        let (mut key, mut value) = (key.as_str(), val.clone());
        while let Some((above, rest)) = key.rsplit_once(delimiter.as_str()).filter(|_| !delimiter.is_empty()) {
            let mut whole = lookup(machine, above, delimiter).unwrap_or_else(|| Value::Map(Map::new()));
            if !set_below(&mut whole, rest, value, *force, *destructive) {
                return Err(format!(
                    "The key '{above}' value is '{whole}', which is different from the provided key '{rest}'. \
                     Use 'force=True' to overwrite."
                ));
            }
            (key, value) = (above, whole);
        }
        Ok([(key.into(), value)].into_iter().collect())
    }
}

/// Sets one key in the map above it; false if that is not a map.
fn set_below(whole: &mut Value, key: &str, value: Value, force: bool, destructive: bool) -> bool {
    let single = |value: Value| Value::Map([(key.into(), value)].into_iter().collect());
    match whole {
        Value::Map(map) if value.is_null() && destructive => drop(map.remove(key)),
        Value::Map(map) => drop(map.insert(key, value)),
        Value::List(items) => {
            let mut updated = false;
            for item in items.iter_mut() {
                match item {
                    Value::Map(map) if map.contains_key(key) => drop(map.insert(key, value.clone())),
                    other if other.as_str() == Some(key) => *other = single(value.clone()),
                    _ => continue,
                }
                updated = true;
            }
            if !updated {
                items.push(single(value));
            }
        }
        other if force || other.as_str() == Some(key) => *other = single(value),
        _ => return false,
    }
    true
}

/// Sets a grain to null, or removes it.
///
/// ```text
/// rocksalt '*' grains.delval role destructive=True
/// ```
#[function("grains.delval", changes)]
pub struct Delval {
    /// The name, or a path.
    key: String,
    /// Remove the key too.
    destructive: bool,
    /// Also if it is a list or a map.
    force: bool,
}

impl Function for Delval {
    type Output = GrainChange;

    fn call(self, machine: &dyn System) -> Result<GrainChange> {
        let Delval { key, destructive, force } = self;
        Set { key, val: Value::Null, force, destructive, delimiter: colon() }.call(machine)
    }
}

/// Removes a grain with its key.
///
/// ```text
/// rocksalt '*' grains.delkey role
/// ```
#[function("grains.delkey", changes)]
pub struct Delkey {
    /// The name, or a path.
    key: String,
    /// Also if it is a list or a map.
    force: bool,
}

impl Function for Delkey {
    type Output = GrainChange;

    fn call(self, machine: &dyn System) -> Result<GrainChange> {
        Delval { key: self.key, destructive: true, force: self.force }.call(machine)
    }
}

#[cfg(test)]
mod tests {
    use rocksalt_core::{Call, yaml};

    use crate::catalog;
    use crate::grains::look;
    use crate::machine::Fake;

    /// A call on `{roles: [web], a: {b: 1}, s: x}`, its result, and the file afterwards.
    #[test]
    fn changes_are_written_down() {
        let cases = [
            ("setval", "[new, {x: 1}]", "{'new': {'x': 1}}", "{'keep': 1, 'new': {'x': 1}}"),
            ("setvals", "[{p: 1, q: 2}]", "{'p': 1, 'q': 2}", "{'keep': 1, 'p': 1, 'q': 2}"),
            ("setval", "[keep, null, true]", "{'keep': None}", "{}"),
            ("append", "[roles, db]", "{'roles': ['web', 'db']}", "{'keep': 1, 'roles': ['web', 'db']}"),
            ("append", "[roles, web]", "The val web was already in the list roles", "{'keep': 1}"),
            ("append", "[s, y]", "The key s is not a valid list", "{'keep': 1}"),
            ("append", "[s, y, true]", "{'s': ['x', 'y']}", "{'keep': 1, 's': ['x', 'y']}"),
            ("append", "['a:l', y]", "{'a': {'b': 1, 'l': ['y']}}", "{'keep': 1, 'a': {'b': 1, 'l': ['y']}}"),
            ("remove", "[roles, web]", "{'roles': []}", "{'keep': 1, 'roles': []}"),
            ("remove", "[roles, db]", "The val db was not in the list roles", "{'keep': 1}"),
            (
                "set",
                "['a:b', 2]",
                "{'comment': '', 'changes': {'a': {'b': 2}}, 'result': True}",
                "{'keep': 1, 'a': {'b': 2}}",
            ),
            ("set", "[s, x]", "{'comment': 'Grain is already set', 'changes': {}, 'result': True}", "{'keep': 1}"),
            (
                "set",
                "[roles, x]",
                "{'comment': \"The key 'roles' exists but is a dict or a list. Use 'force=True' to overwrite.\", \
                 'changes': {}, 'result': False}",
                "{'keep': 1}",
            ),
            ("delval", "[s]", "{'comment': '', 'changes': {'s': None}, 'result': True}", "{'keep': 1, 's': None}"),
            ("delkey", "[keep]", "{'comment': '', 'changes': {'keep': None}, 'result': True}", "{}"),
            ("delkey", "['a:b']", "{'comment': '', 'changes': {'a': {}}, 'result': True}", "{'keep': 1, 'a': {}}"),
        ];
        for (function, args, answer, file) in cases {
            let grains = yaml::parse("{roles: [web], a: {b: 1}, s: x, keep: 1}").expect("it is YAML");
            let machine = Fake::new()
                .file("/etc/rocksalt/grains", "keep: 1\n")
                .with_grains(grains.as_map().expect("a map").clone());
            let args = yaml::parse(args).expect("it is YAML").as_list().expect("a list").to_vec();
            let found = catalog::call(Call { args, ..Call::new(format!("grains.{function}")) }, &machine);
            assert_eq!(found.value.to_string(), answer, "{function}");
            let text = look::text(&machine, "/etc/rocksalt/grains").expect("it is there");
            assert_eq!(yaml::parse(&text).expect("it is YAML").to_string(), file, "{function}");
        }
    }
}
