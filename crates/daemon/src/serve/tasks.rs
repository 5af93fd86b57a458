//! Background tasks beside the request service: presence, expiry, the upkeep of links, systemd's watchdog.

use std::sync::Arc;
use std::time::Duration;

use rocksalt_controller::ledger::Heard;
use rocksalt_core::Value;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

use super::{Error, ServerState, systemd};
use crate::requests::presence;

/// How often spooled jobs are imported.
const IMPORT_INTERVAL: Duration = Duration::from_secs(10);

pub async fn start(shared: &Arc<ServerState>, tasks: &mut JoinSet<()>) -> Result<(), Error> {
    tasks.spawn(presence::watch(Arc::clone(&shared.requests)));
    tasks.spawn(expire(shared.requests.jobs.tidy_regularly()));
    tasks.spawn(import_spool(Arc::clone(shared)));
    tasks.spawn(count_returns(Arc::clone(shared)));
    if let Some(within) = systemd::watchdog() {
        tasks.spawn(watchdog(Arc::clone(shared), within / 2));
    }
    Ok(())
}

/// Removes old jobs and events while the daemon runs.
async fn expire(tending: JoinHandle<()>) {
    let _end = AbortOnDrop(tending.abort_handle());
    let _ = tending.await;
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Imports jobs that commands ran without the daemon.
async fn import_spool(shared: Arc<ServerState>) {
    let Some(spool) = &shared.settings.spool else { return };
    loop {
        match spool.import(shared.requests.ledger()).await {
            Ok(0) => {}
            Ok(jobs) => tracing::info!(jobs, "imported jobs that ran without the daemon"),
            Err(error) => tracing::warn!(%error, "could not import jobs that ran without the daemon"),
        }
        tokio::time::sleep(IMPORT_INTERVAL).await;
    }
}

/// Counts returns for the metrics, as a listener of events.
async fn count_returns(shared: Arc<ServerState>) {
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
            Ok(Heard::Hidden(_) | Heard::Gap { .. }) => {}
            Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
        }
    }
}

/// Notifies the watchdog only while the store responds; otherwise systemd restarts the daemon.
async fn watchdog(shared: Arc<ServerState>, every: Duration) {
    loop {
        if shared.is_healthy().await {
            systemd::alive();
        }
        tokio::time::sleep(every).await;
    }
}
