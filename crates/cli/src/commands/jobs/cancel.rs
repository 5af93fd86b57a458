//! `rocksalt jobs cancel`: cancels a job.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use rocksalt_core::job_update::JobUpdate;
use rocksalt_core::request::RunRequest;
use rocksalt_core::target::TargetKind;
use rocksalt_core::{Call, Map, json};

use super::show::missing;
use crate::commands::Context;
use crate::daemon;
use crate::failure::Failure;
use crate::job_follower::interrupt;
use crate::job_history::{JobHistory, JobSource};
use crate::local_controller::{LocalController, LocalJobOptions};
use crate::stdout::print_line;

/// Cancels a job: its processes on the targets get SIGTERM, and targets that have not begun are skipped.
#[derive(Args)]
pub struct Options {
    /// The job: its id, the first or last digits of it, or `last`
    job: String,

    /// Kill its processes at once
    #[arg(long)]
    kill: bool,
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    let jobs = JobHistory::open(&context).await?;
    let details = jobs.find(&options.job).await?;
    let id = details.job.id;
    if details.job.state.ended() {
        return Err(Failure::usage(format!("job {id} has ended already ({})", details.job.state.name()))
            .hint(format!("`rocksalt jobs show {id}` has its results")));
    }
    let (as_json, out) = (context.common.json, missing(&details));
    match details.source {
        JobSource::Daemon(client) => client.cancel(id, options.kill).await.map_err(|error| daemon::refused(&error))?,
        JobSource::Spool(process) => {
            if options.kill && !out.is_empty() {
                let call = Call::new("saltutil.kill_job").arg(id.as_str());
                // If this fails, the job is still cancelled below.
                let _ = run_silently(context, out.join(","), &call).await;
            }
            if let Some(process) = process {
                interrupt(process);
                // Gives the process a moment to record its end itself.
                for _ in 0..20 {
                    if !process.is_alive() {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }
    match as_json {
        true => {
            let mut said = Map::new();
            said.insert("jid", id.as_str());
            said.insert("cancelled", true);
            print_line!("{}", json::compact(&said.into()));
        }
        false => eprintln!("job {id} is being stopped; `rocksalt jobs watch {id}` shows its end"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs a call on a list of targets without a record and without output.
async fn run_silently(context: Context, targets: String, call: &Call) -> Result<(), Failure> {
    let request =
        RunRequest { target: targets, target_kind: TargetKind::List.name().to_owned(), ..RunRequest::of(call) };
    let local = LocalController::open(context).await?;
    let mut job = local.start_job(request, LocalJobOptions::default()).await?;
    while let Some(update) = job.updates.recv().await {
        if matches!(update, JobUpdate::Ended(_)) {
            break;
        }
    }
    Ok(())
}
