//! `rocksalt serve`: the controller as a service.

mod api_settings;
mod load;
mod settings;

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use clap::Args;
use rocksalt_connect::links::{Links, LocalLinks};
use rocksalt_connect::pool::Pool;
use rocksalt_connect::transport::Prompt;
use rocksalt_core::Secret;
use rocksalt_daemon::serve::{self, ListenAddress, StartNotice};

use super::{Common, Context, init};
use crate::config::{Config, FILE};
use crate::environment::ProcessEnvironment;
use crate::failure::Failure;
use crate::keeper;
use crate::stdout::print_line;
use load::Loader;

/// Serves jobs, events and the HTTP API until it is told to stop.
///
/// The first start creates what is missing: a configuration, a user `admin` whose password is printed once, and a
/// certificate where one is needed.
#[derive(Args)]
pub struct Options {
    /// Listen here instead of where the configuration says; may be given several times
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Vec<String>,
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    let Context { common, environment, config } = context;
    let settings = settings::read(&config, &environment, &options.listen)?;
    let log = common.diagnostics.of_daemon(settings::log(&config)?, &config, &environment);
    serve::log::start(&log).map_err(Failure::usage)?;
    let presence = settings::presence(&config)?;
    // With presence checks links stay open; otherwise they close when idle, like those of commands.
    let idle = if presence.every.is_zero() { config.persist } else { Duration::from_secs(10 * 365 * 86_400) };
    let pool = keeper::pool_with(&environment, &config, idle);
    tokio::spawn(upkeep(Arc::clone(&pool)));
    let links: Arc<dyn Links> =
        Arc::new(LocalLinks { pool, prompt: Arc::new(Nobody), agent_socket: environment.agent_socket.clone() });
    let loader = Arc::new(Loader { common, environment, directory: config.directory.clone(), links });
    let daemon = serve::start(settings, loader.load(), &tell).await.map_err(|error| {
        let failure = Failure::caused(&error);
        error.hint().into_iter().fold(failure, Failure::hint)
    })?;
    daemon.run_until_signal().await.map_err(|error| Failure::caused(&error))?;
    Ok(ExitCode::SUCCESS)
}

/// Creates a configuration, if there is none.
pub fn prepare(common: &Common, environment: &ProcessEnvironment) -> Result<(), Failure> {
    if let Some(directory) = &common.config_dir {
        let known = [FILE, "roster", "master", "minion"].iter().any(|name| directory.join(name).exists());
        return if known { Ok(()) } else { make(directory) };
    }
    if Config::read(None, environment, common.persist)?.directory.is_some() {
        return Ok(());
    }
    match environment.local_user.uid {
        0 => make(Path::new("/etc/rocksalt")),
        _ => make(&environment.config_home),
    }
}

fn make(directory: &Path) -> Result<(), Failure> {
    let files = init::write_all(directory)?;
    print_line!("A configuration is in {}: {}.", directory.display(), files.join(", "));
    Ok(())
}

/// Closes links that broke or that are no longer used.
async fn upkeep(pool: Arc<Pool>) {
    loop {
        tokio::time::sleep(Duration::from_secs(5)).await;
        pool.reap().await;
    }
}

/// Prints a notice for the user at the terminal. Logs are written to standard error, this to standard output.
fn tell(notice: StartNotice) {
    match notice {
        StartNotice::Admin { user, password } => {
            print_line!("A first user was made, who may do everything. This password is shown only now:");
            print_line!("  user:     {user}");
            print_line!("  password: {}", password.reveal());
            print_line!("Another: `rocksalt users passwd {user}`.");
        }
        StartNotice::Certificate { path, fingerprint, pin, names } => {
            print_line!("A certificate was made for {}: {}", names.join(", "), path.display());
            print_line!("  SHA-256:  {fingerprint}");
            print_line!("  for curl: --cacert {} or --pinnedpubkey '{pin}'", path.display());
        }
        StartNotice::Listening(addresses) => {
            let all: Vec<String> = addresses.iter().map(ListenAddress::to_string).collect();
            print_line!("Listening on {}.", all.join(", "));
            if std::io::stdout().is_terminal() {
                print_line!("Ctrl-C ends it.");
            }
        }
    }
}

/// Answers no prompt: a service has no user at a terminal.
struct Nobody;

#[async_trait]
impl Prompt for Nobody {
    async fn secret(&self, _: &str) -> Option<Secret> {
        None
    }

    async fn tell(&self, text: &str) {
        serve::log::notice(text);
    }
}
