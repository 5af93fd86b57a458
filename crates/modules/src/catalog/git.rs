//! `git`: what a repository on the target has checked out.

use serde::Deserialize;

use super::file::absolute;
use super::{Entry, Function, entry};
use crate::machine::{Command, System};
use crate::{Error, Result};

pub const FUNCTIONS: &[Entry] = &[entry::<CurrentBranch>()];

/// The branch that is checked out; `HEAD` if it is none.
///
/// ```text
/// rocksalt '*' git.current_branch /srv/app
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct CurrentBranch {
    /// The repository.
    cwd: String,
    /// The user to run git as.
    #[serde(default)]
    user: Option<String>,
    /// Only of use on Windows.
    #[serde(default)]
    #[allow(dead_code, reason = "taken for Salt's sake")]
    password: Option<String>,
    /// Give nothing instead of a failure.
    #[serde(default)]
    ignore_retcode: bool,
}

impl Function for CurrentBranch {
    const NAME: &'static str = "git.current_branch";
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let mut command = Command::new(["git", "rev-parse", "--abbrev-ref", "HEAD"]);
        command.cwd = Some(absolute(machine, &self.cwd)?);
        command.user = self.user;
        let output = machine.query(&command)?;
        if !output.success() && !self.ignore_retcode {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(Error::failed(format!("could not ask the repository {}: {why}", self.cwd)));
        }
        Ok(output.text().trim_end().to_owned())
    }
}
