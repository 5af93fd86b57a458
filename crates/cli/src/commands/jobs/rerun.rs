//! `rocksalt jobs rerun`: starts a job again.

use std::process::ExitCode;

use clap::Args;
use rocksalt_core::target::TargetKind;

use super::{call, show::missing};
use crate::arguments;
use crate::commands::{Context, run};
use crate::failure::Failure;
use crate::job_history::{JobHistory, StoredJob};

/// Runs a job again with its options, on the same target as it is now; the new job has an id of its own.
#[derive(Args)]
pub struct Options {
    /// The job: its id, the first or last digits of it, or `last`
    job: String,

    /// On other targets: a glob of ids, unless an option says otherwise
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,

    /// Only where it failed or gave no result
    #[arg(long, conflicts_with = "target")]
    failed: bool,

    #[command(flatten)]
    targeting: run::Targeting,

    #[command(flatten)]
    run_options: run::RunOptions,
}

pub async fn run(context: Context, mut options: Options) -> Result<ExitCode, Failure> {
    let details = JobHistory::open(&context).await?.find(&options.job).await?;
    let job = &details.job;
    let Some(mut request) = job.rerun() else {
        return Err(Failure::usage(format!("job {} had secrets among its arguments, and those are not kept", job.id))
            .hint(format!("run it anew with them: rocksalt '{}' {}", job.target, arguments::show(&call(job)))));
    };
    let (target, kind) = match (&options.target, options.failed) {
        (Some(target), _) => (target.clone(), options.targeting.kind()),
        (None, true) => (failed(&details)?.join(","), TargetKind::List),
        (None, false) => {
            let kind = TargetKind::from_name(&job.target_kind).map_err(|error| Failure::caused(&error))?;
            (job.target.clone(), kind)
        }
    };
    if options.target.is_some() || options.failed {
        // The subset was chosen from other targets.
        request.options.subset = None;
    }
    let call = request.call();
    options.run_options.inherit(request);
    run::run_call(context, target, kind, call, options.run_options).await
}

/// The targets that did not succeed.
fn failed(details: &StoredJob) -> Result<Vec<String>, Failure> {
    let mut ids = missing(details);
    ids.extend(details.returns.iter().filter(|record| !record.outcome.success()).map(|record| record.target.clone()));
    if ids.is_empty() {
        return Err(Failure::usage(format!("job {} failed nowhere", details.job.id)));
    }
    Ok(ids)
}
