//! `rocksalt jobs show`: a job and its results.

use std::process::ExitCode;

use clap::Args;
use rocksalt_core::record::JobRecord;
use rocksalt_core::{Map, Value, json};

use super::{call, described, described_return};
use crate::commands::Context;
use crate::failure::Failure;
use crate::job_history::{JobHistory, StoredJob};
use crate::printing::Printing;
use crate::stdout::print_line;
use crate::{arguments, output, times};

/// Shows a job and its results.
#[derive(Args)]
pub struct Options {
    /// The job: its id, the first or last digits of it, or `last`
    #[arg(default_value = "last")]
    job: String,

    /// Only the results of these targets, with commas between
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    target: Vec<String>,

    #[command(flatten)]
    printing: Printing,
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    let mut details = JobHistory::open(&context).await?.find(&options.job).await?;
    if !options.target.is_empty() {
        details.job.targets.retain(|id| options.target.contains(id));
        details.returns.retain(|record| options.target.contains(&record.target));
    }
    if context.common.json && options.printing.out.is_none() {
        let returns: Map = details
            .returns
            .iter()
            .map(|record| (record.target.as_str().into(), described_return(record).into()))
            .collect();
        let mut all = described(&details.job);
        all.insert("returns", returns);
        print_line!("{}", json::pretty(&all.into()));
        return Ok(ExitCode::SUCCESS);
    }
    let mut printer = options.printing.printer_for(&context, &details.job.function)?;
    let missing = missing(&details);
    if printer.human && options.printing.out_file.is_none() {
        head(&details.job, missing.len());
    }
    let order = details.job.targets.clone();
    let place = |id: &str| order.iter().position(|target| target == id).unwrap_or(usize::MAX);
    details.returns.sort_by_key(|record| place(&record.target));
    for record in details.returns {
        printer.outcome(record);
    }
    printer.end(&order);
    if !missing.is_empty() && printer.human {
        let ended = details.job.state.ended();
        eprintln!("{}: {}", if ended { "no result of" } else { "no result yet of" }, missing.join(", "));
    }
    if !details.job.missing.is_empty() && printer.human {
        eprintln!("not in the roster: {}", details.job.missing.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}

/// The targets without a return.
pub fn missing(details: &StoredJob) -> Vec<String> {
    let returned: std::collections::HashSet<&str> =
        details.returns.iter().map(|record| record.target.as_str()).collect();
    details.job.targets.iter().filter(|id| !returned.contains(id.as_str())).cloned().collect()
}

fn head(job: &JobRecord, missing: usize) {
    let count = match job.targets.len() {
        1 => "1 target".to_owned(),
        count => format!("{count} targets"),
    };
    let out = if missing > 0 { format!(", {missing} without a result") } else { String::new() };
    let took = job.ended.map(|ended| format!(", took {}", times::took(ended.saturating_sub(job.started))));
    print_line!("job:      {} ({})", job.id, job.state.name());
    print_line!("runs:     {}", output::clean(&arguments::show(&call(job))));
    print_line!("target:   {} ({}): {count}{out}", output::clean(&job.target), job.target_kind);
    print_line!("started:  {}{} by {}", times::shown(job.started), took.unwrap_or_default(), output::clean(&job.user));
    if job.metadata != Value::Null {
        print_line!("metadata: {}", output::clean(&json::compact(&job.metadata)));
    }
    print_line!("");
}
