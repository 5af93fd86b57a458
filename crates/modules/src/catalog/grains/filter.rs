//! `grains.filter_by`: a table lookup by a grain, which formulas use.

use rocksalt_core::{Map, Value, merge};
use rocksalt_macros::function;

use super::lookup;
use crate::catalog::Function;
use crate::machine::System;
use crate::text::glob;
use crate::{Error, Result};

/// Selects the entry of a table that matches a grain, and merges others with it.
///
/// ```text
/// rocksalt '*' grains.filter_by '{Debian: apache2, RedHat: httpd}'
/// rocksalt '*' grains.filter_by '{web*: {port: 80}, default: {port: 8080}}' id
/// ```
#[function("grains.filter_by", reads)]
pub struct FilterBy {
    /// The table; its keys may be patterns such as `Debian-1?`.
    #[required]
    lookup_dict: Map,
    /// The grain whose value is looked for. Of a list, the first item that fits counts.
    #[default("os_family")]
    grain: String,
    /// A map that is merged over the entry.
    merge: Value,
    /// The key of the entry that is used if none matches.
    #[default("default")]
    default: Value,
    /// The key of an entry that the found one is merged over.
    base: Value,
}

impl Function for FilterBy {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let wanted = lookup(machine, &self.grain, ":").unwrap_or_else(|| Value::List(Vec::new()));
        filter_by(self.lookup_dict, &wanted, self.merge, &self.default, &self.base)
    }
}

/// The entry of a table for a value, with `base` below it and `merge` above it.
pub fn filter_by(table: Map, wanted: &Value, merge: Value, default: &Value, base: &Value) -> Result<Value> {
    let single = std::slice::from_ref(wanted);
    let fitting = wanted.as_list().unwrap_or(single).iter().find_map(|wanted| {
        let wanted = wanted.to_string();
        let entry = table.iter().find(|(key, _)| glob::matches(&key.to_string(), &wanted));
        entry.map(|(_, value)| value).filter(|value| !value.is_null())
    });
    let mut found = fitting.or_else(|| table.get_value(default)).cloned().unwrap_or_default();
    if let Some(below) = table.get_value(base).filter(|_| base.truth()) {
        found = match (below, found) {
            (below, Value::Null) => below.clone(),
            (Value::Map(below), Value::Map(found)) => over(below.clone(), found),
            (Value::Map(_), _) => {
                return Err(Error::failed("filter_by default and look-up values must both be dictionaries."));
            }
            (_, found) => found,
        };
    }
    merged(found, merge)
}

/// An entry of a table with a map merged over it, as in all of Salt's look-ups.
fn merged(found: Value, merge: Value) -> Result<Value> {
    match (found, merge) {
        (found, merge) if !merge.truth() => Ok(found),
        (Value::Null, Value::Map(merge)) => Ok(Value::Map(merge)),
        (Value::Map(found), Value::Map(merge)) => Ok(over(found, merge)),
        (found, Value::Map(_)) => {
            Err(Error::failed(format!("filter_by can't merge a dictionary with {}", found.kind())))
        }
        _ => Err(Error::failed("filter_by merge argument must be a dictionary.")),
    }
}

fn over(mut under: Map, over: Map) -> Value {
    merge::update(&mut under, over, false);
    Value::Map(under)
}

#[cfg(test)]
mod tests {
    use rocksalt_core::yaml;

    use super::*;

    /// Table, grain, merge, default, base, and the result of Salt 3008.3.
    #[test]
    fn tables_are_filtered_as_in_salt() {
        let cases = [
            ("[{Debian: {a: 1}, default: {b: 2}}, Debian, {c: 3}, default, default]", "{'b': 2, 'a': 1, 'c': 3}"),
            ("[{'Deb*': {a: 1}, default: {b: 2}}, Debian, null, default, null]", "{'a': 1}"),
            ("[{Red: {a: 1}, x: {b: 2}}, Debian, null, x, null]", "{'b': 2}"),
            ("[{Red: {a: 1}}, Debian, null, default, null]", "None"),
            ("[{A: B, C: {D: {E: F, G: H}}}, [], {D: {E: I}, J: K}, C, null]", "{'D': {'E': 'I', 'G': 'H'}, 'J': 'K'}"),
            (
                "[{default: {A: {B: C}, D: E}, F: {A: {B: G}}, H: {D: I}}, [], {D: J}, F, default]",
                "{'A': {'B': 'G'}, 'D': 'J'}",
            ),
            ("[{b: 1, c: 2}, [a, c, b], null, default, null]", "2"),
            ("[{12: twelve}, 12, null, default, null]", "twelve"),
            ("[{'True': yes it is}, true, null, default, null]", "yes it is"),
            ("[{a: null, b: 2, default: 3}, [a, b], null, default, null]", "2"),
            ("[{a: {l: [1]}}, a, {l: [2]}, default, null]", "{'l': [2]}"),
            ("[{x: 1}, y, {a: 1}, default, null]", "{'a': 1}"),
        ];
        for (case, expected) in cases {
            let case = yaml::parse(case).expect("it is YAML");
            let [table, wanted, merge, default, base] = case.as_list().expect("a list") else { panic!("five parts") };
            let found = filter_by(table.as_map().expect("a map").clone(), wanted, merge.clone(), default, base);
            assert_eq!(found.expect("it fits").to_string(), expected);
        }
        let table = |text: &str| yaml::parse(text).expect("it is YAML").as_map().expect("a map").clone();
        for (text, merge) in [("{a: 1}", "{b: 2}"), ("{a: {b: 1}}", "[1]")] {
            let merge = yaml::parse(merge).expect("it is YAML");
            assert!(filter_by(table(text), &"a".into(), merge, &Value::Null, &Value::Null).is_err(), "{text}");
        }
    }
}
