//! Runs the commands of external pillars.

use std::time::Duration;

use tokio::process::Command;

use super::Error;
use crate::program::{self, ProgramError, ProgramLimits};

/// How much of stderr is shown in errors.
const MAX_STDERR: usize = 2 * 1024;

/// Runs a command and returns its stdout. A failure is an error, because part of a pillar is worse than none.
pub async fn output(command: Command, shown: &str, timeout: Duration, limit: usize) -> Result<Vec<u8>, Error> {
    let limits = ProgramLimits { timeout, stdout: limit, stderr: MAX_STDERR };
    program::output(command, &limits).await.map_err(|error| match error {
        ProgramError::Io(source) => Error::Run { command: shown.to_owned(), source },
        ProgramError::TimedOut { .. } => Error::TimedOut { what: shown.to_owned(), seconds: timeout.as_secs() },
        ProgramError::TooLong => Error::TooLong { what: shown.to_owned(), limit },
        ProgramError::Failed { status, stderr } => {
            let stderr = if stderr.is_empty() { stderr } else { format!(": {stderr}") };
            Error::Failed { command: shown.to_owned(), status: status.to_string(), stderr }
        }
    })
}
