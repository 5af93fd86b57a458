//! A client for a running `rocksalt serve`: starts and watches jobs, reads events, lists targets.
//!
//! ```no_run
//! use rocksalt_client::{Client, Tls};
//! use rocksalt_core::job_update::JobUpdate;
//! use rocksalt_core::request::RunRequest;
//! use rocksalt_core::Secret;
//!
//! # async fn example() -> Result<(), rocksalt_client::Error> {
//! // On the daemon's own machine its socket is enough. From elsewhere: TLS, and a token.
//! let client = Client::http("https://salt.example:8000", Tls::Ca("ca.pem".into()))?;
//! client.login("alice", &Secret::new("her password".into()), None).await?;
//!
//! let ping = RunRequest { function: "test.ping".into(), target: "web*".into(), ..RunRequest::default() };
//! let Some(mut watch) = client.run(&ping).await? else { return Ok(()) };
//! while let Some(news) = watch.next().await? {
//!     if let JobUpdate::Done(record) = news {
//!         println!("{}: {}", record.target, record.outcome.success());
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Streams ([`JobWatch`], [`Events`]) reconnect after a broken connection and resume without gaps or duplicates. What
//! the daemon refuses comes as [`Error::Refused`], with its kind, text and hint.

mod client;
mod error;

mod control;
mod events;
mod jobs;
mod sessions;
mod targets;
mod watch;

mod connection;
mod sse;
mod tls;

pub use client::Client;
pub use control::ControllerCallResult;
pub use error::{Error, RefusalKind};
pub use events::{EventNotice, EventPage, Events};
pub use jobs::RerunOptions;
pub use sessions::{ClientSession, DaemonInfo};
pub use targets::{TargetFilter, TargetPage, TargetStatus};
pub use tls::Tls;
pub use watch::JobWatch;
