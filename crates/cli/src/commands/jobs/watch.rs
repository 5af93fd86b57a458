//! `rocksalt jobs watch`: prints a job until it ends.

use std::process::ExitCode;

use clap::Args;

use crate::commands::Context;
use crate::failure::Failure;
use crate::job_follower::{JobControl, JobUpdates, print_job};
use crate::job_history::{JobHistory, JobSource};
use crate::printing::Printing;

/// Prints a job until it ends, as if it had been started here; the exit code is the job's.
///
/// The results so far are printed first. Ctrl-C ends the watching, not the job.
#[derive(Args)]
pub struct Options {
    /// The job: its id, the first or last digits of it, or `last`
    #[arg(default_value = "last")]
    job: String,

    #[command(flatten)]
    printing: Printing,
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    let jobs = JobHistory::open(&context).await?;
    let details = jobs.find(&options.job).await?;
    let mut printer = options.printing.printer_for(&context, &details.job.function)?;
    let updates = match details.source {
        JobSource::Daemon(client) => JobUpdates::of_daemon(&client, details.job.id),
        JobSource::Spool(_) => JobUpdates::of_spool(jobs.spool, details.job.id),
    };
    let control = JobControl::Watch(details.job.id);
    print_job(&details.job, updates, &control, &mut printer, |_| "it is not in the roster".to_owned()).await
}
