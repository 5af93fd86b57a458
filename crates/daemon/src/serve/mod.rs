//! `rocksalt serve`: start, listeners, reload and shutdown.
//!
//! [`start`] creates what is missing and opens the listeners; [`Daemon::run_until_signal`] then waits for signals.
//! Reading order: [`state`] (the state directory), [`first_start`], [`tls`], [`listen`], [`connection`], [`middleware`],
//! [`health`] and [`metrics`], [`tasks`] (background tasks).

mod settings;

mod error;
mod first_start;
pub mod log;
mod state;
mod store;
mod tls;

mod body_limit;
mod connection;
mod health;
mod listen;
mod metrics;
mod middleware;
mod tasks;
mod timeout_stream;

mod systemd;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use rocksalt_controller::jobs::{self, JobService};
use rocksalt_controller::ledger::{self, Ledger};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

pub use error::Error;
pub use first_start::StartNotice;
pub use listen::ListenAddress;
pub use middleware::HttpRequestId;
pub use settings::{ConnectionLimits, Settings, TlsMode};

use crate::api::{self, Api};
use crate::audit::Audit;
use crate::auth::Auth;
use crate::requests::{Load, Loaded, RequestService};
use metrics::Metrics;

/// State shared by all connections.
struct ServerState {
    settings: Settings,
    requests: Arc<RequestService>,
    /// The router with the configuration it was built from; rebuilt after a reload.
    router: RwLock<Option<(Arc<Loaded>, Router)>>,
    metrics: Arc<Metrics>,
    /// A permit for each connection.
    connections: Arc<Semaphore>,
    /// Becomes true when the daemon stops, which ends streams.
    stopping: watch::Sender<bool>,
}

/// A running daemon.
pub struct Daemon {
    shared: Arc<ServerState>,
    addresses: Vec<ListenAddress>,
    listeners: JoinSet<()>,
    tasks: JoinSet<()>,
    /// Prevents a second daemon in the same state directory.
    _lock: state::DirectoryLock,
}

/// Starts the daemon; the listeners are open when this returns. `notify` gets notices for the terminal.
pub async fn start(
    settings: Settings,
    load: Box<Load>,
    notify: &(dyn Fn(StartNotice) + Sync),
) -> Result<Daemon, Error> {
    state::create_directory(&settings.state)?;
    let lock = state::DirectoryLock::acquire(&settings.state)?;
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
    first_start::create_admin(&settings, notify).await?;
    let certificates = tls::Certificates::open(&settings, notify)?.map(Arc::new);
    let shared = Arc::new(ServerState {
        router: RwLock::new(None),
        requests,
        metrics,
        connections: Arc::new(Semaphore::new(settings.limits.connections)),
        stopping: watch::Sender::new(false),
        settings,
    });
    if let Some(certificates) = certificates.clone() {
        let settings = shared.settings.clone();
        let read = move || certificates.reload(&settings).map_err(|error| error.to_string());
        shared.requests.add_reload_hook(Box::new(read));
    }
    // Recover jobs of the last daemon before new ones start.
    let loaded = shared.requests.loaded();
    let left = shared.requests.jobs.recover(&loaded.controller).await?;
    if left > 0 {
        tracing::info!(jobs = left, "recovering jobs from before the restart");
    }
    let mut listeners = JoinSet::new();
    let addresses = listen::open(&shared, certificates.as_ref(), &mut listeners).await?;
    let mut tasks = JoinSet::new();
    tasks::start(&shared, &mut tasks).await?;
    notify(StartNotice::Listening(addresses.clone()));
    tracing::info!(addresses = %list(&addresses), version = env!("CARGO_PKG_VERSION"), "ready");
    Ok(Daemon { shared, addresses, listeners, tasks, _lock: lock })
}

impl Daemon {
    pub fn addresses(&self) -> &[ListenAddress] {
        &self.addresses
    }

    pub fn requests(&self) -> &Arc<RequestService> {
        &self.shared.requests
    }

    /// Runs until SIGTERM or SIGINT. SIGHUP reloads the configuration.
    pub async fn run_until_signal(self) -> Result<(), Error> {
        let fault = |error| Error::Signals { error };
        let mut reload = signal(SignalKind::hangup()).map_err(fault)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(fault)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(fault)?;
        systemd::ready();
        loop {
            tokio::select! {
                _ = reload.recv() => self.reload().await,
                () = either_signal(&mut terminate, &mut interrupt) => break,
            }
        }
        systemd::stopping();
        tracing::info!("stopping; a second signal ends the daemon at once");
        tokio::select! {
            () = self.stop() => tracing::info!("stopped"),
            () = either_signal(&mut terminate, &mut interrupt) => tracing::warn!("ended at once; jobs are recovered at the next start"),
        }
        Ok(())
    }

    /// Reloads the configuration, the roster and the certificates. On an error the old ones stay in use.
    pub async fn reload(&self) {
        systemd::reloading();
        if let Err(why) = self.shared.requests.reload().await {
            tracing::error!(%why, "could not reload the configuration; the old one stays in use");
        } else {
            tracing::info!("configuration reloaded");
        }
        systemd::ready();
    }

    /// Closes the listeners and waits for running requests up to a time limit. Jobs continue on their targets, and are
    /// recovered at the next start.
    pub async fn stop(mut self) {
        self.shared.stopping.send_replace(true);
        self.listeners.shutdown().await;
        let timeout = self.shared.settings.stop;
        let all = u32::try_from(self.shared.settings.limits.connections).unwrap_or(u32::MAX);
        // All permits are free when all connections are closed.
        if tokio::time::timeout(timeout, self.shared.connections.acquire_many(all)).await.is_err() {
            tracing::warn!(seconds = timeout.as_secs(), "some requests did not end in time");
        }
        // Jobs that end within a second need no recovery at the next start.
        let left = self.shared.requests.jobs.drain(Duration::from_secs(1)).await;
        if !left.is_empty() {
            tracing::info!(jobs = left.len(), "jobs continue on their targets; the next start recovers them");
        }
        self.tasks.shutdown().await;
        let controller = Arc::clone(&self.shared.requests.loaded().controller);
        // Close links of idle agents; the others continue and keep their results.
        let idle = controller.links.list().await.unwrap_or_default();
        let idle: Vec<String> = idle.into_iter().filter(|link| link.users.is_empty()).map(|link| link.target).collect();
        if !idle.is_empty() {
            let closing = controller.links.close(&idle, false);
            let _ = tokio::time::timeout(Duration::from_secs(5), closing).await;
        }
        self.shared.requests.audit.close().await;
        state::remove_socket(&self.shared.settings.socket);
        // Break the reference cycle between router and state.
        *self.shared.router.write().unwrap_or_else(PoisonError::into_inner) = None;
        let store = Arc::downgrade(self.shared.requests.ledger().store());
        drop(self);
        // Lets a daemon that is started right afterwards open the store.
        let closed = async {
            while store.strong_count() > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(2), closed).await;
    }
}

impl ServerState {
    /// The router for the current configuration.
    fn router(self: &Arc<ServerState>) -> Router {
        let loaded = self.requests.loaded();
        if let Some((of, router)) = &*self.router.read().unwrap_or_else(PoisonError::into_inner)
            && Arc::ptr_eq(of, &loaded)
        {
            return router.clone();
        }
        let api = Api { requests: Arc::clone(&self.requests), settings: loaded.api.clone() };
        let router = api::router(Arc::new(api)).merge(health::router(Arc::clone(self)));
        let router = middleware::apply(router, self);
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

async fn either_signal(one: &mut Signal, other: &mut Signal) {
    tokio::select! {
        _ = one.recv() => {}
        _ = other.recv() => {}
    }
}

fn list(addresses: &[ListenAddress]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
