//! `cmd.run`, and `cmd.wait`, which runs only if a watched state has changed.

use rocksalt_core::{Map, Value, call::ProblemKind};
use rocksalt_macros::{arguments, state};

use super::super::super::arguments::Arguments as _;
use super::super::arguments::CommandArguments;
use super::stateful::{Stateful, reinterpret};
use super::{Decision, State, Step, Verdict, given, waiting};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

/// Runs a command, every time: say by `creates`, `unless`, `onlyif` or `onchanges` when it need not run.
///
/// ```yaml
/// make the index:
///   cmd.run:
///     - name: updatedb --output=/srv/index
///     - creates: /srv/index
///     - runas: nobody
///     - env:
///       - LC_ALL: C.UTF-8
/// ```
///
/// Outputs: `stdout`, `stderr`, `retcode`, `pid`.
#[state("cmd.run", watches)]
pub struct Run(RunStateArguments);

/// Runs a command if something that it watches has changed.
///
/// ```yaml
/// newaliases:
///   cmd.wait:
///     - watch:
///       - file: /etc/aliases
/// ```
#[state("cmd.wait", watches)]
pub struct Wait(RunStateArguments);

/// The same as `cmd.wait`.
///
/// ```yaml
/// newaliases:
///   cmd.watch:
///     - watch:
///       - file: /etc/aliases
/// ```
#[state("cmd.watch", watches)]
pub struct Watch(RunStateArguments);

/// A command, and how to run it.
#[arguments]
#[allow(dead_code, reason = "most go as they are to the function that runs commands")]
struct RunStateArguments {
    /// The command line, which a shell reads.
    name: Value,
    /// The directory to run in, absolute. Else it is the user's home.
    cwd: Option<String>,
    /// Run below this directory as the root (`chroot`).
    root: Option<String>,
    /// Run as this user, with its groups, home and shell variables.
    runas: Option<String>,
    /// Only used on Windows.
    #[secret]
    password: Option<String>,
    /// The shell. Else it is the agent's `SHELL` if that is a POSIX shell, or `/bin/sh`.
    shell: Option<String>,
    /// Variables for the command: a map, or a list of maps.
    env: Value,
    /// A directory to look for programs in before all others.
    prepend_path: Option<String>,
    /// The command says itself what it changed: by JSON, or by a last line such as
    /// `changed=yes comment='it did'`. A list with `test_name: COMMAND` names what a dry run runs.
    stateful: Value,
    /// The level at which the output is logged; `quiet` for not at all.
    output_loglevel: Value,
    /// Show no output in the result; other states can still use it.
    hide_output: Value,
    /// End the command and all that it started after this many seconds.
    timeout: Value,
    /// Running out of time is a success.
    ignore_timeout: Value,
    /// Accepted and ignored: output is streamed anyway.
    use_vt: Value,
    /// Exit codes that count as success besides 0.
    success_retcodes: Value,
    /// Texts whose presence in the output counts as success.
    success_stdout: Value,
    /// Texts whose presence in standard error counts as success.
    success_stderr: Value,
    /// Whatever else `cmd.run_all` takes: `stdin`, `group`, `clean_env`, `rstrip` …
    kwargs: Map,
}

impl State for Run {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        self.0.plan(machine, step, Stateful::of(&self.0.stateful))?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        let plan: Stateful = plan.into_own()?;
        self.0.apply(&plan, machine, step)
    }

    fn watched(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        self.0.watched(machine, step)?.into_plan()
    }
}

impl State for Wait {
    fn plan(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(waiting())
    }

    fn apply(&self, plan: Plan, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        let plan: Stateful = plan.into_own()?;
        self.0.apply(&plan, machine, step)
    }

    fn watched(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        self.0.watched(machine, step)?.into_plan()
    }
}

impl State for Watch {
    fn plan(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(waiting())
    }

    fn apply(&self, plan: Plan, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        let plan: Stateful = plan.into_own()?;
        self.0.apply(&plan, machine, step)
    }

    fn watched(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        self.0.watched(machine, step)?.into_plan()
    }
}

impl RunStateArguments {
    fn watched(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision<Stateful>> {
        // Like Salt, ignores the command for dry runs here.
        self.plan(machine, step, Stateful { on: self.stateful.truth(), test_name: None })
    }

    fn plan(&self, machine: &dyn Probe, step: &Step<'_>, stateful: Stateful) -> Result<Decision<Stateful>> {
        if let Some(verdict) = given::wrong_environment(&self.env) {
            return Ok(Decision::Settled(verdict));
        }
        if !step.test {
            if let Some(verdict) = given::missing_directory(machine, self.cwd.as_deref()) {
                return Ok(Decision::Settled(verdict));
            }
        } else if let Some(line) = &stateful.test_name {
            return self.rehearse(line, machine, step).map(Decision::Settled);
        }
        let would =
            Verdict::would(format!("Command \"{}\" would have been executed", step.name)).change("cmd", step.name);
        let would = if stateful.on { reinterpret(would)? } else { would };
        Ok(Decision::Change(stateful, self.warned(would)))
    }

    /// The dry run of a stateful command, if there is a command for that.
    fn rehearse(&self, line: &str, machine: &dyn Probe, step: &Step<'_>) -> Result<Verdict> {
        if let Some(verdict) = given::missing_directory(machine, self.cwd.as_deref()) {
            return Ok(verdict);
        }
        let all = match self.arguments(line, step).and_then(|arguments| arguments.look(machine)) {
            Ok(finished) => finished.all(),
            Err(error) => return Ok(Verdict::bad(error.to_string())),
        };
        let succeeded = all.retcode == 0;
        let mut verdict = reinterpret(given::verdict(format!("Command \"{line}\" run"), all, false))?;
        if succeeded && !verdict.changes.is_empty() {
            verdict.result = None;
        }
        Ok(verdict)
    }

    fn apply(&self, stateful: &Stateful, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        let mut in_background = false;
        let finished = self.arguments(step.name, step).and_then(|arguments| {
            in_background = arguments.bg;
            arguments.execute(machine, false)
        });
        let mut all = match finished {
            Ok(finished) => finished.all(),
            Err(error) => {
                let problem = error.problem();
                return match problem.kind {
                    ProblemKind::Cancelled => Err(problem.into()),
                    _ => Ok(Verdict::bad(problem.text)),
                };
            }
        };
        if self.ignore_timeout.truth() && all.retcode == 1 && all.stdout.contains("Timed out after") {
            all.retcode = 0;
        }
        let comment = format!("Command \"{}\" run", step.name);
        let mut verdict = given::verdict(comment, all, self.hide_output.truth());
        if in_background {
            // The exit code is not known yet.
            verdict.changes.insert("retcode", Value::Null);
        }
        if stateful.on {
            verdict = reinterpret(verdict)?;
        }
        Ok(self.warned(verdict))
    }

    fn arguments(&self, line: &str, step: &Step<'_>) -> Result<CommandArguments> {
        let mut more = Map::from_iter([("cmd".into(), line.into()), ("python_shell".into(), true.into())]);
        if let Some(template) = self.kwargs.get("template") {
            more.insert("template", template.clone());
        }
        more.insert("saltenv", step.saltenv);
        let mut arguments: CommandArguments = given::arguments("cmd.run", step, more)?;
        // Hidden from the result, but available to other states.
        arguments.hide_output = false;
        if let Some(root) = self.root.as_deref().filter(|root| !root.is_empty()) {
            let shell = self.shell.as_deref().unwrap_or("/bin/sh");
            let argv = ["chroot", root, shell, "-c", line];
            arguments.cmd = Value::List(argv.into_iter().map(Value::from).collect());
            arguments.python_shell = Some(false);
        }
        Ok(arguments)
    }

    fn warned(&self, mut verdict: Verdict) -> Verdict {
        let own = RunStateArguments::NAMES;
        verdict.warnings.extend(given::strange("cmd.run", &self.kwargs, own, CommandArguments::NAMES));
        verdict
    }
}
