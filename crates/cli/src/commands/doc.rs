//! `rocksalt doc`: what functions do and take.

use std::process::ExitCode;

use clap::Args;
use rocksalt_core::{Value, json, nearest};
use rocksalt_modules::{catalog, docs};

use super::Common;
use crate::failure::Failure;
use crate::say::say;

/// Shows what functions do and take; without a name, which there are.
#[derive(Args)]
pub struct Options {
    /// A function (cmd.run), a noun (cmd), or a pattern (cmd.*)
    name: Option<String>,
}

pub fn run(options: &Options, common: &Common) -> Result<ExitCode, Failure> {
    let Some(name) = &options.name else {
        list(common.json);
        return Ok(ExitCode::SUCCESS);
    };
    let found = docs::doc(name);
    if found.is_empty() {
        let known = catalog::all().map(|entry| entry.name).chain(catalog::nouns());
        let near = nearest::hint(name, known.collect::<Vec<_>>());
        return Err(
            Failure::usage(format!("there is no function '{name}'{near}")).hint("`rocksalt doc` lists what there is")
        );
    }
    if common.json {
        say!("{}", json::pretty(&Value::Map(found)));
    } else {
        for (name, text) in found.iter() {
            say!("{name}\n");
            for line in text.to_string().trim_end().lines() {
                say!("{}", format!("    {line}").trim_end());
            }
            say!("");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// One line for each noun, with its functions, folded to the terminal's width.
fn list(as_json: bool) {
    if as_json {
        let names = catalog::all().map(|entry| entry.name.into()).collect();
        say!("{}", json::pretty(&Value::List(names)));
        return;
    }
    let width = crate::environment::width().min(100);
    for noun in catalog::nouns() {
        let verbs = catalog::all().filter_map(|entry| entry.name.strip_prefix(noun)?.strip_prefix('.'));
        let mut line = format!("{noun:10}");
        for verb in verbs {
            if line.chars().count() + verb.len() + 1 > width {
                say!("{line}");
                line = " ".repeat(10);
            }
            line += &format!(" {verb}");
        }
        say!("{line}");
    }
    say!("\n`rocksalt doc NOUN` or `rocksalt doc NOUN.VERB` tells more.");
}
