//! `rocksalt jobs list`: lists jobs.

use std::process::ExitCode;

use clap::Args;
use rocksalt_core::record::{JobRecord, JobState};
use rocksalt_core::request::JobFilter;
use rocksalt_core::{Value, json};

use super::{call, described};
use crate::commands::Context;
use crate::failure::Failure;
use crate::job_history::JobHistory;
use crate::stdout::print_line;
use crate::{arguments, metadata, output, table, times};

/// Lists jobs, the newest first.
#[derive(Args)]
pub struct Listing {
    /// Only this function: a glob; may be given several times
    #[arg(long, short = 'f', value_name = "GLOB")]
    function: Vec<String>,

    /// Only those with this target: a glob of ids, or the expression as it was written
    #[arg(long, value_name = "GLOB")]
    target: Vec<String>,

    /// Only those of this user
    #[arg(long, short, value_name = "NAME")]
    user: Option<String>,

    /// Only those that began then or later: 2h, yesterday, 2026-01-31, 2026-01-31T09:30 (UTC)
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Only those that began then or before
    #[arg(long, value_name = "TIME")]
    until: Option<String>,

    /// Only those with this in their metadata; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    metadata: Vec<String>,

    /// Only those in this state; may be given several times
    #[arg(long, value_name = "STATE", value_parser = ["queued", "running", "done", "cancelled", "lost"])]
    state: Vec<String>,

    /// At most this many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    limit: usize,
}

pub async fn run(context: Context, options: Listing) -> Result<ExitCode, Failure> {
    let filter = options.filter(times::now())?;
    let jobs = JobHistory::open(&context).await?.list(&filter).await?;
    if context.common.json {
        print_line!("{}", json::pretty(&Value::List(jobs.iter().map(|job| described(job).into()).collect())));
        return Ok(ExitCode::SUCCESS);
    }
    if jobs.is_empty() {
        eprintln!("no job fits");
        return Ok(ExitCode::SUCCESS);
    }
    let width = crate::environment::width();
    print(&jobs, width);
    Ok(ExitCode::SUCCESS)
}

impl Listing {
    fn filter(&self, now: u64) -> Result<JobFilter, Failure> {
        let time = |text: &Option<String>| text.as_deref().map(|text| times::parse(text, now)).transpose();
        let all = [JobState::Queued, JobState::Running, JobState::Done, JobState::Cancelled, JobState::Lost];
        Ok(JobFilter {
            functions: self.function.clone(),
            targets: self.target.clone(),
            user: self.user.clone(),
            since: time(&self.since)?,
            until: time(&self.until)?,
            metadata: metadata::parse("--metadata", &self.metadata)?,
            states: all.into_iter().filter(|state| self.state.iter().any(|name| name == state.name())).collect(),
            limit: Some(self.limit),
            ..JobFilter::default()
        })
    }
}

/// Prints a table; the call gets the width that the other columns leave.
fn print(jobs: &[JobRecord], width: usize) {
    let short = |text: &str, most: usize| -> String {
        let text = output::clean(text).replace('\n', " ");
        match text.chars().count() > most {
            true => text.chars().take(most - 1).chain(['…']).collect(),
            false => text,
        }
    };
    let rows: Vec<[String; 4]> = jobs
        .iter()
        .map(|job| {
            let target = match job.targets.len() {
                1 => job.target.clone(),
                count => format!("{} ({count})", short(&job.target, 12)),
            };
            [job.id.to_string(), job.state.name().to_owned(), short(&job.user, 10), short(&target, 18)]
        })
        .collect();
    let heading = ["ID", "STATE", "USER", "TARGET", "RUNS"];
    let taken: usize = (0..4)
        .map(|place| rows.iter().map(|row| row[place].chars().count()).max().unwrap_or(0).max(heading[place].len()) + 2)
        .sum();
    let rest = width.saturating_sub(taken).max(10);
    let rows = rows
        .into_iter()
        .zip(jobs)
        .map(|([id, state, user, target], job)| [id, state, user, target, short(&arguments::show(&call(job)), rest)]);
    table::print(heading, rows);
}
