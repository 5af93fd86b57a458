//! `rocksalt jobs rerun`: the same once more.

use std::process::ExitCode;

use clap::Args;
use rocksalt_core::record::JobRecord;
use rocksalt_core::target::Kind;
use rocksalt_core::{Value, masking};

use super::{call, show::missing};
use crate::arguments;
use crate::commands::{Context, run};
use crate::failure::Failure;
use crate::job_history::JobHistory;

/// Runs a job's call once more, on the same target as it is now; the new job has an id of its own.
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
    how: run::How,
}

pub async fn run(context: Context, mut options: Options) -> Result<ExitCode, Failure> {
    let known = JobHistory::open(&context).await?.find(&options.job).await?;
    let job = &known.job;
    let call = call(job);
    if is_masked(job) {
        return Err(Failure::usage(format!("job {} had secrets among its arguments, and those are not kept", job.id))
            .hint(format!("run it anew with them: rocksalt '{}' {}", job.target, arguments::show(&call))));
    }
    let (target, kind) = match (&options.target, options.failed) {
        (Some(target), _) => (target.clone(), options.targeting.kind()),
        (None, true) => (failed(&known)?.join(","), Kind::List),
        (None, false) => {
            let kind = Kind::from_name(&job.target_kind).map_err(|error| Failure::caused(&error))?;
            (job.target.clone(), kind)
        }
    };
    options.how.inherit(&job.metadata);
    run::perform(context, target, kind, call, options.how).await
}

/// Those without a success.
fn failed(known: &crate::job_history::Known) -> Result<Vec<String>, Failure> {
    let mut ids = missing(known);
    ids.extend(known.returns.iter().filter(|record| !record.outcome.success()).map(|record| record.target.clone()));
    if ids.is_empty() {
        return Err(Failure::usage(format!("job {} failed nowhere", known.job.id)));
    }
    Ok(ids)
}

fn is_masked(job: &JobRecord) -> bool {
    fn has_mask(value: &Value) -> bool {
        match value {
            Value::String(text) => text.contains(masking::MASK),
            Value::List(items) => items.iter().any(has_mask),
            Value::Map(map) => map.values().any(has_mask),
            _ => false,
        }
    }
    job.args.iter().any(has_mask) || job.kwargs.values().any(has_mask)
}
