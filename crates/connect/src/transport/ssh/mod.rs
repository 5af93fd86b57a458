//! The native SSH transport, built on russh.

mod connection;
mod host_key;
mod login;
mod session;
mod stream;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rocksalt_core::link::{LinkFailure, LinkKey, Stage};
use rocksalt_core::roster::RosterEntry;
use tokio::sync::Mutex;

use super::{LoginContext, LoginSession, Transport, key_from_entry};
use crate::LocalUser;
use crate::ssh_config::{self, HostSettings, Query, SshConfig};
use connection::Connection;

/// The default limit for a TCP connection and the server's greeting.
const CONNECT: Duration = Duration::from_secs(10);

pub struct Ssh {
    local_user: LocalUser,
    config: Result<SshConfig, LinkFailure>,
    /// Connections to jump hosts, shared by all targets behind them.
    jumps: Mutex<HashMap<LinkKey, Arc<Connection>>>,
}

/// A roster entry with the settings of `~/.ssh/config`.
struct LoginTarget<'a> {
    entry: &'a RosterEntry,
    settings: HostSettings,
    key: LinkKey,
    timeout: Duration,
}

impl Ssh {
    pub fn new(local_user: &LocalUser) -> Ssh {
        let config = ssh_config::load(&local_user.home).map_err(|error| {
            LinkFailure::new(Stage::Settings, error.to_string()).hint("correct the ssh configuration")
        });
        Ssh { local_user: local_user.clone(), config, jumps: Mutex::default() }
    }

    fn target<'a>(&self, entry: &'a RosterEntry) -> Result<LoginTarget<'a>, LinkFailure> {
        let config = self.config.as_ref().map_err(Clone::clone)?;
        ssh_config::is_name(&entry.host)
            .map_err(|why| LinkFailure::new(Stage::Settings, format!("the host name '{}' {why}", entry.host)))?;
        let settings = config.resolve(&Query::from_entry(entry), &self.local_user).map_err(|error| {
            LinkFailure::new(Stage::Settings, error.to_string()).hint("correct the ssh configuration")
        })?;
        if let Some(unsupported) = settings.refused().next() {
            return Err(LinkFailure::new(
                Stage::Settings,
                format!("{}: `{}` is only supported by the system's ssh", unsupported.origin, unsupported.setting),
            )
            .hint("set `transport: openssh` for this target in the roster"));
        }
        let key = LinkKey {
            user: settings.user.clone(),
            address: settings.hostname.clone(),
            port: settings.port,
            ..key_from_entry(entry, &self.local_user)
        };
        let jumps: Vec<String> = settings.proxy_jump.iter().map(ToString::to_string).collect();
        let (host, port, user) = (&key.address, key.port, &key.user);
        tracing::trace!(host, port, user, ?jumps, "read the ssh configuration");
        let seconds = entry.timeout.or(settings.connect_timeout);
        let timeout = seconds.map_or(CONNECT, |seconds| Duration::from_secs(u64::from(seconds.max(1))));
        Ok(LoginTarget { entry, settings, key, timeout })
    }

    /// Connects to the jump hosts of a target, in order; returns the last one.
    async fn jumps(
        &self,
        target: &LoginTarget<'_>,
        context: &LoginContext<'_>,
    ) -> Result<Option<Arc<Connection>>, LinkFailure> {
        let mut last: Option<Arc<Connection>> = None;
        for hop in target.settings.proxy_jump.clone() {
            let mut entry = RosterEntry::new(&hop.host, &hop.host);
            entry.user = hop.user;
            entry.port = hop.port;
            // The jump host probably accepts the same keys as the target.
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
                    let connection = Connection::open(&hop_target, last.take(), context).await.map_err(|failure| {
                        LinkFailure { text: format!("jump host {}: {}", hop.host, failure.text), ..failure }
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
    fn key(&self, entry: &RosterEntry) -> LinkKey {
        self.target(entry).map_or_else(|_| key_from_entry(entry, &self.local_user), |target| target.key)
    }

    async fn connect(
        &self,
        entry: &RosterEntry,
        context: &LoginContext<'_>,
    ) -> Result<Box<dyn LoginSession>, LinkFailure> {
        let target = self.target(entry)?;
        (context.progress)(Stage::Settings);
        let through = self.jumps(&target, context).await?;
        let connection = Connection::open(&target, through, context).await?;
        Ok(Box::new(connection))
    }
}
