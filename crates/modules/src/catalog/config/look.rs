//! Finds values in several sources: the target's options, grains and pillar.

use std::sync::Arc;

use rocksalt_core::merge::{self, Strategy};
use rocksalt_core::{Map, Value, option_defaults, yaml};
use rocksalt_macros::function;

use super::{Function, colon, empty};
use crate::machine::{Probe, System};
use crate::text::glob;
use crate::{Error, Result};

/// Salt's default values for modules that work the same here.
const DEFAULTS: &str = "\
ca.cert_base_path: /etc/pki
hosts.file: /etc/hosts
aliases.file: /etc/aliases
test.foo: unconfigured
virt: {tunnel: false, images: /srv/salt-images}
docker.exec_driver: docker-exec
docker.compare_container_networks:
  static: [Aliases, Links, IPAMConfig]
  automatic: [IPAddress, Gateway, GlobalIPv6Address, IPv6Gateway]
";

/// The sources; the first one that has a value wins. Sources that were excluded are empty.
struct Places<'a> {
    options: Option<&'a Map>,
    grains: Arc<Map>,
    pillar: Arc<Map>,
    master: Map,
    defaults: Map,
}

impl<'a> Places<'a> {
    fn new(machine: &'a dyn Probe, options: bool, grains: bool, pillar: bool, master: bool) -> Result<Places<'a>> {
        let whole = if pillar || master { machine.pillar()? } else { Arc::default() };
        let of_master = whole.get("master").and_then(Value::as_map).filter(|_| master);
        let Ok(Value::Map(defaults)) = yaml::parse(DEFAULTS) else {
            return Err(Error::failed("the defaults of options can't be read"));
        };
        Ok(Places {
            options: options.then(|| machine.options()),
            grains: if grains { machine.grains() } else { Arc::default() },
            master: of_master.cloned().unwrap_or_default(),
            pillar: if pillar { whole } else { Arc::default() },
            defaults,
        })
    }

    fn all(&self) -> impl DoubleEndedIterator<Item = &Map> {
        let unset = self.options.is_some().then(option_defaults);
        self.options.into_iter().chain(unset).chain([&*self.grains, &self.pillar, &self.master, &self.defaults])
    }
}

/// The value of an option of the target, or else the grain or the pillar value of that name.
///
/// ```text
/// rocksalt '*' config.get file_roots
/// rocksalt '*' config.get 'pkg:apache' httpd
/// rocksalt '*' config.get nginx merge=recurse
/// ```
///
/// Looked at in this order: the target's options, grains, pillar, and the pillar's key `master`.
#[function("config.get", reads, repeatable)]
pub struct Get {
    /// The name; colons lead into maps and lists.
    key: String,
    /// The value to return if there is none.
    #[default("")]
    default: Value,
    /// The delimiter between the parts of the name.
    #[default(colon())]
    delimiter: String,
    /// `recurse` or `overwrite`: put the maps of all sources together.
    merge: Option<String>,
    /// Leave out the target's options.
    omit_opts: bool,
    /// Leave out the pillar.
    omit_pillar: bool,
    /// Leave out the pillar's key `master`.
    omit_master: bool,
    /// Leave out the grains.
    omit_grains: bool,
}

impl Function for Get {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        // The usual case avoids reading the pillar, which may have to be compiled first.
        if self.merge.is_none()
            && !self.omit_opts
            && let Some(found) = machine.options().walk(&self.key, &self.delimiter)
        {
            return Ok(found.clone());
        }
        let places = Places::new(machine, !self.omit_opts, !self.omit_grains, !self.omit_pillar, !self.omit_master)?;
        let Some(strategy) = &self.merge else {
            let found = places.all().find_map(|place| place.walk(&self.key, &self.delimiter));
            return Ok(found.cloned().or_else(|| self.in_options(machine)).unwrap_or(self.default));
        };
        let strategy = if strategy == "overwrite" { Strategy::Overwrite } else { Strategy::Recurse };
        let lists = machine.options().get("pillar_merge_lists").is_some_and(Value::truth);
        let first = self.key.split(&self.delimiter).next().unwrap_or_default();
        let mut whole = Map::new();
        for place in places.all().rev() {
            if let Some(value) = place.get(first) {
                let over = Map::from_iter([(first.into(), value.clone())]);
                whole = merge::merge_maps(whole, over, strategy, lists);
            }
        }
        Ok(whole.walk(&self.key, &self.delimiter).cloned().unwrap_or(self.default))
    }
}

impl Get {
    /// A minion's options contain its grains and pillar, so users also write `grains:os`.
    fn in_options(&self, machine: &dyn System) -> Option<Value> {
        let (first, rest) = self.key.split_once(&self.delimiter)?;
        match first {
            _ if self.omit_opts => None,
            "grains" => machine.grains().walk(rest, &self.delimiter).cloned(),
            "pillar" => machine.pillar().ok()?.walk(rest, &self.delimiter).cloned(),
            _ => None,
        }
    }
}

/// The value of an option of the target, or else the grain or the pillar value of that name.
///
/// ```text
/// rocksalt '*' config.option hash_type
/// rocksalt '*' config.option 'log_*' wildcard=True
/// ```
///
/// As `config.get`, but colons mean nothing.
#[function("config.option", reads, repeatable)]
pub struct OptionOf {
    /// The name.
    value: String,
    /// The value to return if there is none; by default an empty text, or an empty map for a pattern.
    default: Value,
    /// Leave out the target's options.
    omit_opts: bool,
    /// Leave out the grains.
    omit_grains: bool,
    /// Leave out the pillar.
    omit_pillar: bool,
    /// Leave out the pillar's key `master`.
    omit_master: bool,
    /// Leave out everything.
    omit_all: bool,
    /// The name is a shell pattern, and all options that match are given.
    wildcard: bool,
}

impl Function for OptionOf {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let omit = |this: bool| !(this || self.omit_all);
        let places = Places::new(
            machine,
            omit(self.omit_opts),
            omit(self.omit_grains),
            omit(self.omit_pillar),
            omit(self.omit_master),
        )?;
        if !self.wildcard {
            let found = places.all().find_map(|place| place.get(&self.value)).cloned();
            return Ok(found.unwrap_or_else(|| if self.default.is_null() { empty() } else { self.default }));
        }
        let mut found = Map::new();
        for place in places.all() {
            for (name, value) in place.iter().filter(|(name, _)| glob::matches(&self.value, &name.to_string())) {
                if found.get_value(name).is_none() {
                    found.insert(name.clone(), value.clone());
                }
            }
        }
        Ok(if found.is_empty() && !self.default.is_null() { self.default } else { found.into() })
    }
}

/// The value of an option, as `config.option` finds it.
pub fn option(machine: &dyn Probe, name: &str) -> Result<Option<Value>> {
    let places = Places::new(machine, true, true, true, true)?;
    Ok(places.all().find_map(|place| place.get(name)).cloned())
}

/// The value of an option, with the maps or lists of all sources merged.
///
/// ```text
/// rocksalt '*' config.merge schedule
/// ```
///
/// Of maps, only the first level is merged; what the target's options say goes first.
#[function("config.merge", reads, repeatable)]
pub struct Merge {
    /// The name.
    value: String,
    /// The value to return if there is none.
    #[default("")]
    default: Value,
    /// Leave out the target's options.
    omit_opts: bool,
    /// Leave out the pillar's key `master`.
    omit_master: bool,
    /// Leave out the pillar.
    omit_pillar: bool,
}

impl Function for Merge {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let places = Places::new(machine, !self.omit_opts, false, !self.omit_pillar, !self.omit_master)?;
        let mut found: Option<Value> = None;
        for place in places.options.into_iter().chain([&places.master, &*places.pillar]) {
            let Some(next) = place.get(&self.value).cloned() else { continue };
            found = Some(match (found, next) {
                (None, next) => next,
                (Some(Value::Map(over)), Value::Map(mut under)) => {
                    under.extend(over);
                    Value::Map(under)
                }
                (Some(Value::List(mut first)), Value::List(then)) => {
                    first.extend(then);
                    Value::List(first)
                }
                (Some(found), _) => found,
            });
            if found.as_ref().is_some_and(|found| found.as_str().is_some()) {
                break;
            }
        }
        Ok(found.or_else(|| places.defaults.get(&self.value).cloned()).unwrap_or(self.default))
    }
}
