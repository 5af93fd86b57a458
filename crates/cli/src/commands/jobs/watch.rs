//! `rocksalt jobs watch`: a job to its end.

use std::process::ExitCode;

use clap::Args;

use crate::commands::Context;
use crate::failure::Failure;
use crate::job_follower::{News, Stop, follow};
use crate::job_history::{JobHistory, Place};
use crate::job_summary::JobSummary;
use crate::printing::Printing;

/// Follows a job to its end, as if it had been started here; the exit code is the job's.
///
/// What has come already is printed first. Ctrl-C ends the watching, not the job.
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
    let known = jobs.find(&options.job).await?;
    let mut printer = options.printing.printer_for(&context, &known.job.function)?;
    let mut summary = JobSummary::of(known.job.targets.len() + known.job.missing.len());
    for id in &known.job.missing {
        summary.unreached += 1;
        printer.failure(id, "settings", "it is not in the roster", None);
    }
    let mut news = match known.place {
        Place::Daemon(client) => News::of_daemon(&client, known.job.id),
        Place::Spool(_) => News::of_spool(jobs.spool, known.job.id),
    };
    let stop = Stop::Nobody(known.job.id);
    let followed = follow(&mut news, &stop, known.job.targets.clone(), &mut summary, &mut printer).await;
    printer.end(&known.job.targets);
    followed?;
    summary.end(printer.human)
}
