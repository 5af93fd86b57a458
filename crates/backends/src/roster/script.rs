//! A program that prints a flat roster, as YAML or JSON.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use async_trait::async_trait;
use rocksalt_core::roster::Roster;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use super::{Error, Settings, Source, flat};

/// What a script may print.
const MAX_OUTPUT: usize = 16 * 1024 * 1024;
/// What of its complaints is shown.
const MAX_STDERR: usize = 8 * 1024;

pub(super) fn open(settings: &Settings) -> Result<Box<dyn Source>, Error> {
    Ok(Box::new(Script { path: settings.path("script")?, settings: settings.clone() }))
}

struct Script {
    path: PathBuf,
    settings: Settings,
}

#[async_trait]
impl Source for Script {
    async fn load(&self) -> Result<Roster, Error> {
        let text = self.run().await?;
        let file = format!("output of {}", self.path.display());
        flat::parse(&text, &file, self.path.parent(), &self.settings)
    }
}

impl Script {
    /// Without a shell and without arguments; a program that goes on too long or says too much is stopped.
    async fn run(&self) -> Result<String, Error> {
        let failed = |cause| Error::Run { path: self.path.clone(), cause };
        // A bare name must mean the file, not whatever $PATH has under that name.
        let program = if self.path.is_absolute() { self.path.clone() } else { Path::new(".").join(&self.path) };
        let mut child = Command::new(program)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let group = child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()));
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let mut said = Vec::new();
        let run = async {
            let mut printed = Vec::new();
            let (printing, complaining, status) =
                tokio::join!(take(stdout, &mut printed, MAX_OUTPUT), take(stderr, &mut said, MAX_STDERR), child.wait());
            complaining?;
            Ok((printing?, printed, status?))
        };
        let seconds = self.settings.script_timeout;
        let finished = tokio::time::timeout(seconds, run).await;
        let stderr = || String::from_utf8_lossy(&said).trim().to_owned();
        let Ok(finished) = finished else {
            // Also what the script started itself. It may be gone already.
            let _ = group.map(|group| rustix::process::kill_process_group(group, rustix::process::Signal::KILL));
            return Err(Error::TimedOut { path: self.path.clone(), seconds: seconds.as_secs(), stderr: stderr() });
        };
        let (whole, printed, status) = finished.map_err(failed)?;
        if !whole {
            return Err(Error::TooLong { path: self.path.clone(), limit: MAX_OUTPUT });
        }
        if !status.success() {
            return Err(Error::Failed { path: self.path.clone(), status: status.to_string(), stderr: stderr() });
        }
        String::from_utf8(printed)
            .map_err(|_| failed(std::io::Error::new(std::io::ErrorKind::InvalidData, "its output is not UTF-8")))
    }
}

/// Reads up to a limit; what comes behind it is read and dropped. False if there was more.
async fn take(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>, limit: usize) -> std::io::Result<bool> {
    let Some(mut from) = from else { return Ok(true) };
    let mut piece = [0; 8192];
    let mut whole = true;
    loop {
        let count = from.read(&mut piece).await?;
        if count == 0 {
            return Ok(whole);
        }
        let room = limit.saturating_sub(into.len()).min(count);
        into.extend_from_slice(&piece[..room]);
        whole &= room == count;
    }
}
