//! [`Chunk`]: one state to apply, with its arguments.

use std::sync::Arc;

use rocksalt_core::{Map, Value};

use crate::files::Spot;

/// A call of one state function, which Salt calls a low chunk.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The module, such as `file`.
    pub state: String,
    /// The function, such as `managed`.
    pub fun: String,
    pub name: String,
    /// The original name if it isn't text, as in `names: [80]`.
    pub name_value: Option<Value>,
    pub id: String,
    pub sls: Arc<str>,
    pub saltenv: Arc<str>,
    /// The sls that included this one, directly or indirectly.
    pub included_from: Arc<[Arc<str>]>,
    /// The order number; the sort replaces words and refines it.
    pub order: Value,
    /// All other arguments in order, with requisites and `listen` as written. `watch` becomes `require` if the module
    /// has no watch function.
    pub arguments: Map,
    /// Whether another state has a `prereq` on this one, so that it has a dry run first.
    pub prerequired: bool,
    /// Whether it has a `prereq` itself.
    pub prerequiring: bool,
    /// The position where the module was declared.
    pub spot: Spot,
    /// The position of each argument, in order.
    pub(crate) spots: Vec<Spot>,
}

impl Chunk {
    /// The key of its result, such as `file_|-id_|-name_|-managed`.
    pub fn tag(&self) -> String {
        format!("{}_|-{}_|-{}_|-{}", self.state, self.id, self.name, self.fun)
    }

    /// The module and the function, such as `file.managed`.
    pub fn function(&self) -> String {
        format!("{}.{}", self.state, self.fun)
    }

    /// The order as a number.
    pub fn order(&self) -> f64 {
        number(&self.order).unwrap_or(0.0)
    }

    /// The position of an argument, or else of the state.
    pub fn spot_of(&self, argument: &str) -> Spot {
        let position = self.arguments.position(argument);
        position.and_then(|position| self.spots.get(position)).copied().unwrap_or(self.spot)
    }

    /// The low chunk in Salt's form.
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
