//! [`Links`]: where links come from, be it this process or the keeper's.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use rocksalt_core::link::{Extent, Failure, Info, Stage};
use rocksalt_core::roster::Entry;

use crate::link::{Link, Port};
use crate::pool::{Pool, Wish};
use crate::transport::Prompt;

/// Hears of each stage that is done on the way to a target.
pub type Progress = dyn Fn(Stage) + Send + Sync;

#[async_trait]
pub trait Links: Send + Sync {
    /// The way to a target, with an agent that can do what is wanted: one that is there, or a new one.
    async fn open(
        &self,
        entry: &Entry,
        extent: Extent,
        wipe: bool,
        progress: Option<&Progress>,
    ) -> Result<Arc<dyn Line>, Failure>;

    /// The way to the small agent that still works for somebody beside the whole one.
    async fn beside(&self, entry: &Entry) -> Option<Arc<dyn Line>>;

    async fn list(&self) -> Result<Vec<Info>, Failure>;

    /// Closes the links of these targets, or all if none are named; how many there were.
    ///
    /// With `wipe` the agents are removed from the targets too.
    async fn close(&self, targets: &[String], wipe: bool) -> Result<usize, Failure>;
}

/// A way to a target, on which requests can be started.
pub trait Line: Send + Sync {
    /// `user` says who asks for what, for people who look at the links.
    fn port(&self, user: &str) -> Result<Port, Failure>;
}

/// Links of this process, gone when it ends.
pub struct Own {
    pub pool: Arc<Pool>,
    pub prompt: Arc<dyn Prompt>,
    pub agent_socket: Option<PathBuf>,
}

#[async_trait]
impl Links for Own {
    async fn open(
        &self,
        entry: &Entry,
        extent: Extent,
        wipe: bool,
        progress: Option<&Progress>,
    ) -> Result<Arc<dyn Line>, Failure> {
        let wish = Wish {
            entry,
            prompt: &*self.prompt,
            agent_socket: self.agent_socket.as_deref(),
            extent,
            wipe,
            progress: progress.unwrap_or(&|_| {}),
        };
        let link = self.pool.link(&wish).await?;
        Ok(Arc::new(OwnLine(link)))
    }

    async fn beside(&self, entry: &Entry) -> Option<Arc<dyn Line>> {
        self.pool.beside(entry).await.map(|link| Arc::new(OwnLine(link)) as Arc<dyn Line>)
    }

    async fn list(&self) -> Result<Vec<Info>, Failure> {
        Ok(self.pool.list())
    }

    async fn close(&self, targets: &[String], wipe: bool) -> Result<usize, Failure> {
        Ok(self.pool.close(|info| targets.is_empty() || targets.contains(&info.target), wipe).await)
    }
}

struct OwnLine(Arc<Link>);

impl Line for OwnLine {
    fn port(&self, user: &str) -> Result<Port, Failure> {
        self.0.port(user)
    }
}
