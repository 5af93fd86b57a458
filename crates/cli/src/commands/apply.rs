//! `rocksalt apply`: states on targets.

use std::process::ExitCode;

use clap::Args;
use rocksalt_core::{Call, Value};

use super::Context;
use super::run;
use super::state::{CompileOptions, StateRunOptions};
use crate::failure::Failure;

/// Applies state files (or what the top file says) to targets; results are printed as they arrive.
#[derive(Args)]
pub struct Options {
    /// The targets: a glob of ids, unless an option says otherwise
    target: String,

    /// State files; none: what the top file gives each target
    sls: Vec<String>,

    #[command(flatten)]
    compiling: CompileOptions,

    #[command(flatten)]
    running: StateRunOptions,

    #[command(flatten)]
    targeting: run::ApplyTargeting,

    #[command(flatten)]
    run_options: run::RunOptions,
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    let mut call = Call::new("state.apply");
    if !options.sls.is_empty() {
        call = call.arg(options.sls.iter().map(|sls| sls.as_str().into()).collect::<Vec<Value>>());
    }
    options.compiling.fill(&mut call)?;
    options.running.fill(&mut call)?;
    run::run_call(context, options.target, options.targeting.kind(), call, options.run_options).await
}
