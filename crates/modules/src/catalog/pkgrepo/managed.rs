//! `pkgrepo.managed`: a repository is configured.

use std::path::PathBuf;

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::apt::{AptSources, RepositorySpec};
use super::repository_change::{From, RepositoryChange, RepositoryKey};
use super::{Decision, Flag, RepositoryFormat, State, Step, Touches, Verdict, form, ini, sources};
use crate::catalog::Plan;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// Makes sure that packages can be had from a repository.
///
/// ```yaml
/// deb [signed-by=/etc/apt/keyrings/tool.gpg] https://packages.example.com/debian stable main:
///   pkgrepo.managed:
///     - file: /etc/apt/sources.list.d/tool.list
///     - key_url: https://packages.example.com/tool.asc
/// tool:
///   pkgrepo.managed:
///     - humanname: Tool
///     - baseurl: https://packages.example.com/el9
///     - gpgcheck: 1
///     - gpgkey: https://packages.example.com/tool.asc
/// ```
///
/// The second form is for dnf, yum and zypper. Keys are taken out of their armour where needed, without gpg.
#[state("pkgrepo.managed")]
pub struct Managed {
    /// For apt the line of a sources list, else the repository's id.
    name: String,
    /// Only for Ubuntu: `owner/name`; its key must be named too.
    ppa: Value,
    /// Refused: give the repository's address instead.
    copr: Value,
    /// Without `signed-by` a key goes where it counts for every repository; not with `False`.
    #[default(true)]
    aptkey: Flag,
    /// What people call it (dnf, zypper).
    humanname: Value,
    /// Enable it; the default.
    enabled: Value,
    /// Do not use it.
    disabled: Value,
    /// The file that it stands in; if it ends with `.sources`, in the new form.
    file: Option<String>,
    /// Empty that file first, so that nothing else is in it.
    clean_file: Flag,
    /// Components, with commas, instead of the line's (apt).
    comps: Value,
    /// Architectures, with commas (apt).
    architectures: Value,
    /// The suite, instead of the line's (apt).
    dist: Option<String>,
    /// The file with its key (apt), if the line does not say it.
    signedby: Option<String>,
    /// Accept unsigned packages (apt).
    trusted: Value,
    /// Where to fetch its key: `http(s)://…`, `salt://…` or a path.
    key_url: Option<String>,
    /// Its key, as text.
    key_text: Option<String>,
    /// Its key on a key server, or a list of them.
    keyid: Value,
    /// The key server.
    keyserver: Option<String>,
    /// A key may come by bare HTTP.
    #[default(true)]
    allow_insecure_key: Flag,
    /// A remark, or several.
    comments: Value,
    /// Fetch the lists of what there is, if something was changed (apt).
    refresh: Value,
    /// As `refresh`.
    refresh_db: Value,
    /// Not there: sources are not gathered in one file.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    consolidate: Value,
    /// Further options of the repository (dnf, zypper): `baseurl`, `mirrorlist`, `gpgcheck`, `gpgkey` …
    kwargs: Map,
}

#[derive(Serialize, Deserialize)]
pub struct RepositoryPlan {
    work: RepositoryChange,
    done: Verdict,
}

impl State for Managed {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        if let Some(text) = self.refused() {
            return Ok(Decision::Settled(Verdict::bad(text)));
        }
        let decided = match form(machine)? {
            RepositoryFormat::Apt => self.plan_apt(machine),
            RepositoryFormat::Ini(family) => self.plan_ini(machine, &family),
        };
        decided.unwrap_or_else(|error| Decision::Settled(self.failed(&error))).into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        let plan: RepositoryPlan = plan.into_own()?;
        Ok(match plan.work.carry_out(machine, step.saltenv) {
            Ok(()) => plan.done,
            Err(error) => self.failed(&error),
        })
    }

    fn touches(&self) -> Touches {
        sources()
    }
}

impl Managed {
    fn failed(&self, error: &Error) -> Verdict {
        Verdict::bad(format!("Failed to configure repo '{}': {error}", self.name))
    }

    fn refused(&self) -> Option<String> {
        let by_id = self.keyid.truth() || self.keyserver.is_some();
        let both = |one: &str, other: &str| Some(format!("You may not use both {one} and {other} argument."));
        if self.key_url.is_some() && by_id {
            return both("\"keyid\"/\"keyserver\"", "\"key_url\"");
        }
        if self.key_text.is_some() && by_id {
            return both("\"keyid\"/\"keyserver\"", "\"key_text\"");
        }
        if self.key_text.is_some() && self.key_url.is_some() {
            return both("\"key_url\"", "\"key_text\"");
        }
        if self.kwargs.contains_key("repo") {
            return Some(
                "'repo' is not a supported argument for this state. The 'name' argument is probably what was intended."
                    .into(),
            );
        }
        if !self.enabled.is_null() && !self.disabled.is_null() {
            return Some("Only one of enabled/disabled is allowed".into());
        }
        if self.key_url.as_deref().is_some_and(|url| url.trim().starts_with("http:")) && !self.allow_insecure_key {
            return Some("Cannot have 'key_url' using http with 'allow_insecure_key' set to True".into());
        }
        if self.copr.truth() {
            return Some("copr is not supported: give the repository's baseurl and gpgkey".into());
        }
        None
    }

    fn is_disabled(&self) -> bool {
        match self.disabled.is_null() {
            true => !self.enabled.is_null() && !is_true(&self.enabled),
            false => is_true(&self.disabled),
        }
    }

    /// The requested line of the sources list.
    fn line(&self, machine: &dyn Probe) -> Result<String> {
        let ppa = match (&self.ppa, self.name.strip_prefix("ppa:")) {
            (Value::Null, None) => return Ok(self.name.clone()),
            (Value::Null, Some(ppa)) => ppa.to_owned(),
            (ppa, _) => ppa.to_string(),
        };
        let grains = machine.grains();
        let grain = |name: &str| grains.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let known = matches!(grain("os").as_str(), "Ubuntu" | "Mint" | "neon");
        match ppa.split_once('/') {
            Some((owner, name)) if known && self.from().is_some() => {
                Ok(format!("deb http://ppa.launchpad.net/{owner}/{name}/ubuntu {} main", grain("oscodename")))
            }
            Some(_) if known => Err(Error::failed("Launchpad is not asked for the key of a PPA")
                .hint("name it: keyid and keyserver, or key_url")),
            _ => Err(Error::failed(format!("cannot parse \"ppa:\" style repo definitions: ppa:{ppa}"))),
        }
    }

    fn from(&self) -> Option<From> {
        if let Some(url) = &self.key_url {
            return Some(From::Url(url.trim().to_owned()));
        }
        if let Some(text) = &self.key_text {
            return Some(From::Text(text.clone()));
        }
        let server = self.keyserver.clone()?;
        let ids = match &self.keyid {
            Value::List(ids) => ids.iter().map(ToString::to_string).collect(),
            Value::Null => return None,
            // YAML reads an id of only digits as a number.
            Value::Int(number) => vec![format!("{number:X}")],
            id => vec![id.to_string()],
        };
        Some(From::Server { server, ids })
    }

    fn key(&self, request: &RepositorySpec) -> Result<Option<RepositoryKey>> {
        if self.keyid.truth() != self.keyserver.is_some() {
            return Err(Error::arguments("both keyserver and keyid options required."));
        }
        let Some(from) = self.from() else { return Ok(None) };
        if let Some(path) = request.signed_by() {
            return Ok(Some(RepositoryKey { from, path: PathBuf::from(path) }));
        }
        let file = self.file.as_deref().and_then(|file| file.rsplit('/').next()).unwrap_or(&self.name);
        let stem = file.trim_end_matches(".list").trim_end_matches(".sources");
        let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
        let stem: String = stem.chars().map(plain).collect();
        let folder = if self.aptkey.0 { "/etc/apt/trusted.gpg.d" } else { "/etc/apt/keyrings" };
        Ok(Some(RepositoryKey { from, path: PathBuf::from(format!("{folder}/{}.gpg", stem.trim_matches('_'))) }))
    }

    fn request(&self, line: &str) -> Result<RepositorySpec> {
        let mut request = RepositorySpec::new(line)?;
        request.file.clone_from(&self.file);
        request.components = list(&self.comps);
        request.architectures = list(&self.architectures);
        request.disabled = self.is_disabled();
        request.suite.clone_from(&self.dist);
        request.signed_by.clone_from(&self.signedby);
        request.trusted = Some(&self.trusted).filter(|value| !value.is_null()).map(is_true);
        request.comments = match &self.comments {
            Value::Null => None,
            Value::List(all) => Some(all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")),
            one => Some(one.to_string()),
        };
        Ok(request)
    }

    fn plan_apt(&self, machine: &dyn Probe) -> Result<Decision<RepositoryPlan>> {
        let line = self.line(machine)?;
        let request = self.request(&line)?;
        let before = AptSources::read(machine)?;
        let pre = before.find(&line)?;
        let key = self.key(&request)?;
        if pre.is_none() && !self.aptkey.0 && request.signed_by().is_none() && !request.is_trusted() {
            return Err(Error::arguments("missing 'signedby' or 'trusted' option when apt-key is missing"));
        }
        let mut after = before.clone();
        let mut stale = Vec::new();
        if self.clean_file.0 {
            let path = self.file.as_deref().ok_or_else(|| Error::arguments("clean_file needs file"))?;
            stale = after.clean(&PathBuf::from(path), &line);
        }
        after.put(&request);
        let post = after.find(&request.shown())?.unwrap_or_default();
        let missing_key = key.filter(|key| !key.is_there(machine));
        let mut changes = match &pre {
            Some(pre) => differences(pre, &post),
            None => Map::from_iter([("repo".into(), line.as_str().into())]),
        };
        if pre.is_some() && !stale.is_empty() {
            // Salt empties the file without reporting it.
            changes.insert("clean_file", change(stale.join("\n").into(), "".into()));
        }
        if let Some(key) = missing_key.as_ref().filter(|_| pre.is_some()) {
            changes.insert("key", key.path.to_string_lossy().into_owned());
        }
        let settled = pre.is_some() && stale.is_empty() && missing_key.is_none() && only_form(&changes);
        if settled {
            return Ok(Decision::Settled(self.configured()));
        }
        let refresh = if self.refresh_db.is_null() { &self.refresh } else { &self.refresh_db };
        let refresh = refresh.is_null() || is_true(refresh);
        let work = RepositoryChange { files: after.changed(&before), key: missing_key, refresh };
        Ok(self.decided(work, changes))
    }

    fn plan_ini(&self, machine: &dyn Probe, family: &str) -> Result<Decision<RepositoryPlan>> {
        let files = ini::read_all(machine, family)?;
        let id = &self.name;
        let found = files.iter().find(|file| file.repositories.iter().any(|one| one.id == *id));
        let pre = found.and_then(|file| file.repositories.iter().find(|one| one.id == *id)).cloned();
        let mut new = pre.clone().unwrap_or_else(|| ini::RepoSection { id: id.clone(), ..ini::RepoSection::default() });
        let mut wanted: Vec<(String, Value)> = Vec::new();
        let human = if self.humanname.truth() { self.humanname.to_string() } else { id.clone() };
        wanted.push(("name".into(), human.into()));
        wanted.push(("enabled".into(), (!self.is_disabled()).into()));
        wanted.extend(self.kwargs.iter().map(|(key, value)| (key.to_string().to_ascii_lowercase(), value.clone())));
        let links = ["baseurl", "mirrorlist", "metalink"];
        let given = |key: &str| wanted.iter().any(|(known, value)| known == key && value.truth());
        if links.iter().filter(|link| given(link)).count() > 1 {
            return Err(Error::arguments(format!("One and only one of {} can be used", links.join(", "))));
        }
        if pre.is_none() && !links.iter().any(|link| given(link)) {
            return Err(Error::arguments(format!(
                "The repo does not exist and needs to be created, but none of {} was given",
                links.join(", ")
            )));
        }
        if let Some(link) = links.iter().find(|link| given(link)) {
            links.iter().filter(|other| *other != link).for_each(|other| new.remove(other));
        }
        let mut changes = set_options(&mut new, &wanted);
        match &self.comments {
            Value::Null => {}
            Value::List(all) => new.remark(all.iter().map(ToString::to_string).collect()),
            one => new.remark(one.to_string().lines().map(str::to_owned).collect()),
        }
        if pre.as_ref() == Some(&new) {
            return Ok(Decision::Settled(self.configured()));
        }
        if pre.is_none() {
            changes = Map::from_iter([("repo".into(), id.as_str().into())]);
        }
        let folder = ini::folders(family)[0];
        let mut file = found.cloned().unwrap_or_else(|| ini::RepoFile {
            path: PathBuf::from(format!("{folder}/{id}.repo")),
            ..ini::RepoFile::default()
        });
        match file.repositories.iter_mut().find(|one| one.id == *id) {
            Some(known) => *known = new,
            None => file.repositories.push(new),
        }
        let work = RepositoryChange { files: vec![(file.path.clone(), Some(file.write()))], key: None, refresh: false };
        Ok(self.decided(work, changes))
    }

    fn configured(&self) -> Verdict {
        Verdict::good(format!("Package repo '{}' already configured", self.name))
    }

    fn decided(&self, work: RepositoryChange, changes: Map) -> Decision<RepositoryPlan> {
        let would = format!(
            "Package repo '{}' would be configured. This may cause pkg states to behave differently than stated if this \
             action is repeated without test=True, due to the differences in the configured repositories.",
            self.name
        );
        let done = Verdict::good(format!("Configured package repo '{}'", self.name)).changes(changes.clone());
        Decision::Change(RepositoryPlan { work, done }, Verdict::would(would).changes(changes))
    }
}

/// A list, or a comma-separated text.
fn list(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Null => None,
        Value::List(items) => Some(items.iter().map(|item| item.to_string().trim().to_owned()).collect()),
        text => Some(
            text.to_string().split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect(),
        ),
    }
}

/// As Salt's `is_true`.
pub fn is_true(value: &Value) -> bool {
    match value {
        Value::String(text) => matches!(&*text.to_ascii_lowercase(), "true" | "yes" | "1"),
        other => other.truth(),
    }
}

/// Sets the options of a section, and returns those that differed.
fn set_options(section: &mut ini::RepoSection, wanted: &[(String, Value)]) -> Map {
    let mut changes = Map::new();
    for (key, value) in wanted.iter().filter(|(key, _)| !key.starts_with("__")) {
        let text = match value {
            Value::Bool(flag) => if *flag { "1" } else { "0" }.to_owned(),
            Value::List(lines) => lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
            other => other.to_string(),
        };
        let old = section.get(key).map(str::to_owned);
        if value.is_null() || text.is_empty() {
            section.remove(key);
        } else if !old.as_deref().is_some_and(|old| same(old, &text)) {
            section.set(key, &text);
        }
        let now = section.get(key).map(str::to_owned);
        if now != old {
            changes.insert(key.as_str(), change(old.into(), now.into()));
        }
    }
    changes
}

/// Compares values; `1` and `True` are equal in existing files too.
fn same(old: &str, new: &str) -> bool {
    let flag = |text: &str| match &*text.to_ascii_lowercase() {
        "1" | "true" | "yes" => Some(true),
        "0" | "false" | "no" => Some(false),
        _ => None,
    };
    old == new || (flag(old).is_some() && flag(old) == flag(new))
}

fn change(old: Value, new: Value) -> Map {
    Map::from_iter([("new".into(), new), ("old".into(), old)])
}

/// The keys of a repository that differ, in Salt's form.
fn differences(pre: &Map, post: &Map) -> Map {
    let keys =
        ["comps", "disabled", "dist", "suites", "type", "types", "uri", "uris", "line", "architectures", "signedby"];
    let mut changes = Map::new();
    for key in keys {
        let value = |map: &Map| map.get(key).cloned().unwrap_or_default();
        let (old, new) = (value(pre), value(post));
        if old != new {
            changes.insert(key, change(old, new));
        }
    }
    changes
}

/// Whether only the order of components or the white space differs.
fn only_form(changes: &Map) -> bool {
    let sorted = |value: &Value| {
        let mut words: Vec<String> = match value {
            Value::List(items) => items.iter().map(ToString::to_string).collect(),
            Value::Null => Vec::new(),
            other => other.to_string().split_whitespace().map(str::to_owned).collect(),
        };
        words.sort();
        words
    };
    changes.iter().all(|(key, change)| {
        let part = |name: &str| change.as_map().and_then(|map| map.get(name)).cloned().unwrap_or_default();
        matches!(key.as_str(), Some("comps" | "line" | "architectures" | "signedby"))
            && sorted(&part("old")) == sorted(&part("new"))
    })
}
