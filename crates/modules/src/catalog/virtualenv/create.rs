//! Creates virtual environments, and the functions for them.

use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::super::tool::{Tool, ended};
use super::Function;
use crate::machine::{Output, Probe, System};
use crate::text::words::listed;
use crate::{Error, Result};

/// How to create an environment.
#[derive(Default)]
pub struct VirtualenvSpec {
    pub path: String,
    pub venv_bin: Option<String>,
    pub system_site_packages: bool,
    pub clear: bool,
    pub python: Option<String>,
    pub extra_search_dir: Vec<String>,
    pub never_download: Option<bool>,
    pub prompt: Option<String>,
    pub symlinks: bool,
    pub upgrade: bool,
    pub user: Option<String>,
}

impl VirtualenvSpec {
    /// The program that creates it, with its first arguments.
    pub fn tool(&self, machine: &dyn Probe) -> Result<(Tool, bool)> {
        let python = self.python.as_deref().map(str::trim).filter(|python| !python.is_empty());
        let runs = |argv: &[&str]| {
            let tool = Tool::new(argv.iter().copied()).with("PYTHONDONTWRITEBYTECODE", "1");
            tool.look(machine, &["--help"]).is_ok_and(|output| output.success())
        };
        let own = machine.options().get("venv_bin").and_then(Value::as_str).map(str::to_owned);
        let program = self.venv_bin.clone().or(own);
        let (argv, module): (Vec<String>, bool) = match program.as_deref() {
            Some("venv") => (vec![python.unwrap_or("python3").into(), "-m".into(), "venv".into()], true),
            Some(program) if is_python(program) => {
                if python.is_some() {
                    let text = "Pass the target interpreter either as `venv_bin` or as `python`, not both.";
                    return Err(Error::arguments(text));
                }
                (vec![program.into(), "-m".into(), "venv".into()], true)
            }
            Some(program) => (vec![program.into()], program.contains("venv") && !program.contains("virtualenv")),
            None if runs(&["virtualenv"]) => (vec!["virtualenv".into()], false),
            None => (vec![python.unwrap_or("python3").into(), "-m".into(), "venv".into()], true),
        };
        let refused =
            |option: &str| Error::arguments(format!("The `{option}` option is not supported by '{}'", argv.join(" ")));
        if module && !self.extra_search_dir.is_empty() {
            return Err(refused("extra_search_dir"));
        }
        if module && self.never_download.is_some() {
            return Err(refused("never_download"));
        }
        if !module && (self.upgrade || self.symlinks) {
            return Err(refused(if self.upgrade { "upgrade" } else { "symlinks" }));
        }
        Ok((Tool { user: self.user.clone(), ..Tool::new(argv) }, module))
    }

    fn words(&self, module: bool) -> Vec<String> {
        let mut words = Vec::new();
        let mut flag = |word: &str, on: bool| words.extend(on.then(|| word.to_owned()));
        flag("--upgrade", self.upgrade);
        flag("--symlinks", self.symlinks);
        flag("--never-download", self.never_download == Some(true));
        flag("--download", self.never_download == Some(false));
        flag("--clear", self.clear);
        flag("--system-site-packages", self.system_site_packages);
        if !module {
            words.extend(self.python.as_ref().map(|python| format!("--python={python}")));
            words.extend(self.extra_search_dir.iter().map(|path| format!("--extra-search-dir={path}")));
        }
        words.extend(self.prompt.as_ref().map(|prompt| format!("--prompt={prompt}")));
        words.push(self.path.clone());
        words
    }

    /// Creates the environment. Removes what a failed attempt leaves behind.
    pub fn make(&self, machine: &dyn System) -> Result<Output> {
        let (tool, module) = self.tool(machine)?;
        let there = |machine: &dyn Probe| matches!(machine.stat(Path::new(&self.path), true), Ok(Some(_)));
        let before = there(machine);
        let output = tool.act(machine, &self.words(module))?;
        if !output.success() && !before && there(machine) {
            let _ = machine.remove(Path::new(&self.path));
        }
        Ok(output)
    }
}

fn is_python(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    name.strip_prefix("python").is_some_and(|rest| rest.chars().all(|letter| letter.is_ascii_digit() || letter == '.'))
}

/// Creates a virtual environment.
///
/// ```text
/// rocksalt '*' virtualenv.create /srv/app/venv
/// ```
#[function("virtualenv.create", changes)]
pub struct Create {
    /// The directory.
    path: String,
    /// `virtualenv`, `venv` (the python's own module), or a python; else what there is.
    venv_bin: Option<String>,
    /// With the packages of the system.
    system_site_packages: bool,
    /// Empty what is there first.
    clear: bool,
    /// The python to make it of.
    python: Option<String>,
    /// Directories with archives; only for virtualenv.
    extra_search_dir: Value,
    /// Download nothing; only for virtualenv.
    never_download: Option<bool>,
    /// What a shell shows when it is active.
    prompt: Option<String>,
    /// Link to the python rather than copy it; only for venv.
    symlinks: bool,
    /// Make it fit for a newer python; only for venv.
    upgrade: bool,
    /// The user to run as.
    user: Option<String>,
}

impl Function for Create {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let request = VirtualenvSpec {
            path: super::super::file::absolute(machine, &self.path)?.to_string_lossy().into_owned(),
            venv_bin: self.venv_bin,
            system_site_packages: self.system_site_packages,
            clear: self.clear,
            python: self.python,
            extra_search_dir: listed(&self.extra_search_dir),
            never_download: self.never_download,
            prompt: self.prompt,
            symlinks: self.symlinks,
            upgrade: self.upgrade,
            user: self.user,
        };
        Ok(ended(&request.make(machine)?))
    }

    fn retcode(output: &Map) -> i32 {
        output.get("retcode").and_then(Value::as_i64).map_or(0, |code| i32::try_from(code).unwrap_or(1))
    }
}

/// The site-packages directory of a virtual environment.
///
/// ```text
/// rocksalt '*' virtualenv.get_site_packages /srv/app/venv
/// ```
#[function("virtualenv.get_site_packages", changes)]
pub struct GetSitePackages {
    /// The environment.
    venv: String,
}

impl Function for GetSitePackages {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let python = format!("{}/bin/python", self.venv.trim_end_matches('/'));
        if !matches!(machine.stat(Path::new(&python), true), Ok(Some(_))) {
            return Err(Error::failed(format!(
                "Path {}/bin does not appear to be a virtualenv: python not found.",
                self.venv
            )));
        }
        let code = "import sysconfig; print(sysconfig.get_path('purelib'))";
        let text = Tool::new([python.as_str()]).text(machine, &["-c", code])?;
        Ok(text.trim_end().to_owned())
    }
}
