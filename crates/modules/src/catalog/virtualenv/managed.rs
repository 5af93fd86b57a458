//! `virtualenv.managed`: an environment, and the packages in it.

use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::super::change;
use super::super::file::Flag;
use super::super::pip::{self, Options};
use super::super::tool::Tool;
use super::super::{Decision, State, Step, Thing, Touches, Verdict};
use super::create::VirtualenvSpec;
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};
use crate::text::words::listed;

/// Makes sure that there is a virtual environment, with packages in it.
///
/// ```yaml
/// /srv/app/venv:
///   virtualenv.managed:
///     - requirements: /srv/app/requirements.txt
///     - user: app
/// ```
#[state("virtualenv.managed")]
#[allow(dead_code, reason = "some arguments are accepted only for compatibility with Salt")]
pub struct Managed {
    /// The directory.
    name: String,
    /// `virtualenv`, `venv` (the python's own module), or a python; else what there is.
    venv_bin: Option<String>,
    /// A requirements file, or several: paths, or `salt://…`.
    requirements: Value,
    /// With the packages of the system.
    system_site_packages: Flag,
    /// Accepted and ignored.
    distribute: Flag,
    /// Empty what is there first.
    clear: Flag,
    /// The python to make it of.
    python: Option<String>,
    /// Directories with archives; only for virtualenv.
    extra_search_dir: Value,
    /// Download nothing; only for virtualenv.
    never_download: Option<bool>,
    /// What a shell shows when it is active.
    prompt: Option<String>,
    /// The user to run as.
    user: Option<String>,
    /// The directory to run pip in.
    cwd: Option<String>,
    /// The index. A password in it is in no argument and no message.
    index_url: Option<String>,
    /// Another index.
    extra_index_url: Option<String>,
    /// Include prereleases.
    pre_releases: Flag,
    /// Nothing that the packages need.
    no_deps: Flag,
    /// What pip does with a path that is there: `s`, `i`, `w` or `b`.
    pip_exists_action: Option<String>,
    /// Install as if nothing were there.
    pip_ignore_installed: Flag,
    /// The proxy.
    proxy: Option<String>,
    /// Accepted and ignored.
    use_vt: Value,
    /// Variables for pip.
    env_vars: Value,
    /// The newest versions, also of what is there.
    pip_upgrade: Flag,
    /// Packages.
    pip_pkgs: Value,
    /// Keep nothing for later.
    pip_no_cache_dir: Flag,
    /// The directory for what is kept for later.
    pip_cache_dir: Option<String>,
    /// Packages to build from their sources: names, or `:all:`.
    no_binary: Value,
    /// Where to look for archives besides: paths or addresses.
    find_links: Value,
    /// Don't look in any index.
    no_index: Flag,
}

#[derive(Serialize, Deserialize)]
pub struct VirtualenvPlan {
    make: bool,
    options: Options,
    /// The previous content, which is removed.
    cleared: Option<(Vec<String>, String)>,
    saltenv: String,
}

impl State for Managed {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let name = &self.name;
        if !name.starts_with('/') {
            return Ok(Decision::Settled(Verdict::bad(format!("'{name}' is not an absolute path"))));
        }
        let options = self.options()?;
        let there = self.is_there(machine);
        let clear = there && self.clear.0;
        let mut plan =
            VirtualenvPlan { make: !there || clear, options, cleared: None, saltenv: step.saltenv.to_owned() };
        let mut changes = Map::new();
        if plan.make
            && let Err(error) = self.request().tool(machine)
        {
            return Ok(Decision::Settled(Verdict::bad(format!("Failed to create virtualenv: {error}"))));
        }
        if clear {
            let packages = pip::freeze(machine, &plan.options.tool(machine)?).unwrap_or_default();
            let version = version(machine, &format!("{name}/bin/python"));
            changes = cleared(&packages, &version);
            plan.cleared = Some((packages, version));
        }
        if !step.test {
            return Decision::own(&plan, Verdict::default());
        }
        if plan.make {
            let (tool, _) = self.request().tool(machine)?;
            let python = match (&self.python, tool.argv.as_slice()) {
                (Some(python), _) => python.clone(),
                (None, [python, module, _]) if module == "-m" => python.clone(),
                _ => "python3".into(),
            };
            changes.insert("new", version(machine, &python));
            let text = match clear {
                true => format!("Virtualenv {name} is set to be cleared"),
                false => format!("Virtualenv {name} is set to be created"),
            };
            return Decision::own(&plan, Verdict::would(text).changes(changes));
        }
        let text = format!("Virtualenv {name} is already created");
        let Some(seen) = self.foreseen(machine, &plan)?.filter(|changes| !changes.is_empty()) else {
            return Decision::own(&plan, Verdict::good(text));
        };
        Decision::own(&plan, Verdict::would(text).change("packages", seen))
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: VirtualenvPlan = plan.into_own()?;
        let mut verdict = Verdict::good("virtualenv exists");
        if let Some((packages, version)) = &plan.cleared {
            verdict.changes = cleared(packages, version);
        }
        if plan.make {
            let output = self.request().make(machine)?;
            if !output.success() {
                return Ok(Verdict::bad(super::super::tool::said(&output)));
            }
            verdict.changes.insert("new", version(machine, &format!("{}/bin/python", self.name)));
            verdict.comment =
                if self.clear.0 { "Cleared existing virtualenv" } else { "Created new virtualenv" }.into();
        }
        let packages = listed(&self.pip_pkgs);
        if packages.is_empty() && plan.options.requirements.is_empty() {
            return Ok(verdict);
        }
        let requirements = match pip::requirements(machine, &plan.options, &plan.saltenv)? {
            Ok(paths) => paths,
            Err(text) => return Ok(Verdict { result: Some(false), comment: text, ..verdict }),
        };
        let tool = plan.options.tool(machine)?;
        let before = pip::freeze(machine, &tool)?;
        let output = tool.act(machine, &plan.options.install(&packages, &requirements))?;
        if !output.success() {
            let (stdout, stderr) = pip::said(&output);
            verdict.comment += &format!("\n{stdout}\n{stderr}");
            verdict.result = Some(false);
        }
        let after = pip::freeze(machine, &tool)?;
        let new: Vec<String> = after.iter().filter(|line| !before.contains(line)).cloned().collect();
        let old: Vec<String> = before.iter().filter(|line| !after.contains(line)).cloned().collect();
        if !new.is_empty() || !old.is_empty() {
            verdict.changes.insert("packages", change(lines(old), lines(new)));
        }
        Ok(verdict)
    }

    fn touches(&self) -> Touches {
        let requirements = listed(&self.requirements).into_iter().chain(listed(&self.find_links));
        let touches = Touches::nothing().writes(Thing::Path(self.name.clone())).reads(Thing::Network);
        let touches =
            requirements.filter(|path| path.starts_with('/')).fold(touches, |all, path| all.reads(Thing::Path(path)));
        match &self.user {
            Some(user) => touches.reads(Thing::User(user.clone())).writes(Thing::Path(format!("/home/{user}/.cache"))),
            None => touches.writes(Thing::Path("/root".into())),
        }
    }
}

impl Managed {
    fn is_there(&self, machine: &dyn Probe) -> bool {
        matches!(machine.stat(Path::new(&format!("{}/bin/python", self.name)), true), Ok(Some(_)))
    }

    fn request(&self) -> VirtualenvSpec {
        VirtualenvSpec {
            path: self.name.clone(),
            venv_bin: self.venv_bin.clone(),
            system_site_packages: self.system_site_packages.0,
            clear: self.clear.0,
            python: self.python.clone(),
            extra_search_dir: listed(&self.extra_search_dir),
            never_download: self.never_download,
            prompt: self.prompt.clone(),
            user: self.user.clone(),
            ..VirtualenvSpec::default()
        }
    }

    fn options(&self) -> Result<Options> {
        let mut options = Options { bin_env: Some(self.name.clone()), ..Options::default() };
        options.user.clone_from(&self.user);
        options.cwd.clone_from(&self.cwd);
        options.requirements = listed(&self.requirements);
        options.secret("PIP_INDEX_URL", self.index_url.as_deref())?;
        options.secret("PIP_EXTRA_INDEX_URL", self.extra_index_url.as_deref())?;
        options.secret("PIP_PROXY", self.proxy.as_deref())?;
        for link in listed(&self.find_links) {
            options.value("--find-links", Some(&link));
        }
        options.flag("--no-index", self.no_index.0);
        options.flag("--pre", self.pre_releases.0);
        options.flag("--no-deps", self.no_deps.0);
        options.value("--exists-action", self.pip_exists_action.as_deref());
        options.flag("--ignore-installed", self.pip_ignore_installed.0);
        options.flag("--upgrade", self.pip_upgrade.0);
        options.flag("--no-cache-dir", self.pip_no_cache_dir.0);
        options.value("--cache-dir", self.pip_cache_dir.as_deref());
        let no_binary = listed(&self.no_binary).join(",");
        options.value("--no-binary", Some(no_binary.as_str()).filter(|names| !names.is_empty()));
        options.env.extend(super::super::tool::variables(&self.env_vars)?);
        Ok(options)
    }

    /// The predicted changes in an existing environment, as far as pip reports them.
    fn foreseen(&self, machine: &dyn Probe, plan: &VirtualenvPlan) -> Result<Option<Map>> {
        let (packages, requirements) = (listed(&self.pip_pkgs), &plan.options.requirements);
        if packages.is_empty() && requirements.is_empty() || requirements.iter().any(|path| path.starts_with("salt://"))
        {
            return Ok(None);
        }
        let tool = plan.options.tool(machine)?;
        let Some(seen) = pip::foreseen(machine, &tool, &plan.options.install(&packages, requirements)) else {
            return Ok(None);
        };
        let before = pip::freeze(machine, &tool)?;
        let name = |line: &String| pip::normal(line.split(['=', ' ']).next().unwrap_or_default());
        let (mut new, mut old) = (Vec::new(), Vec::new());
        for (package, version) in &seen {
            let known = before.iter().find(|line| name(line) == *package);
            let line = format!("{package}=={version}");
            if known != Some(&line) {
                old.extend(known.cloned());
                new.push(line);
            }
        }
        new.sort();
        Ok(Some(if new.is_empty() { Map::new() } else { change(lines(old), lines(new)) }))
    }
}

/// The version that a Python reports.
fn version(machine: &dyn Probe, python: &str) -> String {
    let output = Tool::new([python]).look(machine, &["-V"]);
    output.map(|output| super::super::tool::said(&output)).unwrap_or_default()
}

fn cleared(packages: &[String], version: &str) -> Map {
    Map::from_iter([("cleared_packages".into(), lines(packages.to_vec())), ("old".into(), version.into())])
}

/// A list; as in Salt, an empty one is an empty text.
fn lines(lines: Vec<String>) -> Value {
    if lines.is_empty() { "".into() } else { Value::List(lines.into_iter().map(Value::from).collect()) }
}
