//! `rocksalt serve`: the first start, the listeners, the reload, the end.
//!
//! [`start`] makes what is missing and opens the doors; [`Daemon::until_told`] then waits for signals. Reading order:
//! [`state`] (our directory), [`first`] (what a first start makes), [`tls`], [`listen`] and [`connection`] (who comes in),
//! [`around`] (what every request gets), [`health`] and [`metrics`], [`tasks`] (what goes on beside).

mod settings;

mod error;
mod first;
pub mod log;
mod state;
mod store;
mod tls;

mod around;
mod connection;
mod guarded;
mod health;
mod intake;
mod listen;
mod metrics;
mod tasks;

mod systemd;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use rocksalt_controller::jobs::{self, JobService};
use rocksalt_controller::ledger::{self, Ledger};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

pub use around::RequestId;
pub use error::Error;
pub use first::Notice;
pub use listen::Address;
pub use settings::{Limits, Settings, Tls};

use crate::api::{self, Api};
use crate::audit::Audit;
use crate::auth::Auth;
use crate::requests::{Load, Loaded, RequestService};
use metrics::Metrics;

/// What all connections share.
struct Shared {
    settings: Settings,
    requests: Arc<RequestService>,
    /// With what it was made of: after a reload it is made anew.
    router: RwLock<Option<(Arc<Loaded>, Router)>>,
    metrics: Arc<Metrics>,
    /// A place for each connection.
    places: Arc<Semaphore>,
    /// Becomes true when the daemon stops: streams end.
    stopping: watch::Sender<bool>,
}

/// A daemon that runs.
pub struct Daemon {
    shared: Arc<Shared>,
    addresses: Vec<Address>,
    listeners: JoinSet<()>,
    tasks: JoinSet<()>,
    /// Held as long as we live: a second daemon finds it.
    _lock: state::Lock,
}

/// Starts; once this answers, the doors are open. `said` hears what a person should know, some of it only once.
pub async fn start(settings: Settings, load: Box<Load>, said: &(dyn Fn(Notice) + Sync)) -> Result<Daemon, Error> {
    state::directory(&settings.state)?;
    let lock = state::Lock::take(&settings.state)?;
    let metrics = Arc::new(Metrics::new());
    let store = store::open(&settings, &metrics).await?;
    let ledger = Arc::new(Ledger::open(Arc::clone(&store), ledger_settings(&settings)).await?);
    let loaded = load().await.map_err(Error::Load)?;
    let audit = Audit::open(&settings.state, &settings.owner, Arc::clone(&store)).await.map_err(Error::Audit)?;
    let auth = match &loaded.auth {
        Some(settings) => {
            settings.warnings().iter().for_each(|warning| tracing::warn!("{warning}"));
            Auth::open(store, Arc::clone(settings), audit.clone())
        }
        None => Auth::default(),
    };
    let requests = Arc::new(RequestService::with(
        load,
        loaded,
        Arc::new(JobService::with(ledger, jobs::Settings { recall: Some(settings.recall) })),
        auth,
        audit,
    ));
    first::users(&settings, said).await?;
    let certificates = tls::Certificates::open(&settings, said)?.map(Arc::new);
    let shared = Arc::new(Shared {
        router: RwLock::new(None),
        requests,
        metrics,
        places: Arc::new(Semaphore::new(settings.limits.connections)),
        stopping: watch::Sender::new(false),
        settings,
    });
    if let Some(certificates) = certificates.clone() {
        let settings = shared.settings.clone();
        let read = move || certificates.reload(&settings).map_err(|error| error.to_string());
        shared.requests.reload_besides(Box::new(read));
    }
    // What was under way when the last one ended, before anything new begins.
    let loaded = shared.requests.loaded();
    let left = shared.requests.jobs.recover(&loaded.controller).await?;
    if left > 0 {
        tracing::info!(jobs = left, "jobs of the time before are being settled");
    }
    let mut listeners = JoinSet::new();
    let addresses = listen::open(&shared, certificates.as_ref(), &mut listeners).await?;
    let mut tasks = JoinSet::new();
    tasks::start(&shared, &mut tasks).await?;
    said(Notice::Listening(addresses.clone()));
    tracing::info!(addresses = %list(&addresses), version = env!("CARGO_PKG_VERSION"), "ready");
    Ok(Daemon { shared, addresses, listeners, tasks, _lock: lock })
}

impl Daemon {
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    pub fn requests(&self) -> &Arc<RequestService> {
        &self.shared.requests
    }

    /// Until somebody wants it to end: SIGTERM or SIGINT. SIGHUP reads the configuration anew.
    pub async fn until_told(self) -> Result<(), Error> {
        let fault = |error| Error::Signals { error };
        let mut reload = signal(SignalKind::hangup()).map_err(fault)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(fault)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(fault)?;
        systemd::ready();
        loop {
            tokio::select! {
                _ = reload.recv() => self.reload().await,
                () = either(&mut terminate, &mut interrupt) => break,
            }
        }
        systemd::stopping();
        tracing::info!("stopping; a second signal ends at once");
        tokio::select! {
            () = self.stop() => tracing::info!("stopped"),
            () = either(&mut terminate, &mut interrupt) => tracing::warn!("ended at once; jobs are settled at the next start"),
        }
        Ok(())
    }

    /// Reads the configuration, the roster and the certificates anew. What is no good leaves the old as it was.
    pub async fn reload(&self) {
        systemd::reloading();
        if let Err(why) = self.shared.requests.reload().await {
            tracing::error!(%why, "the configuration is no good, and was not taken; the old one goes on");
        } else {
            tracing::info!("the configuration is read anew");
        }
        systemd::ready();
    }

    /// Lets nobody in any more, and gives those who are a moment. Jobs go on on their targets, and are settled at the
    /// next start.
    pub async fn stop(mut self) {
        self.shared.stopping.send_replace(true);
        self.listeners.shutdown().await;
        let patience = self.shared.settings.stop;
        let all = u32::try_from(self.shared.settings.limits.connections).unwrap_or(u32::MAX);
        // All places are free again when everybody has gone.
        if tokio::time::timeout(patience, self.shared.places.acquire_many(all)).await.is_err() {
            tracing::warn!(seconds = patience.as_secs(), "some requests had not ended in time");
        }
        // Those that end in a moment need not be asked for at the next start.
        let left = self.shared.requests.jobs.drain(Duration::from_secs(1)).await;
        if !left.is_empty() {
            tracing::info!(jobs = left.len(), "jobs go on on their targets; the next start takes them up");
        }
        self.tasks.shutdown().await;
        let controller = Arc::clone(&self.shared.requests.loaded().controller);
        // Agents that work for nobody end with us; the others go on, and keep their results.
        let idle = controller.links.list().await.unwrap_or_default();
        let idle: Vec<String> = idle.into_iter().filter(|link| link.users.is_empty()).map(|link| link.target).collect();
        if !idle.is_empty() {
            let closing = controller.links.close(&idle, false);
            let _ = tokio::time::timeout(Duration::from_secs(5), closing).await;
        }
        self.shared.requests.audit.close().await;
        state::remove_socket(&self.shared.settings.socket);
        // It holds us as we hold it.
        *self.shared.router.write().unwrap_or_else(PoisonError::into_inner) = None;
        let store = Arc::downgrade(self.shared.requests.ledger().store());
        drop(self);
        // Whoever starts another one right away finds the store closed.
        let closed = async {
            while store.strong_count() > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(2), closed).await;
    }
}

impl Shared {
    /// The routes, as the configuration has them now.
    fn router(self: &Arc<Shared>) -> Router {
        let loaded = self.requests.loaded();
        if let Some((of, router)) = &*self.router.read().unwrap_or_else(PoisonError::into_inner)
            && Arc::ptr_eq(of, &loaded)
        {
            return router.clone();
        }
        let api = Api { requests: Arc::clone(&self.requests), settings: loaded.doors.clone() };
        let router = api::router(Arc::new(api)).merge(health::router(Arc::clone(self)));
        let router = around::every(router, self);
        *self.router.write().unwrap_or_else(PoisonError::into_inner) = Some((loaded, router.clone()));
        router
    }
}

fn ledger_settings(settings: &Settings) -> ledger::Settings {
    ledger::Settings {
        now: crate::clock::now,
        owner: settings.owner.clone(),
        keep_jobs_seconds: settings.keep_jobs_seconds,
        keep_events_seconds: settings.keep_events_seconds,
        largest_return: settings.largest_return,
    }
}

async fn either(one: &mut Signal, other: &mut Signal) {
    tokio::select! {
        _ = one.recv() => {}
        _ = other.recv() => {}
    }
}

fn list(addresses: &[Address]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
