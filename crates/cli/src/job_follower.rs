//! A job on the terminal: results as they come, the live line, Ctrl-C. The same wherever the job runs.

use std::time::Duration;

use rocksalt_client::Client;
use rocksalt_controller::execution::{CancelSignal, Update};
use rocksalt_controller::job_events;
use rocksalt_controller::spool::{self, Process, Spool};
use rocksalt_core::JobId;
use rocksalt_core::frame::Stream;
use rocksalt_core::job_update::JobUpdate;
use rocksalt_core::record::{JobRecord, ReturnRecord};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::failure::{Failure, Kind};
use crate::job_summary::JobSummary;
use crate::output;
use crate::printing::Printer;
use crate::progress_line::ProgressLine;

/// Where the news of a job come from.
pub enum News {
    /// This process runs it, and keeps a record if it can.
    Here { updates: mpsc::UnboundedReceiver<Update>, function: String, entry: Option<Box<spool::Entry>> },
    /// Another one does.
    There(mpsc::Receiver<Result<JobUpdate, Failure>>),
}

/// How a job is stopped.
pub enum Stop {
    Here(CancelSignal, AbortHandle),
    Daemon(Client, JobId),
    /// Whoever only watches leaves it alone.
    Nobody(JobId),
}

/// Prints what comes until the job has ended, or until somebody has pressed Ctrl-C twice; the job's record, if it came.
pub async fn follow(
    news: &mut News,
    stop: &Stop,
    targets: Vec<String>,
    summary: &mut JobSummary,
    printer: &mut Printer,
) -> Result<Option<JobRecord>, Failure> {
    let mut live = ProgressLine::new(targets);
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    // One for the whole time: what comes between two rounds of the loop must not be lost.
    let mut interrupts = signal(SignalKind::interrupt()).ok();
    let ended = loop {
        tokio::select! {
            heard = news.next() => match heard {
                None => break Ok(None),
                Some(Err(failure)) => break Err(failure),
                Some(Ok(JobUpdate::Ended(job))) => break Ok(Some(job)),
                Some(Ok(JobUpdate::Begun { target })) => live.begun(&target),
                Some(Ok(JobUpdate::Progress { target, bytes })) => live.progress(&target, &bytes),
                Some(Ok(JobUpdate::Output { target, bytes, .. })) => live.above(|| show_piece(&target, &bytes)),
                Some(Ok(JobUpdate::Note { target, text })) => live.above(|| eprintln!("{target}: {}", output::clean(&text))),
                Some(Ok(JobUpdate::Event { target, event })) => {
                    live.above(|| eprintln!("event from {target}: {}", output::clean(&event.tag)));
                }
                Some(Ok(JobUpdate::Done(record))) => {
                    live.done(&record.target);
                    summary.count(&record.outcome);
                    live.above(|| printer.outcome(record));
                }
            },
            _ = tick.tick() => live.draw(),
            () = interrupted(&mut interrupts) => {
                live.clear();
                let out = live.out();
                if let Stop::Nobody(job) = stop {
                    summary.interrupted = true;
                    eprintln!("the job goes on; `rocksalt jobs cancel {job}` stops it");
                    break Ok(None);
                }
                if summary.interrupted {
                    eprintln!("leaving at once; may still run on: {}", out.join(", "));
                    stop.leave();
                    break Ok(None);
                }
                summary.interrupted = true;
                eprintln!("stopping; waiting for: {} (Ctrl-C again to leave at once)", out.join(", "));
                stop.stop();
            }
        }
    };
    live.clear();
    ended
}

impl News {
    /// Nothing is lost if it is dropped while it waits.
    async fn next(&mut self) -> Option<Result<JobUpdate, Failure>> {
        match self {
            News::Here { updates, function, entry } => {
                let news = told(updates.recv().await?, function);
                if let (JobUpdate::Done(record), Some(entry)) = (&news, entry) {
                    // A record that can't be kept must not end the run.
                    let _ = entry.returned(record);
                }
                Some(Ok(news))
            }
            News::There(news) => news.recv().await,
        }
    }

    /// From a daemon.
    pub fn of_daemon(client: &Client, job: JobId) -> News {
        let mut watch = client.watch(job);
        let (sender, receiver) = mpsc::channel(64);
        tokio::spawn(async move {
            loop {
                let news = match watch.next().await {
                    Ok(Some(news)) => Ok(news),
                    Ok(None) => break,
                    Err(error) => Err(gone(&error, job)),
                };
                let failed = news.is_err();
                if sender.send(news).await.is_err() || failed {
                    break;
                }
            }
        });
        News::There(receiver)
    }

    /// From another command's record, as it grows.
    pub fn of_spool(spool: Spool, job: JobId) -> News {
        let (sender, receiver) = mpsc::channel(64);
        tokio::spawn(async move {
            let mut told = 0;
            loop {
                let Ok(Some(mut spooled)) = spool.job(job) else {
                    let taken = Failure::usage(format!("the record of job {job} is gone: a daemon has taken it over"))
                        .hint(format!("`rocksalt jobs show {job}` asks the daemon"));
                    let _ = sender.send(Err(Failure { kind: Kind::Unreached, ..taken })).await;
                    break;
                };
                spooled.add_lost();
                let ended = spooled.process.is_none();
                let fresh = spooled.returns.into_iter().skip(told).map(JobUpdate::Done).collect::<Vec<_>>();
                told += fresh.len();
                let end = ended.then_some(JobUpdate::Ended(spooled.job));
                for news in fresh.into_iter().chain(end) {
                    if sender.send(Ok(news)).await.is_err() {
                        return;
                    }
                }
                if ended {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        News::There(receiver)
    }
}

/// What this process's own job says, as others would hear it.
fn told(update: Update, function: &str) -> JobUpdate {
    match update {
        Update::Begun { id } => JobUpdate::Begun { target: id },
        Update::Output { id, stream: Stream::Progress, bytes } => JobUpdate::Progress { target: id, bytes },
        Update::Output { id, stream, bytes } => JobUpdate::Output { target: id, stream, bytes },
        Update::Note { id, text } => JobUpdate::Note { target: id, text },
        Update::Event { id, event } => JobUpdate::Event { target: id, event },
        Update::Done { id, outcome } => JobUpdate::Done(ReturnRecord {
            target: id,
            outcome: outcome.kept(),
            ended: crate::times::now(),
            outputter: job_events::outputter(function).map(str::to_owned),
            cut_from: None,
        }),
    }
}

fn gone(error: &rocksalt_client::Error, job: JobId) -> Failure {
    let failure = crate::daemon::refused(error);
    Failure { kind: Kind::Unreached, ..failure }.hint(format!("the job goes on; `rocksalt jobs watch {job}` shows it"))
}

impl Stop {
    /// Once: what runs is cancelled, and what has not begun never does.
    fn stop(&self) {
        match self {
            Stop::Here(cancel_signal, _) => cancel_signal.stop(),
            Stop::Daemon(client, job) => {
                let (client, job) = (client.clone(), *job);
                tokio::spawn(async move {
                    if let Err(error) = client.cancel(job, false).await {
                        eprintln!("the daemon can't stop it: {error}");
                    }
                });
            }
            Stop::Nobody(_) => {}
        }
    }

    /// Twice: nobody waits for it.
    fn leave(&self) {
        if let Stop::Here(_, running) = self {
            running.abort();
        }
    }
}

/// As Ctrl-C would at that command.
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

fn show_piece(id: &str, bytes: &[u8]) {
    for line in String::from_utf8_lossy(bytes).lines() {
        eprintln!("{id}| {}", output::clean(line));
    }
}
