//! Jobs that a command runs without a daemon: the same service, recorded in the spool.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rocksalt_controller::jobs::{self, Error, JobService, StartOptions, select_targets};
use rocksalt_controller::spool::{Spool, SpoolRecords};
use rocksalt_core::job_options::JobOptions;
use rocksalt_core::job_update::JobUpdate;
use rocksalt_core::record::{Account, JobRecord, JobState, TargetOutcome};
use rocksalt_core::request::{JobFilter, RunRequest};
use rocksalt_core::{JobId, Map, Value};
use tokio::sync::mpsc;

use crate::fleet::{Fleet, keeper, memory, now, run, until};

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("rocksalt-local-jobs-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).expect("a directory");
        Scratch(path)
    }

    fn spool(&self) -> Spool {
        use std::os::unix::fs::MetadataExt;
        let uid = std::fs::metadata(&self.0).expect("it is there").uid();
        Spool::new(self.0.join("spool"), uid)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The service of one command.
fn command(spool: Option<Spool>) -> Arc<JobService<SpoolRecords>> {
    let records = SpoolRecords::new(spool, now, "here".into());
    Arc::new(JobService::with(Arc::new(records), jobs::Settings { recall: None }))
}

type Updates = mpsc::UnboundedReceiver<JobUpdate>;

async fn start(
    jobs: &Arc<JobService<SpoolRecords>>,
    fleet: &Arc<Fleet>,
    request: RunRequest,
) -> Result<(JobRecord, Updates), Error> {
    let controller = fleet.controller();
    let selected = select_targets(&controller, &request, None).await?;
    let (observer, updates) = mpsc::unbounded_channel();
    let account = Account::local("ann");
    let options = StartOptions { observer: Some(observer), ..StartOptions::of(&account) };
    Ok((jobs.start_selected(&controller, request, selected, options).await?, updates))
}

/// The updates until the job has ended, and its record then.
async fn until_ended(mut updates: Updates) -> (Vec<String>, JobRecord) {
    let mut heard = Vec::new();
    let listening = async {
        loop {
            match updates.recv().await.expect("it says that it has ended") {
                JobUpdate::Begun { target } => heard.push(format!("begun {target}")),
                JobUpdate::Event { target, event } => heard.push(format!("event {target} {}", event.tag)),
                JobUpdate::Done(record) => heard.push(format!("done {} {}", record.target, record.outcome.success())),
                JobUpdate::Ended(job) => return *job,
                other => heard.push(format!("{other:?}")),
            }
        }
    };
    let job = tokio::time::timeout(Duration::from_secs(20), listening).await.expect("it ends");
    (heard, job)
}

fn with(options: JobOptions, request: RunRequest) -> RunRequest {
    RunRequest { options, ..request }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_without_a_daemon_is_recorded_with_what_a_rerun_needs() {
    let (scratch, fleet) = (Scratch::new("recorded"), Fleet::new(&["a", "b"]));
    let options = JobOptions {
        batch: Some("12.5%".parse().expect("a batch")),
        timeout: Some(30.0),
        failhard: true,
        ..JobOptions::default()
    };
    let secret = Map::from_iter([("password".into(), Value::from("hunter2"))]);
    let request = RunRequest { kwargs: secret.clone(), metadata: secret.into(), ..run("test.ping", "a,b,nobody") };
    let (job, updates) =
        start(&command(Some(scratch.spool())), &fleet, with(options.clone(), request)).await.expect("started");
    assert_eq!((job.state, &job.missing[..]), (JobState::Running, &["nobody".to_owned()][..]));
    let (heard, ended) = until_ended(updates).await;
    assert_eq!(heard, ["begun a", "done a true", "begun b", "done b true"], "a batch of one");
    assert_eq!(ended.state, JobState::Done);
    let spooled = scratch.spool().job(job.id).expect("read").expect("recorded");
    assert_eq!((&spooled.job, spooled.returns.len(), spooled.process), (&ended, 2, None));
    assert_eq!(spooled.job.options, options);
    assert!(!format!("{:?}", spooled.job).contains("hunter2"), "secrets are masked");
    assert!(spooled.job.rerun().is_none(), "what was masked can't be sent again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_as_wide_with_a_daemon_as_without() {
    let ids: Vec<String> = (10..26).map(|number| format!("t{number}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let options = JobOptions { batch: Some("12.5%".parse().expect("a batch")), ..JobOptions::default() };
    for with_daemon in [false, true] {
        let fleet = Fleet::new(&ids);
        let request = with(options.clone(), RunRequest { target_kind: "glob".into(), ..run("test.sleep", "*") });
        let begun = || ids.iter().filter(|id| fleet.on(id, |target| !target.begun.is_empty())).count();
        let _running: Box<dyn std::any::Any> = match with_daemon {
            true => {
                let jobs = keeper(&memory().await, Duration::from_secs(5)).await;
                jobs.start(&fleet.controller(), request, &Account::local("ann"), None)
                    .await
                    .expect("stored")
                    .expect("targets");
                Box::new(jobs)
            }
            false => Box::new(start(&command(None), &fleet, request).await.expect("started")),
        };
        until("two have begun", || begun() == 2).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(begun(), 2, "with a daemon: {with_daemon}");
        fleet.release("t10", 1);
        until("the next one has begun", || begun() == 3).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queued_run_says_so_to_the_target_whose_lock_decides() {
    let fleet = Fleet::new(&["a"]);
    let queue = JobOptions { queue: true, ..JobOptions::default() };
    for (request, expected) in [
        (with(queue.clone(), run("state.apply", "a")), Some(Value::Bool(true))),
        (run("state.apply", "a"), None),
        // Only runs of states take the argument.
        (with(queue, run("cmd.run", "a")), None),
    ] {
        // Each job belongs to a command of its own.
        let (job, updates) = start(&command(None), &fleet, request).await.expect("started");
        until("it runs", || fleet.on("a", |target| target.begun.contains(&job.id))).await;
        fleet.release("a", 1);
        assert_eq!(until_ended(updates).await.1.state, JobState::Done);
        let sent = fleet.on("a", |target| target.kwargs.last().expect("a call").get("queue").cloned());
        assert_eq!(sent, expected, "{}", job.function);
        assert!(job.kwargs.is_empty(), "the record has what the user gave");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_record_at_the_same_time_without_waiting_for_each_other() {
    let (scratch, fleet) = (Scratch::new("many"), Fleet::new(&["a"]));
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let (jobs, fleet) = (command(Some(scratch.spool())), Arc::clone(&fleet));
        all.spawn(async move {
            let (_, updates) = start(&jobs, &fleet, run("test.ping", "a")).await.expect("started");
            until_ended(updates).await.1.id
        });
    }
    let mut ids = Vec::new();
    while let Some(id) = all.join_next().await {
        ids.push(id.expect("no panic"));
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 50, "each has an id of its own");
    assert_eq!(scratch.spool().jobs(&JobFilter::default()).expect("read").len(), 50);
    // A chosen id can be used only once.
    let chosen = || RunRequest { job: Some(JobId::at(1_769_851_800_123_456)), ..run("test.ping", "a") };
    start(&command(Some(scratch.spool())), &fleet, chosen()).await.expect("it is free");
    let again = start(&command(Some(scratch.spool())), &fleet, chosen()).await.err();
    assert!(matches!(again, Some(Error::Taken(_))), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_ends_with_its_command_and_is_cancelled_by_it() {
    let (scratch, fleet) = (Scratch::new("cancelled"), Fleet::new(&["a"]));
    let jobs = command(Some(scratch.spool()));
    let (job, updates) = start(&jobs, &fleet, run("cmd.run", "a")).await.expect("started");
    until("it runs", || fleet.on("a", |target| target.begun.contains(&job.id))).await;
    assert!(jobs.cancel(job.id, false));
    let (heard, ended) = until_ended(updates).await;
    assert_eq!((ended.state, heard.last().map(String::as_str)), (JobState::Cancelled, Some("done a false")));
    assert_eq!(fleet.kept("a"), 0, "the target keeps no result");
    // A broken link is an outcome: nobody asks for the result later.
    let (job, updates) = start(&jobs, &fleet, run("cmd.run", "a")).await.expect("started");
    until("it runs", || fleet.on("a", |target| target.begun.contains(&job.id))).await;
    fleet.break_links("a");
    assert_eq!(until_ended(updates).await.1.state, JobState::Done);
    let spooled = scratch.spool().job(job.id).expect("read").expect("recorded");
    assert!(matches!(spooled.returns[0].outcome, TargetOutcome::Unreached { .. }), "{spooled:?}");
    // A command that leaves early says so in the record.
    let (job, _updates) = start(&jobs, &fleet, run("cmd.run", "a")).await.expect("started");
    jobs.records.abandon(job.id);
    let spooled = scratch.spool().job(job.id).expect("read").expect("recorded");
    assert_eq!((spooled.job.state, spooled.process), (JobState::Cancelled, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_targets_reach_the_command() {
    let fleet = Fleet::new(&["a"]);
    let request = RunRequest { args: vec!["my/event".into()], ..run("event.send", "a") };
    let (_, updates) = start(&command(None), &fleet, request).await.expect("started");
    assert_eq!(until_ended(updates).await.0, ["begun a", "event a my/event", "done a true"]);
}
