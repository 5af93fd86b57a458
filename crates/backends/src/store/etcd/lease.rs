//! An etcd lease, kept alive until its holder drops it.
//!
//! A lease is valid for its time to live after we *sent* the last keep-alive that was answered. When that time is nearly
//! over without a new response, we treat it as lost, whatever etcd's state is.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tonic::codegen::tokio_stream;

use super::call::{CallError, CallErrorKind, backoff};
use super::members::EtcdMembers;
use super::messages::{
    Acknowledged, LEASE_GRANT, LEASE_KEEP_ALIVE, LEASE_REVOKE, LeaseGrantRequest, LeaseGrantResponse,
    LeaseKeepAliveResponse, LeaseRequest,
};
use crate::store::{Error, Lease, LeaseId};

pub async fn grant(members: &Arc<EtcdMembers>, time_to_live: Duration) -> Result<Lease, Error> {
    let ttl = i64::try_from(time_to_live.as_millis().div_ceil(1000)).unwrap_or(i64::MAX).max(1);
    let sent = Instant::now();
    // A lost response leaves a second lease behind, which expires by itself.
    let granted = members.call::<_, LeaseGrantResponse>(LEASE_GRANT, LeaseGrantRequest { ttl }).await;
    let granted = granted.map_err(|error| error.error("get a lease"))?;
    if !granted.error.is_empty() || granted.id == 0 || granted.ttl <= 0 {
        return Err(Error::Unavailable { doing: "get a lease", why: format!("etcd: {}", granted.error) });
    }
    let (lost, heard) = watch::channel(false);
    let (held, dropped) = oneshot::channel::<()>();
    // etcd extends a very short time to live.
    let keeper = LeaseKeeper { members: Arc::clone(members), id: granted.id, ttl: seconds(granted.ttl), renewed: sent };
    tokio::spawn(keeper.keep(lost, dropped));
    Ok(Lease { id: granted.id, lost: heard, _held: held })
}

struct LeaseKeeper {
    members: Arc<EtcdMembers>,
    id: LeaseId,
    ttl: Duration,
    /// When the last answered keep-alive was sent.
    renewed: Instant,
}

impl LeaseKeeper {
    async fn keep(mut self, lost: watch::Sender<bool>, dropped: oneshot::Receiver<()>) {
        tokio::select! {
            _ = dropped => {}
            () = self.until_lost() => {}
        }
        lost.send_replace(true);
        // Deletes its keys at once if etcd can be reached; otherwise they expire.
        let ended = self.members.call::<_, Acknowledged>(LEASE_REVOKE, LeaseRequest { id: self.id });
        let _ = tokio::time::timeout(self.ttl, ended).await;
    }

    async fn until_lost(&mut self) {
        loop {
            tokio::time::sleep_until(self.renewed + self.ttl / 3).await;
            // Allow for clock drift.
            let end = self.renewed + self.ttl - self.ttl / 10;
            let Ok(Some(())) = tokio::time::timeout_at(end, self.renew()).await else { return };
        }
    }

    /// Sends keep-alives until one is answered; `None` if the lease doesn't exist.
    async fn renew(&mut self) -> Option<()> {
        for round in 0.. {
            let sent = Instant::now();
            match self.send_keep_alive().await {
                Ok(0) => return None,
                Ok(ttl) => {
                    (self.renewed, self.ttl) = (sent, seconds(ttl));
                    return Some(());
                }
                Err(error) if error.kind == CallErrorKind::LeaseGone => return None,
                Err(_) => tokio::time::sleep(backoff(round).min(self.ttl / 10)).await,
            }
        }
        None
    }

    /// Opens a stream for a single keep-alive, so that the next one can go to another member.
    async fn send_keep_alive(&self) -> Result<i64, CallError> {
        let request = tokio_stream::once(LeaseRequest { id: self.id });
        let limit = (self.ttl / 4).max(Duration::from_millis(300));
        let response = async {
            let (index, mut responses) = self.members.stream(LEASE_KEEP_ALIVE, request, limit).await?;
            let response: Result<Option<LeaseKeepAliveResponse>, _> = responses.message().await;
            match response {
                Ok(Some(response)) => Ok(response.ttl),
                Ok(None) => Err(CallError { kind: CallErrorKind::NoAnswer, why: "the stream ended".into() }),
                Err(status) => Err(self.members.call_error(index, &status)),
            }
        };
        let (index, _) = self.members.current();
        tokio::time::timeout(limit, response).await.unwrap_or_else(|_| {
            self.members.failed(index, true);
            Err(CallError { kind: CallErrorKind::NoAnswer, why: "no response in time".into() })
        })
    }
}

fn seconds(ttl: i64) -> Duration {
    Duration::from_secs(ttl.max(0).cast_unsigned())
}
