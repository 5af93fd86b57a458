//! `pillar`: data on the controller that only this target can read.

mod look;
mod whole;

use std::sync::Arc;

use rocksalt_core::frame::Ask;
use rocksalt_core::{Map, Value};

use super::{CatalogFunction, Function, entry};
use crate::machine::System;
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<look::FileExists>(),
    entry::<look::FilterBy>(),
    entry::<look::Get>(),
    entry::<look::Item>(),
    entry::<whole::Items>(),
    entry::<look::Keys>(),
    entry::<whole::Ls>(),
    entry::<whole::Obfuscate>(),
    entry::<look::Raw>(),
];

/// The pillar, or one that is compiled for other environments or with additional values.
fn pillar(machine: &dyn System, saltenv: Option<&str>, pillarenv: Option<&str>, given: Map) -> Result<Arc<Map>> {
    if saltenv.is_none() && pillarenv.is_none() && given.is_empty() {
        return machine.pillar();
    }
    let option = |name: &str| machine.options().get(name).and_then(Value::as_str);
    let follows = machine.options().get("pillarenv_from_saltenv").is_some_and(Value::truth);
    let pillarenv = pillarenv.or(if follows { saltenv } else { None }).or_else(|| option("pillarenv"));
    let ask = Ask::Pillar {
        grains: (*machine.grains()).clone(),
        saltenv: saltenv.or_else(|| option("saltenv")).unwrap_or("base").to_owned(),
        pillarenv: pillarenv.unwrap_or_default().to_owned(),
        given,
    };
    compiled(machine.controller().ask(ask)?)
}

fn compiled(answer: Value) -> Result<Arc<Map>> {
    match answer {
        Value::Map(pillar) => Ok(Arc::new(pillar)),
        other => Err(Error::failed(format!("the controller's answer is no pillar but {}", other.kind()))),
    }
}

fn colon() -> String {
    ":".into()
}

fn empty() -> Value {
    "".into()
}
