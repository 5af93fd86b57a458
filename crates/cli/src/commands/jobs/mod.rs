//! `rocksalt jobs`: the jobs and their results.

mod cancel;
mod list;
mod rerun;
mod show;
mod watch;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use rocksalt_core::record::{JobRecord, ReturnRecord, TargetOutcome};
use rocksalt_core::{Call, Map, Value};

use super::Context;
use crate::failure::Failure;
use crate::times;

/// Finds jobs, shows their results, watches, cancels and reruns them.
///
/// With a daemon the jobs of all users, without one those of your own commands. A job is named by its id, the first or
/// last digits of it, or `last`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Options {
    #[command(subcommand)]
    command: Option<JobsCommand>,

    #[command(flatten)]
    list: list::Listing,
}

#[derive(Subcommand)]
enum JobsCommand {
    /// List jobs, the newest first
    List(list::Listing),
    /// Show a job and its results
    Show(show::Options),
    /// Print a job until it ends, as if it had been started here
    Watch(watch::Options),
    /// Cancel a job
    Cancel(cancel::Options),
    /// Run a job again
    Rerun(Box<rerun::Options>),
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    match options.command {
        None => list::run(context, options.list).await,
        Some(JobsCommand::List(options)) => list::run(context, options).await,
        Some(JobsCommand::Show(options)) => show::run(context, options).await,
        Some(JobsCommand::Watch(options)) => watch::run(context, options).await,
        Some(JobsCommand::Cancel(options)) => cancel::run(context, options).await,
        Some(JobsCommand::Rerun(options)) => rerun::run(context, *options).await,
    }
}

/// The recorded call of a job.
fn call(job: &JobRecord) -> Call {
    Call { args: job.args.clone(), kwargs: job.kwargs.clone(), ..Call::new(job.function.as_str()) }
}

/// A job as data, for programs.
fn described(job: &JobRecord) -> Map {
    let texts = |all: &[String]| Value::List(all.iter().map(|text| text.as_str().into()).collect());
    let mut map = Map::new();
    map.insert("jid", job.id.as_str());
    map.insert("state", job.state.name());
    map.insert("function", job.function.as_str());
    map.insert("args", job.args.clone());
    map.insert("kwargs", job.kwargs.clone());
    map.insert("target", job.target.as_str());
    map.insert("target_type", job.target_kind.as_str());
    map.insert("targets", texts(&job.targets));
    map.insert("missing", texts(&job.missing));
    map.insert("user", job.user.as_str());
    map.insert("eauth", job.eauth.as_str());
    map.insert("metadata", job.metadata.clone());
    map.insert("started", times::iso(job.started));
    map.insert("ended", job.ended.map(times::iso));
    map.insert("owner", job.owner.as_str());
    map
}

/// A return as data, for programs.
fn described_return(record: &ReturnRecord) -> Map {
    let mut map = Map::new();
    map.insert("success", record.outcome.success());
    match &record.outcome {
        TargetOutcome::Returned(result) => {
            map.insert("return", result.value.clone());
            map.insert("retcode", result.retcode);
            if let Some(problem) = &result.problem {
                map.insert("error", error("failed", &problem.text, problem.hint.as_deref()));
            }
        }
        TargetOutcome::Unreached { stage, text, hint } => {
            drop(map.insert("error", error(stage.name(), text, hint.as_deref())))
        }
        TargetOutcome::Skipped(why) => drop(map.insert("error", error("skipped", why, None))),
        TargetOutcome::Lost(why) => drop(map.insert("error", error("lost", why, None))),
    }
    map.insert("ended", times::iso(record.ended));
    if let Some(size) = record.cut_from {
        map.insert("cut_from", size);
    }
    map
}

fn error(stage: &str, text: &str, hint: Option<&str>) -> Map {
    let mut map = Map::new();
    map.insert("stage", stage);
    map.insert("text", text);
    map.insert("hint", hint.map(str::to_owned));
    map
}
