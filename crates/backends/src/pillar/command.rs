//! Programs that give data: run with a time limit and an output limit, and ended with all they started.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use super::Error;

/// What of a program's complaints is shown.
const COMPLAINTS: usize = 2 * 1024;

/// Runs a program and gives what it printed. A failure is an error: half of a pillar is worse than none.
pub async fn output(mut command: Command, shown: &str, timeout: Duration, limit: usize) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::Run { command: shown.to_owned(), source };
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let group = Group(child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())));
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let run = async {
        let complaining = tokio::spawn(async move { read(stderr, COMPLAINTS, true).await });
        let printed = read(stdout, limit, false).await?;
        if printed.len() > limit {
            return Ok(None);
        }
        let status = child.wait().await?;
        let said = complaining.await.ok().and_then(Result::ok).unwrap_or_default();
        Ok::<_, std::io::Error>(Some((printed, status, said)))
    };
    let finished = match tokio::time::timeout(timeout, run).await {
        Ok(finished) => finished.map_err(failed)?,
        Err(_) => return Err(Error::TimedOut { what: shown.to_owned(), seconds: timeout.as_secs() }),
    };
    let Some((printed, status, said)) = finished else {
        return Err(Error::TooLong { what: shown.to_owned(), limit });
    };
    // It was waited for: its number may be somebody else's by now.
    group.leave();
    if !status.success() {
        let said = String::from_utf8_lossy(&said);
        let stderr = if said.trim().is_empty() { String::new() } else { format!(": {}", said.trim()) };
        return Err(Error::Failed { command: shown.to_owned(), status: status.to_string(), stderr });
    }
    Ok(printed)
}

/// Ends a program's whole process group, whichever way its caller goes on.
struct Group(Option<rustix::process::Pid>);

impl Group {
    fn leave(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may be gone already.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

/// Reads up to a limit and one byte more; the rest is read and dropped if `drain` says so.
async fn read(from: Option<impl AsyncRead + Unpin>, limit: usize, drain: bool) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let Some(mut from) = from else { return Ok(content) };
    (&mut from).take(limit as u64 + 1).read_to_end(&mut content).await?;
    if drain {
        tokio::io::copy(&mut from, &mut tokio::io::sink()).await?;
    }
    Ok(content)
}
