//! `test`: functions for testing.

use std::time::Duration;

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{ControllerFunction, FunctionContext, FunctionEntry, FunctionFailure, entry};

pub const FUNCTIONS: &[FunctionEntry] = &[entry::<Arg>(), entry::<Sleep>()];

/// Returns its arguments.
#[derive(Deserialize, JsonSchema)]
pub struct Arg {
    /// Positional arguments.
    args: Vec<Value>,
    /// Named arguments.
    kwargs: Map,
}

impl ControllerFunction for Arg {
    const NAME: &'static str = "test.arg";

    async fn call(self, _: FunctionContext) -> Result<Value, FunctionFailure> {
        Ok(Map::from_iter([("args".into(), self.args.into()), ("kwargs".into(), self.kwargs.into())]).into())
    }
}

/// Waits, and returns how long.
#[derive(Deserialize, JsonSchema)]
pub struct Sleep {
    /// Seconds, at most an hour.
    #[serde(default = "ten_seconds")]
    s_time: f64,
}

impl ControllerFunction for Sleep {
    const NAME: &'static str = "test.sleep";

    async fn call(self, _: FunctionContext) -> Result<Value, FunctionFailure> {
        let seconds = self.s_time.clamp(0.0, 3600.0);
        tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
        Ok(seconds.into())
    }
}

fn ten_seconds() -> f64 {
    10.0
}
