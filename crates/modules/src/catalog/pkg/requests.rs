//! Packages as users list them: names, `{name: version}`, `{name: source}`.

use rocksalt_core::{Map, Value, yaml};
use serde::{Deserialize, Serialize};

use super::provider::{PackageProvider, sound};
use crate::machine::Probe;
use crate::{Error, Result};

/// A requested package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageRequest {
    pub name: String,
    /// A version, or conditions on it; for `sources` the source.
    pub version: Option<String>,
}

impl PackageRequest {
    /// The package in comments: `name`, `name=1.0`, `name>=1.0`.
    pub fn shown(&self) -> String {
        let version = self.version.as_deref().unwrap_or_default();
        format!("{}{}", self.name, super::condition::joined(version))
    }
}

/// Parses `pkgs`; `None` if it is malformed.
pub fn of_packages(pkgs: &Value) -> Option<Vec<PackageRequest>> {
    let parsed;
    let items = match pkgs {
        Value::List(items) => items,
        Value::String(text) => {
            parsed = yaml::parse(text).ok()?;
            parsed.as_list()?
        }
        _ => return None,
    };
    items.iter().map(request).collect()
}

fn request(item: &Value) -> Option<PackageRequest> {
    match item {
        Value::Map(map) if map.len() == 1 => {
            let (name, version) = map.iter().next()?;
            let version = Some(version).filter(|version| !version.is_null()).map(ToString::to_string);
            Some(PackageRequest { name: name.to_string(), version })
        }
        Value::String(_) | Value::Int(_) | Value::Float(_) => {
            Some(PackageRequest { name: item.to_string(), version: None })
        }
        _ => None,
    }
}

/// Parses `sources`; `None` if it is malformed.
pub fn of_sources(sources: &Value) -> Option<Vec<PackageRequest>> {
    let all = of_packages(sources)?;
    all.iter().all(|request| request.version.is_some()).then_some(all)
}

/// Salt's text for packages that are listed twice.
pub fn twice(pkgs: &Value, requests: &[PackageRequest]) -> Option<String> {
    let again = |index: usize| requests[..index].iter().any(|before| before.name == requests[index].name);
    (0..requests.len()).any(again).then(|| {
        format!(
            "You are passing a list of packages that contains duplicated packages names: {pkgs}. This cannot be \
             processed. In case you are targeting different versions of the same package, please target them \
             individually"
        )
    })
}

/// The requests of a function: `name` (with commas), or `pkgs`.
pub fn of_call(name: Option<&str>, pkgs: &Value, version: Option<&str>) -> Result<Vec<PackageRequest>> {
    if pkgs.truth() {
        let requests = of_packages(pkgs)
            .ok_or_else(|| Error::arguments("pkgs: this is neither a list of names nor of names and versions"))?;
        return match twice(pkgs, &requests) {
            Some(text) => Err(Error::arguments(text)),
            None => Ok(requests),
        };
    }
    let names = name.unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty());
    Ok(names.map(|name| PackageRequest { name: name.to_owned(), version: version.map(str::to_owned) }).collect())
}

/// Checks all names before anything runs.
pub fn sound_names(requests: &[PackageRequest]) -> Result<()> {
    requests.iter().try_for_each(|request| sound(&request.name).map(drop))
}

/// The requests with normal names.
pub fn normal(
    machine: &dyn Probe,
    provider: &dyn PackageProvider,
    requests: Vec<PackageRequest>,
) -> Vec<PackageRequest> {
    requests
        .into_iter()
        .map(|request| PackageRequest { name: provider.normal(machine, &request.name), ..request })
        .collect()
}

/// The requests in a step's untyped arguments, for merging steps: `pkgs`, or its name.
pub fn of_arguments(arguments: &Map) -> Option<Vec<PackageRequest>> {
    match arguments.get("pkgs").filter(|pkgs| !pkgs.is_null()) {
        Some(pkgs) => of_packages(pkgs).filter(|requests| !requests.is_empty()),
        None => {
            let name = arguments.get("name")?.as_str()?.to_owned();
            let version = arguments.get("version").filter(|version| version.truth()).map(ToString::to_string);
            Some(vec![PackageRequest { name, version }])
        }
    }
}

/// The requests in the form of `pkgs`.
pub fn to_value(requests: &[PackageRequest]) -> Value {
    let item = |request: &PackageRequest| match &request.version {
        Some(version) => Value::Map(Map::from_iter([(request.name.as_str().into(), version.as_str().into())])),
        None => request.name.as_str().into(),
    };
    Value::List(requests.iter().map(item).collect())
}
