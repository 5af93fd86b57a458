//! Running a command line.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::Function;
use super::arguments::CommandArguments;
use super::finished::{All, Code, CommandText};
use crate::machine::System;
use crate::{Error, Result};

/// Runs a command and returns its output, including standard error.
///
/// ```text
/// rocksalt '*' cmd.run 'ls -l | grep foo'
/// rocksalt '*' cmd.run 'make all' cwd=/srv/build runas=builder env='{CC: clang}' timeout=600
/// ```
///
/// The command's exit code becomes that of the call.
#[function("cmd.run", changes, small)]
pub struct Run(CommandArguments);

impl Function for Run {
    type Output = CommandText;

    fn call(self, machine: &dyn System) -> Result<CommandText> {
        let finished = self.0.execute(machine, true)?;
        Ok(CommandText { text: finished.stdout, counted: finished.counted })
    }

    fn retcode(output: &CommandText) -> i32 {
        output.counted
    }
}

/// Runs a command and returns its exit code, process id, output and standard error separately.
///
/// ```text
/// rocksalt '*' cmd.run_all 'ls -l /nowhere'
/// ```
#[function("cmd.run_all", changes, small)]
pub struct RunAll(CommandArguments);

impl Function for RunAll {
    type Output = All;

    fn call(self, machine: &dyn System) -> Result<All> {
        Ok(self.0.execute(machine, false)?.all())
    }

    fn retcode(output: &All) -> i32 {
        output.counted
    }
}

/// Starts a command in the background, and returns its process id.
///
/// ```text
/// rocksalt '*' cmd.run_bg 'fstrim-all'
/// ```
///
/// Its output is discarded, and `timeout` has no effect.
#[function("cmd.run_bg", changes, small)]
pub struct RunBg(CommandArguments);

impl Function for RunBg {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let finished = CommandArguments { bg: true, ..self.0 }.execute(machine, true)?;
        Ok([("pid".into(), Value::from(finished.pid))].into_iter().collect())
    }
}

/// Runs a command and returns its standard error.
///
/// ```text
/// rocksalt '*' cmd.run_stderr 'ls -l /nowhere'
/// ```
#[function("cmd.run_stderr", changes, small)]
pub struct RunStderr(CommandArguments);

impl Function for RunStderr {
    type Output = CommandText;

    fn call(self, machine: &dyn System) -> Result<CommandText> {
        let finished = self.0.execute(machine, false)?;
        Ok(CommandText { text: finished.stderr, counted: finished.counted })
    }

    fn retcode(output: &CommandText) -> i32 {
        output.counted
    }
}

/// Runs a command and returns only its standard output.
///
/// ```text
/// rocksalt '*' cmd.run_stdout 'ls -l'
/// ```
#[function("cmd.run_stdout", changes, small)]
pub struct RunStdout(CommandArguments);

impl Function for RunStdout {
    type Output = CommandText;

    fn call(self, machine: &dyn System) -> Result<CommandText> {
        let finished = self.0.execute(machine, false)?;
        Ok(CommandText { text: finished.stdout, counted: finished.counted })
    }

    fn retcode(output: &CommandText) -> i32 {
        output.counted
    }
}

/// Runs a command and returns its exit code.
///
/// ```text
/// rocksalt '*' cmd.retcode 'file /bin/bash'
/// ```
#[function("cmd.retcode", changes, small)]
pub struct Retcode(CommandArguments);

impl Function for Retcode {
    type Output = Code;

    fn call(self, machine: &dyn System) -> Result<Code> {
        let finished = self.0.execute(machine, true)?;
        Ok(Code { retcode: finished.retcode, counted: finished.counted })
    }

    fn retcode(output: &Code) -> i32 {
        output.counted
    }
}

/// Runs a command in a shell, regardless of `python_shell`.
///
/// ```text
/// rocksalt '*' cmd.shell 'ls -l | grep foo | wc -l'
/// ```
#[function("cmd.shell", changes, small)]
pub struct Shell(CommandArguments);

impl Function for Shell {
    type Output = CommandText;

    fn call(self, machine: &dyn System) -> Result<CommandText> {
        let finished = CommandArguments { python_shell: Some(true), ..self.0 }.execute(machine, true)?;
        Ok(CommandText { text: finished.stdout, counted: finished.counted })
    }

    fn retcode(output: &CommandText) -> i32 {
        output.counted
    }
}

/// Fails: there is no PowerShell, as targets are Unix machines.
///
/// ```text
/// rocksalt '*' cmd.powershell 'Get-ChildItem'
/// ```
#[function("cmd.powershell", changes, also("cmd.powershell_all"))]
pub struct Powershell(#[allow(dead_code, reason = "taken for the sake of the error that follows")] CommandArguments);

impl Function for Powershell {
    type Output = ();

    fn call(self, _: &dyn System) -> Result<()> {
        Err(Error::failed("PowerShell is only for Windows, which can't be a target")
            .hint("where `pwsh` is installed, `cmd.run 'pwsh -Command …'` runs it"))
    }
}
