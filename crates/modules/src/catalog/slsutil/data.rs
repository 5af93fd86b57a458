//! Functions that serialize and deserialize data.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::Function;
use crate::machine::System;
use crate::text::serialize;
use crate::{Error, Result};

/// Writes a value in a format.
///
/// ```text
/// rocksalt '*' slsutil.serialize json '{foo: Foo!}'
/// rocksalt '*' slsutil.serialize yaml '{foo: [1, 2]}' default_flow_style=False
/// ```
#[function("slsutil.serialize", reads)]
pub struct Serialize {
    /// `configparser`, `json` or `yaml`.
    serializer: String,
    /// The value.
    #[required]
    obj: Value,
    /// Options of the format: `default_flow_style`, `indent`, `sort_keys`, …
    kwargs: Map,
}

impl Function for Serialize {
    type Output = String;

    fn call(self, _: &dyn System) -> Result<String> {
        serialize::serialize(&self.serializer, &self.obj, &self.kwargs).map_err(fault)
    }
}

/// Reads a value that is written in a format.
///
/// ```text
/// rocksalt '*' slsutil.deserialize json '{"foo": "Foo!"}'
/// ```
#[function("slsutil.deserialize", reads)]
pub struct Deserialize {
    /// `configparser`, `json` or `yaml`.
    serializer: String,
    /// The text.
    #[required]
    stream_or_string: Value,
    /// Accepted and ignored: the formats have no options for reading.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl Function for Deserialize {
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        match &self.stream_or_string {
            Value::String(text) => serialize::deserialize(&self.serializer, text).map_err(fault),
            // On a command line the value may have been parsed already.
            data if serialize::FORMATS.contains(&&*self.serializer) => Ok(data.clone()),
            _ => Err(fault(serialize::Error::UnknownFormat(self.serializer))),
        }
    }
}

fn fault(error: serialize::Error) -> Error {
    match &error {
        serialize::Error::UnknownFormat(_) => {
            Error::failed(error.to_string()).hint(format!("known are {}", serialize::FORMATS.join(", ")))
        }
        serialize::Error::OnlyWritten | serialize::Error::Misfit(_) => Error::failed(error.to_string()),
    }
}
