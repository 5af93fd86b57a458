//! The functions, a file for each noun.
//!
//! To add a noun: write `noun.rs` with a `FUNCTIONS` list, and put one line here in each place.

mod function;

mod disk;
mod grains;
mod network;
mod ps;
mod status;
mod system;
mod test;

pub use function::{Entry, Function, Outcome, bind, entry};

use rocksalt_core::{Call, Problem, Return, call::ProblemKind, nearest};

use crate::machine::System;

/// Alphabetical by noun.
const NOUNS: &[(&str, &[Entry])] = &[
    ("disk", disk::FUNCTIONS),
    ("grains", grains::FUNCTIONS),
    ("network", network::FUNCTIONS),
    ("ps", ps::FUNCTIONS),
    ("status", status::FUNCTIONS),
    ("system", system::FUNCTIONS),
    ("test", test::FUNCTIONS),
];

/// Every function there is.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    NOUNS.iter().flat_map(|(_, functions)| functions.iter())
}

/// The nouns: `test`, `cmd`, …
pub fn nouns() -> impl Iterator<Item = &'static str> {
    NOUNS.iter().map(|(noun, _)| *noun)
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
    match get(&call.function).and_then(|entry| (entry.call)(call, machine)) {
        Ok(outcome) => Return { value: outcome.value, retcode: outcome.retcode, problem: None },
        Err(problem) => problem.into(),
    }
}
