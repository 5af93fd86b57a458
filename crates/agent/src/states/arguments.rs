//! Splits a chunk's arguments into those of the state and those of the run.

use rocksalt_core::touches::{Thing, Touches};
use rocksalt_core::{Map, Value, nearest};
use rocksalt_modules::catalog::{self, NAMED, StateEntry};
use rocksalt_sls::schedule::ChunkInfo;
use rocksalt_sls::{Chunk, outputs};

/// Arguments that the run handles, unless the state has an argument with that name. First Salt's, then ours.
const COMMON: [&str; 58] = [
    "onfail",
    "onfail_any",
    "onfail_all",
    "require",
    "require_any",
    "onchanges",
    "onchanges_any",
    "watch",
    "watch_any",
    "prereq",
    "prerequired",
    "listen",
    "onfail_stop",
    "onchanges_in",
    "onfail_in",
    "prereq_in",
    "watch_in",
    "require_in",
    "listen_in",
    "fun",
    "state",
    "check_cmd",
    "cmd_opts_exclude",
    "failhard",
    "onlyif",
    "unless",
    "creates",
    "retry",
    "order",
    "parallel",
    "reload_modules",
    "force_reload_modules",
    "reload_grains",
    "reload_pillar",
    "runas",
    "runas_password",
    "no_log",
    "fire_event",
    "saltenv",
    "umask",
    "use",
    "use_in",
    "names",
    "provider",
    "aggregate",
    "beacon",
    "__env__",
    "__sls__",
    "__id__",
    "__sls_included_from__",
    "__orchestration_jid__",
    "__prereq__",
    "__prerequiring__",
    "__umask__",
    "__agg__",
    "name_order",
    "register",
    "touches",
];

/// The arguments of the state itself, including its name.
pub fn state_arguments(chunk: &Chunk, entry: &StateEntry) -> Map {
    let fields = entry.arguments;
    let is_own = |key: &Value| match key.as_str() {
        Some(name) => {
            (fields.contains(&name) && name != "umask") || !COMMON.contains(&name) && !is_client_argument(name)
        }
        None => true,
    };
    let mut own = Map::new();
    own.insert("name", chunk.name_value.clone().unwrap_or_else(|| chunk.name.as_str().into()));
    own.extend(chunk.arguments.iter().filter(|(key, _)| is_own(key)).map(|(key, value)| (key.clone(), value.clone())));
    own
}

/// Arguments that the state does not have, and for each a hint with the nearest known spelling.
pub fn unknown_arguments(own: &Map, entry: &StateEntry) -> (Vec<String>, Vec<String>) {
    let fields = entry.arguments;
    if fields.contains(&NAMED) {
        return (Vec::new(), Vec::new());
    }
    let names: Vec<String> = own
        .keys()
        .map(ToString::to_string)
        .filter(|name| name != "name" && !fields.contains(&name.as_str()) && !name.starts_with("__"))
        .collect();
    let known = || fields.iter().chain(&COMMON).copied().filter(|name| !name.starts_with("__"));
    let hint = |name: &String| format!("{}: no argument '{name}'{}", entry.name, nearest::hint(name, known()));
    let hints = names.iter().map(hint).collect();
    (names, hints)
}

/// Salt's message for unknown arguments.
pub fn invalid(names: &[String], state: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    match quoted.split_last() {
        Some((last, [])) => format!("{last} is an invalid keyword argument for '{state}'"),
        Some((last, rest)) => format!("{} and {last} are invalid keyword arguments for '{state}'", rest.join(", ")),
        None => String::new(),
    }
}

/// Whether Salt's clients send this argument with every call.
fn is_client_argument(name: &str) -> bool {
    name.starts_with("__pub_")
}

/// What the schedule needs to know about a chunk: what it touches, and which chunks it can be merged with.
pub fn chunk_info(chunk: &Chunk) -> ChunkInfo {
    let unknown = ChunkInfo { touches: Touches::everything(), join: None };
    let Some(entry) = catalog::find_state(&chunk.function()) else {
        // Such a step always fails.
        return ChunkInfo { touches: Touches::nothing(), join: None };
    };
    let given = |name: &str| chunk.arguments.contains_key(name);
    let own = state_arguments(chunk, entry);
    if let Some(touches) = chunk.arguments.get("touches") {
        return ChunkInfo { touches: declared(touches), join: None };
    }
    // Commands may read anything, and slots call any function.
    let looks = ["unless", "onlyif", "check_cmd", "reload_grains", "reload_pillar"];
    if looks.iter().any(|name| given(name)) || own.values().any(|value| outputs::are_in(value) || has_slot(value)) {
        return unknown;
    }
    let key = entry.join.and_then(|join| (join.key)(&own));
    let plain = !["creates", "retry", "umask", "runas", "parallel", "no_log"].iter().any(|name| given(name));
    let join = key.filter(|_| plain).map(|key| format!("{}\n{key}", entry.name));
    let mut touches = entry.touches(entry.bind(own));
    if !touches.everything {
        for path in texts(chunk.arguments.get("creates")) {
            touches = touches.reads(Thing::Path(path));
        }
        for user in texts(chunk.arguments.get("runas")) {
            touches = touches.reads(Thing::User(user));
        }
    }
    ChunkInfo { touches, join }
}

/// Parses the argument `touches`: `touches: [/srv/a]`, `touches: {reads: …, writes: …}` or `touches: nothing`.
fn declared(value: &Value) -> Touches {
    let paths = |value: Option<&Value>| texts(value).into_iter().map(Thing::Path);
    match value {
        Value::Map(map) => {
            let touches = paths(map.get("reads")).fold(Touches::nothing(), Touches::reads);
            paths(map.get("writes")).fold(touches, Touches::writes)
        }
        Value::String(text) if text == "everything" => Touches::everything(),
        Value::String(text) if text == "nothing" => Touches::nothing(),
        other => paths(Some(other)).fold(Touches::nothing(), Touches::writes),
    }
}

fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::List(items)) => items.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    }
}

fn has_slot(value: &Value) -> bool {
    match value {
        Value::String(text) => text.starts_with(super::slots::MARK),
        Value::List(items) => items.iter().any(has_slot),
        Value::Map(map) => map.values().any(has_slot),
        _ => false,
    }
}
