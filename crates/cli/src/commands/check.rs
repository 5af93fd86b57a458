//! `rocksalt check`: finds errors in a tree of state files without touching any machine.

use std::process::ExitCode;

use clap::Args;
use rocksalt_core::{Call, Value, json};

use super::Context;
use super::state::{self, CompileOptions};
use crate::failure::{Failure, FailureKind};
use crate::stdout::print_line;
use crate::this_machine::ThisMachine;

/// Compiles state files and checks every argument; nothing is applied.
///
/// With this machine's grains, or those of `--grains FILE`. The exit code is 1 if something is wrong.
#[derive(Args)]
pub struct Options {
    /// State files; none: all of the tree
    sls: Vec<String>,

    #[command(flatten)]
    compiling: CompileOptions,
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    let names = options.sls.iter().map(|name| name.as_str().into()).collect::<Vec<Value>>();
    let mut call = Call::new("state.check").arg(names);
    options.compiling.fill(&mut call)?;
    let result = ThisMachine::open(&context, None)?.call(&call).await?;
    if result.problem.is_some() {
        return state::succeeded(result).map(|_| ExitCode::SUCCESS);
    }
    let found = result.value;
    let texts = |key: &str| found.walk(key, ":").and_then(Value::as_list).unwrap_or_default().to_vec();
    let (errors, warnings) = (texts("errors"), texts("warnings"));
    if context.common.json {
        print_line!("{}", json::compact(&found));
    } else {
        for (kind, list) in [("warning", &warnings), ("error", &errors)] {
            list.iter().for_each(|text| print_line!("{kind}: {}\n", crate::output::clean(&text.to_string())));
        }
        let number = |key: &str| found.walk(key, ":").and_then(Value::as_i64).unwrap_or_default();
        let count = |number: i64, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
        print_line!(
            "{}, {}: {}, {}",
            count(number("files"), "state file"),
            count(number("states"), "step"),
            count(errors.len() as i64, "error"),
            count(warnings.len() as i64, "warning")
        );
    }
    if errors.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(Failure::silent(FailureKind::Usage)) }
}
