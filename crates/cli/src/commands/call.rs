//! `rocksalt call`: a function on this machine.

use std::process::ExitCode;

use clap::Args;
use rocksalt_core::Call;
use rocksalt_core::job_options::JobOptions;

use super::Context;
use crate::failure::Failure;
use crate::printing::Printing;
use crate::this_machine::ThisMachine;
use crate::{arguments, call_check};

/// Runs a function on this machine, through an agent as on any other.
#[derive(Args)]
pub struct Options {
    /// What to run: `test.ping`, `grains.items` …
    function: String,

    /// Its arguments: by position, or as name=value; each is read as YAML
    #[arg(allow_negative_numbers = true)]
    arguments: Vec<String>,

    /// This machine's id; default: the configuration's `id`, else the host name
    #[arg(long, value_name = "ID")]
    id: Option<String>,

    /// Show what commands print as they print it
    #[arg(long, help_heading = "Output")]
    stream: bool,

    #[command(flatten)]
    printing: Printing,
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    let (args, kwargs) = arguments::parse(&options.arguments).map_err(|error| Failure::caused(&error))?;
    let call = Call { args, kwargs, ..Call::new(&options.function) };
    call_check::check(&call)?;
    let printer = options.printing.printer_for(&context, &call.function)?;
    let machine = ThisMachine::open(&context, options.id)?;
    let job_options = JobOptions { stream: options.stream, ..JobOptions::default() };
    machine.print_call(&call, job_options, printer).await
}
