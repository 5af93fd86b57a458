//! [`Chunk`]: one state to be enforced, with its arguments.

use std::sync::Arc;

use rocksalt_core::{Map, Value};

use crate::files::Spot;

/// What Salt calls a low chunk: one call of one state function.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The module: `file`.
    pub state: String,
    /// The function: `managed`.
    pub fun: String,
    pub name: String,
    /// `names: [80]` gives a name that is no text.
    pub name_value: Option<Value>,
    pub id: String,
    pub sls: Arc<str>,
    pub saltenv: Arc<str>,
    /// The sls that included this one, directly or not.
    pub included_from: Arc<[Arc<str>]>,
    /// A number; what it was made of is settled by the sort.
    pub order: Value,
    /// All else that was written, in its order, with requisites and `listen` as they were written:
    /// `watch` is `require` here if the module has no watch function.
    pub arguments: Map,
    /// Another state has a `prereq` on this one, so it has a dry run first.
    pub prerequired: bool,
    /// It has a `prereq` itself.
    pub prerequiring: bool,
    /// Where the module was declared.
    pub spot: Spot,
    /// Where each argument was written, in their order.
    pub(crate) spots: Vec<Spot>,
}

impl Chunk {
    /// The key of its result: `file_|-id_|-name_|-managed`.
    pub fn tag(&self) -> String {
        format!("{}_|-{}_|-{}_|-{}", self.state, self.id, self.name, self.fun)
    }

    /// `file.managed`.
    pub fn function(&self) -> String {
        format!("{}.{}", self.state, self.fun)
    }

    /// The order as a number.
    pub fn order(&self) -> f64 {
        number(&self.order).unwrap_or(0.0)
    }

    /// Where an argument was written, or else the state.
    pub fn spot_of(&self, argument: &str) -> Spot {
        let position = self.arguments.position(argument);
        position.and_then(|position| self.spots.get(position)).copied().unwrap_or(self.spot)
    }

    /// The low chunk as Salt shows it.
    pub fn into_value(self) -> Value {
        let mut map = Map::new();
        map.insert("state", self.state);
        map.insert("name", self.name_value.unwrap_or_else(|| self.name.into()));
        map.insert("__sls__", &*self.sls);
        map.insert("__env__", &*self.saltenv);
        if !self.included_from.is_empty() {
            let included: Vec<Value> = self.included_from.iter().map(|sls| (&**sls).into()).collect();
            map.insert("__sls_included_from__", included);
        }
        map.insert("__id__", self.id);
        map.extend(self.arguments);
        map.insert("order", self.order);
        map.insert("fun", self.fun);
        if self.prerequired {
            map.insert("__prereq__", true);
        }
        if self.prerequiring {
            map.insert("__prerequiring__", true);
        }
        map.into()
    }
}

pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Value::BigInt(digits) => digits.parse().ok(),
        _ => None,
    }
}
