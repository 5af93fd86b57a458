//! `rocksalt doc`: the documentation of functions and states.

use std::process::ExitCode;

use clap::Args;
use rocksalt_catalog::{FUNCTIONS, STATES, docs, nouns, state_nouns};
use rocksalt_core::{Value, json, nearest};

use super::Common;
use crate::failure::Failure;
use crate::stdout::print_line;

/// Shows what functions and states do and take; without a name, which there are.
#[derive(Args)]
pub struct Options {
    /// A function (cmd.run), a state (file.managed), a noun (cmd), or a pattern (cmd.*)
    name: Option<String>,
}

pub fn run(options: &Options, common: &Common) -> Result<ExitCode, Failure> {
    let Some(name) = &options.name else {
        list(common.json);
        return Ok(ExitCode::SUCCESS);
    };
    // A noun may have a function and a state with the same name: functions first, then states.
    let functions = docs::doc(name);
    let states = docs::state_doc(name);
    if functions.is_empty() && states.is_empty() {
        let known = FUNCTIONS.iter().map(|one| one.name).chain(nouns()).chain(STATES.iter().map(|one| one.name));
        let near = nearest::hint(name, known.collect::<Vec<_>>());
        return Err(Failure::usage(format!("there is no function or state '{name}'{near}"))
            .hint("`rocksalt doc` lists what there is"));
    }
    if common.json {
        let mut found = functions;
        for (name, text) in states {
            let name = if found.get_value(&name).is_some() { format!("{name} (state)").into() } else { name };
            found.insert(name, text);
        }
        print_line!("{}", json::pretty(&Value::Map(found)));
    } else {
        for (kind, found) in [("", &functions), (" (state)", &states)] {
            for (name, text) in found.iter() {
                print_line!("{name}{kind}\n");
                for line in text.to_string().trim_end().lines() {
                    print_line!("{}", format!("    {line}").trim_end());
                }
                print_line!("");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints one line for each noun, with its functions, folded to the terminal's width.
fn list(as_json: bool) {
    if as_json {
        let names = FUNCTIONS.iter().map(|one| one.name.into()).collect();
        print_line!("{}", json::pretty(&Value::List(names)));
        return;
    }
    let width = crate::environment::width().min(100);
    print_line!("Functions:\n");
    for noun in nouns() {
        fold(noun, FUNCTIONS.iter().filter_map(|one| one.name.strip_prefix(noun)?.strip_prefix('.')), width);
    }
    print_line!("\nStates:\n");
    for noun in state_nouns() {
        fold(noun, STATES.iter().filter_map(|one| one.name.strip_prefix(noun)?.strip_prefix('.')), width);
    }
    print_line!("\n`rocksalt doc NOUN` or `rocksalt doc NOUN.VERB` tells more.");
}

/// A noun and its verbs, folded to the terminal's width.
fn fold<'a>(noun: &str, verbs: impl Iterator<Item = &'a str>, width: usize) {
    let mut line = format!("{noun:12}");
    for verb in verbs {
        if line.chars().count() + verb.len() + 1 > width {
            print_line!("{line}");
            line = " ".repeat(12);
        }
        line += &format!(" {verb}");
    }
    print_line!("{line}");
}
