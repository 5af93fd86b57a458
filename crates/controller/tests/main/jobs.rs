//! Jobs on targets: queues, ends, cancels, broken links.

use std::sync::Arc;
use std::time::Duration;

use rocksalt_controller::jobs::{Error, JobService};
use rocksalt_controller::ledger::Heard;
use rocksalt_core::call::ProblemKind;
use rocksalt_core::job_options::JobOptions;
use rocksalt_core::record::{Account, JobRecord, JobState, ReturnRecord, TargetOutcome};
use rocksalt_core::request::{JobFilter, RunRequest};
use rocksalt_core::{JobId, Value};

use crate::fleet::{Fleet, keeper, memory, run, until};

const SOON: Duration = Duration::from_secs(5);

struct Stage {
    fleet: Arc<Fleet>,
    jobs: Arc<JobService>,
}

impl Stage {
    async fn new(ids: &[&str]) -> Stage {
        Stage { fleet: Fleet::new(ids), jobs: keeper(&memory().await, SOON).await }
    }

    async fn start(&self, run: RunRequest) -> JobRecord {
        let started = self.jobs.start(&self.fleet.controller(), run, &Account::local("ann"), None).await;
        started.expect("stored").expect("it means somebody")
    }

    async fn end(&self, job: JobId) -> (JobState, Vec<ReturnRecord>) {
        let ended = tokio::time::timeout(Duration::from_secs(20), self.jobs.wait(job, None)).await;
        let mut returns = ended.expect("it ends").expect("stored");
        returns.sort_by(|a, b| a.target.cmp(&b.target));
        let stored = self.jobs.ledger().returns(job).await.expect("stored");
        assert_eq!(returns.len(), stored.len(), "what is in memory is what is stored");
        (self.state(job).await, returns)
    }

    async fn state(&self, job: JobId) -> JobState {
        self.jobs.ledger().job(job).await.expect("read").expect("there").state
    }
}

fn queued(function: &str, target: &str) -> RunRequest {
    RunRequest { options: JobOptions { queue: true, ..JobOptions::default() }, ..run(function, target) }
}

fn values(returns: &[ReturnRecord]) -> Vec<Value> {
    let value = |record: &ReturnRecord| match &record.outcome {
        TargetOutcome::Returned(result) => result.value.clone(),
        other => format!("{other:?}").into(),
    };
    returns.iter().map(value).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_costs_two_commits_and_says_all_events_in_order() {
    let stage = Stage::new(&["a", "b"]).await;
    let revision = async || {
        let listing = stage.jobs.ledger().store().range(&rocksalt_backends::store::KeyRange::prefix("job/")).await;
        listing.expect("read").revision
    };
    let before = revision().await;
    let job = stage.start(run("test.ping", "a")).await;
    let (state, returns) = stage.end(job.id).await;
    assert_eq!((state, values(&returns)), (JobState::Done, vec![true.into()]));
    assert_eq!(revision().await - before, 2, "one for the record, one for the end");
    let mut follower = stage.jobs.ledger().follow(Some(0));
    for expected in ["JID", "salt/job/JID/new", "salt/job/JID/ret/a"] {
        let Ok(Heard::Event(event)) = follower.next().await else { panic!("no event") };
        assert_eq!(event.event.tag.replace(job.id.as_str(), "JID"), expected);
        assert!(event.event.data.get("_stamp").is_some_and(|stamp| stamp.as_str().is_some_and(|s| s.contains('T'))));
    }
    // Concurrent requests share commits.
    let before = revision().await;
    let mut all = tokio::task::JoinSet::new();
    let controller = stage.fleet.controller();
    for _ in 0..200 {
        let (jobs, controller) = (Arc::clone(&stage.jobs), Arc::clone(&controller));
        all.spawn(async move {
            let job = jobs
                .start(&controller, run("test.ping", "a,b"), &Account::local("ann"), None)
                .await
                .expect("stored")
                .expect("somebody");
            assert_eq!(jobs.wait(job.id, None).await.expect("stored").len(), 2);
        });
    }
    while let Some(ended) = all.join_next().await {
        ended.expect("no panic");
    }
    assert!(revision().await - before < 400, "{} commits", revision().await - before);
    assert_eq!(stage.jobs.ledger().jobs(&JobFilter::default()).await.expect("read").len(), 201);
    let three = JobFilter { limit: Some(3), ..JobFilter::default() };
    assert_eq!(stage.jobs.ledger().jobs(&three).await.expect("read").len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_runs_of_states_never_overlap() {
    let stage = Stage::new(&["a", "b"]).await;
    let first = stage.start(run("state.apply", "a")).await;
    until("it runs", || stage.fleet.on("a", |target| target.begun.len() == 1)).await;
    // Refused on the target that is taken; the other one is free.
    let second = stage.start(run("state.apply", "a,b")).await;
    stage.fleet.release("b", 1);
    let (_, returns) = stage.end(second.id).await;
    let TargetOutcome::Returned(refused) = &returns[0].outcome else { panic!("{returns:?}") };
    assert_eq!(refused.problem.as_ref().map(|problem| problem.kind), Some(ProblemKind::Refused));
    assert!(refused.value.to_string().contains(first.id.as_str()), "it names who has it: {refused:?}");
    assert_eq!(values(&returns)[1], "state.apply on b".into());
    // Queued: with either option, in order, and visible as queued.
    let third = stage.start(queued("state.apply", "a")).await;
    let mut fourth = run("state.apply", "a");
    fourth.kwargs.insert("queue", true);
    let fourth = stage.start(fourth).await;
    let fifth = stage.start(queued("state.apply", "a")).await;
    for job in [&third, &fourth, &fifth] {
        assert_eq!(job.state, JobState::Queued);
    }
    assert!(stage.jobs.cancel(fourth.id, false));
    assert_eq!(stage.end(fourth.id).await.0, JobState::Cancelled);
    stage.fleet.release("a", 1);
    assert_eq!(stage.end(first.id).await.0, JobState::Done);
    until("the next one runs", || stage.fleet.on("a", |target| target.begun.len() == 2)).await;
    for _ in 0..200 {
        if stage.state(third.id).await == JobState::Running {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(stage.state(third.id).await, JobState::Running);
    assert_eq!(stage.state(fifth.id).await, JobState::Queued);
    stage.fleet.release("a", 2);
    assert_eq!(stage.end(third.id).await.0, JobState::Done);
    assert_eq!(stage.end(fifth.id).await.0, JobState::Done);
    assert_eq!(
        stage.fleet.on("a", |target| (target.overlapped, target.begun.clone())),
        (1, vec![first.id, third.id, fifth.id])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_reaches_the_target() {
    let stage = Stage::new(&["a"]).await;
    for (kill, word) in [(false, "term"), (true, "kill")] {
        let job = stage.start(run("cmd.run", "a")).await;
        until("it runs", || stage.fleet.on("a", |target| target.begun.contains(&job.id))).await;
        assert!(stage.jobs.cancel(job.id, kill));
        let (state, returns) = stage.end(job.id).await;
        assert_eq!((state, values(&returns)), (JobState::Cancelled, vec![word.into()]));
        assert!(!stage.jobs.cancel(job.id, kill), "it is over");
    }
    until("nothing is kept", || stage.fleet.kept("a") == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_is_had_over_a_broken_link() {
    let stage = Stage::new(&["a"]).await;
    let job = stage.start(run("cmd.run", "a")).await;
    until("it runs", || stage.fleet.on("a", |target| target.begun.len() == 1)).await;
    stage.fleet.set_up("a", false);
    stage.fleet.break_links("a");
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(stage.state(job.id).await, JobState::Running, "nobody knows better yet");
    stage.fleet.release("a", 1);
    stage.fleet.set_up("a", true);
    let (state, returns) = stage.end(job.id).await;
    assert_eq!((state, values(&returns)), (JobState::Done, vec!["cmd.run on a".into()]));
    until("the target has heard that it is stored", || stage.fleet.kept("a") == 0).await;
    assert_eq!(stage.fleet.on("a", |target| target.begun.len()), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_dies_loses_its_job_and_it_is_not_repeated() {
    let stage = Stage::new(&["a"]).await;
    let job = stage.start(run("cmd.run", "a")).await;
    until("it runs", || stage.fleet.on("a", |target| target.begun.len() == 1)).await;
    stage.fleet.kill_agent("a");
    let (state, returns) = stage.end(job.id).await;
    assert_eq!(state, JobState::Lost);
    assert!(matches!(&returns[0].outcome, TargetOutcome::Lost(why) if why.contains("it began there")), "{returns:?}");
    assert_eq!(stage.fleet.on("a", |target| target.begun.len()), 1);
    // Functions that only read are not asked for again.
    let job = stage.start(run("test.sleep", "a")).await;
    until("it runs", || stage.fleet.on("a", |target| target.begun.len() == 2)).await;
    stage.fleet.break_links("a");
    let (state, returns) = stage.end(job.id).await;
    assert!(matches!(returns[0].outcome, TargetOutcome::Unreached { .. }) && state == JobState::Done, "{returns:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_stays_away_is_given_up() {
    let fleet = Fleet::new(&["a"]);
    let stage = Stage { fleet, jobs: keeper(&memory().await, Duration::from_millis(500)).await };
    let job = stage.start(run("cmd.run", "a")).await;
    until("it runs", || stage.fleet.on("a", |target| target.begun.len() == 1)).await;
    stage.fleet.set_up("a", false);
    stage.fleet.break_links("a");
    let (state, returns) = stage.end(job.id).await;
    assert!(
        state == JobState::Lost
            && matches!(&returns[0].outcome, TargetOutcome::Lost(why) if why.contains("it is down"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_target_are_its_own_and_come_before_its_return() {
    let stage = Stage::new(&["a"]).await;
    let forged = RunRequest { args: vec!["salt/job/20260131093000123456/ret/b".into()], ..run("event.send", "a") };
    let job = stage.start(forged).await;
    stage.end(job.id).await;
    let mut follower = stage.jobs.ledger().follow(Some(2));
    let Ok(Heard::Event(event)) = follower.next().await else { panic!("no event") };
    assert_eq!(event.event.tag, "salt/minion/a/event/salt/job/20260131093000123456/ret/b");
    assert_eq!(event.event.data.get("id"), Some(&"a".into()));
    let Ok(Heard::Event(event)) = follower.next().await else { panic!("no event") };
    assert_eq!(event.event.tag, format!("salt/job/{}/ret/a", job.id));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_is_had_once_and_only_what_was_checked_runs() {
    let stage = Stage::new(&["a", "b"]).await;
    let id = Some(JobId::at(1_769_851_800_123_456));
    let job = stage.start(RunRequest { job: id, ..run("test.ping", "a") }).await;
    assert_eq!(Some(job.id), id);
    let again = stage
        .jobs
        .start(&stage.fleet.controller(), RunRequest { job: id, ..run("test.ping", "a") }, &Account::local("ann"), None)
        .await;
    assert!(matches!(again, Err(Error::Taken(taken)) if Some(taken) == id));
    let only = std::collections::BTreeSet::from(["a".to_owned()]);
    let more =
        stage.jobs.start(&stage.fleet.controller(), run("test.ping", "a,b"), &Account::local("ann"), Some(&only)).await;
    assert!(matches!(more, Err(Error::Beyond(beyond)) if beyond == ["b"]));
    let nobody = RunRequest { target_kind: "glob".into(), ..run("test.ping", "x*") };
    let started = stage.jobs.start(&stage.fleet.controller(), nobody, &Account::local("ann"), None).await;
    assert!(started.expect("understood").is_none());
    let missing = stage.start(run("test.ping", "nobody")).await;
    assert_eq!(stage.end(missing.id).await.0, JobState::Done);
}
