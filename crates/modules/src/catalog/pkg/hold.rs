//! Holds packages, and reports it in Salt's form.

use rocksalt_core::{Map, Value};

use super::provider::PackageProvider;
use super::requests::PackageRequest;
use crate::Result;
use crate::machine::{Probe, System};

/// The result for one package: Salt's `{name, changes, result, comment}`.
#[derive(Clone, Debug)]
pub struct HoldResult {
    pub name: String,
    pub changes: Map,
    /// `None`: a dry run that would change it.
    pub result: Option<bool>,
    pub comment: String,
}

impl HoldResult {
    pub fn to_value(&self) -> Value {
        Value::Map(Map::from_iter([
            ("name".into(), self.name.as_str().into()),
            ("changes".into(), self.changes.clone().into()),
            ("result".into(), self.result.map_or(Value::Null, Value::Bool)),
            ("comment".into(), self.comment.as_str().into()),
        ]))
    }
}

/// The predicted result for each package.
pub fn foresee(
    machine: &dyn Probe,
    provider: &dyn PackageProvider,
    requests: &[PackageRequest],
    hold: bool,
) -> Result<Vec<HoldResult>> {
    let holds = provider.holds(machine)?;
    let one = |request: &PackageRequest| {
        let name = request.name.clone();
        if holds.contains_key(&name) == hold {
            let comment = format!("Package {name} is already set {}to be held.", if hold { "" } else { "not " });
            return HoldResult { comment, name, changes: Map::new(), result: Some(true) };
        }
        let comment = format!("Package {name} is set {}to be held.", if hold { "" } else { "not " });
        HoldResult { comment, changes: change(provider, hold), name, result: None }
    };
    Ok(requests.iter().map(one).collect())
}

/// Changes the holds, and verifies the result.
pub fn execute(
    machine: &dyn System,
    provider: &dyn PackageProvider,
    requests: &[PackageRequest],
    hold: bool,
) -> Result<Vec<HoldResult>> {
    let mut all = foresee(machine, provider, requests, hold)?;
    let pending = |one: &&HoldResult| one.result.is_none();
    let names: Vec<String> = all.iter().filter(pending).map(|one| one.name.clone()).collect();
    if names.is_empty() {
        return Ok(all);
    }
    let version = |name: &String| {
        requests.iter().find(|request| request.name == *name).and_then(|request| request.version.clone())
    };
    let packages: Vec<(String, Option<String>)> = names.iter().map(|name| (name.clone(), version(name))).collect();
    provider.set_hold(machine, &packages, hold)?;
    let holds = provider.holds(machine)?;
    for one in all.iter_mut().filter(|one| one.result.is_none()) {
        let done = holds.contains_key(&one.name) == hold;
        one.result = Some(done);
        one.comment = match (done, hold) {
            (true, _) => done_text(provider, &one.name, hold),
            // dpkg only prints a warning for a package that it does not know.
            (false, true) => format!("Package {} could not be held: it is not installed.", one.name),
            (false, false) => format!("Package {} was unable to be unheld.", one.name),
        };
        if !done {
            one.changes = Map::new();
        }
    }
    Ok(all)
}

/// The text for a package that was changed.
pub fn done_text(provider: &dyn PackageProvider, name: &str, hold: bool) -> String {
    match hold {
        true => format!("Package {name} is now being held."),
        false => format!("Package {name} {}", provider.released()),
    }
}

fn change(provider: &dyn PackageProvider, hold: bool) -> Map {
    let (old, new) = provider.hold_change(hold);
    super::super::change(old, new)
}
