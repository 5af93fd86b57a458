//! `cmd`'s states: commands and scripts that run as part of a run.

mod call;
mod given;
mod run;
mod script;
mod stateful;

use super::super::{Decision, State, StateEntry, Step, Verdict, state};

pub const STATES: &[StateEntry] = &[
    state::<call::CallFunction>(),
    state::<run::Run>(),
    state::<script::Script>(),
    state::<run::Wait>(),
    state::<call::WaitCall>(),
    state::<script::WaitScript>(),
    state::<run::Watch>(),
];

/// The decision of a waiting state if nothing that it watches has changed.
fn waiting<P>() -> Decision<P> {
    Decision::Settled(Verdict::good(""))
}
