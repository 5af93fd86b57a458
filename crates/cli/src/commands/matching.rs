//! `rocksalt match`: whether target expressions match this machine.

use std::process::ExitCode;

use clap::Args;
use rocksalt_core::{Call, Map, json};

use super::Context;
use super::state;
use crate::failure::{Failure, FailureKind};
use crate::stdout::print_line;
use crate::this_machine::ThisMachine;

/// Tests whether compound target expressions match this machine (or the given grains).
///
/// The exit code is 0 if all of them do, else 2.
#[derive(Args)]
pub struct Options {
    /// Compound expressions: 'G@os:Debian and web*'
    #[arg(required = true)]
    expressions: Vec<String>,
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    let machine = ThisMachine::open(&context, None)?;
    let mut answers = Map::new();
    for expression in &options.expressions {
        let call = Call::new("match.compound").arg(expression.as_str());
        answers.insert(expression.as_str(), state::succeeded(machine.call(&call).await?)?);
    }
    let all = answers.values().all(|answer| answer.truth());
    if context.common.json {
        print_line!("{}", json::compact(&Map::from_iter([("match".into(), answers.into())]).into()));
        return Ok(ExitCode::SUCCESS);
    }
    for (expression, answer) in answers.iter() {
        print_line!("{expression}: {}", if answer.truth() { "yes" } else { "no" });
    }
    if all { Ok(ExitCode::SUCCESS) } else { Err(Failure::silent(FailureKind::Function)) }
}
