//! [`Stats`]: counters of the daemon since its start.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rocksalt_core::request::Request;
use rocksalt_core::{Map, Value};

use super::{Loaded, RequestService};

pub struct Stats {
    began: Instant,
    /// Seconds since 1970.
    pub started: f64,
    counts: Counts,
}

/// The counters, which only increase.
#[derive(Default)]
pub struct Counts {
    pub requests: AtomicU64,
    pub refused: AtomicU64,
    pub jobs: AtomicU64,
    pub runners: AtomicU64,
    pub wheels: AtomicU64,
    pub reloads: AtomicU64,
}

impl Default for Stats {
    fn default() -> Stats {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        Stats { began: Instant::now(), started, counts: Counts::default() }
    }
}

impl Stats {
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(super) fn asked(&self, request: &Request, allowed: bool) {
        let counts = &self.counts;
        counts.requests.fetch_add(1, Ordering::Relaxed);
        let more = match request {
            _ if !allowed => &counts.refused,
            Request::Run(_) => &counts.jobs,
            Request::Runner(_) => &counts.runners,
            Request::Wheel(_) => &counts.wheels,
            _ => return,
        };
        more.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn reloaded(&self) {
        self.counts.reloads.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) async fn value(&self, requests: &RequestService, loaded: &Loaded) -> Value {
        let count = |counter: &AtomicU64| Value::Int(counter.load(Ordering::Relaxed).try_into().unwrap_or(i64::MAX));
        let number = |number: usize| Value::Int(number.try_into().unwrap_or(i64::MAX));
        let mut map = Map::new();
        map.insert("version", env!("CARGO_PKG_VERSION"));
        map.insert("started", self.started);
        map.insert("uptime", self.began.elapsed().as_secs_f64());
        map.insert("requests", count(&self.counts.requests));
        map.insert("refused", count(&self.counts.refused));
        map.insert("jobs", count(&self.counts.jobs));
        map.insert("runners", count(&self.counts.runners));
        map.insert("wheels", count(&self.counts.wheels));
        map.insert("reloads", count(&self.counts.reloads));
        map.insert("jobs_running", number(requests.jobs.running().len()));
        map.insert("last_event", Value::Int(requests.ledger().last_event().try_into().unwrap_or(i64::MAX)));
        map.insert("targets", number(loaded.controller.roster.entries.len()));
        map.insert("targets_up", number(requests.presence.up().len()));
        map.insert("links", number(loaded.controller.links.list().await.map_or(0, |links| links.len())));
        map.into()
    }
}
