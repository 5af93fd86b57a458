//! `pkgrepo.absent`: a repository is not configured.

use std::path::{Path, PathBuf};

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::apt::AptSources;
use super::repository_change::RepositoryChange;
use super::{Decision, RepositoryFormat, State, Step, Touches, Verdict, form, ini, key, sources};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

/// Makes sure that packages are not had from a repository.
///
/// ```yaml
/// deb https://packages.example.com/debian stable main:
///   pkgrepo.absent
/// ```
#[state("pkgrepo.absent")]
pub struct Absent {
    /// For apt the line of a sources list, else the repository's id.
    name: String,
    /// The key that goes with it (apt): the file that has it and no other is removed.
    keyid: Value,
    /// Accepted and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

#[derive(Serialize, Deserialize)]
pub struct RepositoryRemoval {
    work: RepositoryChange,
    done: Verdict,
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        match form(machine)? {
            RepositoryFormat::Apt => self.plan_apt(machine)?.into_plan(),
            RepositoryFormat::Ini(family) => self.plan_ini(machine, &family)?.into_plan(),
        }
    }

    fn apply(&self, plan: Plan, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        let plan: RepositoryRemoval = plan.into_own()?;
        plan.work.carry_out(machine, step.saltenv)?;
        Ok(plan.done)
    }

    fn touches(&self) -> Touches {
        sources()
    }
}

impl Absent {
    fn plan_apt(&self, machine: &dyn Probe) -> Result<Decision<RepositoryRemoval>> {
        let before = AptSources::read(machine)?;
        let mut after = before.clone();
        match before.find(&self.name) {
            Err(error) => {
                let text = format!("Failed to configure repo '{}': {error}", self.name);
                return Ok(Decision::Settled(Verdict::bad(text)));
            }
            Ok(None) => return Ok(Decision::Settled(self.gone())),
            Ok(Some(_)) => {}
        }
        if !after.take(&self.name)? {
            // The line has another architecture, or none of the components.
            return Ok(Decision::Settled(self.gone()));
        }
        let mut files = after.changed(&before);
        let mut text = format!("Removed repo {}", self.name);
        let mut changes = Map::from_iter([("repo".into(), self.name.as_str().into())]);
        if self.keyid.truth() {
            let id = self.keyid.to_string();
            match key_file(machine, &id) {
                Some(path) => {
                    files.push((path, None));
                    text += &format!(", and keyid {id}");
                    changes.insert("keyid", id);
                }
                None => text += &format!(", and there was no key {id}"),
            }
        }
        Ok(self.decided(RepositoryChange { files, key: None, refresh: true }, text, changes))
    }

    fn plan_ini(&self, machine: &dyn Probe, family: &str) -> Result<Decision<RepositoryRemoval>> {
        let is_meant = |one: &ini::RepoSection| one.id == self.name;
        let files = ini::read_all(machine, family)?;
        let Some(mut file) = files.into_iter().find(|file| file.repositories.iter().any(is_meant)) else {
            return Ok(Decision::Settled(self.gone()));
        };
        file.repositories.retain(|one| !is_meant(one));
        let content = (!file.repositories.is_empty()).then(|| file.write());
        let work = RepositoryChange { files: vec![(file.path.clone(), content)], key: None, refresh: false };
        let changes = Map::from_iter([("repo".into(), self.name.as_str().into())]);
        Ok(self.decided(work, format!("Removed repo {}", self.name), changes))
    }

    fn gone(&self) -> Verdict {
        Verdict::good(format!("Package repo {} is absent", self.name))
    }

    fn decided(&self, work: RepositoryChange, text: String, changes: Map) -> Decision<RepositoryRemoval> {
        let would = format!(
            "Package repo '{}' will be removed. This may cause pkg states to behave differently than stated if this \
             action is repeated without test=True, due to the differences in the configured repositories.",
            self.name
        );
        let done = Verdict::good(text).changes(changes.clone());
        Decision::Change(RepositoryRemoval { work, done }, Verdict::would(would).changes(changes))
    }
}

/// The file that contains this key and no other.
fn key_file(machine: &dyn Probe, id: &str) -> Option<PathBuf> {
    for folder in ["/etc/apt/keyrings", "/etc/apt/trusted.gpg.d"] {
        for name in machine.list(Path::new(folder)).unwrap_or_default() {
            let path = Path::new(folder).join(name);
            let Some(bytes) = machine.read(&path).ok().and_then(|content| key::bare(&content).ok()) else { continue };
            if key::is_among(id, &key::fingerprints(&bytes)) && key::main_keys(&bytes) == 1 {
                return Some(path);
            }
        }
    }
    None
}
