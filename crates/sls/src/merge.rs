//! Merges data into other data by one of Salt's strategies: for pillar, `slsutil.merge` and `defaults.merge`.

use rocksalt_core::{Map, Value};

/// `pillar_source_merging_strategy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Top-level keys are replaced; what is marked for it is collected (which only `yamlex` can do).
    Aggregate,
    /// Values of both go into a list, for the keys of the first alone.
    List,
    /// Top-level keys are replaced.
    Overwrite,
    /// Maps are merged at all depths.
    Recurse,
}

impl Strategy {
    /// `smart` depends on the renderer; what is unknown merges recursively.
    pub fn from_name(name: &str, renderer: &str) -> Strategy {
        let aggregates = renderer.rsplit('|').next() == Some("yamlex") || renderer.starts_with("yamlex_");
        match name {
            "smart" if aggregates => Strategy::Aggregate,
            "aggregate" => Strategy::Aggregate,
            "list" => Strategy::List,
            "overwrite" => Strategy::Overwrite,
            _ => Strategy::Recurse,
        }
    }
}

/// Merges `from` into `into`, which it wins over.
pub fn merge(mut into: Map, from: Map, strategy: Strategy, merge_lists: bool) -> Map {
    match strategy {
        Strategy::Recurse => update(&mut into, from, merge_lists),
        Strategy::Aggregate | Strategy::Overwrite => into.extend(from),
        Strategy::List => {
            for (key, value) in into.iter_mut() {
                if let Some(other) = from.get_value(key) {
                    *value = Value::List(vec![std::mem::take(value), other.clone()]);
                }
            }
        }
    }
    into
}

/// Maps are merged, lists replaced or, with `merge_lists`, joined without doubles; all else is replaced.
pub fn update(into: &mut Map, from: Map, merge_lists: bool) {
    for (key, value) in from {
        let Some(there) = into.get_value_mut(&key) else {
            into.insert(key, value);
            continue;
        };
        match (there, value) {
            (Value::Map(there), Value::Map(value)) => update(there, value, merge_lists),
            (Value::List(there), Value::List(value)) if merge_lists => {
                let new: Vec<Value> = value.into_iter().filter(|item| !there.contains(item)).collect();
                there.extend(new);
            }
            (there, value) => *there = value,
        }
    }
}

#[cfg(test)]
mod tests {
    use rocksalt_core::{json, yaml};

    use super::*;

    #[test]
    fn strategies_merge_as_salt_does() {
        let cases = [
            ("recurse", false, r#"{"a":{"x":9,"y":[2],"z":3},"b":null,"c":1}"#),
            ("recurse", true, r#"{"a":{"x":9,"y":[1,2],"z":3},"b":null,"c":1}"#),
            ("smart", false, r#"{"a":{"x":9,"y":[2],"z":3},"b":null,"c":1}"#),
            ("overwrite", false, r#"{"a":{"x":9,"y":[2]},"b":null,"c":1}"#),
            ("aggregate", false, r#"{"a":{"x":9,"y":[2]},"b":null,"c":1}"#),
            ("list", false, r#"{"a":[{"x":1,"y":[1],"z":3},{"x":9,"y":[2]}],"b":[{"k":1},null]}"#),
            ("none", false, r#"{"a":{"x":9,"y":[2],"z":3},"b":null,"c":1}"#),
        ];
        let map = |text: &str| match yaml::parse(text) {
            Ok(Value::Map(map)) => map,
            other => panic!("{text} is no map: {other:?}"),
        };
        for (strategy, merge_lists, expected) in cases {
            let (into, from) = (map("{a: {x: 1, y: [1], z: 3}, b: {k: 1}}"), map("{a: {x: 9, y: [2]}, b: ~, c: 1}"));
            let merged = merge(into, from, Strategy::from_name(strategy, "jinja|yaml"), merge_lists);
            assert_eq!(json::compact(&merged.into()), expected, "{strategy}");
        }
    }
}
