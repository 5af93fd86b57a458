//! Functions on the whole pillar.

use std::sync::Arc;

use rocksalt_core::{Map, Value};
use rocksalt_macros::{arguments, function};

use super::{Function, empty, look, pillar};
use crate::machine::System;
use crate::{Error, Result};

/// What the functions that show all of it take.
#[arguments]
pub struct PillarArguments {
    /// Only these paths; everything without any.
    args: Vec<String>,
    /// Values that are put over the pillar, and are seen by it while it is compiled.
    #[secret]
    pillar: Option<Map>,
    /// Values that are encrypted can't be given.
    pillar_enc: Option<String>,
    /// Compile the pillar for this environment.
    pillarenv: Option<String>,
    /// Compile the pillar for states of this environment.
    saltenv: Option<String>,
    /// Accepted and ignored: values are given as they are.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    unmask: Value,
}

impl PillarArguments {
    fn whole(self, machine: &dyn System) -> Result<Arc<Map>> {
        if self.pillar.is_some() && self.pillar_enc.is_some() {
            return Err(Error::arguments("Failed to decrypt pillar override: only plain values can be given")
                .hint("leave out `pillar_enc`"));
        }
        // As in Salt, additional values are ignored if paths are given.
        let given = if self.args.is_empty() { self.pillar.unwrap_or_default() } else { Map::new() };
        let whole = pillar(machine, self.saltenv.as_deref(), self.pillarenv.as_deref(), given)?;
        match self.args.is_empty() {
            true => Ok(whole),
            false => Ok(Arc::new(look::items(&whole, self.args, ":", &empty()))),
        }
    }
}

/// All of the target's pillar.
///
/// ```text
/// rocksalt '*' pillar.items
/// rocksalt '*' pillar.items pillarenv=dev
/// ```
#[function("pillar.items", reads, repeatable, also("pillar.data"))]
pub struct Items(PillarArguments);

impl Function for Items {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(Arc::unwrap_or_clone(self.0.whole(machine)?))
    }
}

/// The keys of the target's pillar.
///
/// ```text
/// rocksalt '*' pillar.ls
/// ```
#[function("pillar.ls", reads, repeatable)]
pub struct Ls(PillarArguments);

impl Function for Ls {
    type Output = Vec<Value>;

    fn call(self, machine: &dyn System) -> Result<Vec<Value>> {
        Ok(self.0.whole(machine)?.keys().cloned().collect())
    }
}

/// The target's pillar with only the type of each value, to show to others.
///
/// ```text
/// rocksalt '*' pillar.obfuscate
/// ```
#[function("pillar.obfuscate", reads, repeatable)]
pub struct Obfuscate(PillarArguments);

impl Function for Obfuscate {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        Ok(Value::Map(map(&*self.0.whole(machine)?)))
    }
}

fn map(shown: &Map) -> Map {
    shown.iter().map(|(key, value)| (key.clone(), obfuscated(value))).collect()
}

/// With Python's names of types, as in Salt.
fn obfuscated(value: &Value) -> Value {
    let name = match value {
        Value::Map(inner) => return Value::Map(map(inner)),
        Value::List(items) => return Value::List(items.iter().map(obfuscated).collect()),
        Value::Null => "<NoneType>",
        Value::Bool(_) => "<bool>",
        Value::Int(_) | Value::BigInt(_) => "<int>",
        Value::Float(_) => "<float>",
        Value::String(_) => "<str>",
        Value::Bytes(_) => "<bytes>",
    };
    name.into()
}
