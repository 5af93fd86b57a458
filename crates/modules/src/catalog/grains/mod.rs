//! `grains`: facts about a target, gathered or set.

pub(super) mod filter;
mod states;
mod write;

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::{CatalogFunction, Function, StateEntry, entry, state};
use crate::Result;
use crate::machine::{Probe, System};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<write::Append>(),
    entry::<write::Delkey>(),
    entry::<write::Delval>(),
    entry::<Equals>(),
    entry::<filter::FilterBy>(),
    entry::<Get>(),
    entry::<HasValue>(),
    entry::<Item>(),
    entry::<Items>(),
    entry::<Ls>(),
    entry::<write::Remove>(),
    entry::<write::Set>(),
    entry::<write::Setval>(),
    entry::<write::Setvals>(),
];

pub const STATES: &[StateEntry] = &[
    state::<states::Absent>(),
    state::<states::Append>(),
    state::<states::Exists>(),
    state::<states::ListAbsent>(),
    state::<states::ListPresent>(),
    state::<states::Present>(),
];

/// The value at a path such as `ip_interfaces:eth0:0`.
fn lookup(machine: &dyn Probe, key: &str, delimiter: &str) -> Option<Value> {
    machine.grains().walk(key, delimiter).cloned()
}

fn colon() -> String {
    ":".into()
}

fn empty() -> Value {
    Value::from("")
}

/// All grains of the target.
///
/// ```text
/// rocksalt '*' grains.items
/// ```
#[function("grains.items", reads, repeatable)]
pub struct Items {
    /// Replace names and serial numbers by placeholders, to show the result to others.
    sanitize: bool,
}

impl Function for Items {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let mut grains = (*machine.grains()).clone();
        if self.sanitize {
            sanitize(&mut grains);
        }
        Ok(grains)
    }
}

fn sanitize(grains: &mut Map) {
    const PLACEHOLDERS: &[(&str, &str)] = &[
        ("serialnumber", "FILTEREDSERIAL"),
        ("domain", "DOMAINNAME"),
        ("fqdn", "MINION.DOMAINNAME"),
        ("id", "MINION.DOMAINNAME"),
        ("host", "MINION"),
        ("localhost", "MINION"),
        ("nodename", "MINION"),
    ];
    for (name, placeholder) in PLACEHOLDERS {
        if let Some(value) = grains.get_mut(name) {
            *value = (*placeholder).into();
        }
    }
}

/// One or more grains, each under its name; an unknown one is empty.
///
/// ```text
/// rocksalt '*' grains.item os osrelease
/// rocksalt '*' grains.item ip_interfaces:eth0 default=none
/// ```
#[function("grains.item", reads, repeatable)]
pub struct Item {
    /// Names, or paths such as `ip_interfaces:eth0`.
    args: Vec<String>,
    /// `default` for unknown ones, `delimiter` instead of the colon, `sanitize` as in `grains.items`.
    kwargs: Map,
}

impl Function for Item {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let default = self.kwargs.get("default").cloned().unwrap_or_else(empty);
        let delimiter = self.kwargs.get("delimiter").map_or_else(colon, ToString::to_string);
        let mut found = Map::new();
        for name in self.args {
            let value = lookup(machine, &name, &delimiter).unwrap_or_else(|| default.clone());
            found.insert(name, value);
        }
        if self.kwargs.get("sanitize").is_some_and(Value::truth) {
            sanitize(&mut found);
        }
        Ok(found)
    }
}

/// The value of a grain.
///
/// ```text
/// rocksalt '*' grains.get os_family
/// rocksalt '*' grains.get ip_interfaces:eth0 default='[]'
/// ```
#[function("grains.get", reads, repeatable, also("grains.fetch"))]
pub struct Get {
    /// The name, or a path into it.
    key: String,
    /// The answer if there is no such grain.
    #[default("")]
    default: Value,
    /// The delimiter of a path.
    #[default(":")]
    delimiter: String,
    /// Accepted for compatibility with Salt: maps always keep their order.
    #[expect(dead_code, reason = "an argument without a meaning here")]
    ordered: Value,
}

impl Function for Get {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        Ok(lookup(machine, &self.key, &self.delimiter).unwrap_or(self.default))
    }
}

/// Whether a grain exists, even if it is empty.
///
/// ```text
/// rocksalt '*' grains.has_value virtual_subtype
/// ```
#[function("grains.has_value", reads, repeatable)]
pub struct HasValue {
    /// The name, or a path into it.
    key: String,
}

impl Function for HasValue {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(lookup(machine, &self.key, ":").is_some())
    }
}

/// Whether a grain has this value; numbers and texts that look the same are equal.
///
/// ```text
/// rocksalt '*' grains.equals systemd:version 252
/// ```
#[function("grains.equals", reads, repeatable)]
pub struct Equals {
    /// The name, or a path into it.
    key: String,
    /// What it should be.
    #[required]
    value: Value,
}

impl Function for Equals {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let found = lookup(machine, &self.key, ":").unwrap_or_else(empty);
        Ok(found.to_string() == self.value.to_string())
    }
}

/// The names of all grains, sorted.
///
/// ```text
/// rocksalt '*' grains.ls
/// ```
#[function("grains.ls", reads, repeatable, also("grains.keys"))]
pub struct Ls {}

impl Function for Ls {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let mut names: Vec<String> = machine.grains().keys().map(ToString::to_string).collect();
        names.sort();
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use rocksalt_core::{Call, yaml};

    use crate::catalog;
    use crate::machine::Fake;

    #[test]
    fn grains_are_looked_up_by_path() {
        let cases = [
            ("grains.get", "[os]", "Debian"),
            ("grains.get", "[nope]", ""),
            ("grains.get", "[nope, 7]", "7"),
            ("grains.get", "['a:b:1']", "two"),
            ("grains.fetch", "['a/b/0', '', '/']", "one"),
            ("grains.item", "[os, nope]", "{'os': 'Debian', 'nope': ''}"),
            ("grains.has_value", "[os]", "True"),
            ("grains.has_value", "[none]", "True"),
            ("grains.has_value", "[nosuch]", "False"),
            ("grains.equals", "[number, '12']", "True"),
            ("grains.equals", "[os, RedHat]", "False"),
            ("grains.ls", "[]", "['a', 'id', 'none', 'number', 'os']"),
            (
                "grains.items",
                "[true]",
                "{'os': 'Debian', 'number': 12, 'a': {'b': ['one', 'two']}, 'none': None, 'id': 'MINION.DOMAINNAME'}",
            ),
        ];
        let grains = "{os: Debian, number: 12, a: {b: [one, two]}, none: null, id: vm}";
        let grains = yaml::parse(grains).expect("it is YAML").as_map().expect("it is a map").clone();
        let machine = Fake::new().with_grains(grains);
        for (function, args, expected) in cases {
            let args = yaml::parse(args).expect("it is YAML").as_list().expect("it is a list").to_vec();
            let answer = catalog::call(Call { args, ..Call::new(function) }, &machine);
            assert_eq!(answer.value.to_string(), expected, "{function}");
        }
    }
}
