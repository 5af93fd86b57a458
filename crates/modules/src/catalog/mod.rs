//! The functions, a file for each noun.
//!
//! To add a noun: write `noun.rs` with a `FUNCTIONS` list, and put one line here in each place.

mod from_template;
mod function;
mod in_place;
mod state;
mod tool;
mod verdict;

mod alternatives;
mod archive;
mod cmd;
mod config;
mod cp;
mod defaults;
mod dig;
mod disk;
mod dnsutil;
mod environ;
mod event;
mod file;
mod gem;
mod git;
mod grains;
mod group;
mod hashutil;
mod host;
mod http;
mod ini;
mod locale;
mod log;
mod matching;
mod mine;
mod module;
mod network;
mod npm;
mod pillar;
mod pip;
mod pkg;
mod ps;
mod publish;
mod random;
mod saltutil;
mod service;
mod slsutil;
mod states;
mod status;
mod sys;
mod system;
mod test;
mod timezone;
mod user;
mod virtualenv;
mod x509;

pub use from_template::from_template;
pub use function::{Entry, Function, NAMED, Outcome, entry};
pub use in_place::{Changed, changed, changes_in_place};
pub use rocksalt_core::touches::{Thing, Touches};
pub use state::{Bound, Decision, Described, Join, State, StateEntry, Step, state};
pub use verdict::Verdict;

use rocksalt_core::{Call, Problem, Return, call::ProblemKind, nearest};

use crate::machine::System;
use crate::text::glob;

/// Alphabetical by noun.
const NOUNS: &[(&str, &[Entry])] = &[
    ("alternatives", alternatives::FUNCTIONS),
    ("archive", archive::FUNCTIONS),
    ("cmd", cmd::FUNCTIONS),
    ("config", config::FUNCTIONS),
    ("cp", cp::FUNCTIONS),
    ("defaults", defaults::FUNCTIONS),
    ("dig", dig::FUNCTIONS),
    ("disk", disk::FUNCTIONS),
    ("dnsutil", dnsutil::FUNCTIONS),
    ("environ", environ::FUNCTIONS),
    ("event", event::FUNCTIONS),
    ("file", file::FUNCTIONS),
    ("gem", gem::FUNCTIONS),
    ("git", git::FUNCTIONS),
    ("grains", grains::FUNCTIONS),
    ("group", group::FUNCTIONS),
    ("hashutil", hashutil::FUNCTIONS),
    ("http", http::FUNCTIONS),
    ("locale", locale::FUNCTIONS),
    ("log", log::FUNCTIONS),
    ("match", matching::FUNCTIONS),
    ("mine", mine::FUNCTIONS),
    ("network", network::FUNCTIONS),
    ("npm", npm::FUNCTIONS),
    ("pillar", pillar::FUNCTIONS),
    ("pip", pip::FUNCTIONS),
    ("pkg", pkg::FUNCTIONS),
    ("ps", ps::FUNCTIONS),
    ("publish", publish::FUNCTIONS),
    ("random", random::FUNCTIONS),
    ("saltutil", saltutil::FUNCTIONS),
    ("service", service::FUNCTIONS),
    ("slsutil", slsutil::FUNCTIONS),
    ("state", states::FUNCTIONS),
    ("status", status::FUNCTIONS),
    ("sys", sys::FUNCTIONS),
    ("system", system::FUNCTIONS),
    ("test", test::FUNCTIONS),
    ("timezone", timezone::FUNCTIONS),
    ("user", user::FUNCTIONS),
    ("virtualenv", virtualenv::FUNCTIONS),
    ("x509", x509::FUNCTIONS),
];

/// Every function there is.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    NOUNS.iter().flat_map(|(_, functions)| functions.iter())
}

/// Alphabetical by noun; a noun's states are beside its functions.
const STATES: &[(&str, &[StateEntry])] = &[
    ("archive", archive::STATES),
    ("cmd", cmd::STATES),
    ("environ", environ::STATES),
    ("event", event::STATES),
    ("file", file::STATES),
    ("gem", gem::STATES),
    ("git", git::STATES),
    ("host", host::STATES),
    ("http", http::STATES),
    ("ini", ini::STATES),
    ("module", module::STATES),
    ("npm", npm::STATES),
    ("pip", pip::STATES),
    ("test", test::STATES),
    ("virtualenv", virtualenv::STATES),
    ("x509", x509::STATES),
];

/// Every state there is.
pub fn states() -> impl Iterator<Item = &'static StateEntry> {
    STATES.iter().flat_map(|(_, states)| states.iter())
}

/// As [`matching`], for states.
pub fn matching_states(pattern: &str) -> impl Iterator<Item = &'static StateEntry> {
    let pattern = pattern.trim_end_matches('.').to_owned();
    let noun = !pattern.is_empty() && !pattern.contains('.');
    states().filter(move |entry| match noun {
        true => glob::matches(&pattern, entry.name.split('.').next().unwrap_or_default()),
        false => pattern.is_empty() || glob::matches(&pattern, entry.name),
    })
}

pub fn find_state(name: &str) -> Option<&'static StateEntry> {
    let (noun, _) = name.split_once('.')?;
    let (_, states) = STATES.iter().find(|(known, _)| *known == noun)?;
    states.iter().find(|entry| entry.name == name)
}

/// The nouns: `test`, `cmd`, …
pub fn nouns() -> impl Iterator<Item = &'static str> {
    NOUNS.iter().map(|(noun, _)| *noun)
}

/// What a name means: a function, all of a noun, or all that match a shell pattern; empty for all.
pub fn matching(pattern: &str) -> impl Iterator<Item = &'static Entry> {
    let pattern = pattern.trim_end_matches('.').to_owned();
    let noun = !pattern.is_empty() && !pattern.contains('.');
    all().filter(move |entry| {
        let known = |name: &str| match noun {
            true => glob::matches(&pattern, name.split('.').next().unwrap_or_default()),
            false => pattern.is_empty() || glob::matches(&pattern, name),
        };
        known(entry.name) || entry.aliases.iter().any(|alias| !noun && *alias == pattern)
    })
}

pub fn find(name: &str) -> Option<&'static Entry> {
    let (noun, _) = name.split_once('.')?;
    let (_, functions) = NOUNS.iter().find(|(known, _)| *known == noun)?;
    functions.iter().find(|entry| entry.name == name || entry.aliases.contains(&name))
}

/// As [`find`], with an error that names the nearest spelling.
pub fn get(name: &str) -> Result<&'static Entry, Problem> {
    find(name).ok_or_else(|| {
        let hint = nearest::hint(name, all().map(|entry| entry.name));
        // Salt's own words, which people and scripts search for.
        Problem::new(ProblemKind::UnknownFunction, format!("'{name}' is not available."))
            .hint(format!("`rocksalt doc` lists what there is{hint}"))
    })
}

/// Runs a call on a machine.
pub fn call(call: Call, machine: &dyn System) -> Return {
    match get(&call.function).and_then(|entry| entry.call(call, machine)) {
        Ok(outcome) => Return { value: outcome.value, retcode: outcome.retcode, problem: None },
        Err(problem) => problem.into(),
    }
}
