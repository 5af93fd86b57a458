//! `postgres`: roles, databases, privileges and other objects of PostgreSQL servers, through `psql`.
//!
//! The path of a call: `states` or `functions`, then `role`, `privileges` and `password` (which statements), `client`
//! (runs them) and `csv` (parses the result).

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
