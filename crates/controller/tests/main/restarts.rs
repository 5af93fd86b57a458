//! The controller dies at any moment: every job ends, no acknowledged result is lost, nothing runs twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rocksalt_backends::store::Store;
use rocksalt_controller::jobs::JobService;
use rocksalt_core::JobId;
use rocksalt_core::job_options::JobOptions;
use rocksalt_core::record::{Account, JobState, ReturnRecord, TargetOutcome};
use rocksalt_core::request::{JobFilter, RunRequest};
use tokio::runtime::{Builder, Runtime};

use crate::fleet::{Alive, Fleet, Seen, keeper, memory, run, until};

const TARGETS: [&str; 4] = ["a", "b", "c", "d"];

/// A controller in a runtime of its own, so that it can die as a whole.
struct Daemon {
    runtime: Runtime,
    jobs: Arc<JobService>,
    fleet: Arc<Fleet>,
    alive: Alive,
}

impl Daemon {
    async fn start(store: &Arc<dyn Store>, fleet: &Arc<Fleet>) -> Daemon {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        let alive = Alive::default();
        let store: Arc<dyn Store> = Arc::new(Seen(Arc::clone(store), alive.clone()));
        let controller = fleet.controller_of(&alive);
        let starting = runtime.spawn(async move {
            let jobs = keeper(&store, Duration::from_secs(5)).await;
            jobs.recover(&controller).await.expect("read");
            jobs
        });
        Daemon { jobs: starting.await.expect("it starts"), runtime, fleet: Arc::clone(fleet), alive }
    }

    /// Starts a job, and notes its returns once they were reported.
    fn submit(&self, run: RunRequest, told: &Arc<Mutex<HashMap<JobId, Vec<ReturnRecord>>>>) {
        let (jobs, told, alive) = (Arc::clone(&self.jobs), Arc::clone(told), self.alive.clone());
        let controller = self.fleet.controller_of(&alive);
        self.runtime.spawn(async move {
            let Ok(Some(job)) = jobs.start(&controller, run, &Account::local("ann"), None).await else { return };
            let tell = |returns: Vec<ReturnRecord>| {
                let mut told = told.lock().expect("no panic");
                // The report of a dead controller doesn't count.
                if alive.is() {
                    told.insert(job.id, returns);
                }
            };
            tell(Vec::new());
            if let Ok(returns) = jobs.wait(job.id, None).await {
                tell(returns);
            }
        });
    }

    fn kill(self) {
        self.alive.end();
        self.runtime.shutdown_background();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whenever_it_dies_jobs_end_once() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(42);
    let mut random = Random(seed);
    let (store, fleet) = (memory().await, Fleet::new(&TARGETS));
    let told = Arc::new(Mutex::new(HashMap::new()));
    for _ in 0..25 {
        let daemon = Daemon::start(&store, &fleet).await;
        for _ in 0..random.below(8) {
            let function = ["test.ping", "cmd.run", "cmd.run", "state.apply", "test.sleep"][random.below(5)];
            let target = TARGETS[..=random.below(4)].join(",");
            daemon.submit(
                RunRequest {
                    options: JobOptions { queue: random.below(2) == 0, ..JobOptions::default() },
                    ..run(function, &target)
                },
                &told,
            );
        }
        for _ in 0..random.below(6) {
            tokio::time::sleep(Duration::from_micros(random.below(3000) as u64)).await;
            fleet.release(TARGETS[random.below(4)], random.below(3));
            if random.below(10) == 0 {
                fleet.break_links(TARGETS[random.below(4)]);
            }
        }
        daemon.kill();
    }
    let daemon = Daemon::start(&store, &fleet).await;
    TARGETS.iter().for_each(|id| fleet.release(id, 1000));
    until("everything has ended", || daemon.jobs.running().is_empty()).await;
    let told = told.lock().expect("no panic").clone();
    for (id, acknowledged) in &told {
        let job = daemon.jobs.ledger().job(*id).await.expect("read").expect("seed {seed}: a job is gone");
        assert!(job.state.ended(), "seed {seed}: {job:?}");
        let returns = daemon.jobs.ledger().returns(*id).await.expect("read");
        assert_eq!(returns.len(), job.targets.len(), "seed {seed}: {job:?}");
        let lost = returns.iter().any(|record| matches!(record.outcome, TargetOutcome::Lost(_)));
        assert!(!lost || job.state == JobState::Lost, "seed {seed}: {job:?}");
        for record in acknowledged {
            assert!(returns.contains(record), "seed {seed}: an acknowledged return is gone: {record:?}");
        }
    }
    for id in TARGETS {
        let mut begun = fleet.on(id, |target| target.begun.clone());
        let count = begun.len();
        begun.sort();
        begun.dedup();
        assert_eq!(begun.len(), count, "seed {seed}: something ran twice on {id}");
        assert!(fleet.on(id, |target| target.overlapped) <= 1, "seed {seed}: runs overlapped on {id}");
    }
    let open = JobFilter { running: true, ..JobFilter::default() };
    assert!(daemon.jobs.ledger().jobs(&open).await.expect("read").is_empty());
    daemon.kill();
}

/// A generator that yields the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}
