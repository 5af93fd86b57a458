//! `pkg.list_repos`, `pkg.get_repo`, `pkg.mod_repo`, `pkg.del_repo`.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::super::{Step, find_state};
use super::apt::AptSources;
use super::{Function, RepositoryFormat, form, ini};
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// Every repository: with apt a list for each address, else a map for each id.
///
/// ```text
/// rocksalt '*' pkg.list_repos
/// ```
#[function("pkg.list_repos", reads)]
pub struct ListRepos {
    /// Accepted and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl Function for ListRepos {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let mut found = Map::new();
        match form(machine)? {
            RepositoryFormat::Apt => {
                for repository in AptSources::read(machine)?.all() {
                    let uri = repository.get("uri").cloned().unwrap_or_default();
                    match found.get_value_mut(&uri) {
                        Some(Value::List(known)) => known.push(repository.into()),
                        _ => drop(found.insert(uri, vec![Value::from(repository)])),
                    }
                }
            }
            RepositoryFormat::Ini(family) => {
                for file in ini::read_all(machine, &family)? {
                    for repository in &file.repositories {
                        let mut known = repository.described();
                        known.insert("file", file.path.to_string_lossy().into_owned());
                        found.insert(repository.id.as_str(), known);
                    }
                }
            }
        }
        Ok(found)
    }
}

/// One repository; an empty map if there is none.
///
/// ```text
/// rocksalt '*' pkg.get_repo 'deb http://deb.example.com/debian bookworm main'
/// rocksalt '*' pkg.get_repo baseos
/// ```
#[function("pkg.get_repo", reads)]
pub struct GetRepo {
    /// For apt the line of a sources list, else the repository's id.
    repo: String,
    /// Accepted and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl Function for GetRepo {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        get(machine, &self.repo)
    }
}

fn get(machine: &dyn Probe, repo: &str) -> Result<Map> {
    Ok(match form(machine)? {
        RepositoryFormat::Apt => AptSources::read(machine)?.find(repo)?.unwrap_or_default(),
        RepositoryFormat::Ini(family) => {
            let files = ini::read_all(machine, &family)?;
            let found = files.iter().flat_map(|file| &file.repositories).find(|one| one.id == repo);
            found.map(ini::RepoSection::described).unwrap_or_default()
        }
    })
}

/// Configures a repository, with the arguments of `pkgrepo.managed`, and returns what it is then.
///
/// ```text
/// rocksalt '*' pkg.mod_repo 'deb [trusted=yes] file:/srv/repo ./' file=/etc/apt/sources.list.d/own.list
/// ```
#[function("pkg.mod_repo", changes)]
pub struct ModRepo {
    /// For apt the line of a sources list, else the repository's id.
    repo: String,
    /// As those of `pkgrepo.managed`.
    kwargs: Map,
}

impl Function for ModRepo {
    type Output = Map;

    fn call(mut self, machine: &dyn System) -> Result<Map> {
        if let Some(name) = self.kwargs.remove("name") {
            self.kwargs.insert("humanname", name);
        }
        run("pkgrepo.managed", &self.repo, self.kwargs, machine)?;
        let now = get(machine, &self.repo)?;
        Ok(Map::from_iter([(self.repo.into(), now.into())]))
    }
}

/// Removes a repository.
///
/// ```text
/// rocksalt '*' pkg.del_repo 'deb [trusted=yes] file:/srv/repo ./'
/// ```
#[function("pkg.del_repo", changes)]
pub struct DelRepo {
    /// For apt the line of a sources list, else the repository's id.
    repo: String,
    /// Accepted and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl Function for DelRepo {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        if get(machine, &self.repo)?.is_empty() {
            return Err(Error::failed(format!("Repo {} doesn't exist in the sources.list(s)", self.repo)));
        }
        run("pkgrepo.absent", &self.repo, Map::new(), machine)?;
        Ok(format!("Repo '{}' has been removed.", self.repo))
    }
}

/// Applies a state outside of a run.
fn run(state: &str, name: &str, mut arguments: Map, machine: &dyn System) -> Result<()> {
    let entry = find_state(state).ok_or_else(|| Error::failed(format!("there is no state {state}")))?;
    arguments.insert("name", name);
    let step = Step { id: name, name, sls: "", saltenv: "base", low: &arguments, test: false };
    let verdict = entry.call(entry.bind(arguments.clone()), machine, &step, false)?;
    match verdict.result {
        Some(false) => Err(Error::failed(verdict.comment)),
        _ => Ok(()),
    }
}
