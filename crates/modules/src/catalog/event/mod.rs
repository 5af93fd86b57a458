//! `event`: sends events to the controller.

mod states;

pub use states::STATES;

use rocksalt_core::frame::Ask;
use rocksalt_core::{Event, Map, Value};
use rocksalt_macros::function;

use super::{CatalogFunction, Function, entry};
use crate::machine::System;
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] = &[entry::<Fire>(), entry::<FireMaster>(), entry::<Send>()];

/// Sends an event to the controller's event bus.
///
/// ```text
/// rocksalt '*' event.send myco/mytag foo=Foo bar=Bar
/// rocksalt '*' event.send myco/mytag '{foo: Foo}' with_grains='[os]'
/// ```
#[function("event.send", changes)]
#[derive(Default)]
pub struct Send {
    /// The event's tag.
    tag: String,
    /// What happened, as a map.
    data: Option<Map>,
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    preload: Value,
    /// Add the agent's variables: all, or those of a list.
    with_env: Value,
    /// Add the target's grains: all, or those of a list.
    with_grains: Value,
    /// Add the target's pillar: all, or the keys of a list.
    with_pillar: Value,
    /// Add `saltenv` and `pillarenv` of the target's options.
    with_env_opts: bool,
    /// What happened, by names.
    kwargs: Map,
}

impl Function for Send {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let mut data = Map::new();
        let environment =
            || machine.environment().into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        add(&mut data, "environ", &self.with_env, environment);
        add(&mut data, "grains", &self.with_grains, || (*machine.grains()).clone());
        if self.with_pillar.truth() {
            let pillar = machine.pillar()?;
            add(&mut data, "pillar", &self.with_pillar, || (*pillar).clone());
        }
        if self.with_env_opts {
            for name in ["saltenv", "pillarenv"] {
                data.insert(name, machine.options().get(name).cloned().unwrap_or_default());
            }
        }
        data.extend(self.data.unwrap_or_default());
        let own = |name: &Value| !name.to_string().starts_with("__");
        data.extend(self.kwargs.into_iter().filter(|(name, _)| own(name)));
        send(machine, self.tag, data)
    }
}

/// Sends an event to the controller's event bus, since a target has none of its own.
///
/// ```text
/// rocksalt '*' event.fire '{data: my event data}' tag
/// ```
#[function("event.fire", changes)]
pub struct Fire {
    /// What happened: a map, or a text.
    #[required]
    data: Value,
    /// The event's tag.
    tag: String,
}

impl Function for Fire {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let data = match self.data {
            Value::Map(data) => data,
            other => Map::from_iter([("data".into(), other)]),
        };
        send(machine, self.tag, data)
    }
}

/// Sends an event to the controller's event bus.
///
/// ```text
/// rocksalt '*' event.fire_master '{data: my event data}' tag
/// ```
#[function("event.fire_master", changes)]
pub struct FireMaster {
    /// What happened: a map, or a text.
    #[required]
    data: Value,
    /// The event's tag.
    tag: String,
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    preload: Value,
}

impl Function for FireMaster {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let data = match self.data {
            Value::Map(data) => data,
            other => Map::from_iter([("data".into(), other)]),
        };
        send(machine, self.tag, data)
    }
}

fn send(machine: &dyn System, tag: String, data: Map) -> Result<bool> {
    if tag.is_empty() {
        return Err(Error::arguments("an event needs a tag"));
    }
    machine.controller().ask(Ask::Event(Event { tag, data }))?;
    Ok(true)
}

/// Adds all data of a source, or the keys in a list.
fn add(data: &mut Map, name: &str, request: &Value, source: impl FnOnce() -> Map) {
    match request {
        Value::List(names) => {
            let source = source();
            let some = names.iter().filter_map(|name| Some((name.clone(), source.get_value(name)?.clone())));
            data.insert(name, some.collect::<Map>());
        }
        request if request.truth() => {
            data.insert(name, source());
        }
        _ => {}
    }
}
