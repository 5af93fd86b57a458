//! `event`: events of one's own.

use rocksalt_core::request::Request;
use rocksalt_core::{Event, Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{Context, Entry, Failure, Function, entry};

pub const FUNCTIONS: &[Entry] = &[entry::<Send>()];

/// Puts an event into the log.
#[derive(Deserialize, JsonSchema)]
pub struct Send {
    /// What it is about, as a path: `my/app/deployed`.
    tag: String,
    /// What there is to tell.
    #[serde(default)]
    data: Map,
}

impl Function for Send {
    const NAME: &'static str = "event.send";

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let event = Event { tag: self.tag, data: self.data };
        context.requests.answer(&context.caller, Request::Fire(event)).await?;
        Ok(true.into())
    }
}
