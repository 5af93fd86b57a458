//! [`Connection`]: an authenticated SSH connection.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rocksalt_core::link::{LinkFailure, Stage};
use russh::client::{self, Handle};
use russh::keys::Algorithm;
use russh::{Disconnect, Preferred, cipher, kex, mac};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::host_key::{self, HostKeyChecker, HostKeyResult};
use super::stream::{QuickAckStream, ServerBanner};
use super::{LoginTarget, login};
use crate::log::{ms, printable};
use crate::resolve::resolve;
use crate::transport::LoginContext;

/// The limit of the key exchange, and of the login.
const HANDSHAKE: Duration = Duration::from_secs(30);

/// A connection made faster than this is in the same network: compressing the agent costs more than it saves.
const NEAR: Duration = Duration::from_millis(2);
/// The same for private addresses, where a busy controller may measure a longer time. Remote sites are slower than
/// this.
const NEAR_PRIVATE: Duration = Duration::from_millis(20);

pub struct Connection {
    pub(super) handle: Handle<HostKeyChecker>,
    pub(super) near: bool,
    /// The connection to the jump host, which must stay open as long as this one.
    _jump_host: Option<Arc<Connection>>,
}

impl Connection {
    /// Connects, checks the host key and logs in.
    pub(super) async fn open(
        target: &LoginTarget<'_>,
        jump_host: Option<Arc<Connection>>,
        context: &LoginContext<'_>,
    ) -> Result<Connection, LinkFailure> {
        let banner = ServerBanner::default();
        let (handle, near) = match &jump_host {
            None => {
                let (tcp, near) = connect(target, context).await?;
                let stream = QuickAckStream { stream: tcp, banner: banner.clone() };
                (handshake(stream, target, &banner, context).await?, near)
            }
            Some(jump) => {
                let LoginTarget { key, .. } = target;
                let channel = jump.handle.channel_open_direct_tcpip(&key.address, key.port.into(), "127.0.0.1", 0);
                let channel = channel.await.map_err(|error| {
                    LinkFailure::new(
                        Stage::Connect,
                        format!("the jump host can't reach {}:{}: {error}", key.address, key.port),
                    )
                    .hint("is it reachable from there, and does the jump host allow TCP forwarding?")
                })?;
                (handshake(channel.into_stream(), target, &banner, context).await?, false)
            }
        };
        let mut connection = Connection { handle, near, _jump_host: jump_host };
        let began = Instant::now();
        let login = login::login(&mut connection.handle, target, context);
        timeout(HANDSHAKE, login).await.map_err(|_| too_long(Stage::Login, HANDSHAKE))??;
        tracing::debug!(user = target.key.user, ms = ms(began), "logged in");
        (context.progress)(Stage::Login);
        Ok(connection)
    }

    pub(super) fn closed(&self) -> bool {
        self.handle.is_closed()
    }

    pub(super) async fn disconnect(&self) {
        let _ = self.handle.disconnect(Disconnect::ByApplication, "", "en").await;
    }
}

/// A TCP connection to the first address that answers, and whether it is near.
async fn connect(target: &LoginTarget<'_>, context: &LoginContext<'_>) -> Result<(TcpStream, bool), LinkFailure> {
    let (host, port) = (&target.key.address, target.key.port);
    let addresses = resolve(host, port).await?;
    (context.progress)(Stage::Resolve);
    let mut last = LinkFailure::new(Stage::Connect, "no address answered");
    for address in addresses {
        let started = Instant::now();
        match timeout(target.timeout, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                let _ = stream.set_nodelay(true);
                tracing::debug!(%address, ms = ms(started), "the TCP connection is open");
                (context.progress)(Stage::Connect);
                return Ok((stream, is_near(address.ip(), started.elapsed())));
            }
            Ok(Err(error)) => {
                tracing::debug!(%address, %error, ms = ms(started), "no TCP connection");
                last = refused(host, port, &error);
            }
            Err(_) => {
                tracing::debug!(%address, ms = ms(started), "no TCP connection within the limit");
                last = LinkFailure::new(
                    Stage::Connect,
                    format!("{host}:{port} did not answer within {} seconds", target.timeout.as_secs()),
                )
                .hint("is the machine up, and does no firewall drop the packets?");
            }
        }
    }
    Err(last)
}

fn is_near(address: IpAddr, time: Duration) -> bool {
    let private = match address {
        IpAddr::V4(address) => address.is_private() || address.is_link_local(),
        IpAddr::V6(address) => address.is_unique_local() || address.is_unicast_link_local(),
    };
    address.is_loopback() || time < NEAR || (private && time < NEAR_PRIVATE)
}

fn refused(host: &str, port: u16, error: &std::io::Error) -> LinkFailure {
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or(&text);
    let hint = match error.kind() {
        std::io::ErrorKind::ConnectionRefused => "nothing listens there: is sshd running, and on this port?",
        _ => "is the machine up and the network between?",
    };
    LinkFailure::new(Stage::Connect, format!("can't connect to {host}:{port}: {reason}")).hint(hint)
}

async fn handshake(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    target: &LoginTarget<'_>,
    banner: &ServerBanner,
    context: &LoginContext<'_>,
) -> Result<Handle<HostKeyChecker>, LinkFailure> {
    let policy = host_key::HostKeyPolicy::read(target);
    let checked = Arc::new(Mutex::new(HostKeyResult::default()));
    let checker = HostKeyChecker::new(policy.clone(), Arc::clone(&checked));
    let config = Arc::new(config(&policy));
    let limit = target.timeout.max(HANDSHAKE);
    let began = Instant::now();
    let connecting = async {
        tokio::select! {
            done = client::connect_stream(config, stream, checker) => done.map_err(Some),
            // A server that accepts the connection and sends nothing must not use up the whole limit of a key exchange.
            () = banner.silence(target.timeout) => Err(None),
        }
    };
    let (host, port) = (&target.key.address, target.key.port);
    match timeout(limit, connecting).await {
        Ok(Ok(handle)) => {
            (context.progress)(Stage::HostKey);
            let HostKeyResult { accepted, recorded, .. } =
                std::mem::take(&mut *checked.lock().unwrap_or_else(PoisonError::into_inner));
            let (server, key) = (printable(&banner.first_line()), accepted.unwrap_or_default());
            tracing::debug!(server, ms = ms(began), "the key exchange is complete");
            tracing::debug!(key, "accepted the host key");
            if let Some(text) = recorded {
                context.prompt.tell(&text).await;
            }
            Ok(handle)
        }
        Ok(Err(None)) => Err(LinkFailure::new(
            Stage::Banner,
            format!(
                "{host}:{port} accepted the connection and then sent nothing for {} seconds",
                target.timeout.as_secs()
            ),
        )
        .hint("is that an SSH server? it may hang, or be overloaded")),
        Ok(Err(Some(error))) => {
            if let Some(failure) = checked.lock().unwrap_or_else(PoisonError::into_inner).failure.take() {
                return Err(failure);
            }
            Err(explain(&error, host, port, banner))
        }
        Err(_) => Err(too_long(Stage::KeyExchange, limit)),
    }
}

/// Algorithms, cheap and strong ones first: OpenSSH's default key exchange costs seven times as much.
fn config(policy: &host_key::HostKeyPolicy) -> client::Config {
    let preferred = Preferred {
        kex: Cow::Borrowed(&[
            kex::MLKEM768X25519_SHA256,
            kex::CURVE25519,
            kex::CURVE25519_PRE_RFC_8731,
            kex::ECDH_SHA2_NISTP256,
            kex::ECDH_SHA2_NISTP384,
            kex::ECDH_SHA2_NISTP521,
            kex::DH_GEX_SHA256,
            kex::DH_G16_SHA512,
            kex::DH_G18_SHA512,
            kex::DH_G14_SHA256,
            kex::EXTENSION_SUPPORT_AS_CLIENT,
            kex::EXTENSION_OPENSSH_STRICT_KEX_AS_CLIENT,
        ]),
        cipher: Cow::Borrowed(&[
            cipher::AES_128_GCM,
            cipher::AES_256_GCM,
            cipher::CHACHA20_POLY1305,
            cipher::AES_256_CTR,
            cipher::AES_192_CTR,
            cipher::AES_128_CTR,
        ]),
        mac: Cow::Borrowed(&[mac::HMAC_SHA256_ETM, mac::HMAC_SHA512_ETM, mac::HMAC_SHA256, mac::HMAC_SHA512]),
        key: Cow::Owned(policy.preferred_algorithms()),
        host_key_certificates: if policy.has_authority() {
            Cow::Owned(host_key::ALGORITHMS.to_vec())
        } else {
            Cow::Borrowed(&[] as &[Algorithm])
        },
        ..Preferred::default()
    };
    client::Config {
        client_id: russh::SshId::Standard(Cow::Borrowed(concat!("SSH-2.0-rocksalt_", env!("CARGO_PKG_VERSION")))),
        preferred,
        nodelay: true,
        keepalive_interval: Some(Duration::from_secs(15)),
        keepalive_max: 3,
        ..client::Config::default()
    }
}

fn explain(error: &russh::Error, host: &str, port: u16, banner: &ServerBanner) -> LinkFailure {
    let first = banner.first_line();
    if !first.starts_with("SSH-") {
        let closed = LinkFailure::new(
            Stage::Banner,
            format!("{host}:{port} closed the connection before it greeted{}", suffix(&first)),
        );
        // sshd refuses connections like this when too many arrive at once.
        return closed.hint("sshd may be overloaded (see MaxStartups in its configuration)").busy();
    }
    match error {
        russh::Error::NoCommonAlgo { kind, theirs, .. } => LinkFailure::new(
            Stage::KeyExchange,
            format!("no {kind:?} algorithm in common with {host}; it offers {}", theirs.join(", ")),
        )
        .hint("update the SSH server there, or set `transport: openssh` and allow the old algorithm in ~/.ssh/config"),
        russh::Error::WrongServerSig => {
            LinkFailure::new(Stage::HostKey, format!("{host} could not prove that it has its host key"))
                .hint("somebody may be in the middle; do not connect")
        }
        russh::Error::HUP | russh::Error::Disconnect | russh::Error::IO(_) => LinkFailure::new(
            Stage::KeyExchange,
            format!("{host} closed the connection during the key exchange ({error})"),
        )
        .hint("look into the log of its SSH server")
        .busy(),
        other => LinkFailure::new(Stage::KeyExchange, format!("the key exchange with {host} failed: {other}"))
            .hint("look into the log of its SSH server"),
    }
}

fn suffix(line: &str) -> String {
    if line.is_empty() { String::new() } else { format!(": {line}") }
}

fn too_long(stage: Stage, limit: Duration) -> LinkFailure {
    LinkFailure::new(stage, format!("the {} took longer than {} seconds", stage.name(), limit.as_secs()))
        .hint("the target is overloaded or hangs; `timeout` in the roster allows it more time")
}
