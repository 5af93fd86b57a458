//! Starts the keeper, or connects to a running one.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rocksalt_connect::keeper::{self, KeeperLinks};
use rocksalt_connect::links::{Links, LocalLinks};
use rocksalt_connect::pool::{Limits, Pool};
use rustix::fs::{FlockOperation, flock};

use crate::agents;
use crate::config::Config;
use crate::environment::ProcessEnvironment;
use crate::failure::Failure;
use crate::prompt::Terminal;
use crate::stdout::print_line;

/// Links that stay open after this command, unless the configuration closes them with it.
pub async fn links(environment: &ProcessEnvironment, config: &Config) -> Result<Arc<dyn Links>, Failure> {
    if config.persist.is_zero() {
        return Ok(Arc::new(LocalLinks {
            pool: pool(environment, config),
            prompt: Arc::new(Terminal::default()),
            agent_socket: environment.agent_socket.clone(),
        }));
    }
    let directory = directory(environment)?;
    let socket = keeper::socket(&directory);
    if let Some(kept) = connect(environment, &socket).await {
        return Ok(Arc::new(kept));
    }
    start(config, &log(&directory))?;
    match connect(environment, &socket).await {
        Some(kept) => Ok(Arc::new(kept)),
        None => Err(Failure::usage("the keeper was started but does not answer")
            .hint(format!("look into {}", log(&directory).display()))
            .hint("`--persist 0` works without it")),
    }
}

/// The running keeper, if it is of this build.
pub async fn running(environment: &ProcessEnvironment) -> Result<Option<KeeperLinks>, Failure> {
    let directory = directory(environment)?;
    Ok(connect(environment, &keeper::socket(&directory)).await)
}

/// The hidden command `keeper`: serves until it is no longer used.
pub async fn serve(environment: &ProcessEnvironment, config: &Config) -> Result<(), Failure> {
    let directory = directory(environment)?;
    // The holder of this lock is the keeper; a second one ends at once.
    let lock = File::options().create(true).truncate(false).write(true).mode(0o600).open(directory.join("keeper.lock"));
    let lock = lock.map_err(|error| Failure::usage(format!("can't lock {}: {error}", directory.display())))?;
    let waiting = std::time::Instant::now();
    while flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        // A keeper of another build may be about to end.
        if waiting.elapsed() > Duration::from_secs(3) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let settings = keeper::Settings {
        socket: keeper::socket(&directory),
        build: build(),
        uid: environment.local_user.uid,
        linger: config.persist.min(Duration::from_secs(30)),
    };
    // A line on standard output tells the starting command that it can connect.
    keeper::serve(pool(environment, config), settings, || print_line!("ready"))
        .await
        .map_err(|error| Failure::usage(format!("the keeper can't listen: {error}")))
}

fn pool(environment: &ProcessEnvironment, config: &Config) -> Arc<Pool> {
    pool_with(environment, config, config.persist)
}

/// A pool whose links are closed when they were idle for this time.
pub fn pool_with(environment: &ProcessEnvironment, config: &Config, idle: Duration) -> Arc<Pool> {
    raise_file_limit();
    let limits = Limits { connecting: config.connect_at_once, open: config.links_max, idle, ..Limits::default() };
    Arc::new(Pool::new(agents::load(), &environment.local_user, limits))
}

fn directory(environment: &ProcessEnvironment) -> Result<std::path::PathBuf, Failure> {
    let runtime = &environment.runtime_dir;
    if !runtime.is_dir() {
        use std::os::unix::fs::DirBuilderExt;
        let _ = std::fs::DirBuilder::new().mode(0o700).create(runtime);
    }
    Ok(keeper::directory(runtime, environment.local_user.uid)?)
}

fn log(directory: &Path) -> std::path::PathBuf {
    directory.join("keeper.log")
}

async fn connect(environment: &ProcessEnvironment, socket: &Path) -> Option<KeeperLinks> {
    let prompt = Arc::new(Terminal::default());
    KeeperLinks::connect(socket, &build(), environment.agent_socket.clone(), prompt).await
}

/// Starts a keeper in the background and waits until it listens.
fn start(config: &Config, log: &Path) -> Result<(), Failure> {
    let fault = |error: std::io::Error| Failure::usage(format!("can't start the keeper: {error}"));
    let program = std::env::current_exe().map_err(fault)?;
    let mut command = Command::new(program);
    command.arg("keeper").arg("--persist").arg(config.persist.as_secs().to_string());
    if let Some(directory) = &config.directory {
        command.arg("--config-dir").arg(directory);
    }
    let errors = File::options().create(true).write(true).truncate(true).mode(0o600).open(log).map_err(fault)?;
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).current_dir("/").spawn().map_err(fault)?;
    let mut ready = [0; 6];
    if let Some(stdout) = &mut child.stdout {
        // The process ends without output if another keeper was faster; the command can use that one.
        let _ = stdout.read(&mut ready);
    }
    Ok(())
}

/// Identifies the build: two builds may have different protocols.
fn build() -> String {
    let stamp = std::env::current_exe()
        .and_then(std::fs::metadata)
        .map(|file| format!("{}-{}", file.size(), file.mtime_nsec()));
    format!("{}-{}", env!("CARGO_PKG_VERSION"), stamp.unwrap_or_default())
}

/// Each link needs one to three descriptors; the usual soft limit is a thousand.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
