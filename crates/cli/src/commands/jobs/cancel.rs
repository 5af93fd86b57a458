//! `rocksalt jobs cancel`: an end before its time.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use rocksalt_core::target::Kind;
use rocksalt_core::{Call, Map, json};

use super::show::missing;
use crate::commands::{Context, run};
use crate::daemon;
use crate::failure::Failure;
use crate::job_follower::interrupt;
use crate::job_history::{JobHistory, Place};
use crate::stdout::print_line;

/// Stops a job: its processes on the targets are told to end, and what has not begun never does.
#[derive(Args)]
pub struct Options {
    /// The job: its id, the first or last digits of it, or `last`
    job: String,

    /// Give its processes no time to end by themselves
    #[arg(long)]
    kill: bool,
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    let jobs = JobHistory::open(&context).await?;
    let known = jobs.find(&options.job).await?;
    let id = known.job.id;
    if known.job.state.ended() {
        return Err(Failure::usage(format!("job {id} has ended already ({})", known.job.state.name()))
            .hint(format!("`rocksalt jobs show {id}` has its results")));
    }
    let (as_json, out) = (context.common.json, missing(&known));
    match known.place {
        Place::Daemon(client) => client.cancel(id, options.kill).await.map_err(|error| daemon::refused(&error))?,
        Place::Spool(process) => {
            if options.kill && !out.is_empty() {
                let call = Call::new("saltutil.kill_job").arg(id.as_str());
                // What can't be killed is cancelled below.
                let _ = run::quietly(context, out.join(","), Kind::List, call).await;
            }
            if let Some(process) = process {
                interrupt(process);
                // It has a moment to say so itself.
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
