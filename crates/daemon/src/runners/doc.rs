//! `doc`: what functions there are.

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{self, Context, Entry, Failure, Function, House, Mark, entry};

pub const FUNCTIONS: &[Entry] = &[entry::<Execution>(), entry::<Runner>(), entry::<Wheel>()];

/// What the functions on targets do and take.
#[derive(Deserialize, JsonSchema)]
pub struct Execution {}

impl Function for Execution {
    const NAME: &'static str = "doc.execution";
    const MARK: Mark = Mark::Looks;

    async fn call(self, _: Context) -> Result<Value, Failure> {
        Ok(rocksalt_modules::docs::doc("").into())
    }
}

/// What the runners do and take.
#[derive(Deserialize, JsonSchema)]
pub struct Runner {}

impl Function for Runner {
    const NAME: &'static str = "doc.runner";
    const MARK: Mark = Mark::Looks;

    async fn call(self, _: Context) -> Result<Value, Failure> {
        Ok(texts(super::HOUSE))
    }
}

/// What the wheel functions do and take.
#[derive(Deserialize, JsonSchema)]
pub struct Wheel {}

impl Function for Wheel {
    const NAME: &'static str = "doc.wheel";
    const MARK: Mark = Mark::Looks;

    async fn call(self, _: Context) -> Result<Value, Failure> {
        Ok(texts(crate::wheels::HOUSE))
    }
}

fn texts(house: House) -> Value {
    house.entries().map(|entry| (entry.name.into(), functions::doc(entry).into())).collect::<Map>().into()
}
