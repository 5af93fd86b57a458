//! Native SSH, on russh (decision D6).

mod connection;
mod host_key;
mod login;
mod session;
mod stream;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rocksalt_core::link::{Failure, Key, Stage};
use rocksalt_core::roster::Entry;
use tokio::sync::Mutex;

use super::{Caller, LocalUser, Session, Transport, plain_key};
use crate::ssh_config::{self, Config, HostSettings, Local, Query};
use connection::Connection;

/// How long a TCP connection and the greeting may take.
const CONNECT: Duration = Duration::from_secs(10);

pub struct Ssh {
    local_user: LocalUser,
    local: Local,
    config: Result<Config, Failure>,
    /// Connections to jump hosts, shared by all targets behind them.
    jumps: Mutex<HashMap<Key, Arc<Connection>>>,
}

/// An entry with what `~/.ssh/config` adds to it.
struct Target<'a> {
    entry: &'a Entry,
    settings: HostSettings,
    key: Key,
    timeout: Duration,
}

impl Ssh {
    pub fn new(local_user: &LocalUser) -> Ssh {
        let config = ssh_config::load(&local_user.home)
            .map_err(|error| Failure::new(Stage::Settings, error.to_string()).hint("correct the ssh configuration"));
        let local = Local {
            user: local_user.name.clone(),
            home: local_user.home.clone(),
            hostname: local_user.hostname.clone(),
            uid: local_user.uid,
            environment: local_user.environment.clone(),
        };
        Ssh { local_user: local_user.clone(), local, config, jumps: Mutex::default() }
    }

    fn target<'a>(&self, entry: &'a Entry) -> Result<Target<'a>, Failure> {
        let config = self.config.as_ref().map_err(Clone::clone)?;
        ssh_config::is_name(&entry.host)
            .map_err(|why| Failure::new(Stage::Settings, format!("the host name '{}' {why}", entry.host)))?;
        let settings = config
            .resolve(&Query::of(entry), &self.local)
            .map_err(|error| Failure::new(Stage::Settings, error.to_string()).hint("correct the ssh configuration"))?;
        if let Some(unhonoured) = settings.refused().next() {
            return Err(Failure::new(
                Stage::Settings,
                format!(
                    "{}: `{}` is something that only the system's ssh can do",
                    unhonoured.origin, unhonoured.setting
                ),
            )
            .hint("set `transport: openssh` for this target in the roster"));
        }
        let key = Key {
            user: settings.user.clone(),
            address: settings.hostname.clone(),
            port: settings.port,
            ..plain_key(entry, &self.local_user)
        };
        let seconds = entry.timeout.or(settings.connect_timeout);
        let timeout = seconds.map_or(CONNECT, |seconds| Duration::from_secs(u64::from(seconds.max(1))));
        Ok(Target { entry, settings, key, timeout })
    }

    /// The connections through which a target is reached, nearest first.
    async fn jumps(&self, target: &Target<'_>, caller: &Caller<'_>) -> Result<Option<Arc<Connection>>, Failure> {
        let mut last: Option<Arc<Connection>> = None;
        for hop in target.settings.proxy_jump.clone() {
            let mut entry = Entry::new(&hop.host, &hop.host);
            entry.user = hop.user;
            entry.port = hop.port;
            // Who may log in behind the jump host may be known to it by the same keys.
            entry.keys.clone_from(&target.entry.keys);
            entry.known_hosts.clone_from(&target.entry.known_hosts);
            entry.accept_new = target.entry.accept_new;
            entry.password.clone_from(&target.entry.password);
            entry.timeout = target.entry.timeout;
            let hop_target = self.target(&entry)?;
            let key = hop_target.key.clone();
            let mut known = self.jumps.lock().await;
            let connection = match known.get(&key).filter(|connection| !connection.closed()) {
                Some(connection) => Arc::clone(connection),
                None => {
                    let connection = Connection::open(&hop_target, last.take(), caller).await.map_err(|failure| {
                        Failure { text: format!("jump host {}: {}", hop.host, failure.text), ..failure }
                    })?;
                    let connection = Arc::new(connection);
                    known.insert(key, Arc::clone(&connection));
                    connection
                }
            };
            last = Some(connection);
        }
        Ok(last)
    }
}

#[async_trait]
impl Transport for Ssh {
    fn key(&self, entry: &Entry) -> Key {
        self.target(entry).map_or_else(|_| plain_key(entry, &self.local_user), |target| target.key)
    }

    async fn connect(&self, entry: &Entry, caller: &Caller<'_>) -> Result<Box<dyn Session>, Failure> {
        let target = self.target(entry)?;
        (caller.progress)(Stage::Settings);
        let through = self.jumps(&target, caller).await?;
        let connection = Connection::open(&target, through, caller).await?;
        Ok(Box::new(connection))
    }
}
