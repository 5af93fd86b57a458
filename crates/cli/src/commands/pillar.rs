//! `rocksalt pillar`: this machine's pillar, or that of a target of the roster.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use rocksalt_core::{Call, Map, Value, json};

use super::Context;
use super::state::{self, CompileOptions};
use crate::failure::{Failure, FailureKind};
use crate::printing::Printing;
use crate::stdout::print_line;
use crate::this_machine::ThisMachine;

/// Shows the pillar as this machine gets it. For others: `rocksalt TARGET pillar.items`.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    command: PillarCommand,
}

#[derive(Subcommand)]
enum PillarCommand {
    /// All of it
    Items(Items),
    /// One value, by its path
    Get(Get),
}

#[derive(Args)]
struct Items {
    #[command(flatten)]
    compiling: CompileOptions,
    #[command(flatten)]
    printing: Printing,
}

#[derive(Args)]
struct Get {
    /// The path: nginx:port
    key: String,
    /// If it isn't there
    default: Option<String>,
    #[command(flatten)]
    compiling: CompileOptions,
    #[command(flatten)]
    printing: Printing,
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    match options.command {
        PillarCommand::Items(items) => {
            let mut pillar = compiled(&context, &items.compiling).await?;
            let errors = pillar.remove("_errors");
            if !context.common.json || items.printing.out.is_some() {
                report(errors.as_ref());
                state::print(&context, &items.printing, "pillar", pillar.into())?;
            } else {
                let mut answer = Map::from_iter([("pillar".into(), pillar.into())]);
                if let Some(errors) = &errors {
                    answer.insert("errors", errors.clone());
                }
                print_line!("{}", json::compact(&answer.into()));
            }
            if errors.is_some() { Err(Failure::silent(FailureKind::Usage)) } else { Ok(ExitCode::SUCCESS) }
        }
        PillarCommand::Get(get) => {
            let pillar = Value::Map(compiled(&context, &get.compiling).await?);
            report(pillar.as_map().and_then(|pillar| pillar.get("_errors")));
            let value = match (pillar.walk(&get.key, ":"), &get.default) {
                (Some(value), _) => value.clone(),
                (None, Some(default)) => default.as_str().into(),
                (None, None) => {
                    let keys: Vec<String> =
                        pillar.as_map().map(|map| map.keys().map(ToString::to_string).collect()).unwrap_or_default();
                    let first = get.key.split(':').next().unwrap_or_default();
                    let near = rocksalt_core::nearest::hint(first, keys.iter().map(String::as_str));
                    return Err(Failure::usage(format!("the pillar has no '{}'{near}", get.key)));
                }
            };
            state::print(&context, &get.printing, &get.key, value)
        }
    }
}

async fn compiled(context: &Context, compiling: &CompileOptions) -> Result<Map, Failure> {
    let mut call = Call::new("pillar.items");
    compiling.fill(&mut call)?;
    let machine = ThisMachine::open(context, None)?;
    match state::succeeded(machine.call(&call).await?)? {
        Value::Map(pillar) => Ok(pillar),
        other => Err(Failure::usage(format!("the pillar is {}", other.kind()))),
    }
}

fn report(errors: Option<&Value>) {
    for error in errors.and_then(Value::as_list).into_iter().flatten() {
        eprintln!("error: {error}");
    }
}
