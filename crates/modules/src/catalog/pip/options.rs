//! [`Options`]: options of `pip install`, from the arguments that states and functions share.

use rocksalt_core::Value;
use rocksalt_macros::arguments;
use serde::{Deserialize, Serialize};

use super::super::file::Flag;
use super::super::tool::{self, Tool};
use crate::machine::Probe;
use crate::text::words;
use crate::{Error, Result};

/// Options of pip.
#[arguments]
#[allow(dead_code, reason = "some arguments are accepted only for compatibility with Salt")]
pub struct PipArguments {
    /// A requirements file, or several: paths, or `salt://…`.
    pub requirements: Value,
    /// The virtual environment, its python, or a pip; else the target's own.
    pub bin_env: Option<String>,
    /// Refused: current versions of pip don't have it.
    pub use_wheel: Value,
    /// Refused: current versions of pip don't have it.
    pub no_use_wheel: Value,
    /// A file for pip's log.
    pub log: Option<String>,
    /// The proxy: `user:password@host:port`.
    pub proxy: Option<String>,
    /// Seconds until a connection is given up.
    pub timeout: Option<u64>,
    /// A project, or several, to install in editable mode: paths or addresses.
    pub editable: Value,
    /// Where to look for archives besides: paths or addresses.
    pub find_links: Value,
    /// The index. A password in it is in no argument and no message.
    pub index_url: Option<String>,
    /// Another index.
    pub extra_index_url: Option<String>,
    /// Don't look in any index.
    pub no_index: Flag,
    /// Refused: current versions of pip don't have it.
    pub mirrors: Value,
    /// Refused: current versions of pip don't have it.
    pub build: Value,
    /// The directory to install into.
    pub target: Option<String>,
    /// Refused: current versions of pip don't have it.
    pub download: Value,
    /// As `cache_dir`.
    pub download_cache: Option<String>,
    /// The directory for checkouts of editable projects.
    pub source: Option<String>,
    /// The newest version, also of what is there.
    pub upgrade: Flag,
    /// Install again what is there.
    pub force_reinstall: Flag,
    /// Install as if nothing were there.
    pub ignore_installed: Flag,
    /// What to do with a path that is there: `s`, `i`, `w` or `b`.
    pub exists_action: Option<String>,
    /// Nothing that the packages need.
    pub no_deps: Flag,
    /// Refused: current versions of pip don't have it.
    pub no_install: Value,
    /// Refused: current versions of pip don't have it.
    pub no_download: Value,
    /// Refused: current versions of pip don't have it.
    pub install_options: Value,
    /// Options for the projects' `setup.py`.
    pub global_options: Value,
    /// The user to run pip as.
    pub user: Option<String>,
    /// The directory to run in.
    pub cwd: Option<String>,
    /// Include prereleases.
    pub pre_releases: Flag,
    /// A file with certificates.
    pub cert: Option<String>,
    /// Variables for pip.
    pub env_vars: Value,
    /// Accepted and ignored.
    pub use_vt: Value,
    /// A host that is trusted without a certificate.
    pub trusted_host: Option<String>,
    /// Keep nothing for later.
    pub no_cache_dir: Flag,
    /// The directory for what is kept for later.
    pub cache_dir: Option<String>,
    /// Packages to build from their sources: names, or `:all:`.
    pub no_binary: Value,
    /// Further options as they are: words, or maps of an option and its value.
    pub extra_args: Vec<Value>,
}

impl PipArguments {
    pub fn options(&self) -> Result<Options> {
        let ancient = [
            ("use_wheel", &self.use_wheel),
            ("no_use_wheel", &self.no_use_wheel),
            ("mirrors", &self.mirrors),
            ("build", &self.build),
            ("download", &self.download),
            ("no_install", &self.no_install),
            ("no_download", &self.no_download),
            ("install_options", &self.install_options),
        ];
        if let Some((name, _)) = ancient.iter().find(|(_, value)| value.truth()) {
            return Err(Error::arguments(format!("{name}: no pip of today has such an option"))
                .hint("leave it out, or give what you need with extra_args"));
        }
        let mut options = Options::default();
        options.secret("PIP_INDEX_URL", self.index_url.as_deref())?;
        options.secret("PIP_EXTRA_INDEX_URL", self.extra_index_url.as_deref())?;
        options.secret("PIP_PROXY", self.proxy.as_deref())?;
        options.value("--log", self.log.as_deref());
        options.value("--timeout", self.timeout.map(|seconds| seconds.to_string()).as_deref());
        for link in words::listed(&self.find_links) {
            options.value("--find-links", Some(&link));
        }
        if self.no_index.0 && (self.index_url.is_some() || self.extra_index_url.is_some()) {
            let text = "'no_index' and ('index_url' or 'extra_index_url') are mutually exclusive.";
            return Err(Error::arguments(text));
        }
        options.flag("--no-index", self.no_index.0);
        options.value("--target", self.target.as_deref());
        options.value("--cache-dir", self.download_cache.as_deref().or(self.cache_dir.as_deref()));
        options.value("--src", self.source.as_deref());
        options.flag("--upgrade", self.upgrade.0);
        options.flag("--force-reinstall", self.force_reinstall.0);
        options.flag("--ignore-installed", self.ignore_installed.0);
        options.value("--exists-action", self.exists_action.as_deref());
        options.flag("--no-deps", self.no_deps.0);
        options.flag("--no-cache-dir", self.no_cache_dir.0);
        options.flag("--pre", self.pre_releases.0);
        options.value("--cert", self.cert.as_deref());
        for option in words::listed(&self.global_options) {
            options.value("--global-option", Some(&option));
        }
        options.value("--trusted-host", self.trusted_host.as_deref());
        let no_binary = words::listed(&self.no_binary).join(",");
        options.value("--no-binary", Some(&no_binary).filter(|names| !names.is_empty()).map(String::as_str));
        options.further(&self.extra_args)?;
        options.editable = words::listed(&self.editable);
        options.requirements = words::listed(&self.requirements);
        options.bin_env = self.bin_env.clone();
        options.user = self.user.clone();
        options.cwd = self.cwd.clone();
        options.env.extend(tool::variables(&self.env_vars)?);
        Ok(options)
    }
}

/// The options of pip besides the packages.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Options {
    pub words: Vec<String>,
    /// Variables of pip that may contain a password, so that it isn't visible in the list of processes.
    pub env: Vec<(String, Option<String>)>,
    pub editable: Vec<String>,
    pub requirements: Vec<String>,
    pub bin_env: Option<String>,
    pub user: Option<String>,
    pub cwd: Option<String>,
}

impl Options {
    pub fn flag(&mut self, word: &str, on: bool) {
        if on {
            self.words.push(word.to_owned());
        }
    }

    pub fn value(&mut self, word: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.words.extend([word.to_owned(), value.to_owned()]);
        }
    }

    pub fn secret(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(()) };
        if value.contains(char::is_whitespace) {
            let shown = super::super::git::redacted(value);
            return Err(Error::arguments(format!("'{shown}' is not a valid URL")));
        }
        self.env.push((name.to_owned(), Some(value.to_owned())));
        Ok(())
    }

    pub fn further(&mut self, words: &[Value]) -> Result<()> {
        for word in words {
            match word {
                Value::Map(map) => {
                    for (key, value) in map.iter() {
                        if matches!(value, Value::Map(_) | Value::List(_)) {
                            return Err(Error::arguments(format!("extra_args: Too many levels in: {key}")));
                        }
                        self.words.extend([key.to_string(), value.to_string()]);
                    }
                }
                other => self.words.push(other.to_string()),
            }
        }
        Ok(())
    }

    /// The pip that the arguments select.
    pub fn tool(&self, machine: &dyn Probe) -> Result<Tool> {
        let mut tool = super::find::pip(machine, self.bin_env.as_deref())?;
        tool.user.clone_from(&self.user);
        tool.cwd.clone_from(&self.cwd);
        tool.env.extend(self.env.iter().cloned());
        Ok(tool)
    }

    /// The arguments of an installation; requirements are paths here.
    pub fn install(&self, packages: &[String], requirements: &[String]) -> Vec<String> {
        let mut words = vec!["install".to_owned()];
        words.extend(self.words.iter().cloned());
        for path in requirements {
            words.extend(["--requirement".to_owned(), path.clone()]);
        }
        for place in &self.editable {
            words.extend(["--editable".to_owned(), place.clone()]);
        }
        if !packages.is_empty() {
            words.push("--".into());
            words.extend(packages.iter().cloned());
        }
        words
    }
}

/// Adds variables that keep pip from prompting and from writing while it only reads.
pub fn looking(tool: &Tool) -> Tool {
    let quiet = Tool { env: tool.env.clone(), ..tool.clone() };
    quiet.with("PYTHONDONTWRITEBYTECODE", "1").with("PIP_NO_CACHE_DIR", "1")
}

pub fn said(output: &crate::machine::Output) -> (String, String) {
    let text = |bytes: &[u8]| super::super::git::redacted(String::from_utf8_lossy(bytes).trim_end());
    (text(&output.stdout), text(&output.stderr))
}
