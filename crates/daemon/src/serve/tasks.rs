//! What goes on beside the request service: presence, expiry, the links' upkeep, systemd's watchdog.

use std::sync::Arc;
use std::time::Duration;

use rocksalt_controller::ledger::Heard;
use rocksalt_core::Value;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

use super::{Error, Shared, systemd};
use crate::requests::presence;

/// How often jobs of others are looked for.
const TAKE_OVER: Duration = Duration::from_secs(10);

pub async fn start(shared: &Arc<Shared>, tasks: &mut JoinSet<()>) -> Result<(), Error> {
    tasks.spawn(presence::watch(Arc::clone(&shared.requests)));
    tasks.spawn(forget(shared.requests.jobs.tidy_regularly()));
    tasks.spawn(take_over(Arc::clone(shared)));
    tasks.spawn(count(Arc::clone(shared)));
    if let Some(within) = systemd::watchdog() {
        tasks.spawn(watchdog(Arc::clone(shared), within / 2));
    }
    Ok(())
}

/// Old jobs and events, as long as the daemon runs.
async fn forget(tending: JoinHandle<()>) {
    let _end = AbortOnDrop(tending.abort_handle());
    let _ = tending.await;
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Jobs that commands ran without us.
async fn take_over(shared: Arc<Shared>) {
    let Some(spool) = &shared.settings.spool else { return };
    loop {
        match spool.import(shared.requests.ledger()).await {
            Ok(0) => {}
            Ok(jobs) => tracing::info!(jobs, "jobs that ran without the daemon were taken over"),
            Err(error) => tracing::warn!(%error, "jobs that ran without the daemon could not be taken over"),
        }
        tokio::time::sleep(TAKE_OVER).await;
    }
}

/// Results, for the metrics: heard like any listener does.
async fn count(shared: Arc<Shared>) {
    let mut follower = shared.requests.ledger().follow(None);
    loop {
        match follower.next().await {
            Ok(Heard::Event(logged)) => {
                let parts: Vec<&str> = logged.event.tag.splitn(5, '/').collect();
                if let ["salt", "job", _, "ret", _] = parts[..] {
                    let success = logged.event.data.get("success").is_some_and(Value::truth);
                    shared.metrics.returned(success);
                }
            }
            Ok(Heard::Gap { .. }) => {}
            Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
        }
    }
}

/// Only a daemon that works is alive: one whose store hangs is started anew.
async fn watchdog(shared: Arc<Shared>, every: Duration) {
    loop {
        if shared.is_healthy().await {
            systemd::alive();
        }
        tokio::time::sleep(every).await;
    }
}
