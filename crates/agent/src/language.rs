//! The state language on this machine: compiles, renders and runs.

use rocksalt_core::Value;
use rocksalt_modules::catalog::Outcome;
use rocksalt_modules::machine::{Host, StateWish, Template};
use rocksalt_modules::{Error, Result};

pub fn perform(_: &Host, wish: StateWish, _: Option<&(dyn Fn(&rocksalt_core::Map) + Send + Sync)>) -> Result<Outcome> {
    Err(Error::failed(format!("{:?}", wish.verb)))
}

pub fn render(_: &Host, template: &Template<'_>) -> Result<String> {
    Ok(template.text.to_owned())
}

pub fn render_data(host: &Host, template: &Template<'_>) -> Result<Value> {
    Ok(render(host, template)?.into())
}
