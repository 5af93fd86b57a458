//! [`Metrics`] in Prometheus' text format. Labels have few values: nothing that a client sends becomes one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::Method;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use rocksalt_core::record::JobState;
use rocksalt_core::request::JobFilter;

use crate::requests::RequestService;

pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    durations: Family<RouteLabel, Histogram>,
    commits: Histogram,
    failed_commits: Counter,
    connections: Gauge,
    listeners: Gauge,
    returns: Family<SuccessLabel, Counter>,
    sampled: SampledMetrics,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RouteLabel {
    route: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StateLabel {
    state: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SuccessLabel {
    success: &'static str,
}

/// Metrics that are sampled when they are read.
#[derive(Default)]
struct SampledMetrics {
    jobs_running: Gauge,
    jobs: Counter,
    kept: Family<StateLabel, Gauge>,
    refused: Counter,
    runners: Counter,
    events: Counter,
    links: Gauge,
    targets: Family<StateLabel, Gauge>,
    started: Gauge<f64, AtomicU64>,
    memory: Gauge,
    descriptors: Gauge,
}

fn histogram() -> Histogram {
    Histogram::new([0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0])
}

impl Metrics {
    pub fn new() -> Metrics {
        let mut registry = Registry::with_prefix("rocksalt");
        let requests = Family::default();
        let durations = Family::new_with_constructor(histogram as fn() -> Histogram);
        let (commits, failed_commits) = (histogram(), Counter::default());
        let (connections, listeners) = (Gauge::default(), Gauge::default());
        let returns = Family::default();
        let sampled = SampledMetrics::default();
        registry.register("returns", "Results of targets", returns.clone());
        registry.register("jobs_kept", "Jobs in the store, by state", sampled.kept.clone());
        registry.register("http_requests", "Requests by route and status", requests.clone());
        registry.register_with_unit(
            "http_request_duration",
            "Time until the response began",
            Unit::Seconds,
            durations.clone(),
        );
        registry.register("http_connections", "Open connections", connections.clone());
        registry.register("event_listeners", "Open event streams", listeners.clone());
        registry.register_with_unit("store_commit_duration", "Commits to the store", Unit::Seconds, commits.clone());
        registry.register("store_commit_failures", "Commits that failed", failed_commits.clone());
        registry.register("jobs_running", "Running jobs", sampled.jobs_running.clone());
        registry.register("jobs", "Requested jobs", sampled.jobs.clone());
        registry.register("requests_refused", "Refused requests", sampled.refused.clone());
        registry.register("runner_calls", "Calls of runner and wheel functions", sampled.runners.clone());
        registry.register("events", "Events in the log since its beginning", sampled.events.clone());
        registry.register("links", "Open links to targets", sampled.links.clone());
        registry.register("targets", "Targets of the roster", sampled.targets.clone());
        registry.register_with_unit(
            "start_time",
            "Start time since the Unix epoch",
            Unit::Seconds,
            sampled.started.clone(),
        );
        registry.register_with_unit("process_resident_memory", "Memory in use", Unit::Bytes, sampled.memory.clone());
        registry.register("process_open_fds", "File descriptors in use", sampled.descriptors.clone());
        Metrics { registry, requests, durations, commits, failed_commits, connections, listeners, returns, sampled }
    }

    pub fn answered(&self, method: &Method, route: &str, status: u16, time: Duration) {
        let labels = RequestLabels { method: method_label(method), route: route.to_owned(), status };
        self.requests.get_or_create(&labels).inc();
        self.durations.get_or_create(&RouteLabel { route: labels.route }).observe(time.as_secs_f64());
    }

    pub fn committed(&self, time: Duration, succeeded: bool) {
        self.commits.observe(time.as_secs_f64());
        if !succeeded {
            self.failed_commits.inc();
        }
    }

    pub fn returned(&self, success: bool) {
        self.returns.get_or_create(&SuccessLabel { success: if success { "true" } else { "false" } }).inc();
    }

    /// Counted until the guard is dropped.
    pub fn connected(&self) -> GaugeGuard {
        GaugeGuard::of(&self.connections)
    }

    pub fn listening(&self) -> GaugeGuard {
        GaugeGuard::of(&self.listeners)
    }

    pub async fn text(&self, requests: &Arc<RequestService>) -> String {
        self.sample(requests).await;
        let mut text = String::new();
        // Writing to a string can't fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    async fn sample(&self, requests: &Arc<RequestService>) {
        let (sampled, counts) = (&self.sampled, requests.stats.counts());
        let follow = |counter: &Counter, now: u64| {
            counter.inc_by(now.saturating_sub(counter.get()));
        };
        follow(&sampled.jobs, counts.jobs.load(Ordering::Relaxed));
        follow(&sampled.refused, counts.refused.load(Ordering::Relaxed));
        follow(&sampled.runners, counts.runners.load(Ordering::Relaxed) + counts.wheels.load(Ordering::Relaxed));
        follow(&sampled.events, requests.ledger().last_event());
        sampled.jobs_running.set(requests.jobs.running().len() as i64);
        let loaded = requests.loaded();
        sampled.links.set(loaded.controller.links.list().await.map_or(0, |links| links.len() as i64));
        let (up, down) = (requests.presence().up().len() as i64, requests.presence().down().len() as i64);
        let all = loaded.controller.roster.entries.len() as i64;
        for (state, count) in [("up", up), ("down", down), ("unknown", (all - up - down).max(0))] {
            sampled.targets.get_or_create(&StateLabel { state }).set(count);
        }
        self.sample_jobs(requests).await;
        sampled.started.set(requests.stats.started);
        sampled.memory.set(memory().unwrap_or(0));
        sampled.descriptors.set(std::fs::read_dir("/proc/self/fd").map_or(0, |all| all.count() as i64));
    }
}

/// The states of stored jobs; the ledger has them in memory.
const STATES: [JobState; 5] =
    [JobState::Queued, JobState::Running, JobState::Done, JobState::Cancelled, JobState::Lost];

impl Metrics {
    async fn sample_jobs(&self, requests: &Arc<RequestService>) {
        let Ok(jobs) = requests.ledger().jobs(&JobFilter::default()).await else { return };
        for state in STATES {
            let count = jobs.iter().filter(|job| job.state == state).count() as i64;
            self.sampled.kept.get_or_create(&StateLabel { state: state.name() }).set(count);
        }
    }
}

/// Maps unknown methods to one label.
fn method_label(method: &Method) -> &'static str {
    ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"]
        .into_iter()
        .find(|name| *name == method.as_str())
        .unwrap_or("other")
}

/// Resident memory in bytes: the second number is in pages.
fn memory() -> Option<i64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: i64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as i64)
}

/// Increments a gauge until it is dropped.
pub struct GaugeGuard(Gauge);

impl GaugeGuard {
    fn of(gauge: &Gauge) -> GaugeGuard {
        gauge.inc();
        GaugeGuard(gauge.clone())
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}
