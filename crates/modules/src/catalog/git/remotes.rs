//! Functions that access remote repositories.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::access::{RemoteAccess, redacted};
use super::inspect::forgiven;
use super::options::AccessOptions;
use super::run::Git;
use super::{Function, read, sound};
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// Clones a repository.
///
/// ```text
/// rocksalt '*' git.clone /srv/app https://git.example.com/app.git
/// ```
#[function("git.clone", changes)]
pub struct Clone {
    /// The directory.
    #[required]
    cwd: Option<String>,
    /// The address of the remote repository.
    url: String,
    /// The name of a directory in `cwd`, where that is meant.
    name: Option<String>,
    #[flatten]
    access: AccessOptions,
}

impl Function for Clone {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let (git, url) = self.access.git(machine, self.cwd.as_deref(), &self.url)?;
        sound::url(&self.url)?;
        let cwd = self.cwd.as_deref().ok_or_else(|| Error::arguments("cwd: the directory is missing"))?;
        let mut place = sound::directory(machine, cwd, self.access.user.as_deref());
        if let Some(name) = &self.name {
            place = place.join(name);
        }
        let words = self.access.line(&["clone"], &["--", &url, &place.to_string_lossy()])?;
        forgiven(git.within("/").output(&words), self.access.ignore_retcode)?;
        Ok(true)
    }
}

/// Fetches from a remote repository, and returns what was new.
///
/// ```text
/// rocksalt '*' git.fetch /srv/app origin
/// ```
#[function("git.fetch", changes)]
pub struct Fetch {
    /// The repository.
    #[required]
    cwd: Option<String>,
    /// The name of the remote repository.
    remote: Option<String>,
    /// Also what doesn't follow from what is there.
    force: bool,
    /// Pairs of names: a list, or a comma-separated text.
    refspecs: Vec<String>,
    #[flatten]
    access: AccessOptions,
}

impl Function for Fetch {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let (git, _) = self.access.git(machine, self.cwd.as_deref(), self.remote.as_deref().unwrap_or_default())?;
        let mut rest: Vec<&str> = Vec::new();
        rest.extend(self.remote.as_deref().map(sound::url).transpose()?);
        for pair in self.refspecs.iter().flat_map(|pairs| pairs.split(',')) {
            rest.push(sound::name("refspecs", pair)?);
        }
        let command: &[&str] = if self.force { &["fetch", "--force"] } else { &["fetch"] };
        let words = self.access.line(command, &rest)?;
        Ok(read::fetched(&forgiven(git.merged(&words), self.access.ignore_retcode)?))
    }
}

/// The refs of a remote repository, with their commits.
///
/// ```text
/// rocksalt '*' git.ls_remote /srv/app origin main
/// ```
#[function("git.ls_remote", changes)]
pub struct LsRemote {
    /// The repository that `remote` is a name in.
    cwd: Option<String>,
    /// The name of the remote repository, or its address.
    remote: Option<String>,
    /// Only refs that match.
    #[rename("ref")]
    reference: Option<String>,
    #[flatten]
    access: AccessOptions,
}

impl Function for LsRemote {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let (git, url) = self.access.git(machine, self.cwd.as_deref(), self.remote.as_deref().unwrap_or("origin"))?;
        let mut rest = vec![sound::url(&url)?];
        rest.extend(self.reference.as_deref().map(|name| sound::name("ref", name)).transpose()?);
        let words = self.access.line(&["ls-remote"], &rest)?;
        Ok(map_of(&forgiven(git.output(&words), self.access.ignore_retcode)?))
    }
}

/// Fetches and merges.
///
/// ```text
/// rocksalt '*' git.pull /srv/app opts='--rebase origin main'
/// ```
#[function("git.pull", changes)]
pub struct Pull {
    /// The repository.
    #[required]
    cwd: Option<String>,
    #[flatten]
    access: AccessOptions,
}

impl Function for Pull {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let (git, _) = self.access.git(machine, self.cwd.as_deref(), "")?;
        forgiven(git.output(&self.access.line(&["pull"], &[])?), self.access.ignore_retcode)
    }
}

/// Pushes commits to a remote repository.
///
/// ```text
/// rocksalt '*' git.push /srv/app origin main
/// ```
#[function("git.push", changes)]
pub struct Push {
    /// The repository.
    #[required]
    cwd: Option<String>,
    /// The name of the remote repository, or its address.
    remote: String,
    /// The branch, tag or pair of names.
    #[rename("ref")]
    reference: String,
    #[flatten]
    access: AccessOptions,
}

impl Function for Push {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let (git, url) = self.access.git(machine, self.cwd.as_deref(), &self.remote)?;
        let rest = [sound::url(&url)?, sound::name("ref", &self.reference)?];
        forgiven(git.output(&self.access.line(&["push"], &rest)?), self.access.ignore_retcode)
    }
}

/// Runs a command of `git submodule`.
///
/// ```text
/// rocksalt '*' git.submodule /srv/app update opts='--init --recursive'
/// ```
#[function("git.submodule", changes)]
pub struct Submodule {
    /// The repository.
    #[required]
    cwd: Option<String>,
    /// `update`, `init`, `add`, `status` …
    command: String,
    #[flatten]
    access: AccessOptions,
}

impl Function for Submodule {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        // No credentials: submodules may be on other servers.
        let (git, _) = self.access.git(machine, self.cwd.as_deref(), "")?;
        let command = ["submodule", sound::name("command", &self.command)?];
        forgiven(git.output(&self.access.line(&command, &[])?), self.access.ignore_retcode)
    }
}

/// The refs of a remote repository by its address, with their commits.
///
/// ```text
/// rocksalt '*' git.remote_refs https://git.example.com/app.git heads=True
/// ```
#[function("git.remote_refs", reads)]
pub struct RemoteRefs {
    /// The address.
    url: String,
    /// Only branches.
    heads: bool,
    /// Only tags.
    tags: bool,
    /// The user to run git as.
    user: Option<String>,
    /// The private key for ssh, or several: paths, or `salt://…`.
    identity: Value,
    /// The user's name for https.
    https_user: Option<String>,
    /// The password for https. It is in no argument and no message.
    #[secret]
    https_pass: Option<String>,
    /// Return an empty result instead of an error if git fails.
    ignore_retcode: bool,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
    /// Only refs that match.
    filter: Option<String>,
}

impl Function for RemoteRefs {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        sound::url(&self.url)?;
        let login = (self.https_user.as_deref(), self.https_pass.as_deref());
        let saltenv = self.saltenv.as_deref().unwrap_or("base");
        let (url, access) =
            RemoteAccess::new(machine, &self.url, &self.identity, login, saltenv).map_err(Error::arguments)?;
        let mut words = vec!["ls-remote"];
        words.extend(self.heads.then_some("--heads"));
        words.extend(self.tags.then_some("--tags"));
        words.extend(["--", &url]);
        words.extend(self.filter.as_deref());
        let git = Git::looking(machine, "/", self.user.as_deref()).with(&access);
        Ok(map_of(&forgiven(git.output(&words), self.ignore_retcode)?))
    }
}

/// The remote repositories of a repository, with their addresses.
///
/// ```text
/// rocksalt '*' git.remotes /srv/app
/// ```
#[function("git.remotes", reads)]
pub struct Remotes {
    /// The repository.
    cwd: String,
    /// The user to run git as.
    user: Option<String>,
    /// Show no passwords that addresses carry.
    #[default(true)]
    redact_auth: bool,
}

impl Function for Remotes {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        remotes(machine, &self.cwd, self.user.as_deref(), self.redact_auth)
    }
}

/// The addresses of one remote repository.
///
/// ```text
/// rocksalt '*' git.remote_get /srv/app remote=origin
/// ```
#[function("git.remote_get", reads)]
pub struct RemoteGet {
    /// The repository.
    cwd: String,
    /// The name of the remote repository.
    remote: Option<String>,
    /// The user to run git as.
    user: Option<String>,
    /// Show no passwords that addresses carry.
    #[default(true)]
    redact_auth: bool,
}

impl Function for RemoteGet {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let remote = self.remote.as_deref().unwrap_or("origin");
        get(machine, &self.cwd, remote, self.user.as_deref(), self.redact_auth)
    }
}

/// Sets the address of a remote repository.
///
/// ```text
/// rocksalt '*' git.remote_set /srv/app https://git.example.com/app.git remote=upstream
/// ```
#[function("git.remote_set", changes)]
pub struct RemoteSet {
    /// The repository.
    cwd: String,
    /// The address. A password in it is stored with it; better give it where it is used.
    url: String,
    /// The name of the remote repository.
    remote: Option<String>,
    /// The user to run git as.
    user: Option<String>,
    /// Another address to push to.
    push_url: Option<String>,
}

impl Function for RemoteSet {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let remote = sound::name("remote", self.remote.as_deref().unwrap_or("origin"))?;
        let (url, user) = (sound::url(&self.url)?, self.user.as_deref());
        let push = self.push_url.as_deref().map(sound::url).transpose()?;
        let known = remotes(machine, &self.cwd, user, true)?.contains_key(remote);
        let git = Git::acting(machine, sound::directory(machine, &self.cwd, user), user);
        git.output(&["remote", if known { "set-url" } else { "add" }, "--", remote, url])?;
        if let Some(push) = push {
            git.output(&["remote", "set-url", "--push", "--", remote, push])?;
        }
        get(machine, &self.cwd, remote, user, true)
    }
}

fn get(machine: &dyn Probe, cwd: &str, remote: &str, user: Option<&str>, redact: bool) -> Result<Value> {
    let all = remotes(machine, cwd, user, redact)?;
    all.get(remote)
        .cloned()
        .ok_or_else(|| Error::failed(format!("Remote '{remote}' not present in git checkout located at {cwd}")))
}

fn remotes(machine: &dyn Probe, cwd: &str, user: Option<&str>, redact: bool) -> Result<Map> {
    let git = Git::looking(machine, sound::directory(machine, cwd, user), user);
    let mut found = Map::new();
    for (name, action, url) in read::remotes(&git.output(&["remote", "--verbose"])?) {
        let mut known = found.get(name.as_str()).and_then(Value::as_map).cloned().unwrap_or_default();
        known.insert(action, if redact { redacted(&url) } else { url });
        found.insert(name, known);
    }
    Ok(found)
}

fn map_of(text: &str) -> Map {
    read::refs(text).into_iter().map(|(name, commit)| (name.into(), commit.into())).collect()
}
