//! The few functions that in Salt change the map that they get, besides returning a new one.
//!
//! Formulas use this: `{% do salt['defaults.merge'](settings, more) %}`. A [`Function`] here gets copies, so the code
//! that calls for a template puts the changed map back.
//!
//! [`Function`]: super::Function

use rocksalt_core::{Call, Map, Value};

/// An argument that a call changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InPlaceChange {
    /// Its position, if it was given by position.
    pub position: usize,
    /// Its name, if it was given by name.
    pub name: &'static str,
    /// The new value.
    pub value: Value,
}

/// Whether calls of a function may change their arguments: only then the call must be kept.
pub fn changes_in_place(function: &str) -> bool {
    matches!(function, "defaults.merge" | "defaults.update" | "slsutil.merge" | "slsutil.update")
}

/// The change that a call with this result made to its first argument.
pub fn changed(call: &Call, result: &Value) -> Option<InPlaceChange> {
    let argument = |index: usize, name: &str| call.args.get(index).or_else(|| call.kwargs.get(name));
    match call.function.as_str() {
        "defaults.merge" | "defaults.update" => {
            let in_place = argument(3, "in_place").is_none_or(Value::truth);
            in_place.then(|| InPlaceChange { position: 0, name: "dest", value: result.clone() })
        }
        "slsutil.update" => Some(InPlaceChange { position: 0, name: "dest", value: result.clone() }),
        "slsutil.merge" if argument(2, "strategy").and_then(Value::as_str) == Some("overwrite") => {
            let (Value::Map(first), Value::Map(second)) = (argument(0, "obj_a")?, argument(1, "obj_b")?) else {
                return None;
            };
            // Keys that only the second map has are not added to the first.
            let replaced = first.iter().map(|(key, old)| (key.clone(), second.get_value(key).unwrap_or(old).clone()));
            Some(InPlaceChange { position: 0, name: "obj_a", value: Value::Map(replaced.collect::<Map>()) })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rocksalt_core::yaml;

    use super::*;
    use crate::catalog;
    use crate::machine::Fake;

    /// Function, arguments, named arguments, and the first argument after the call in Salt 3008.3.
    #[test]
    fn maps_are_changed_as_in_salt() {
        let cases = [
            ("defaults.merge", "[{a: {b: 1}}, {a: {c: 2}}]", "{}", Some("{'a': {'b': 1, 'c': 2}}")),
            ("defaults.merge", "[{a: 1}, {a: 2}]", "{in_place: false}", None),
            ("defaults.merge", "[{a: 1}, {a: 2}, false, false]", "{}", None),
            ("defaults.update", "[{h: {a: 1}}, {b: 2}]", "{}", Some("{'h': {'b': 2, 'a': 1}}")),
            ("slsutil.update", "[{a: 1}, {b: 2}]", "{}", Some("{'a': 1, 'b': 2}")),
            (
                "slsutil.merge",
                "[{a: {b: 1}, x: 1}, {a: {c: 2}, y: 2}, overwrite]",
                "{}",
                Some("{'a': {'c': 2}, 'x': 1}"),
            ),
            ("slsutil.merge", "[{a: 1}, {a: 2}]", "{}", None),
            ("test.arg", "[{a: 1}]", "{}", None),
        ];
        for (function, args, kwargs, expected) in cases {
            let value = |text| yaml::parse(text).expect("it is YAML");
            let call = Call {
                args: value(args).as_list().expect("a list").to_vec(),
                kwargs: value(kwargs).as_map().expect("a map").clone(),
                ..Call::new(function)
            };
            let result = catalog::call(call.clone(), &Fake::new()).value;
            let found = changed(&call, &result);
            assert_eq!(found.as_ref().map(|changed| changed.value.to_string()).as_deref(), expected, "{function}");
            assert!(found.is_none() || changes_in_place(function), "{function}");
            let arguments = catalog::find(function).map(|entry| entry.arguments).unwrap_or_default();
            assert!(found.is_none_or(|changed| arguments[changed.position] == changed.name), "{function}");
        }
    }
}
