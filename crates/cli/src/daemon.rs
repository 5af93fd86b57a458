//! Connects to this configuration's daemon, or explains why it is not used.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use rocksalt_client::{Client, Error};

use crate::commands::Context;
use crate::failure::Failure;

/// A daemon that does not answer within this time is not used.
const PATIENCE: Duration = Duration::from_secs(1);

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Why no daemon is used.
#[derive(Debug)]
pub enum NoDaemon {
    /// The command line or the environment disables it.
    Off,
    NotThere {
        socket: PathBuf,
    },
    NotOurs {
        socket: PathBuf,
    },
    Silent {
        why: String,
    },
    Other {
        version: String,
    },
}

/// Connects to the daemon, if it runs and has this version.
pub async fn connect(context: &Context) -> Result<Client, NoDaemon> {
    let wish = context.environment.local_user.environment.get("ROCKSALT_DAEMON").map(String::as_str);
    if context.common.no_daemon || matches!(wish, Some("off" | "no" | "0" | "false")) {
        return Err(NoDaemon::Off);
    }
    let socket = context.config.socket(&context.environment);
    // Fast if there is no daemon: no runtime, no client, one system call.
    match UnixStream::connect(&socket).map(drop) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(NoDaemon::NotOurs { socket }),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            return Err(NoDaemon::Silent { why: "too many wait for it".into() });
        }
        Err(_) => return Err(NoDaemon::NotThere { socket }),
    }
    let client = Client::unix(socket);
    match tokio::time::timeout(PATIENCE, client.info()).await {
        Err(_) => Err(NoDaemon::Silent { why: "it did not answer in a second".into() }),
        Ok(Err(error)) => Err(NoDaemon::Silent { why: Failure::caused(&error).text }),
        Ok(Ok(info)) if info.version != VERSION => Err(NoDaemon::Other { version: info.version }),
        Ok(Ok(_)) => Ok(client),
    }
}

/// The daemon for a job, unless options say how to reach targets: then this process connects to them.
pub async fn for_job(context: &Context) -> Option<Client> {
    let roster = &context.common.roster;
    let own_ways = !roster.host.is_empty()
        || !roster.is_configured(&context.config, &context.environment)
        || roster.ask_pass
        || roster.ask_sudo_pass
        || roster.private_key.is_some()
        || context.common.grains.is_some()
        || context.common.persist.is_some();
    if own_ways {
        return None;
    }
    match connect(context).await {
        Ok(client) => Some(client),
        Err(absent) => {
            if let Some(why) = absent.worth_saying() {
                eprintln!("{why}; running without it");
            }
            None
        }
    }
}

impl NoDaemon {
    fn worth_saying(&self) -> Option<String> {
        match self {
            NoDaemon::Off | NoDaemon::NotThere { .. } => None,
            NoDaemon::NotOurs { socket } => Some(format!("the daemon at {} is another user's", socket.display())),
            NoDaemon::Silent { why } => Some(format!("the daemon does not answer ({why})")),
            NoDaemon::Other { version } => Some(format!("the daemon is version {version}, and this is {VERSION}")),
        }
    }

    /// The error of a command that needs the daemon.
    pub fn failure(&self) -> Failure {
        match self {
            NoDaemon::Off => {
                Failure::usage("this needs the daemon, and ROCKSALT_DAEMON or --no-daemon says to do without")
            }
            NoDaemon::NotThere { socket } => {
                Failure::usage(format!("no daemon runs here (there is none at {})", socket.display()))
                    .hint("`rocksalt serve` starts it; with another configuration: --config-dir DIR")
            }
            NoDaemon::NotOurs { socket } => {
                Failure::usage(format!("the daemon's socket {} is another user's", socket.display()))
                    .hint("ask as that user or as root; over the network, it has a login (docs/http-api.md)")
            }
            NoDaemon::Silent { .. } => Failure::usage(self.worth_saying().unwrap_or_default())
                .hint("look into its log: `journalctl -u rocksalt`, or where it was started"),
            NoDaemon::Other { .. } => Failure::usage(self.worth_saying().unwrap_or_default())
                .hint("start it anew: `systemctl restart rocksalt`, or `rocksalt serve` where it was started"),
        }
    }
}

/// The daemon's error, or the reason why it could not be asked.
pub fn refused(error: &Error) -> Failure {
    let failure = Failure::caused(error);
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
