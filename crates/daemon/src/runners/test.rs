//! `test`: runners to try things with.

use std::time::Duration;

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{Context, Entry, Failure, Function, entry};

pub const FUNCTIONS: &[Entry] = &[entry::<Arg>(), entry::<Sleep>()];

/// Gives back what it is given.
#[derive(Deserialize, JsonSchema)]
pub struct Arg {
    /// By position.
    args: Vec<Value>,
    /// By name.
    kwargs: Map,
}

impl Function for Arg {
    const NAME: &'static str = "test.arg";

    async fn call(self, _: Context) -> Result<Value, Failure> {
        Ok(Map::from_iter([("args".into(), self.args.into()), ("kwargs".into(), self.kwargs.into())]).into())
    }
}

/// Waits, and says how long.
#[derive(Deserialize, JsonSchema)]
pub struct Sleep {
    /// Seconds, an hour at most.
    #[serde(default = "ten")]
    s_time: f64,
}

impl Function for Sleep {
    const NAME: &'static str = "test.sleep";

    async fn call(self, _: Context) -> Result<Value, Failure> {
        let seconds = self.s_time.clamp(0.0, 3600.0);
        tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
        Ok(seconds.into())
    }
}

fn ten() -> f64 {
    10.0
}
