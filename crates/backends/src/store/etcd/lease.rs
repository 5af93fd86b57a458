//! A lease at etcd, kept alive as long as its holder wants it.
//!
//! What counts is what can be proved: a lease is alive for its time after we have *sent* the question that was answered.
//! If that time is nearly over without a new answer it is lost for us, whatever etcd thinks of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tonic::codegen::tokio_stream;

use super::call::{Kind, Trouble, backoff};
use super::members::Members;
use super::messages::{
    Acknowledged, LEASE_GRANT, LEASE_KEEP_ALIVE, LEASE_REVOKE, LeaseGrantRequest, LeaseGrantResponse,
    LeaseKeepAliveResponse, LeaseRequest,
};
use crate::store::{Error, Lease, LeaseId};

pub async fn grant(members: &Arc<Members>, time_to_live: Duration) -> Result<Lease, Error> {
    let ttl = i64::try_from(time_to_live.as_millis().div_ceil(1000)).unwrap_or(i64::MAX).max(1);
    let sent = Instant::now();
    // If an answer is lost there are two; the one of which nobody knows ends by itself.
    let granted = members.insist::<_, LeaseGrantResponse>(LEASE_GRANT, LeaseGrantRequest { ttl }).await;
    let granted = granted.map_err(|trouble| trouble.error("get a lease"))?;
    if !granted.error.is_empty() || granted.id == 0 || granted.ttl <= 0 {
        return Err(Error::Away { doing: "get a lease", why: format!("etcd: {}", granted.error) });
    }
    let (lost, heard) = watch::channel(false);
    let (held, dropped) = oneshot::channel::<()>();
    // etcd makes it longer if it is very short.
    let keeper = Keeper { members: Arc::clone(members), id: granted.id, ttl: seconds(granted.ttl), proved: sent };
    tokio::spawn(keeper.keep(lost, dropped));
    Ok(Lease { id: granted.id, lost: heard, _held: held })
}

struct Keeper {
    members: Arc<Members>,
    id: LeaseId,
    ttl: Duration,
    /// When the last question was sent that was answered.
    proved: Instant,
}

impl Keeper {
    async fn keep(mut self, lost: watch::Sender<bool>, dropped: oneshot::Receiver<()>) {
        tokio::select! {
            _ = dropped => {}
            () = self.until_lost() => {}
        }
        lost.send_replace(true);
        // Its keys go at once, if etcd can be reached; else when its time is over.
        let ended = self.members.insist::<_, Acknowledged>(LEASE_REVOKE, LeaseRequest { id: self.id });
        let _ = tokio::time::timeout(self.ttl, ended).await;
    }

    async fn until_lost(&mut self) {
        loop {
            tokio::time::sleep_until(self.proved + self.ttl / 3).await;
            // The clocks may not run alike.
            let end = self.proved + self.ttl - self.ttl / 10;
            let Ok(Some(())) = tokio::time::timeout_at(end, self.prove()).await else { return };
        }
    }

    /// Asks until it is answered; `None` if etcd says that there is no such lease.
    async fn prove(&mut self) -> Option<()> {
        for round in 0.. {
            let sent = Instant::now();
            match self.ask().await {
                Ok(0) => return None,
                Ok(ttl) => {
                    (self.proved, self.ttl) = (sent, seconds(ttl));
                    return Some(());
                }
                Err(trouble) if trouble.kind == Kind::LeaseGone => return None,
                Err(_) => tokio::time::sleep(backoff(round).min(self.ttl / 10)).await,
            }
        }
        None
    }

    /// A stream with one question: the next one may go to another member.
    async fn ask(&self) -> Result<i64, Trouble> {
        let question = tokio_stream::once(LeaseRequest { id: self.id });
        let limit = (self.ttl / 4).max(Duration::from_millis(300));
        let answer = async {
            let (index, mut answers) = self.members.stream(LEASE_KEEP_ALIVE, question, limit).await?;
            let answer: Result<Option<LeaseKeepAliveResponse>, _> = answers.message().await;
            match answer {
                Ok(Some(answer)) => Ok(answer.ttl),
                Ok(None) => Err(Trouble { kind: Kind::NoAnswer, why: "the stream ended".into() }),
                Err(status) => Err(self.members.trouble(index, &status)),
            }
        };
        let (index, _) = self.members.current();
        tokio::time::timeout(limit, answer).await.unwrap_or_else(|_| {
            self.members.failed(index, true);
            Err(Trouble { kind: Kind::NoAnswer, why: "no answer in time".into() })
        })
    }
}

fn seconds(ttl: i64) -> Duration {
    Duration::from_secs(ttl.max(0).cast_unsigned())
}
