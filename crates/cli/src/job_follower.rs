//! Prints a job on the terminal: results as they arrive, the progress line, Ctrl-C. It works the same wherever the job
//! runs.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use rocksalt_client::Client;
use rocksalt_controller::jobs::JobService;
use rocksalt_controller::spool::{Process, Spool, SpoolRecords};
use rocksalt_core::JobId;
use rocksalt_core::job_update::JobUpdate;
use rocksalt_core::link::Stage;
use rocksalt_core::record::JobRecord;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::failure::{Failure, FailureKind};
use crate::job_summary::JobSummary;
use crate::output;
use crate::printing::ResultPrinter;
use crate::progress_line::ProgressLine;

/// Where the updates of a job come from.
pub enum JobUpdates {
    /// This process runs the job.
    Local(mpsc::UnboundedReceiver<JobUpdate>),
    /// Another process runs the job.
    Remote(mpsc::Receiver<Result<JobUpdate, Failure>>),
}

/// The effect of Ctrl-C on a job.
pub enum JobControl {
    /// This process runs the job.
    Local(Arc<JobService<SpoolRecords>>, JobId),
    Daemon(Client, JobId),
    /// This command only watches, so it leaves the job alone.
    Watch(JobId),
}

/// Prints a job until it has ended, or until Ctrl-C was pressed twice. Returns the job's exit code.
///
/// `not_in_roster` is the text for an id that the target expression names and the roster does not have.
pub async fn print_job(
    job: &JobRecord,
    mut updates: JobUpdates,
    control: &JobControl,
    printer: &mut ResultPrinter,
    not_in_roster: impl Fn(&str) -> String,
) -> Result<ExitCode, Failure> {
    let mut summary = JobSummary::of(job.targets.len() + job.missing.len());
    for id in &job.missing {
        summary.unreached += 1;
        printer.failure(id, Stage::Settings.name(), &not_in_roster(id), None);
    }
    let followed = print_updates(&mut updates, control, job.targets.clone(), &mut summary, printer).await;
    printer.end(&job.targets);
    followed?;
    summary.end(printer.human)
}

async fn print_updates(
    updates: &mut JobUpdates,
    control: &JobControl,
    targets: Vec<String>,
    summary: &mut JobSummary,
    printer: &mut ResultPrinter,
) -> Result<(), Failure> {
    let mut progress = ProgressLine::new(targets);
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    // Created once: a signal between two rounds of the loop must not be lost.
    let mut interrupts = signal(SignalKind::interrupt()).ok();
    let ended = loop {
        tokio::select! {
            update = updates.next() => match update {
                None => break Ok(()),
                Some(Err(failure)) => break Err(failure),
                Some(Ok(JobUpdate::Ended(_))) => break Ok(()),
                Some(Ok(update)) => print_update(update, &mut progress, summary, printer),
            },
            _ = tick.tick() => progress.draw(),
            () = interrupted(&mut interrupts) => {
                progress.clear();
                let running = progress.running();
                if let JobControl::Watch(job) = control {
                    summary.interrupted = true;
                    eprintln!("the job goes on; `rocksalt jobs cancel {job}` stops it");
                    break Ok(());
                }
                if summary.interrupted {
                    eprintln!("leaving at once; may still run on: {}", running.join(", "));
                    control.abandon();
                    break Ok(());
                }
                summary.interrupted = true;
                eprintln!("stopping; waiting for: {} (Ctrl-C again to leave at once)", running.join(", "));
                control.cancel();
            }
        }
    };
    progress.clear();
    ended
}

fn print_update(update: JobUpdate, progress: &mut ProgressLine, summary: &mut JobSummary, printer: &mut ResultPrinter) {
    match update {
        JobUpdate::Begun { target } => progress.begun(&target),
        JobUpdate::Progress { target, bytes } => progress.progress(&target, &bytes),
        JobUpdate::Output { target, bytes, .. } => progress.above(|| print_output(&target, &bytes)),
        JobUpdate::Note { target, text } => progress.above(|| eprintln!("{target}: {}", output::clean(&text))),
        JobUpdate::Event { target, event } => {
            progress.above(|| eprintln!("event from {target}: {}", output::clean(&event.tag)));
        }
        JobUpdate::Warning { target, text, hint } => progress.above(|| print_warning(&target, &text, hint.as_deref())),
        JobUpdate::Done(record) => {
            progress.done(&record.target);
            summary.count(&record.outcome);
            progress.above(|| printer.outcome(record));
        }
        JobUpdate::Ended(_) => {}
    }
}

pub fn print_warning(target: &str, text: &str, hint: Option<&str>) {
    eprintln!("warning from {target}: {}", output::clean(text));
    if let Some(hint) = hint {
        eprintln!("  hint: {}", output::clean(hint));
    }
}

impl JobUpdates {
    /// The next update. Cancel-safe: no update is lost if the future is dropped.
    async fn next(&mut self) -> Option<Result<JobUpdate, Failure>> {
        match self {
            JobUpdates::Local(updates) => updates.recv().await.map(Ok),
            JobUpdates::Remote(updates) => updates.recv().await,
        }
    }

    pub fn of_daemon(client: &Client, job: JobId) -> JobUpdates {
        let mut watch = client.watch(job);
        let (sender, receiver) = mpsc::channel(64);
        tokio::spawn(async move {
            loop {
                let update = match watch.next().await {
                    Ok(Some(update)) => Ok(update),
                    Ok(None) => break,
                    Err(error) => Err(connection_lost(&error, job)),
                };
                let failed = update.is_err();
                if sender.send(update).await.is_err() || failed {
                    break;
                }
            }
        });
        JobUpdates::Remote(receiver)
    }

    /// Updates from the record that another command writes.
    pub fn of_spool(spool: Spool, job: JobId) -> JobUpdates {
        let (sender, receiver) = mpsc::channel(64);
        tokio::spawn(async move {
            let mut sent = 0;
            loop {
                let Ok(Some(mut spooled)) = spool.job(job) else {
                    let taken = Failure::usage(format!("the record of job {job} is gone: a daemon has taken it over"))
                        .hint(format!("`rocksalt jobs show {job}` asks the daemon"));
                    let _ = sender.send(Err(Failure { kind: FailureKind::Unreached, ..taken })).await;
                    break;
                };
                spooled.add_lost();
                let ended = spooled.process.is_none();
                let fresh = spooled.returns.into_iter().skip(sent).map(JobUpdate::Done).collect::<Vec<_>>();
                sent += fresh.len();
                let end = ended.then_some(JobUpdate::Ended(Box::new(spooled.job)));
                for update in fresh.into_iter().chain(end) {
                    if sender.send(Ok(update)).await.is_err() {
                        return;
                    }
                }
                if ended {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        JobUpdates::Remote(receiver)
    }
}

fn connection_lost(error: &rocksalt_client::Error, job: JobId) -> Failure {
    let failure = crate::daemon::refused(error);
    Failure { kind: FailureKind::Unreached, ..failure }
        .hint(format!("the job goes on; `rocksalt jobs watch {job}` shows it"))
}

impl JobControl {
    /// The first Ctrl-C: running calls are cancelled, and waiting targets are skipped.
    fn cancel(&self) {
        match self {
            JobControl::Local(jobs, job) => drop(jobs.cancel(*job, false)),
            JobControl::Daemon(client, job) => {
                let (client, job) = (client.clone(), *job);
                tokio::spawn(async move {
                    if let Err(error) = client.cancel(job, false).await {
                        eprintln!("the daemon can't stop it: {error}");
                    }
                });
            }
            JobControl::Watch(_) => {}
        }
    }

    /// The second Ctrl-C: this process does not wait for the end, so the record is ended now.
    fn abandon(&self) {
        if let JobControl::Local(jobs, job) = self {
            jobs.records.abandon(*job);
        }
    }
}

/// Sends another command the signal of Ctrl-C.
pub fn interrupt(process: Process) {
    if let (true, Some(id)) = (process.is_alive(), rustix::process::Pid::from_raw(process.id.cast_signed())) {
        let _ = rustix::process::kill_process(id, rustix::process::Signal::INT);
    }
}

async fn interrupted(interrupts: &mut Option<Signal>) {
    match interrupts {
        Some(interrupts) => drop(interrupts.recv().await),
        None => std::future::pending().await,
    }
}

fn print_output(id: &str, bytes: &[u8]) {
    for line in String::from_utf8_lossy(bytes).lines() {
        eprintln!("{id}| {}", output::clean(line));
    }
}
