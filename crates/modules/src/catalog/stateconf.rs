//! `stateconf`: values that state files share; the states themselves do nothing.

use rocksalt_core::Map;
use rocksalt_macros::state;

use super::{Decision, State, StateEntry, Step, Touches, Verdict, state};
use crate::Result;
use crate::machine::Probe;

pub const STATES: &[StateEntry] = &[state::<Context>(), state::<Set>()];

/// Does nothing: what stands below it is for templates.
///
/// ```yaml
/// .params:
///   stateconf.set:
///     - port: 8080
/// ```
#[state("stateconf.set")]
pub struct Set {
    /// A name.
    #[allow(dead_code, reason = "every state has one")]
    name: String,
    /// Values for templates.
    #[allow(dead_code, reason = "for templates")]
    kwargs: Map,
}

/// Does nothing: what stands below it is for templates.
///
/// ```yaml
/// .params:
///   stateconf.context:
///     - port: 8080
/// ```
#[state("stateconf.context")]
pub struct Context {
    /// A name.
    #[allow(dead_code, reason = "every state has one")]
    name: String,
    /// Values for templates.
    #[allow(dead_code, reason = "for templates")]
    kwargs: Map,
}

impl State for Set {
    fn plan(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(Decision::Settled(Verdict::good("")))
    }

    fn touches(&self) -> Touches {
        Touches::nothing()
    }
}

impl State for Context {
    fn plan(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(Decision::Settled(Verdict::good("")))
    }

    fn touches(&self) -> Touches {
        Touches::nothing()
    }
}
