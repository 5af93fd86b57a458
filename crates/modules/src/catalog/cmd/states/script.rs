//! `cmd.script`, and `cmd.wait_script`, which runs only if a watched state has changed.

use rocksalt_core::{Map, Value, call::ProblemKind};
use rocksalt_macros::{arguments, state};

use super::super::super::arguments::Arguments as _;
use super::super::script::ScriptArguments;
use super::stateful::{Stateful, reinterpret};
use super::{Decision, State, Step, Verdict, given, waiting};
use crate::catalog::Plan;
use crate::catalog::cp::source::{self, ContentSource};
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// Fetches a script and runs it.
///
/// ```yaml
/// install:
///   cmd.script:
///     - source: salt://scripts/install.sh
///     - args: --force "two words"
///     - creates: /opt/it
/// ```
///
/// Outputs: `stdout`, `stderr`, `retcode`, `pid`.
#[state("cmd.script", watches)]
pub struct Script(ScriptStateArguments);

/// Fetches a script and runs it if something that it watches has changed.
///
/// ```yaml
/// salt://scripts/rebuild.sh:
///   cmd.wait_script:
///     - watch:
///       - file: /etc/it.conf
/// ```
#[state("cmd.wait_script", watches)]
pub struct WaitScript(ScriptStateArguments);

/// A script, and how to run it.
#[arguments]
#[allow(dead_code, reason = "most go as they are to the function that runs scripts")]
struct ScriptStateArguments {
    /// The script's source, or (with `source`) any word and then its arguments.
    name: Value,
    /// `salt://…`, `http(s)://…` or a path on the target.
    source: Option<String>,
    /// Render the script first, with this renderer: `jinja`.
    template: Option<String>,
    /// The directory to run in, absolute. Else it is the user's home.
    cwd: Option<String>,
    /// Run as this user, with its groups, home and shell variables.
    runas: Option<String>,
    /// Only used on Windows.
    #[secret]
    password: Option<String>,
    /// The shell that reads the command line; the script's own first line says what runs the script.
    shell: Option<String>,
    /// Variables for the script: a map, or a list of maps.
    env: Value,
    /// The script says itself what it changed, as for `cmd.run`.
    stateful: Value,
    /// End the script and all that it started after this many seconds.
    timeout: Value,
    /// Accepted and ignored: output is streamed anyway.
    use_vt: Value,
    /// The level at which the output is logged; `quiet` for not at all.
    output_loglevel: Value,
    /// Show no output in the result; other states can still use it.
    hide_output: Value,
    /// Variables for the template, where `context` has none.
    defaults: Value,
    /// Variables for the template.
    context: Value,
    /// Exit codes that count as success besides 0.
    success_retcodes: Value,
    /// Texts whose presence in the output counts as success.
    success_stdout: Value,
    /// Texts whose presence in standard error counts as success.
    success_stderr: Value,
    /// Whatever else `cmd.script` takes: `args`, `stdin`, `group` …
    kwargs: Map,
}

impl State for Script {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        self.0.plan(machine, step, Stateful::of(&self.0.stateful).on)?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        let stateful: bool = plan.into_own()?;
        self.0.apply(stateful, machine, step)
    }

    fn watched(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        self.0.plan(machine, step, self.0.stateful.truth())?.into_plan()
    }
}

impl State for WaitScript {
    fn plan(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(waiting())
    }

    fn apply(&self, plan: Plan, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        let stateful: bool = plan.into_own()?;
        self.0.apply(stateful, machine, step)
    }

    fn watched(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        self.0.plan(machine, step, self.0.stateful.truth())?.into_plan()
    }
}

impl ScriptStateArguments {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>, stateful: bool) -> Result<Decision<bool>> {
        if let Some(verdict) = given::wrong_environment(&self.env) {
            return Ok(Decision::Settled(verdict));
        }
        for (name, value) in [("context", &self.context), ("defaults", &self.defaults)] {
            if value.truth() && value.as_map().is_none() {
                let text = format!("Invalidly-formatted '{name}' parameter. Must be formed as a dict.");
                return Ok(Decision::Settled(Verdict::bad(text)));
            }
        }
        if !step.test
            && let Some(verdict) = given::missing_directory(machine, self.cwd.as_deref())
        {
            return Ok(Decision::Settled(verdict));
        }
        let would = Verdict::would(format!("Command '{}' would have been executed", step.name));
        Ok(Decision::Change(stateful, self.warned(if stateful { reinterpret(would)? } else { would })))
    }

    fn apply(&self, stateful: bool, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        let arguments = self.arguments(step)?;
        let source = arguments.source.clone();
        let done =
            fetch(machine, &source, step.saltenv).and_then(|content| arguments.execute_content(machine, content));
        let all = match done {
            Ok(all) => all,
            Err(error) => {
                let problem = error.problem();
                return match problem.kind {
                    ProblemKind::Cancelled => Err(problem.into()),
                    _ => Ok(Verdict::bad(problem.text)),
                };
            }
        };
        let comment = match all.cache_error {
            true => format!("Unable to cache script {source} from saltenv '{}'", step.saltenv),
            false => format!("Command '{}' run", step.name),
        };
        let verdict = given::verdict(comment, all, self.hide_output.truth());
        Ok(self.warned(if stateful { reinterpret(verdict)? } else { verdict }))
    }

    fn arguments(&self, step: &Step<'_>) -> Result<ScriptArguments> {
        let source = self.source.clone().unwrap_or_else(|| step.name.to_owned());
        let mut more = Map::from_iter([
            ("source".into(), source.into()),
            ("python_shell".into(), true.into()),
            ("saltenv".into(), step.saltenv.into()),
            ("hide_output".into(), false.into()),
        ]);
        if let Some(template) = &self.template {
            more.insert("template", template.as_str());
        }
        for (name, value) in [("context", &self.context), ("defaults", &self.defaults)] {
            more.insert(name, value.as_map().cloned().unwrap_or_default());
        }
        // Without `args`, the words of the name after the first are the arguments.
        if !self.kwargs.get("args").is_some_and(Value::truth) && step.name.split_whitespace().count() > 1 {
            more.insert("args", step.name.split_once(' ').map_or("", |(_, rest)| rest));
        }
        given::arguments("cmd.script", step, more)
    }

    fn warned(&self, mut verdict: Verdict) -> Verdict {
        let own = ScriptStateArguments::NAMES;
        verdict.warnings.extend(given::strange("cmd.script", &self.kwargs, own, ScriptArguments::NAMES));
        verdict
    }
}

/// The content of a source; a file of the tree as this run sees it.
fn fetch(machine: &dyn System, source: &str, saltenv: &str) -> Result<Option<Vec<u8>>> {
    match ContentSource::parse(machine, source, Some(saltenv))? {
        ContentSource::Tree { path, saltenv } => {
            Ok(machine.tree().read(&saltenv, &path)?.map(|content| content.to_vec()))
        }
        ContentSource::Local(path) if !path.is_absolute() => {
            Err(Error::arguments(format!("'{source}' is no absolute path")))
        }
        _ => source::content(machine, source, Some(saltenv)),
    }
}
