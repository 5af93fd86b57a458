//! Runs programs that print data, with a time limit and an output limit, and kills them with all they started.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

/// How a program is run.
pub struct ProgramLimits {
    pub timeout: Duration,
    /// The most bytes on stdout.
    pub stdout: usize,
    /// How many bytes of stderr are kept for the error.
    pub stderr: usize,
}

/// Why there is no output. Partial output is never returned.
#[derive(Debug)]
pub enum ProgramError {
    Io(std::io::Error),
    Failed { status: ExitStatus, stderr: String },
    TimedOut { stderr: String },
    TooLong,
}

/// Runs a program and returns its stdout.
pub async fn output(mut command: Command, limits: &ProgramLimits) -> Result<Vec<u8>, ProgramError> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(ProgramError::Io)?;
    let group = ProcessGroup(child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())));
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (mut printed, mut complaints) = (Vec::new(), Vec::new());
    let run = async {
        let read_stdout = async {
            read_up_to(stdout, &mut printed, limits.stdout, Excess::Fail).await?;
            child.wait().await.map_err(ProgramError::Io)
        };
        let read_stderr = read_up_to(stderr, &mut complaints, limits.stderr, Excess::Drop);
        tokio::try_join!(read_stdout, read_stderr).map(|(status, ())| status)
    };
    let finished = tokio::time::timeout(limits.timeout, run).await;
    let stderr = String::from_utf8_lossy(&complaints).trim().to_owned();
    let Ok(finished) = finished else { return Err(ProgramError::TimedOut { stderr }) };
    let status = finished?;
    // It was waited for: its process id may be reused.
    group.forget();
    if status.success() { Ok(printed) } else { Err(ProgramError::Failed { status, stderr }) }
}

/// Kills a program's whole process group when dropped.
struct ProcessGroup(Option<rustix::process::Pid>);

impl ProcessGroup {
    fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may be gone already.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

/// What happens with bytes above the limit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Excess {
    Drop,
    Fail,
}

async fn read_up_to(
    from: Option<impl AsyncRead + Unpin>,
    into: &mut Vec<u8>,
    limit: usize,
    excess: Excess,
) -> Result<(), ProgramError> {
    let Some(mut from) = from else { return Ok(()) };
    let mut piece = [0; 8192];
    loop {
        let count = from.read(&mut piece).await.map_err(ProgramError::Io)?;
        if count == 0 {
            return Ok(());
        }
        let kept = limit.saturating_sub(into.len()).min(count);
        into.extend_from_slice(&piece[..kept]);
        if kept < count && excess == Excess::Fail {
            return Err(ProgramError::TooLong);
        }
    }
}
