//! What goes on beside the requests: presence, expiry, the links' upkeep, systemd's watchdog.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::{Error, Shared, systemd};
use crate::desk::presence;

/// How often old jobs and events are forgotten.
const EXPIRE: Duration = Duration::from_secs(60);

pub async fn start(shared: &Arc<Shared>, tasks: &mut JoinSet<()>) -> Result<(), Error> {
    tasks.spawn(presence::watch(Arc::clone(&shared.desk)));
    tasks.spawn(expire(Arc::clone(shared)));
    if let Some(within) = systemd::watchdog() {
        tasks.spawn(watchdog(Arc::clone(shared), within / 2));
    }
    Ok(())
}

async fn expire(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(EXPIRE).await;
        if let Err(error) = shared.desk.runs.tidy().await {
            tracing::warn!(%error, "old jobs could not be forgotten");
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
