//! A program that prints a flat roster, as YAML or JSON.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rocksalt_core::roster::Roster;
use tokio::process::Command;

use super::{Error, RosterSource, Settings, flat};
use crate::program::{self, ProgramError, ProgramLimits};

/// The most that a script may print, in bytes.
const MAX_OUTPUT: usize = 16 * 1024 * 1024;
/// How much of stderr is shown in errors.
const MAX_STDERR: usize = 8 * 1024;

pub(super) fn open(settings: &Settings) -> Result<Box<dyn RosterSource>, Error> {
    Ok(Box::new(ScriptRoster { path: settings.path("script")?, settings: settings.clone() }))
}

struct ScriptRoster {
    path: PathBuf,
    settings: Settings,
}

#[async_trait]
impl RosterSource for ScriptRoster {
    async fn load(&self) -> Result<Roster, Error> {
        let text = self.run().await?;
        let file = format!("output of {}", self.path.display());
        flat::parse(&text, &file, self.path.parent(), &self.settings)
    }
}

impl ScriptRoster {
    /// Runs the script, without a shell and without arguments.
    async fn run(&self) -> Result<String, Error> {
        let path = || self.path.clone();
        let failed = |cause| Error::Run { path: path(), cause };
        // A bare name must mean the file, not a program in $PATH.
        let program = if self.path.is_absolute() { path() } else { Path::new(".").join(&self.path) };
        let timeout = self.settings.script_timeout;
        let limits = ProgramLimits { timeout, stdout: MAX_OUTPUT, stderr: MAX_STDERR };
        let printed = program::output(Command::new(program), &limits).await.map_err(|error| match error {
            ProgramError::Io(cause) => failed(cause),
            ProgramError::TimedOut { stderr } => Error::TimedOut { path: path(), seconds: timeout.as_secs(), stderr },
            ProgramError::TooLong => Error::TooLong { path: path(), limit: MAX_OUTPUT },
            ProgramError::Failed { status, stderr } => {
                Error::Failed { path: path(), status: status.to_string(), stderr }
            }
        })?;
        String::from_utf8(printed)
            .map_err(|_| failed(std::io::Error::new(std::io::ErrorKind::InvalidData, "its output is not UTF-8")))
    }
}
