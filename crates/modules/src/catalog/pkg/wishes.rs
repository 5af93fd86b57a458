//! Packages as users list them: names, `{name: version}`, `{name: source}`.

use rocksalt_core::{Map, Value, yaml};
use serde::{Deserialize, Serialize};

use super::provider::{Provider, sound};
use crate::machine::Probe;
use crate::{Error, Result};

/// A package that somebody wishes for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    pub name: String,
    /// A version, or conditions on it; of `sources`: where it is from.
    pub version: Option<String>,
}

impl Wish {
    /// As comments show it: `name`, `name=1.0`, `name>=1.0`.
    pub fn shown(&self) -> String {
        let version = self.version.as_deref().unwrap_or_default();
        format!("{}{}", self.name, super::condition::joined(version))
    }
}

/// What is written under `pkgs`; `None` if it isn't well formed.
pub fn of_packages(pkgs: &Value) -> Option<Vec<Wish>> {
    let parsed;
    let items = match pkgs {
        Value::List(items) => items,
        Value::String(text) => {
            parsed = yaml::parse(text).ok()?;
            parsed.as_list()?
        }
        _ => return None,
    };
    items.iter().map(wish).collect()
}

fn wish(item: &Value) -> Option<Wish> {
    match item {
        Value::Map(map) if map.len() == 1 => {
            let (name, version) = map.iter().next()?;
            let version = Some(version).filter(|version| !version.is_null()).map(ToString::to_string);
            Some(Wish { name: name.to_string(), version })
        }
        Value::String(_) | Value::Int(_) | Value::Float(_) => Some(Wish { name: item.to_string(), version: None }),
        _ => None,
    }
}

/// What is written under `sources`; `None` if it isn't well formed.
pub fn of_sources(sources: &Value) -> Option<Vec<Wish>> {
    let all = of_packages(sources)?;
    all.iter().all(|wish| wish.version.is_some()).then_some(all)
}

/// Salt's words for packages that are listed twice.
pub fn twice(pkgs: &Value, wishes: &[Wish]) -> Option<String> {
    let again = |index: usize| wishes[..index].iter().any(|before| before.name == wishes[index].name);
    (0..wishes.len()).any(again).then(|| {
        format!(
            "You are passing a list of packages that contains duplicated packages names: {pkgs}. This cannot be \
             processed. In case you are targeting different versions of the same package, please target them \
             individually"
        )
    })
}

/// What a function is asked for: `name` (with commas), or `pkgs`.
pub fn of_call(name: Option<&str>, pkgs: &Value, version: Option<&str>) -> Result<Vec<Wish>> {
    if pkgs.truth() {
        let wishes = of_packages(pkgs)
            .ok_or_else(|| Error::arguments("pkgs: this is neither a list of names nor of names and versions"))?;
        return match twice(pkgs, &wishes) {
            Some(text) => Err(Error::arguments(text)),
            None => Ok(wishes),
        };
    }
    let names = name.unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty());
    Ok(names.map(|name| Wish { name: name.to_owned(), version: version.map(str::to_owned) }).collect())
}

/// Names that are none, before anything runs.
pub fn sound_names(wishes: &[Wish]) -> Result<()> {
    wishes.iter().try_for_each(|wish| sound(&wish.name).map(drop))
}

/// Under their normal names.
pub fn normal(machine: &dyn Probe, provider: &dyn Provider, wishes: Vec<Wish>) -> Vec<Wish> {
    wishes.into_iter().map(|wish| Wish { name: provider.normal(machine, &wish.name), ..wish }).collect()
}

/// What a step's bare arguments wish for, so that steps can be joined: `pkgs`, or its name.
pub fn of_arguments(arguments: &Map) -> Option<Vec<Wish>> {
    match arguments.get("pkgs").filter(|pkgs| !pkgs.is_null()) {
        Some(pkgs) => of_packages(pkgs).filter(|wishes| !wishes.is_empty()),
        None => {
            let name = arguments.get("name")?.as_str()?.to_owned();
            let version = arguments.get("version").filter(|version| version.truth()).map(ToString::to_string);
            Some(vec![Wish { name, version }])
        }
    }
}

/// As `pkgs` has them.
pub fn to_value(wishes: &[Wish]) -> Value {
    let item = |wish: &Wish| match &wish.version {
        Some(version) => Value::Map(Map::from_iter([(wish.name.as_str().into(), version.as_str().into())])),
        None => wish.name.as_str().into(),
    };
    Value::List(wishes.iter().map(item).collect())
}
