//! `event`: custom events.

use rocksalt_core::request::Request;
use rocksalt_core::{Event, Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{ControllerFunction, FunctionContext, FunctionEntry, FunctionFailure, entry};

pub const FUNCTIONS: &[FunctionEntry] = &[entry::<Send>()];

/// Fires an event.
#[derive(Deserialize, JsonSchema)]
pub struct Send {
    /// The tag, as `my/app/deployed`.
    tag: String,
    /// The payload.
    #[serde(default)]
    data: Map,
}

impl ControllerFunction for Send {
    const NAME: &'static str = "event.send";

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let event = Event { tag: self.tag, data: self.data };
        context.requests.answer(&context.caller, Request::Fire(event)).await?;
        Ok(true.into())
    }
}
