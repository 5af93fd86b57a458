//! Tests of jobs that ran without a daemon: kept, listed and imported.

use rocksalt_backends::store;
use rocksalt_core::{Map, Return, Value};

use super::*;
use crate::ledger::Settings;

struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn spool(name: &str) -> (Spool, Directory) {
    let above = std::env::temp_dir().join(format!("rocksalt-spool-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&above);
    fs::create_dir(&above).expect("a directory");
    let uid = fs::metadata(&above).expect("it is there").uid();
    (Spool::new(above.join("state/spool"), uid), Directory(above))
}

fn job(micros: u64) -> JobRecord {
    JobRecord {
        id: JobId::at(micros),
        function: "test.ping".into(),
        args: vec!["a".into()],
        kwargs: Map::new(),
        target: "*".into(),
        target_kind: "glob".into(),
        targets: ["a", "b"].map(str::to_owned).to_vec(),
        missing: Vec::new(),
        user: "me".into(),
        metadata: Value::Null,
        started: micros,
        state: JobState::Running,
        ended: None,
        owner: "here".into(),
        options: rocksalt_core::job_options::JobOptions::default(),
        delimiter: None,
        eauth: "local".into(),
    }
}

fn fine(target: &str, value: impl Into<Value>, ended: u64) -> ReturnRecord {
    let outcome = TargetOutcome::Returned(Return { value: value.into(), retcode: 0, problem: None });
    ReturnRecord { target: target.into(), outcome, ended, outputter: None, cut_from: None }
}

#[test]
fn a_job_is_known_while_it_runs_and_after_it_ended() {
    let (spool, _directory) = spool("runs");
    let mut entry = spool.begin(job(1000), true).expect("kept");
    entry.returned(&fine("a", true, 2000)).expect("kept");
    let seen = spool.job(JobId::at(1000)).expect("read").expect("it is there");
    assert_eq!(seen.job.state, JobState::Running);
    assert_eq!(seen.process, Some(Process::own()));
    assert_eq!(seen.missing().collect::<Vec<_>>(), ["b"]);
    entry.returned(&fine("b", 1, 3000)).expect("kept");
    entry.end(JobState::Done, 4000).expect("kept");
    let seen = spool.job(JobId::at(1000)).expect("read").expect("it is there");
    assert_eq!((seen.job.state, seen.job.ended, seen.process), (JobState::Done, Some(4000), None));
    assert_eq!(seen.returns.iter().map(|record| record.target.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let mode = fs::metadata(spool.path(JobId::at(1000))).expect("it is there").mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_result_that_is_too_large_says_so() {
    let (mut spool, _directory) = spool("large");
    spool.largest_return = 100;
    let mut entry = spool.begin(job(1000), true).expect("kept");
    entry.returned(&fine("a", "x".repeat(1000), 1)).expect("kept");
    let seen = spool.job(JobId::at(1000)).expect("read").expect("it is there");
    assert!(seen.returns[0].cut_from.is_some_and(|size| size >= 1000), "{:?}", seen.returns);
    assert!(fs::metadata(spool.path(JobId::at(1000))).expect("it is there").len() < 800);
}

#[test]
fn two_jobs_of_one_microsecond_have_two_ids() {
    let (spool, _directory) = spool("ids");
    let first = spool.begin(job(1000), true).expect("kept");
    let second = spool.begin(job(1000), true).expect("kept");
    assert_ne!(first.job.id, second.job.id);
    assert!(spool.begin(job(1000), false).is_err(), "an id that was chosen is not changed");
}

#[test]
fn a_job_whose_process_died_is_lost() {
    let (spool, _directory) = spool("lost");
    let mut entry = spool.begin(job(1000), true).expect("kept");
    entry.returned(&fine("a", true, 2000)).expect("kept");
    let path = spool.path(entry.job.id);
    drop(entry);
    let mut bytes = fs::read(&path).expect("it is there");
    // Another process with the same id.
    bytes[23] ^= 1;
    fs::write(&path, bytes).expect("written");
    let mut seen = spool.job(JobId::at(1000)).expect("read").expect("it is there");
    assert_eq!(seen.job.state, JobState::Lost);
    assert_eq!(seen.returns.len(), 1, "what it had got stays");
    seen.add_lost();
    assert!(matches!(seen.returns[1].outcome, TargetOutcome::Lost(_)));
}

#[test]
fn a_file_that_was_cut_off_or_is_no_job_harms_nobody() {
    let (spool, _directory) = spool("cut");
    let mut entry = spool.begin(job(1000), true).expect("kept");
    entry.returned(&fine("a", "long enough to be cut", 2000)).expect("kept");
    entry.end(JobState::Done, 3000).expect("kept");
    let path = spool.path(JobId::at(1000));
    let whole = fs::read(&path).expect("it is there");
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).expect("written");
        let seen = spool.job(JobId::at(1000)).expect("no error");
        assert!(seen.is_none_or(|seen| seen.returns.is_empty()), "{length}");
    }
    for place in 0..whole.len() {
        let mut broken = whole.clone();
        broken[place] ^= 0xff;
        fs::write(&path, broken).expect("written");
        let _ = spool.job(JobId::at(1000)).expect("no error");
    }
    fs::write(spool.directory.join("notes.txt"), "x").expect("written");
    assert_eq!(spool.jobs(&JobFilter::default()).expect("read").len(), 1);
}

#[test]
fn old_ones_and_too_many_are_forgotten_but_not_what_runs() {
    let (mut spool, _directory) = spool("prune");
    let second = 1_000_000;
    let running = spool.begin(job(1), true).expect("kept");
    for number in 1..=10 {
        spool.begin(job(number * second), true).and_then(|entry| entry.end(JobState::Done, 1)).expect("kept");
    }
    let seconds = |spool: &Spool| -> Vec<u64> {
        spool.jobs(&JobFilter::default()).expect("read").iter().map(|job| job.started / second).collect()
    };
    spool.keep_seconds = 0;
    spool.prune(10 * second).expect("pruned");
    assert_eq!(seconds(&spool).len(), 11, "0 keeps all of them");
    spool.keep_seconds = 6;
    spool.prune(10 * second).expect("pruned");
    assert_eq!(seconds(&spool), [10, 9, 8, 7, 6, 5, 4, 0]);
    spool.most = 3;
    spool.prune(10 * second).expect("pruned");
    assert_eq!(seconds(&spool), [10, 9, 8, 0]);
    running.end(JobState::Done, 1).expect("kept");
    spool.prune(10 * second).expect("pruned");
    assert_eq!(seconds(&spool), [10, 9, 8]);
    let limit = JobFilter { limit: Some(1), before: Some(JobId::at(10 * second)), ..JobFilter::default() };
    assert_eq!(spool.jobs(&limit).expect("read")[0].started, 9 * second);
}

#[test]
fn a_directory_that_others_can_use_is_refused() {
    let (spool, directory) = spool("others");
    spool.begin(job(1), true).expect("kept");
    fs::set_permissions(&spool.directory, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("changed");
    assert!(spool.begin(job(2), true).is_err());
    assert!(spool.jobs(&JobFilter::default()).is_err());
    fs::rename(&spool.directory, directory.0.join("elsewhere")).expect("moved");
    std::os::unix::fs::symlink(directory.0.join("elsewhere"), &spool.directory).expect("linked");
    assert!(spool.begin(job(2), true).is_err(), "nor is a link followed");
}

#[tokio::test]
async fn a_daemon_takes_them_over_once() {
    let (spool, _directory) = spool("import");
    let running = spool.begin(job(1), true).expect("kept");
    let mut entry = spool.begin(job(1000), true).expect("kept");
    entry.returned(&fine("a", true, 2000)).expect("kept");
    entry.end(JobState::Done, 3000).expect("kept");
    let settings = Settings {
        now: || 5000,
        owner: "daemon".into(),
        keep_jobs_seconds: 1000,
        keep_events_seconds: 1000,
        largest_return: 1 << 20,
    };
    let store = store::open("memory", &store::Settings::default()).await.expect("a store in memory");
    let ledger = Ledger::open(store, settings).await.expect("it is empty");
    assert_eq!(spool.import(&ledger).await.expect("imported"), 1);
    assert_eq!(spool.import(&ledger).await.expect("imported"), 0);
    let known = ledger.job(JobId::at(1000)).await.expect("read").expect("it is there");
    assert_eq!((known.state, known.owner.as_str()), (JobState::Done, "here"));
    assert_eq!(ledger.returns(JobId::at(1000)).await.expect("read").len(), 1);
    assert_eq!(spool.jobs(&JobFilter::default()).expect("read").len(), 1, "what still runs stays here");
    running.end(JobState::Cancelled, 9).expect("kept");
    assert_eq!(spool.import(&ledger).await.expect("imported"), 1);
}
