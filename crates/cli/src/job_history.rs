//! [`JobHistory`]: the jobs of the daemon, and those that commands ran without it.

use rocksalt_client::{Client, RefusalKind};
use rocksalt_controller::spool::{Process, Spool};
use rocksalt_core::record::{JobRecord, ReturnRecord};
use rocksalt_core::request::JobFilter;
use rocksalt_core::{JobId, nearest};

use crate::commands::Context;
use crate::daemon::{self, NoDaemon};
use crate::failure::Failure;

pub struct JobHistory {
    pub daemon: Option<Client>,
    pub spool: Spool,
}

/// A job with its returns so far.
pub struct StoredJob {
    pub job: JobRecord,
    pub returns: Vec<ReturnRecord>,
    pub source: JobSource,
}

/// Where a job is recorded.
pub enum JobSource {
    Daemon(Client),
    /// A command recorded it; the job runs as long as its process exists.
    Spool(Option<Process>),
}

impl JobHistory {
    pub async fn open(context: &Context) -> Result<JobHistory, Failure> {
        let daemon = match daemon::connect(context).await {
            Ok(client) => Some(client),
            Err(NoDaemon::Off | NoDaemon::NotThere { .. }) => None,
            Err(absent) => return Err(absent.failure().hint("--no-daemon shows the jobs of your own commands only")),
        };
        let spool = context.config.spool(&context.environment)?;
        if daemon.is_none() {
            // Old jobs are not shown either. If this fails, reading the jobs reports why.
            let _ = spool.prune(crate::times::now());
        }
        Ok(JobHistory { daemon, spool })
    }

    /// The jobs that match, the newest first.
    pub async fn list(&self, filter: &JobFilter) -> Result<Vec<JobRecord>, Failure> {
        let mut jobs = self.spool.jobs(filter).map_err(|error| self.unreadable(&error))?;
        if let Some(client) = &self.daemon {
            jobs.extend(client.jobs(filter).await.map_err(|error| daemon::refused(&error))?);
            jobs.sort_by_key(|job| std::cmp::Reverse(job.id));
            jobs.dedup_by_key(|job| job.id);
            jobs.truncate(filter.limit.unwrap_or(usize::MAX));
        }
        Ok(jobs)
    }

    pub async fn show(&self, id: JobId) -> Result<Option<StoredJob>, Failure> {
        if let Some(client) = &self.daemon {
            match client.job(id).await {
                Ok((job, returns)) => {
                    return Ok(Some(StoredJob { job, returns, source: JobSource::Daemon(client.clone()) }));
                }
                Err(error) if error.kind() == Some(RefusalKind::NotFound) => {}
                Err(error) => return Err(daemon::refused(&error)),
            }
        }
        let spooled = self.spool.job(id).map_err(|error| self.unreadable(&error))?;
        Ok(spooled.map(|mut spooled| {
            spooled.add_lost();
            StoredJob { job: spooled.job, returns: spooled.returns, source: JobSource::Spool(spooled.process) }
        }))
    }

    /// The job that a word identifies: an id, the first or last digits of one, or `last`.
    pub async fn find(&self, word: &str) -> Result<StoredJob, Failure> {
        if let Ok(id) = word.parse::<JobId>() {
            return match self.show(id).await? {
                Some(known) => Ok(known),
                None => Err(self.unknown(word).await),
            };
        }
        let id = match word {
            "last" => self.list(&JobFilter { limit: Some(1), ..JobFilter::default() }).await?.first().map(|job| job.id),
            digits if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.by_digits(digits).await?
            }
            _ => {
                return Err(Failure::usage(format!("'{word}' is no job"))
                    .hint("a job is named by its id, the first or last digits of it, or `last`"));
            }
        };
        match id {
            Some(id) => self.show(id).await?.ok_or_else(|| Failure::usage(format!("job {id} is forgotten"))),
            None => Err(self.unknown(word).await),
        }
    }

    async fn by_digits(&self, digits: &str) -> Result<Option<JobId>, Failure> {
        let prefix = JobFilter { prefix: Some(digits.to_owned()), limit: Some(4), ..JobFilter::default() };
        let mut found = self.list(&prefix).await?;
        if found.is_empty() && digits.len() >= 4 {
            let all = JobFilter { limit: Some(1000), ..JobFilter::default() };
            found = self.list(&all).await?;
            found.retain(|job| job.id.as_str().ends_with(digits));
        }
        match &found[..] {
            [] => Ok(None),
            [one] => Ok(Some(one.id)),
            several => {
                let failure = Failure::usage(format!("'{digits}' means more than one job"));
                let hint = |job: &JobRecord| format!("{} {} on {}", job.id, job.function, job.target);
                Err(several.iter().take(3).fold(failure, |failure, job| failure.hint(hint(job))))
            }
        }
    }

    /// An error that lists the existing jobs.
    async fn unknown(&self, word: &str) -> Failure {
        let all = JobFilter { limit: Some(1000), ..JobFilter::default() };
        let jobs = self.list(&all).await.unwrap_or_default();
        let Some(newest) = jobs.first() else {
            return Failure::usage("no job is known here").hint(match self.daemon {
                Some(_) => "the daemon keeps them for `keep_jobs_seconds`",
                None => "jobs are kept for `keep_jobs_seconds`, those of each configuration apart",
            });
        };
        let near = nearest::hint(word, jobs.iter().map(|job| job.id.as_str()));
        Failure::usage(format!("there is no job {word}{near}")).hint(format!(
            "the newest is {} ({} on {}); `rocksalt jobs` lists them",
            newest.id, newest.function, newest.target
        ))
    }

    fn unreadable(&self, error: &std::io::Error) -> Failure {
        Failure::usage(format!("can't read the jobs in {}: {error}", self.spool.directory.display()))
    }
}
