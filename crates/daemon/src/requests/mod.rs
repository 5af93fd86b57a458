//! [`RequestService`]: the one place where a request is authorised, audited and executed.

mod answer;
mod caller;
mod config_sources;
mod execute;
pub mod presence;
mod refusal;
mod request_user;
mod standing_right;
mod stats;
mod targets;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rocksalt_connect::HostKeys;
use rocksalt_controller::Controller;
use rocksalt_controller::jobs::JobService;
use rocksalt_controller::ledger::Ledger;
use rocksalt_core::Map;
use rocksalt_core::record::{JobRecord, ReturnRecord};
use rocksalt_core::request::Request;
use tracing::Instrument;

pub use answer::{ControllerResult, FunctionResult, RequestResult};
pub use caller::Caller;
pub use config_sources::ConfigSources;
pub use presence::Presence;
pub use refusal::{Refusal, RefusalKind};
pub use request_user::RequestUser;
pub use standing_right::StandingRight;
pub use stats::Stats;
pub use targets::TargetInfo;

use crate::access::AccessPolicy;
use crate::api;
use crate::audit::Audit;
use crate::auth::{self, Auth};

/// Reads the configuration and the roster, at the start and at each reload.
pub type Load = dyn Fn() -> BoxFuture<'static, Result<Loaded, String>> + Send + Sync;

/// Rereads other files at a reload.
pub type ReloadHook = dyn Fn() -> Result<(), String> + Send + Sync;

/// The configuration; a reload replaces it as a whole. A request that began with the old one continues with it.
pub struct Loaded {
    pub controller: Arc<Controller>,
    pub access: AccessPolicy,
    /// The authentication settings; `None` leaves them unchanged.
    pub auth: Option<Arc<auth::Settings>>,
    pub api: api::Settings,
    pub presence: presence::Settings,
    /// The configuration as it was read; it may contain secrets.
    pub config: Map,
    /// The host keys of targets that ssh has recorded.
    pub host_keys: Option<Arc<HostKeys>>,
    /// The files of the above: a change of them causes a reload.
    pub sources: ConfigSources,
}

impl Loaded {
    /// Uses defaults for the other fields.
    pub fn new(controller: Arc<Controller>, access: AccessPolicy) -> Loaded {
        Loaded {
            controller,
            access,
            auth: None,
            api: api::Settings::default(),
            presence: presence::Settings::default(),
            config: Map::new(),
            host_keys: None,
            sources: ConfigSources::default(),
        }
    }

    /// The name of this controller: Salt's id of the master.
    pub fn id(&self) -> String {
        match self.config.get("id") {
            Some(id) if id.truth() => id.to_string(),
            _ => format!("{}_master", rustix::system::uname().nodename().to_string_lossy()),
        }
    }
}

pub struct RequestService {
    load: Box<Load>,
    loaded: RwLock<Arc<Loaded>>,
    /// The state of the files when they were last read, whether or not that succeeded.
    sources: Mutex<ConfigSources>,
    /// One reload at a time.
    reloading: tokio::sync::Mutex<()>,
    reload_hook: OnceLock<Box<ReloadHook>>,
    presence: Arc<Presence>,
    /// The list of all jobs as it was last serialized.
    pub(crate) job_list: crate::runners::JobListCache,
    pub stats: Stats,
    pub jobs: Arc<JobService>,
    pub auth: Auth,
    pub audit: Audit,
}

impl RequestService {
    pub async fn new(
        load: Box<Load>,
        jobs: Arc<JobService>,
        auth: Auth,
        audit: Audit,
    ) -> Result<RequestService, String> {
        let loaded = load().await?;
        Ok(RequestService::with(load, loaded, jobs, auth, audit))
    }

    /// Uses a configuration that was read already.
    pub fn with(load: Box<Load>, loaded: Loaded, jobs: Arc<JobService>, auth: Auth, audit: Audit) -> RequestService {
        RequestService {
            load,
            sources: Mutex::new(loaded.sources.clone()),
            reloading: tokio::sync::Mutex::default(),
            loaded: RwLock::new(Arc::new(loaded)),
            reload_hook: OnceLock::new(),
            presence: Arc::default(),
            job_list: crate::runners::JobListCache::default(),
            stats: Stats::default(),
            jobs,
            auth,
            audit,
        }
    }

    /// Sets the hook that rereads other files at a reload, such as certificates. Call it once.
    pub fn add_reload_hook(&self, read: Box<ReloadHook>) {
        let _ = self.reload_hook.set(read);
    }

    pub fn loaded(&self) -> Arc<Loaded> {
        Arc::clone(&self.loaded.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn ledger(&self) -> &Arc<Ledger> {
        self.jobs.ledger()
    }

    /// Which targets are reachable.
    pub fn presence(&self) -> &Arc<Presence> {
        &self.presence
    }

    /// Authorises a request, writes it to the audit log, and executes it.
    pub async fn answer(
        self: &Arc<RequestService>,
        caller: &Caller,
        request: Request,
    ) -> Result<RequestResult, Refusal> {
        RequestUser::by(&caller.user);
        let (requests, caller) = (Arc::clone(self), caller.clone());
        // Runs in its own task: a disconnecting client must not leave a request half done.
        let work = async move { requests.checked(&caller, request).await };
        let work = tokio::spawn(work.in_current_span());
        work.await
            .unwrap_or_else(|_| Err(Refusal::new(RefusalKind::Unavailable, "the request broke off; the log tells why")))
    }

    async fn checked(self: &Arc<RequestService>, caller: &Caller, request: Request) -> Result<RequestResult, Refusal> {
        self.refresh().await;
        let loaded = self.loaded();
        let verdict = loaded.access.check(caller, &request.needs(), &loaded.controller, self.ledger()).await;
        let noted = self.audit.log_request(caller, &request, verdict.as_ref().err()).await?;
        self.stats.asked(&request, verdict.is_ok());
        let grant = verdict?;
        let answer = self.execute(&loaded, caller, grant, request).await;
        if let Ok(RequestResult::Started(job)) = &answer {
            self.audit.log_job(&noted, job);
        }
        answer
    }

    /// The returns of a job, once it has ended or the time limit is reached.
    pub async fn wait(&self, job: &JobRecord, limit: Option<Duration>) -> Result<Vec<ReturnRecord>, Refusal> {
        self.jobs.wait(job.id, limit).await.map_err(Refusal::from)
    }

    /// Reloads if the files have changed: as without a daemon, an edited roster applies at once.
    async fn refresh(&self) {
        if !self.sources().changed() {
            return;
        }
        let _turn = self.reloading.lock().await;
        if !self.sources().changed() {
            return;
        }
        match self.read_anew().await {
            Ok(()) => tracing::info!("the configuration has changed and was read anew"),
            Err(why) => tracing::warn!(why, "the configuration has changed and is no good; the old one stays"),
        }
    }

    fn sources(&self) -> MutexGuard<'_, ConfigSources> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rereads everything. If the new configuration is invalid, the old one stays.
    pub async fn reload(&self) -> Result<(), String> {
        let _turn = self.reloading.lock().await;
        self.read_anew().await
    }

    async fn read_anew(&self) -> Result<(), String> {
        // Recorded before reading, so that an invalid configuration is read again only after a change, not with each
        // request.
        let before = self.sources().now();
        *self.sources() = before;
        let fresh = Arc::new((self.load)().await?);
        *self.sources() = fresh.sources.clone();
        if let Some(reload_hook) = self.reload_hook.get() {
            reload_hook()?;
        }
        if let Some(settings) = &fresh.auth {
            self.auth.configure(Arc::clone(settings));
        }
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        // The new configuration may make targets reachable.
        self.presence.afresh();
        self.stats.reloaded();
        Ok(())
    }
}
