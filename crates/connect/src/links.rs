//! [`Links`]: opens links, in this process or in the keeper.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use rocksalt_core::link::{AgentKind, Info, LinkFailure, Stage};
use rocksalt_core::roster::RosterEntry;

use crate::link::{Link, RequestChannel};
use crate::pool::{LinkRequest, Pool};
use crate::transport::Prompt;

/// Called after each completed stage of connecting.
pub type Progress = dyn Fn(Stage) + Send + Sync;

#[async_trait]
pub trait Links: Send + Sync {
    /// A link to an agent of at least this kind: an open one, or a new one.
    async fn open(
        &self,
        entry: &RosterEntry,
        agent_kind: AgentKind,
        wipe: bool,
        progress: Option<&Progress>,
    ) -> Result<Arc<dyn LinkHandle>, LinkFailure>;

    /// The link to the small agent that the whole one replaced, while it still runs calls.
    async fn secondary_agent(&self, entry: &RosterEntry) -> Option<Arc<dyn LinkHandle>>;

    async fn list(&self) -> Result<Vec<Info>, LinkFailure>;

    /// Closes the links of these targets, or all if `targets` is empty. Returns how many.
    ///
    /// With `wipe` the agents are removed from the targets too.
    async fn close(&self, targets: &[String], wipe: bool) -> Result<usize, LinkFailure>;
}

/// An open link, on which requests can be started.
pub trait LinkHandle: Send + Sync {
    /// Starts a request. `user` names the user and the function, for `rocksalt links`.
    fn open_channel(&self, user: &str) -> Result<RequestChannel, LinkFailure>;
}

/// Links of this process; they close when it ends.
pub struct LocalLinks {
    pub pool: Arc<Pool>,
    pub prompt: Arc<dyn Prompt>,
    pub agent_socket: Option<PathBuf>,
}

#[async_trait]
impl Links for LocalLinks {
    async fn open(
        &self,
        entry: &RosterEntry,
        agent_kind: AgentKind,
        wipe: bool,
        progress: Option<&Progress>,
    ) -> Result<Arc<dyn LinkHandle>, LinkFailure> {
        let request = LinkRequest {
            entry,
            prompt: &*self.prompt,
            agent_socket: self.agent_socket.as_deref(),
            agent_kind,
            wipe,
            progress: progress.unwrap_or(&|_| {}),
        };
        let link = self.pool.link(&request).await?;
        Ok(Arc::new(LocalLinkHandle(link)))
    }

    async fn secondary_agent(&self, entry: &RosterEntry) -> Option<Arc<dyn LinkHandle>> {
        self.pool.secondary_agent(entry).await.map(|link| Arc::new(LocalLinkHandle(link)) as Arc<dyn LinkHandle>)
    }

    async fn list(&self) -> Result<Vec<Info>, LinkFailure> {
        Ok(self.pool.list())
    }

    async fn close(&self, targets: &[String], wipe: bool) -> Result<usize, LinkFailure> {
        Ok(self.pool.close(|info| targets.is_empty() || targets.contains(&info.target), wipe).await)
    }
}

struct LocalLinkHandle(Arc<Link>);

impl LinkHandle for LocalLinkHandle {
    fn open_channel(&self, user: &str) -> Result<RequestChannel, LinkFailure> {
        self.0.open_channel(user)
    }
}
