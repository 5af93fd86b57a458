//! Loads the roster of a command.

use std::path::{Path, PathBuf};

use rocksalt_backends::roster::{self, Settings};
use rocksalt_core::roster::{Roster, RosterEntry};
use rocksalt_core::{Secret, Value};

use crate::config::Config;
use crate::environment::ProcessEnvironment;
use crate::failure::Failure;

/// The options about the roster.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {
    /// The roster: a file, a directory, or a kind (flat, directory, sshconfig, ansible, scan, script)
    #[arg(long, global = true, value_name = "PATH|KIND", help_heading = "Roster")]
    pub roster: Option<String>,

    /// The roster's file, where --roster names its kind
    #[arg(long, global = true, value_name = "PATH", help_heading = "Roster")]
    pub roster_file: Option<String>,

    /// A target without any roster; may be given several times
    #[arg(long, global = true, value_name = "USER@ADDRESS[:PORT]", help_heading = "Roster", conflicts_with_all = ["roster", "roster_file"])]
    pub host: Vec<String>,

    /// Ask for the login password, for all targets that have none
    #[arg(long, visible_alias = "askpass", global = true, help_heading = "Roster")]
    pub ask_pass: bool,

    /// Ask for the sudo password, for all targets that have none
    #[arg(long, global = true, help_heading = "Roster")]
    pub ask_sudo_pass: bool,

    /// The private key, for all targets that have none
    #[arg(long, visible_alias = "priv", global = true, value_name = "FILE", help_heading = "Roster")]
    pub private_key: Option<std::path::PathBuf>,

    /// Take host keys that were never seen, for the targets of --host
    #[arg(long, global = true, help_heading = "Roster")]
    pub accept_new: bool,
}

impl Options {
    /// Whether the roster is that of the configuration, even if the command line names it too.
    pub fn is_configured(&self, config: &Config, environment: &ProcessEnvironment) -> bool {
        let named = match (&self.roster, &self.roster_file) {
            (None, None) => return true,
            (Some(path), None) | (None, Some(path)) => Path::new(path),
            (Some(_), Some(_)) => return false,
        };
        let configured = config.path(config.text("roster_file").as_deref().unwrap_or("roster"), environment);
        let same = |one: &Path, other: &Path| Some(one.canonicalize().ok()? == other.canonicalize().ok()?);
        config.get("roster").is_none() && same(named, &configured).unwrap_or(false)
    }
}

pub async fn load(options: &Options, config: &Config, environment: &ProcessEnvironment) -> Result<Roster, Failure> {
    let mut roster = match options.host.is_empty() {
        true => from_source(options, config, environment).await?,
        false => from_hosts(options)?,
    };
    let ask =
        |wanted: bool, question: &str| match wanted {
            false => Ok(None),
            true => match crate::prompt::ask(question) {
                Some(password) => Ok(Some(password)),
                None => Err(Failure::usage("there is no terminal to ask for a password on")
                    .hint("use `passwd_file` in the roster")),
            },
        };
    let password = ask(options.ask_pass, "Password: ")?;
    let sudo = ask(options.ask_sudo_pass, "sudo password: ")?;
    for entry in &mut roster.entries {
        complete(entry, options, password.as_ref(), sudo.as_ref());
    }
    Ok(roster)
}

/// Whether there is no roster at all: no option, no key, no file.
pub fn is_missing(options: &Options, config: &Config, environment: &ProcessEnvironment) -> bool {
    options.host.is_empty()
        && options.roster.is_none()
        && options.roster_file.is_none()
        && config.text("roster").is_none()
        && config.text("roster_file").is_none()
        && !config.path("roster", environment).exists()
}

fn complete(entry: &mut RosterEntry, options: &Options, password: Option<&Secret>, sudo: Option<&Secret>) {
    if entry.password.is_none() {
        entry.password = password.cloned();
    }
    if entry.keys.is_empty() {
        entry.keys.extend(options.private_key.clone());
    }
    if let Some(escalate) = &mut entry.escalate
        && escalate.password.is_none()
    {
        // As in Salt, sudo uses the login password if there is no other.
        escalate.password = sudo.cloned().or_else(|| entry.password.clone());
    }
}

fn from_hosts(options: &Options) -> Result<Roster, Failure> {
    let mut roster = Roster::default();
    for host in &options.host {
        let mut entry = roster::parse_host(host).map_err(|error| Failure::caused(&error))?;
        entry.accept_new = options.accept_new;
        if roster.get(&entry.id).is_none() {
            roster.entries.push(entry);
        }
    }
    Ok(roster)
}

async fn from_source(options: &Options, config: &Config, environment: &ProcessEnvironment) -> Result<Roster, Failure> {
    let mut settings = Settings { home: Some(environment.local_user.home.clone()), ..Settings::default() };
    settings.defaults = config.map("roster_defaults")?;
    if let Some(networks) = config.get("scan_networks") {
        settings.scan.networks = texts(networks);
    }
    if let Some(ports) = config.get("scan_ports") {
        settings.scan.ports = texts(ports).iter().filter_map(|port| port.parse().ok()).collect();
    }
    let (kind, path) = place(options, config, environment);
    settings.path = path;
    let caused = |error: roster::Error| Failure::caused(&error);
    let source = match &kind {
        Some(kind) => roster::open(kind, &settings).map_err(caused)?,
        None => {
            let Some(path) = settings.path.clone() else { return Err(no_roster(config)) };
            if options.roster.is_none() && options.roster_file.is_none() && !path.exists() {
                return Err(no_roster(config));
            }
            roster::open_path(&path, &settings).map_err(caused)?
        }
    };
    source.load().await.map_err(caused)
}

/// The kind of the roster, if one is named, and its path.
fn place(options: &Options, config: &Config, environment: &ProcessEnvironment) -> (Option<String>, Option<PathBuf>) {
    let kinds = || roster::SOURCES.iter().map(|(name, _)| *name);
    let named = options.roster.clone();
    let (kind, path) = match named {
        // The word is a kind's name, unless there is a file with that name.
        Some(name) if kinds().any(|kind| kind == name) && !Path::new(&name).exists() => {
            (Some(name), options.roster_file.clone())
        }
        Some(path) => (None, Some(path)),
        None => (config.text("roster"), options.roster_file.clone()),
    };
    let path = match (path, config.text("roster_file"), kind.as_deref()) {
        (Some(path), _, _) => Some(path.into()),
        (None, Some(path), _) => Some(config.path(&path, environment)),
        (None, None, Some("scan" | "sshconfig")) => None,
        (None, None, _) => Some(config.path("roster", environment)),
    };
    (kind, path)
}

/// The files that the roster is read from, as far as they are known.
pub fn files(options: &Options, config: &Config, environment: &ProcessEnvironment) -> Vec<PathBuf> {
    let Some(path) = place(options, config, environment).1 else { return Vec::new() };
    let inside = std::fs::read_dir(&path).into_iter().flatten().flatten().map(|file| file.path());
    inside.chain([path.clone()]).collect()
}

fn no_roster(config: &Config) -> Failure {
    let place = match &config.directory {
        Some(directory) => format!("there is no roster in {}", directory.display()),
        None => "there is no roster: nobody said which targets there are".to_owned(),
    };
    Failure::usage(place)
        .hint("`rocksalt init DIR` writes a small project; --roster names another file")
        .hint("--host user@address needs no roster at all")
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().map(ToString::to_string).collect(),
        one => vec![one.to_string()],
    }
}
