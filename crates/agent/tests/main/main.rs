//! Tests of the agent as a library.

mod states;
