//! Salt's strategies for merging data, for pillars and templates.

use crate::value::{Map, Value};

/// What happens to a key that both sides have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Merges maps at every depth; lists are replaced, or joined on request.
    Recurse,
    /// Like `Recurse`, but lists are never joined. Salt uses it for `none` and for unknown names.
    RecurseOnly,
    /// Replaces the values of top-level keys.
    Overwrite,
    /// Collects the values of both sides in lists; keys that only the second has are dropped.
    List,
    /// Merges maps only at the top level; other values become a list of both without duplicates.
    Aggregate,
}

impl Strategy {
    /// The strategy that Salt uses for a name; `smart` depends on the renderer.
    pub fn named(name: &str, renderer: &str) -> Strategy {
        match name {
            "smart" if renderer.rsplit('|').next() == Some("yamlex") || renderer.starts_with("yamlex_") => {
                Strategy::Aggregate
            }
            "smart" | "recurse" => Strategy::Recurse,
            "overwrite" => Strategy::Overwrite,
            "list" => Strategy::List,
            "aggregate" => Strategy::Aggregate,
            _ => Strategy::RecurseOnly,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Cannot update using non-dict types in dictupdate.update()")]
pub struct NotMaps;

/// Merges `second` over `first`. All strategies but [`Strategy::Aggregate`] need two maps.
pub fn merge(first: Value, second: Value, strategy: Strategy, merge_lists: bool) -> Result<Value, NotMaps> {
    match (first, second) {
        (Value::Map(first), Value::Map(second)) => Ok(Value::Map(merge_maps(first, second, strategy, merge_lists))),
        (first, second) if strategy == Strategy::Aggregate => Ok(Value::List(aggregated(first, second))),
        _ => Err(NotMaps),
    }
}

/// Like [`merge`], for two maps.
pub fn merge_maps(mut first: Map, second: Map, strategy: Strategy, merge_lists: bool) -> Map {
    match strategy {
        Strategy::Recurse => update(&mut first, second, merge_lists),
        Strategy::RecurseOnly => update(&mut first, second, false),
        // The first side's values are replaced, so there are no lists to join.
        Strategy::Overwrite | Strategy::Aggregate => first.extend(second),
        Strategy::List => collect(&mut first, second),
    }
    first
}

/// Merges a map over another: maps at every depth; lists are joined if `merge_lists` is set.
///
/// An existing key keeps its position.
pub fn update(under: &mut Map, over: Map, merge_lists: bool) {
    for (key, value) in over {
        match (under.get_value_mut(&key), value) {
            (Some(Value::Map(under)), Value::Map(over)) => update(under, over, merge_lists),
            (Some(Value::List(under)), Value::List(over)) if merge_lists => join(under, over),
            (Some(place), value) => *place = value,
            (None, value) => drop(under.insert(key, value)),
        }
    }
}

/// Appends the items that the list doesn't have yet. As in Salt, duplicates within `more` stay.
pub fn join(list: &mut Vec<Value>, more: Vec<Value>) {
    let had = list.len();
    for item in more {
        if !list[..had].iter().any(|known| known.equals(&item)) {
            list.push(item);
        }
    }
}

fn collect(first: &mut Map, mut second: Map) {
    for (key, value) in first.iter_mut() {
        if let Some(other) = second.get_value_mut(key) {
            *value = Value::List(vec![std::mem::take(value), std::mem::take(other)]);
        }
    }
}

fn aggregated(first: Value, second: Value) -> Vec<Value> {
    let items = |value| match value {
        Value::List(items) => items,
        one => vec![one],
    };
    // A map and another value can't be combined: the second one stays, as a list.
    if matches!(first, Value::Map(_)) || matches!(second, Value::Map(_)) {
        return items(second);
    }
    let mut list = items(first);
    join(&mut list, items(second));
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    /// Each case has both sides, strategy and `merge_lists`, and the result of Salt 3008.3's `dictupdate.merge`.
    #[test]
    fn data_is_merged_as_in_salt() {
        let cases = [
            (
                "{a: {b: 1, l: [1]}, x: 1}",
                "{a: {c: 2, l: [2]}}",
                "smart",
                false,
                "{'a': {'b': 1, 'l': [2], 'c': 2}, 'x': 1}",
            ),
            ("{a: {l: [1, 2]}}", "{a: {l: [2, 3, 3]}}", "recurse", true, "{'a': {'l': [1, 2, 3, 3]}}"),
            ("{l: [1, {a: 1}]}", "{l: [true, 1.0, {a: 1.0}]}", "recurse", true, "{'l': [1, {'a': 1}]}"),
            ("{a: {l: [1, 2]}}", "{a: {l: [2, 3]}}", "none", true, "{'a': {'l': [2, 3]}}"),
            ("{a: {l: [1, 2]}}", "{a: {l: [2, 3]}}", "never heard of", true, "{'a': {'l': [2, 3]}}"),
            (
                "{a: {b: 1}, l: [1], z: 0}",
                "{a: {c: 2}, l: [2], y: 1}",
                "overwrite",
                true,
                "{'a': {'c': 2}, 'l': [2], 'z': 0, 'y': 1}",
            ),
            ("{a: 1, b: [1]}", "{a: 2, c: 3}", "list", false, "{'a': [1, 2], 'b': [1]}"),
            (
                "{a: {b: 1, c: 1}, l: [1]}",
                "{a: {b: 2}, l: [2], n: 1}",
                "aggregate",
                false,
                "{'a': {'b': 2}, 'l': [2], 'n': 1}",
            ),
            ("a", "b", "aggregate", false, "['a', 'b']"),
            ("[1, 2]", "2", "aggregate", false, "[1, 2]"),
            ("{a: 1}", "2", "aggregate", false, "[2]"),
            ("{a: {b: 1}}", "{a: null}", "recurse", false, "{'a': None}"),
            ("{a: [1]}", "{a: {b: 1}}", "recurse", true, "{'a': {'b': 1}}"),
            ("{}", "{a: {b: [1]}}", "recurse", true, "{'a': {'b': [1]}}"),
        ];
        for (first, second, strategy, merge_lists, expected) in cases {
            let value = |text| yaml::parse(text).expect("it is YAML");
            let merged = merge(value(first), value(second), Strategy::named(strategy, "jinja|yaml"), merge_lists);
            assert_eq!(merged.expect("they fit").to_string(), expected, "{first} {second} {strategy}");
        }
        assert_eq!(merge(1i64.into(), Map::new().into(), Strategy::Recurse, false), Err(NotMaps));
    }

    #[test]
    fn smart_knows_yamlex() {
        for (renderer, strategy) in [
            ("yaml", Strategy::Recurse),
            ("jinja|yamlex", Strategy::Aggregate),
            ("yamlex_jinja", Strategy::Aggregate),
            ("yamlex|yaml", Strategy::Recurse),
        ] {
            assert_eq!(Strategy::named("smart", renderer), strategy, "{renderer}");
        }
    }
}
