//! `postgres`: roles, databases, privileges and the rest of PostgreSQL servers, through `psql`.
//!
//! A call goes `states` or `functions` → `role`, `privileges`, `password` (what is to be said) → `client`
//! (saying it) → `csv` (what came back).

mod client;
mod csv;
mod functions;
mod password;
mod privileges;
mod quote;
mod role;
mod states;

pub use client::PostgresServer;
pub use functions::FUNCTIONS;
pub use states::{
    DATABASE_STATES, EXTENSION_STATES, GROUP_STATES, LANGUAGE_STATES, PRIVILEGES_STATES, SCHEMA_STATES,
    TABLESPACE_STATES, USER_STATES,
};

use super::{Decision, Function, State, StateEntry, Step, Thing, Touches, Verdict, sql};
